"""Whether somebody is there is seen before anything is measured, and told with what would mend it."""

import re
import socket
import ssl

import pytest
import trustme

from pytest_procure import HttpJson, OpenAIEndpoint, Pipeline
from pytest_procure.backends.endpoints import admission
from pytest_procure.backends.endpoints import reach as reaching
from pytest_procure.backends.endpoints.exchange import exchange
from pytest_procure.backends.endpoints.target import Target
from pytest_procure.errors import ProvisionError

ANSWER = b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n"


def closed_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def says(answer):
    """Serve a connection: read what comes first, answer it, and close."""

    def one(connection):
        take(connection)
        connection.sendall(answer)

    return one


def take(connection):
    """Read what comes first, of a request with a body all of it: closed before that, a socket resets."""
    asked, length = connection.recv(1 << 16), 0
    while asked.startswith(b"POST") and len(asked.partition(b"\r\n\r\n")[2]) < max(length, 1):
        part = connection.recv(1 << 16)
        if not part:
            break
        asked += part
        found = re.search(rb"(?i)content-length: *(\d+)", asked)
        length = int(found[1]) if found else 0
    return asked


def reads_a_line_first(connection):
    """HTTP as a small server speaks it: it waits for the end of a line, which no TLS need contain."""
    asked = b""
    while b"\r\n\r\n" not in asked and (part := connection.recv(1 << 16)):
        asked += part
    if b"\r\n\r\n" in asked:
        connection.sendall(ANSWER % b"200 OK")


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def secured(authority):
    """Serve a connection in TLS: let who speaks none be told `otherwise`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    def serve(otherwise=b""):
        def one(connection):
            if connection.recv(1, socket.MSG_PEEK) != b"\x16":
                connection.recv(1 << 16)
                connection.sendall(otherwise)
                return
            with context.wrap_socket(connection, server_side=True) as spoken:
                spoken.recv(1 << 16)
                spoken.sendall(ANSWER % b"404 Not Found")

        return one

    return serve


def found(url, **more):
    """What is told of an address where nobody can be asked."""
    with pytest.raises(ProvisionError) as raised:
        HttpJson(url, **more).load(None).reach()
    said = str(raised.value)
    assert said.startswith(f"{url}: ")
    return said.removeprefix(f"{url}: ")


def test_a_refused_connection_is_told_with_what_to_do():
    said = found(f"http://127.0.0.1:{closed_port()}/v1")
    assert said.startswith("connection refused; start the server, or mend host and port")


def test_a_name_that_nobody_knows_is_told():
    assert found("http://nowhere.invalid/v1").startswith("the host nowhere.invalid cannot be found: ")


def test_a_name_that_can_be_none_is_told():
    assert "cannot be found" in found(f"http://{'a' * 64}.invalid/v1")


def test_where_nothing_takes_the_connection_waiting_ends(monkeypatch):
    monkeypatch.setattr(reaching, "PATIENCE_S", 0.2)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        held = []
        while True:  # until the queue of who waits to be accepted is full
            held.append(socket.socket())
            held[-1].settimeout(0.2)
            try:
                held[-1].connect(address)
            except TimeoutError:
                break
        said = found(f"http://127.0.0.1:{address[1]}/v1")
        for each in held:
            each.close()
    assert said.startswith("no connection within ")


def test_tls_asked_of_a_server_without_is_told_with_the_address_that_was_meant(serving):
    url = serving(says(ANSWER % b"400 Bad Request"))
    plain = url.rstrip("/")
    said = found(url.replace("http:", "https:"))
    assert said == f"the server does not speak TLS; did you mean {plain}?"


def test_tls_asked_of_a_server_that_waits_for_a_line_is_told_too(serving, monkeypatch):
    monkeypatch.setattr(reaching, "PATIENCE_S", 0.5)
    url = serving(reads_a_line_first)
    plain = url.rstrip("/")
    assert found(url.replace("http:", "https:")).endswith(f"does not speak TLS; did you mean {plain}?")


def test_tls_asked_of_what_speaks_neither_is_told_without_a_guess(serving):
    said = found(serving(says(b"SSH-2.0-OpenSSH_9.9\r\n")).replace("http:", "https:"))
    assert re.match(r"no TLS connection: [A-Z_]+; start the server, or mend", said)


@pytest.mark.parametrize(
    "otherwise",
    [b"", b"\x15\x03\x01\x00\x02\x02\x0a", ANSWER % b"400 Bad Request"],
    ids=["closed", "alert", "HTTP 400"],
)
def test_a_server_of_tls_that_is_asked_without_is_told_with_the_address_that_was_meant(
    serving, secured, otherwise
):
    url = serving(secured(otherwise))
    meant = url.rstrip("/").replace("http:", "https:")
    assert found(url) == f"the server speaks TLS; did you mean {meant}?"


def test_a_certificate_that_nobody_vouches_for_is_told_with_the_parameter(serving, secured):
    said = found(serving(secured()).replace("http:", "https:"))
    assert said.startswith("its certificate is not trusted: ")
    assert "`ca_file=`" in said


def test_a_server_of_tls_whose_certificate_is_trusted_is_there(serving, secured, authority, tmp_path):
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    url = serving(secured()).replace("http:", "https:")
    HttpJson(url, ca_file="ca.pem").load(tmp_path).reach()


def test_a_file_without_certificates_is_told(tmp_path):
    (tmp_path / "ca.pem").write_text("none")
    with pytest.raises(ProvisionError, match=r"ca\.pem` holds no certificates"):
        HttpJson("https://127.0.0.1/", ca_file="ca.pem").load(tmp_path).reach()


def test_another_s_port_is_told_with_what_it_says(serving):
    said = found(serving(says(b"SSH-2.0-OpenSSH_9.9\r\n")))
    assert said.startswith("what answers there is no HTTP (it begins `SSH-2.0-OpenSSH_9.9`)")


def test_a_port_behind_which_nobody_answers_is_told(serving):
    assert found(serving(says(b""))).startswith("connections are closed without an answer; start the server")


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad", b"401 No", b"404 Not Found", b"503 Busy"])
def test_whoever_answers_in_http_is_there_whatever_he_says(serving, status):
    HttpJson(serving(says(ANSWER % status))).load(None).reach()


def test_an_answer_may_come_byte_by_byte(serving):
    def one(connection):
        connection.recv(1 << 16)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in ANSWER % b"200 OK":
            connection.sendall(bytes([byte]))

    HttpJson(serving(one)).load(None).reach()


def test_who_is_silent_is_there_because_how_long_it_takes_is_measured(serving, monkeypatch):
    monkeypatch.setattr(reaching, "WORD_S", 0.2)

    def one(connection):
        while connection.recv(1 << 16):  # until the other side has waited long enough
            pass

    HttpJson(serving(one)).load(None).reach()


def test_the_key_is_not_sent_to_see_who_is_there(serving, monkeypatch):
    monkeypatch.setenv("MOCK_KEY", "sk-0123456789")
    asked = []

    def one(connection):
        asked.append(connection.recv(1 << 16))
        connection.sendall(ANSWER % b"200 OK")

    OpenAIEndpoint(serving(one), model="m", key_env="MOCK_KEY").load(None).reach()
    assert asked[0].startswith(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"sk-" not in asked[0]


def test_a_stage_of_a_pipeline_that_is_down_is_named():
    down = HttpJson(f"http://127.0.0.1:{closed_port()}/")
    loaded = Pipeline([("shorten", lambda batch: batch), ("generate", down)]).load(None)
    with pytest.raises(
        ProvisionError, match=r"stage `generate`: http://127\.0\.0\.1:\d+/: connection refused"
    ):
        loaded.reach()


ELSEWHERE = b"HTTP/1.1 307 Moved\r\nLocation: https://there/v1\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            ANSWER % b"401 No",
            "turned away with HTTP 401; mend the key in the variable `MOCK_KEY`, and run again",
        ),
        (ANSWER % b"404 No", "turned away with HTTP 404; mend the path of the candidate's URL, or the name"),
        (ELSEWHERE, "with HTTP 307: it is at https://there/v1; redirects are not followed"),
    ],
)
def test_questions_that_are_all_turned_away_are_told_with_what_would_mend_it(
    serving, monkeypatch, answer, told
):
    monkeypatch.setenv("MOCK_KEY", "sk-0123456789")
    with pytest.raises(ProvisionError) as refused:
        HttpJson(serving(says(answer)), key_env="MOCK_KEY").load(None).admit(["a", "b"])
    assert told in str(refused.value)
    assert "sk-" not in str(refused.value)


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad", b"429 Later", b"500 Broken"])
def test_who_is_answered_anything_else_is_let_in_and_nobody_else_is_asked(serving, status):
    asked = []

    def one(connection):
        asked.append(take(connection))
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: 1000000\r\n\r\n" % status)  # which never come

    HttpJson(serving(one)).load(None).admit(["a", "b"])
    assert len(asked) == 1


def test_one_question_that_is_let_in_is_enough(serving):
    answers = [ANSWER % b"403 Not this one", ANSWER % b"200 OK"]

    def one(connection):
        says(answers.pop(0))(connection)

    HttpJson(serving(one)).load(None).admit(["a", "b"])
    assert not answers


def test_an_answer_that_takes_its_time_is_no_refusal(serving, monkeypatch):
    monkeypatch.setattr(admission, "PATIENCE_S", 0.2)
    url = serving(lambda connection: connection.recv(1 << 16) and connection.recv(1))
    HttpJson(url).load(None).admit(["a"])


def test_an_answer_is_asked_at_each_address_for_its_share_of_the_time(monkeypatch, serving):
    url = serving(says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
    where = ("127.0.0.1", int(url.rpartition(":")[2].strip("/")))
    tried = []
    plain = socket.socket.connect

    def connect(connection, address):
        tried.append(connection.gettimeout())
        if len(tried) == 1:
            raise TimeoutError
        plain(connection, address)

    one = (socket.AF_INET, socket.SOCK_STREAM, 0, "", where)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [one, one])
    asked = exchange(Target("http", "127.0.0.1", where[1], "/", "json"), "/", b"{}", limit=30.0, most=9)
    assert (asked.status, asked.data, tried) == (200, b"{}", [15.0, 15.0])
