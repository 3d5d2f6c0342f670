"""An endpoint that is asked as a stage or a judge: one request after the other, each within a limit."""

import json
import socket

import pytest

from pytest_procure.backends import Answer, KServeV2, OpenAIEndpoint, Pipeline
from pytest_procure.backends import kserve as kserves
from pytest_procure.backends.endpoints import loaded as endpoints
from pytest_procure.errors import ProvisionError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 1,
    "prompt_tokens_details": {"cached_tokens": 90},
}


def answer(**more):
    return json.dumps(
        {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], **more}
    ).encode()


def asked(connection):
    """Read a request to its end."""
    came = b""
    while b"\r\n\r\n" not in came:
        came += connection.recv(65536)
    head, _, body = came.partition(b"\r\n\r\n")
    for field in head.split(b"\r\n"):
        if field.lower().startswith(b"content-length:"):
            while len(body) < int(field.partition(b":")[2]):
                body += connection.recv(65536)


def pipeline(url, tmp_path, **more):
    return Pipeline([("gen", OpenAIEndpoint(f"{url}v1", model="m", stream=False, **more))]).load(tmp_path)


def drip(connection, start, drop):
    """Say a byte now and then, until nobody listens: each comes well within the limit."""
    asked(connection)
    connection.sendall(start)
    connection.settimeout(0.05)
    while True:
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            connection.sendall(drop)


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (HEAD + b"\r\n", b" "),
        (HEAD, b"X: y\r\n"),
        (b"", b"H"),
    ],
    ids=["body", "chunks", "until closed", "head", "first line"],
)
def test_an_answer_that_drips_is_given_up_at_the_limit_of_the_call(
    serving, tmp_path, monkeypatch, start, drop
):
    monkeypatch.setattr(endpoints, "_TIMEOUT_S", 0.4)
    url = serving(lambda connection: drip(connection, start, drop))
    (given,) = pipeline(url, tmp_path).predict(["a"])
    assert given.error in {
        "stage gen: RuntimeError: no answer within 0.4 s",
        "stage gen: RuntimeError: no answer: LineTooLong",
    }


def test_metadata_that_drip_are_given_up_at_their_limit(serving, tmp_path, monkeypatch):
    monkeypatch.setattr(kserves, "_METADATA_S", 0.4)
    url = serving(lambda connection: drip(connection, HEAD + b"Content-Length: 9999\r\n\r\n", b" "))
    with pytest.raises(ProvisionError, match=r"the server does not answer at .*: TimeoutError"):
        KServeV2(url.rstrip("/"), model="m").load(tmp_path)


@pytest.mark.parametrize("closes", [False, True])
def test_a_stage_hands_on_what_came_from_a_cache(serving, tmp_path, closes):
    body = answer(usage=USAGE)
    size = b"" if closes else b"Content-Length: %d\r\n" % len(body)

    def serve(connection):
        asked(connection)
        connection.sendall(HEAD + size + b"\r\n" + body)
        connection.shutdown(socket.SHUT_WR)

    (given,) = pipeline(serving(serve), tmp_path).predict(["a"])
    assert given == Answer("yes", 100, 1, given.stages, cached_tokens=90)
    assert given.stages[0].cached_tokens == 90


def test_a_stage_asks_once_and_says_so(serving, tmp_path):
    came = []

    def serve(connection):
        asked(connection)
        came.append(connection)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")

    loaded = pipeline(serving(serve), tmp_path, retries=3, count_tokens=len)
    (given,) = loaded.predict(["a"])
    assert given.error.startswith("stage gen: RuntimeError: HTTP 503")
    assert len(came) == 1
    told = loaded.describe()["stages"][0]["backend"]
    assert told["retries_at_most"] == 0
    assert not {"connections_at_most", "load_processes", "tokens_counted_by"} & told.keys()
