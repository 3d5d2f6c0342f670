"""An answer that was sent before its request is a guess, and none: it would have cost no time."""

import socket
import time
from pathlib import Path

import pytest
from mock_process import Texts

from pytest_procure import HttpJson
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.endpoint.connection import Connection
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.endpoint.loop import Loop
from pytest_procure.scenarios import Scenario

_READ = 1 << 16  # what the driver takes at once: an answer of this size is one read, however many follow it
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_LENGTH = _READ - len(_HEAD % _READ)
ANSWER = _HEAD % _LENGTH + b'"%s"' % (b"a" * (_LENGTH - 2))


@pytest.fixture
def run(serving):
    """Ask requests of a server that answers the first, and then so many more at a time."""

    def begin(at_once):
        def serve(connection):
            connection.recv(_READ)
            connection.sendall(ANSWER)
            while connection.recv(_READ):
                connection.sendall(ANSWER * at_once)

        scenario = Scenario.declare("closed_loop", concurrency=1, count=60, warmup=0)
        return drive(HttpJson(serving(serve)).load(Path()), Texts(60), scenario).log

    return begin


def test_a_server_that_answers_ahead_is_found_out(run):
    log = run(60)
    assert Failure.PROTOCOL in log.wire.failure
    assert "one request was answered more than once" in log.errors.values()


def test_a_server_that_answers_what_it_was_asked_is_believed(run):
    log = run(1)
    assert log.ok.all(), log.errors


def test_a_server_that_answers_each_request_once_more_is_found_out_at_the_latest_at_the_end(serving):
    answer = _HEAD % 2 + b"{}"

    def serve(connection):
        while data := connection.recv(_READ):
            for _ in range(2 * data.count(b"POST ")):
                connection.sendall(answer)
                time.sleep(0.001)  # the next request is on its way

    scenario = Scenario.declare("closed_loop", concurrency=2, count=40, warmup=0)
    audit = drive(HttpJson(serving(serve)).load(Path()), Texts(40), scenario).audit
    assert audit.unasked_for == 2
    assert "on 2 connections came bytes that no request had asked for" in audit.candidate_notes()


class Told:
    """What a connection tells its load."""

    def __init__(self):
        self.good, self.bad = [], []

    def answered(self, connection):
        self.good.append(connection.query)

    def whole(self, connection, head, data, stamp):
        self.good.append(connection.query)

    def broke(self, connection, failure, text):
        self.bad.append((connection.query, failure, text))


@pytest.fixture
def connected():
    """A connection, what it tells, and the server's side of it."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    told = Told()
    yield Connection(told, Loop(), ours), told, theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_an_answer_to_what_the_server_has_not_got_is_none(connected, answer):
    connection, told, server = connected
    for query, is_got in enumerate((True, False)):
        connection.query = query
        connection.send(b"a request")
        if is_got:
            server.recv(_READ)
        server.send(answer)
        connection.readable()
    assert told.good == [0]
    assert told.bad == [(1, Failure.PROTOCOL, "it was answered before the server had it")]


def test_a_server_may_refuse_what_it_has_not_wholly_got(connected):
    connection, told, server = connected
    for query, answer in enumerate((b"200 OK", b"413 Too Large")):
        connection.query = query
        connection.send(b"a request")
        server.send(b"HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\n{}" % answer)
        connection.readable()
    assert told.good == [0, 1]


def test_an_answer_that_goes_on_into_another_is_none(connected):
    connection, told, server = connected
    connection.query = 0
    connection.send(b"a request")
    server.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 2")
    connection.readable()
    assert told.good == []
    assert told.bad == [(0, Failure.PROTOCOL, "one request was answered more than once")]
