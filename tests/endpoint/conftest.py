"""The mock endpoint, and servers of a few lines that a test scripts."""

import socket
import threading
from contextlib import suppress

import pytest
from mock_process import Mock


@pytest.fixture(scope="module")
def _mock():
    mock = Mock()
    yield mock
    mock.end()


@pytest.fixture
def mock(_mock):
    """The mock, well-behaved again."""
    _mock.behave()
    return _mock


@pytest.fixture
def serving():
    """Serve each connection by this function, in a thread of its own, and close it then; give the URL."""
    listening = []

    def begin(one):
        def serve(connection):
            with connection, suppress(OSError):  # the other side may close it at any time
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
