"""Bytes around an answer's body are counted too: nothing without end is taken in, or breaks a column."""

from pathlib import Path

import pytest
from mock_process import Texts

from pytest_procure import HttpJson
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.endpoint.connection import MOST_FRAMING
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PIECE = 1 << 16
BODY = b"[%s1]" % (b"1, " * 100_000)


@pytest.fixture
def run(serving):
    """Ask 3 requests of a server that answers so: a beginning, and what follows it without end."""

    def begin(start, more=b""):
        def serve(connection):
            while connection.recv(1 << 16):
                connection.sendall(start)
                while more:
                    connection.sendall(more)

        scenario = Scenario.declare("closed_loop", concurrency=1, count=3, warmup=0)
        return drive(HttpJson(serving(serve)).load(Path()), Texts(3), scenario)

    return begin


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (CHUNKED + b"1;e=", b"y" * PIECE),
        (CHUNKED + b"1\r\n1\r\n0\r\nx: ", b"y" * PIECE),
        (CHUNKED + b"1\r\n1\r\n0\r\n", b"x: y\r\n" * (PIECE >> 3)),
    ],
    ids=["extension", "trailer", "trailers"],
)
def test_framing_without_end_is_cut_off_and_told(run, start, more):
    log = run(start, more).log
    assert (log.wire.failure == Failure.TOO_LARGE).all()
    assert set(log.errors.values()) == {"the answer takes more than 8 MiB beside its body"}
    assert (log.wire.received > MOST_FRAMING).all()
    assert (log.wire.received < 2 * MOST_FRAMING).all()


def test_a_long_answer_may_come_byte_by_byte(run):
    chunks = b"".join(b"1\r\n%c\r\n" % sign for sign in BODY) + b"0\r\n\r\n"
    log = run(CHUNKED + chunks).log
    assert log.ok.all(), log.errors
    assert (log.wire.received == len(CHUNKED) + len(chunks)).all()


def test_an_answer_that_speaks_another_protocol_from_now_on_is_no_http(run):
    log = run(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nmore").log
    assert (log.wire.failure == Failure.PROTOCOL).all()
