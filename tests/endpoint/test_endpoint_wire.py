"""Below the driver: descriptors, connections, heads that were seen before, and what a row takes."""

import socket
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_process import Texts

from pytest_procure.driver.endpoint import message
from pytest_procure.driver.endpoint.alarm import Alarm
from pytest_procure.driver.endpoint.connection import Connection
from pytest_procure.driver.endpoint.dial import Dialler
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.endpoint.loop import EDGE, Loop
from pytest_procure.driver.endpoint.message import END, Message, head_of, known, learn
from pytest_procure.scenarios import Scenario

SECOND = 1_000_000_000
FIELDS = st.sampled_from(
    [
        b"Content-Type: application/json",
        b"content-length: %d",
        b"Content-Length:%d",
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Connection: close",
        b"Connection: keep-alive",
        b"Server: x",
        b"Bad name: x",
    ]
)
STARTS = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 204 None", b"HTTP/1.1 500 No", b"SSH-2.0"]
)
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@given(STARTS, st.lists(FIELDS, max_size=4), st.binary(max_size=20), st.booleans(), st.binary(max_size=3))
def test_a_head_is_remembered_only_where_another_answer_would_be_read_the_same_way(
    start, fields, body, early, more
):
    known.clear()
    fields = [field % len(body) if b"%d" in field else field for field in fields]
    data = b"\r\n".join([start, *fields]) + END + body + more
    answer = Message()
    if not answer.feed(EARLY * early + data, 7) and answer.answers == 1:
        learn(EARLY * early + data, answer)
    for head, seen in known.items():
        again, other = Message(), bytes(len(body))
        assert not again.feed(head + END + other, 9)
        assert (again.answers, again.status, again.is_keeping) == (1, 200, True)
        assert b"".join(again.parts) == other
        assert head_of(head + END + other) is seen
        assert head_of(head + END + other + b"x") is None
        assert seen.text == head + END
        assert seen.fields == again.fields


def test_heads_that_all_differ_do_not_pile_up():
    known.clear()
    for number in range(2000):
        data, answer = b"HTTP/1.1 200 OK\r\nX-Id: %d\r\nContent-Length: 1\r\n\r\nx" % number, Message()
        answer.feed(data, 1)
        learn(data, answer)
    assert 0 < len(known) <= message._MOST_KNOWN


def test_answers_read_whole_fill_the_same_columns(mock):
    mock.behave(tokens=3)
    log = mock.run("single_stream", count=20, endpoint=mock.endpoint(stream=False)).log
    assert log.ok.all()
    assert set(log.answers) == {" w0 w1 w2"}
    assert len(set(log.wire.received[:9].tolist())) == 1  # m1 to m9
    assert (log.wire.http == 200).all()
    assert (log.wire.headers == log.completed).all()
    assert (log.started < log.completed).all()
    assert (log.output_tokens == 3).all()
    assert not log.wire.streamed.any()


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_a_request_of_any_size_is_sent_as_a_whole(mock, size):
    class Long(Texts):
        def take(self, indices):
            return [f"{k}" * size for k in indices]

    mock.behave(tokens=1)
    scenario = Scenario.declare("closed_loop", concurrency=3, count=6, warmup=0)
    log = drive(mock.endpoint(), Long(3), scenario).log
    assert log.ok.all(), log.errors


def test_a_descriptor_that_was_closed_is_told_of_no_more():
    loop, told = Loop(), []
    pairs = [socket.socketpair() for _ in range(2)]

    def close_all(number):
        told.append(number)
        for ours, _ in pairs:
            loop.close(ours)

    for number, (ours, theirs) in enumerate(pairs):
        loop.watch(ours.fileno(), lambda number=number: close_all(number))
        theirs.send(b"x")
    loop.run(lambda: bool(told))
    assert len(told) == 1
    assert all(ours.fileno() < 0 for ours, _ in pairs)
    for _, theirs in pairs:
        theirs.close()


def test_an_alarm_rings_as_often_as_it_is_set_without_being_read():
    loop, alarm, rung = Loop(), Alarm(), []

    def ring():
        rung.append(time.perf_counter_ns() >= alarm.due)
        alarm.set(time.perf_counter_ns() + SECOND // 500)

    loop.watch(alarm.fd, ring, EDGE)
    alarm.set(1)
    loop.run(lambda: len(rung) == 5)
    assert all(rung)
    alarm.close()


def opened(dialler, loop):
    came = []
    dialler(SimpleNamespace(), came.append)
    assert not came  # later, never at once
    loop.run(lambda: bool(came))
    return came[0]


def once_round(loop):
    """Let a loop close what is to be closed."""
    over = []
    loop.soon(lambda: over.append(True))
    loop.run(lambda: bool(over))


def target(port, scheme="http"):
    return SimpleNamespace(host="127.0.0.1", port=port, scheme=scheme, ca="")


def test_an_address_that_does_not_answer_is_left_for_one_that_does():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        loop = Loop()
        dialler = Dialler(loop, target(listening.getsockname()[1]), 10 * SECOND)
        dialler.addresses.insert(0, (socket.AF_INET, closed.getsockname()))
        opened(dialler, loop).close()
        once_round(loop)
        assert dialler.addresses[0][1] == listening.getsockname()


def silent():
    """An address that nobody answers at, and what keeps it so: the queue of those who wait there is full."""
    listening, held = socket.create_server(("127.0.0.1", 0), backlog=0), []
    while True:
        held.append(socket.socket())
        held[-1].settimeout(0.2)
        try:
            held[-1].connect(listening.getsockname())
        except TimeoutError:
            return listening.getsockname(), [listening, *held]


def test_an_address_where_nobody_is_leaves_time_for_the_others():
    where, kept = silent()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        loop = Loop()
        dialler = Dialler(loop, target(listening.getsockname()[1]), SECOND)
        live = dialler.addresses[0]
        dialler.addresses[:] = [(socket.AF_INET, where), (socket.AF_INET, where), live]
        came = []
        for _ in range(3):
            dialler(SimpleNamespace(), came.append)
        loop.run(lambda: len(came) == 3)
        assert [type(each) for each in came] == [Connection] * 3, came
        assert dialler.addresses[0] == live
        for each in (*came, *kept):
            each.close()
        once_round(loop)


def test_of_addresses_where_nobody_is_none_is_waited_for_beyond_the_time():
    where, kept = silent()
    loop, came = Loop(), []
    dialler = Dialler(loop, target(where[1]), SECOND // 5)
    dialler.addresses *= 2
    for _ in range(2):
        dialler(SimpleNamespace(), came.append)
    loop.run(lambda: len(came) == 2)
    assert [type(each) for each in came] == [TimeoutError] * 2
    for each in kept:
        each.close()
    once_round(loop)


def test_a_server_that_does_not_shake_hands_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        loop = Loop()
        dialler = Dialler(loop, target(listening.getsockname()[1], "https"), SECOND // 10)
        assert isinstance(opened(dialler, loop), TimeoutError)


def test_attempts_that_begin_as_others_are_given_up_are_given_up_in_their_turn():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        loop, end, came, over = Loop(), Alarm(), [], []
        dialler = Dialler(loop, target(listening.getsockname()[1], "https"), SECOND // 20)

        def again(connection):
            came.append(connection)
            if len(came) <= 2:
                dialler(SimpleNamespace(), again)

        for _ in range(2):
            dialler(SimpleNamespace(), again)
        loop.watch(end.fd, lambda: over.append(True), EDGE)
        end.set(time.perf_counter_ns() + 5 * SECOND)
        loop.run(lambda: len(came) == 4 or bool(over))
        assert [type(each) for each in came] == [TimeoutError] * 4
        loop.forget(end.fd)
        end.close()
