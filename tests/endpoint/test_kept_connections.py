"""A server may close a connection that it had said it would keep, at the very moment it is asked again."""

import socket
import threading
from pathlib import Path

import pytest
from mock_process import Texts

from pytest_procure import HttpJson
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.log import Status
from pytest_procure.scenarios import Scenario

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'


def answers_once(connection):
    """Read a request and answer it; whether there was one."""
    asked = b""
    while b"\r\n\r\n" not in asked:
        part = connection.recv(1 << 16)
        if not part:
            return False
        asked += part
    connection.sendall(ANSWER)
    return True


def closes_at_once(connection):
    answers_once(connection)


def takes_another_and_closes(connection):
    if answers_once(connection):
        connection.recv(1 << 16)


@pytest.fixture
def server():
    """Serve connections, each by this function and then closed; give the server's address."""
    listening = []

    def begin(one):
        def serve(connection):
            with connection:
                one(connection)

        def accept():
            while True:
                try:
                    connection, _ = open_port.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        open_port = socket.create_server(("127.0.0.1", 0))
        listening.append(open_port)
        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{open_port.getsockname()[1]}/"

    yield begin
    for each in listening:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


def run(url, warmup=0):
    scenario = Scenario.declare("closed_loop", concurrency=1, count=60, warmup=warmup)
    return drive(HttpJson(url).load(Path()), Texts(60), scenario)


def test_a_request_that_the_server_never_took_is_sent_again_and_told(server):
    done = run(server(closes_at_once))
    assert (done.log.status == Status.OK).all()
    assert done.audit.resent > 0
    assert any("had to be sent again" in note for note in done.audit.candidate_notes())
    assert not done.log.wire.retries.any()


def test_a_server_that_keeps_no_connection_is_given_a_fresh_one_each_time(server):
    done = run(server(closes_at_once), warmup=3)
    assert (done.log.status == Status.OK).all()
    assert done.audit.resent == 0
    assert done.audit.connections_opened >= 59
    assert any("each request got one of its own" in note for note in done.audit.candidate_notes())


def test_a_request_that_the_server_took_and_did_not_answer_is_a_failure(server):
    done = run(server(takes_another_and_closes), warmup=3)
    assert int((done.log.status == Status.ERROR).sum()) == 30
    assert done.audit.resent == 0
    assert done.audit.keeps_connections
