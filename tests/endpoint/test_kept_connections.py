"""A server may close a connection that it had said it would keep, at the very moment it is asked again."""

import re
import socket
import struct
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from mock_process import Texts

from pytest_procure import HttpJson
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.endpoint.connection import Connection
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.endpoint.load import Load
from pytest_procure.driver.endpoint.loop import Loop
from pytest_procure.driver.log import Status
from pytest_procure.scenarios import Scenario

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'
IDS = []
RESETS = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets


def answers_once(connection):
    """Read a request and answer it; whether there was one."""
    asked = b""
    while b"\r\n\r\n" not in asked:
        part = connection.recv(1 << 16)
        if not part:
            return False
        asked += part
    IDS.extend(re.findall(rb"X-Request-Id: procure-\w+-(\S+)", asked))
    connection.sendall(ANSWER)
    return True


def closes_at_once(connection):
    answers_once(connection)


def takes_another_and_closes(connection):
    if answers_once(connection):
        connection.recv(1 << 16)


def takes_another_works_and_resets(connection):
    if answers_once(connection):
        connection.recv(1 << 16)
        time.sleep(0.1)  # its work; by then its kernel has acknowledged the request
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)


def takes_another_says_so_and_resets(connection):
    if answers_once(connection):
        connection.recv(1 << 16)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)


def run(url, warmup=0):
    scenario = Scenario.declare("closed_loop", concurrency=1, count=60, warmup=warmup)
    return drive(HttpJson(url).load(Path()), Texts(60), scenario)


def test_a_request_that_the_server_never_took_is_sent_again_and_told(serving):
    done = run(serving(closes_at_once))
    assert (done.log.status == Status.OK).all()
    assert done.audit.resent > 0
    assert any("had to be sent again" in note for note in done.audit.candidate_notes())
    assert not done.log.wire.retries.any()


def test_a_server_that_keeps_no_connection_is_given_a_fresh_one_each_time(serving):
    done = run(serving(closes_at_once), warmup=3)
    assert (done.log.status == Status.OK).all()
    assert done.audit.resent == 0
    assert done.audit.connections_opened >= 59
    assert any("each request got one of its own" in note for note in done.audit.candidate_notes())


def test_a_request_that_the_server_took_and_did_not_answer_is_a_failure(serving):
    done = run(serving(takes_another_and_closes), warmup=3)
    assert int((done.log.status == Status.ERROR).sum()) == 30
    assert done.audit.resent == 0
    assert done.audit.keeps_connections


@pytest.mark.parametrize("fault", [takes_another_works_and_resets, takes_another_says_so_and_resets])
def test_a_request_that_the_server_took_and_reset_is_a_failure(serving, fault):
    done = run(serving(fault), warmup=3)
    assert Counter(done.log.wire.failure.tolist()) == {Failure.NONE: 30, Failure.RESET: 30}
    assert done.audit.resent == 0
    assert done.audit.keeps_connections


def test_a_request_that_is_sent_again_has_an_id_of_its_own(serving):
    IDS.clear()
    done = run(serving(closes_at_once))
    again = [each for each in IDS if each.endswith(b".0.again")]
    assert len(again) == done.audit.resent > 0
    assert len(set(IDS)) == len(IDS) == 60


class Told:
    """Stands for a load; a server's end of its one connection."""

    def __init__(self):
        self.is_over = False
        with socket.create_server(("127.0.0.1", 0)) as listening:
            ours = socket.create_connection(listening.getsockname())
            self.server, _ = listening.accept()
        ours.setblocking(False)  # noqa: FBT003 - its name says what
        self.loop = Loop()
        self.connection = Connection(self, self.loop, ours)

    def ask(self):
        self.connection.query = 0
        self.connection.send(b"a request")

    def wait(self):
        self.is_over = False
        self.loop.run(lambda: self.is_over)

    def answered(self, _):
        self.connection.query = -1
        self.is_over = True

    def whole(self, *_):
        self.answered(None)

    def broke(self, *_):
        self.is_over = True


def closes_before(told):
    told.server.close()
    told.ask()


def closes_unread(told):
    told.ask()
    told.server.close()


def reads_and_closes(told):
    told.ask()
    told.server.recv(100)
    told.server.close()


@pytest.mark.parametrize("when", ["at once", "later"])
@pytest.mark.parametrize(
    ("end", "shown"),  # right after an answer, and later
    [
        (closes_before, {"at once": True, "later": True}),
        (closes_unread, {"at once": True, "later": False}),
        (reads_and_closes, {"at once": False, "later": False}),
    ],
)
def test_an_orderly_end_shows_what_was_never_taken_and_a_reset_only_right_after_an_answer(end, shown, when):
    told = Told()
    told.ask()
    told.server.recv(100)
    told.server.sendall(ANSWER)
    told.wait()
    # When the answer came: long ago, or in a while, so that no slow machine makes it long ago.
    told.connection.stamp = 0 if when == "later" else time.perf_counter_ns() + 1_000_000_000
    end(told)
    told.wait()
    assert told.connection.is_unread == shown[when]


def test_a_server_that_keeps_none_is_asked_on_no_used_connection_any_more():
    dropped, used, fresh = [], SimpleNamespace(requests=1), SimpleNamespace(requests=0)
    Load.keep_none(SimpleNamespace(_free=[used, fresh], pool=SimpleNamespace(drop=dropped.append)))
    assert dropped == [used]
