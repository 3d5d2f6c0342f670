"""Endpoints that misbehave: every request ends, counted, with its reason; nothing hangs or is hidden."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest
from mock_process import Texts

from pytest_procure import HttpJson, OpenAIEndpoint
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.endpoint.retry import pause_ns
from pytest_procure.driver.log import Status
from pytest_procure.scenarios import Scenario

SECOND = 1_000_000_000


def kinds(log):
    return {
        Failure(code).name: int(n)
        for code, n in zip(*np.unique(log.wire.failure, return_counts=True), strict=True)
    }


def reasons(log):
    return sorted(set(log.errors.values()))


@pytest.mark.parametrize(
    ("behaviour", "failure", "status", "said"),
    [
        ({"error_every": 5}, "HTTP", Status.ERROR, "HTTP 500: the mock refuses"),
        ({"error_every": 5, "error_status": 429}, "HTTP", Status.ERROR, "HTTP 429: the mock refuses"),
        ({"html_every": 5}, "BODY", Status.ERROR, "answered with text/html; expected text/event-stream"),
        ({"empty_every": 5}, "EMPTY", Status.EMPTY, "the stream held no token"),
        ({"break_every": 5}, "STREAM_ERROR", Status.ERROR, "the stream broke off: the mock's engine died"),
        ({"drop_every": 5}, "RESET", Status.ERROR, "the connection was closed after 4 chunks"),
        ({"drop_every": 5, "reset": True}, "RESET", Status.ERROR, "the connection was closed after 4 chunks"),
        ({"redirect_every": 5}, "REDIRECT", Status.ERROR, "redirects are not followed"),
        ({"gzip_every": 5}, "ENCODED", Status.ERROR, "compressed (gzip), which was not accepted"),
        ({"twice_every": 5}, "PROTOCOL", Status.ERROR, "one request was answered more than once"),
        ({"headers_every": 5}, "TOO_LARGE", Status.ERROR, "the answer's head is longer than 64 KiB"),
        ({"flood_every": 5}, "TOO_LARGE", Status.ERROR, "the answer is longer than 8 MiB"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_a_fault_of_one_request_in_five_is_counted_with_its_reason(mock, behaviour, failure, status, said):
    mock.behave(tokens=8, **behaviour)
    log = mock.run(qps=50, count=20, timeout="10 s").log
    assert kinds(log) == {"NONE": 16, failure: 4}
    assert (log.status == status).sum() == 4
    assert log.ok.sum() == 16
    assert len(log.errors) == 4
    assert all(said in reason for reason in reasons(log)), reasons(log)


def json_answer(body):
    def serve(connection):
        while connection.recv(1 << 16):
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)

    return serve


@pytest.mark.parametrize("body", [b'{"label": ""}', b'{"label": null}'])
def test_an_empty_text_is_a_failed_request_of_any_json_endpoint(serving, body):
    endpoint = HttpJson(serving(json_answer(body)), output=("label",)).load(Path())
    log = drive(endpoint, Texts(3), Scenario.declare("single_stream", count=3, warmup=0)).log
    assert (log.status == Status.EMPTY).all()
    assert not log.ok.any()


def test_what_decoding_gives_that_is_no_answer_is_a_failed_request(serving):
    endpoint = HttpJson(serving(json_answer(b'{"label": "a"}'))).load(Path())
    endpoint.output = lambda data: {"a": float("nan")}[json.loads(data)["label"]]
    log = drive(endpoint, Texts(3), Scenario.declare("single_stream", count=3, warmup=0)).log
    assert (log.status == Status.EMPTY).all()
    assert reasons(log) == ["answered with nan"]


def test_an_answer_that_only_reasons_says_nothing(mock):
    mock.behave(tokens=4, reasoning=4)
    log = mock.run(qps=100, count=3).log
    assert (log.status == Status.EMPTY).all(), reasons(log)
    assert reasons(log) == ["answered with nothing: the output is an empty text"]


def test_a_stream_without_a_finish_reason_is_not_good(mock):
    mock.behave(finish=False)
    assert kinds(mock.run(qps=100, count=5).log) == {"NO_FINISH": 5}


def test_without_retries_a_refusal_is_final(mock):
    mock.behave(error_every=4, error_status=429, retry_after="1", error_once=True)
    log = mock.run(qps=50, count=20).log
    assert kinds(log) == {"NONE": 15, "HTTP": 5}
    assert (log.wire.retries == 0).all()
    assert len(mock.log()["records"]) == 20


def test_retries_wait_as_asked_are_counted_and_latency_runs_on(mock):
    mock.behave(error_every=4, error_status=429, retry_after="1", error_once=True)
    run = mock.run(qps=50, count=20, endpoint=mock.endpoint(retries=2))
    log = run.log
    assert log.ok.all()
    again = log.wire.retries > 0
    assert again.sum() >= 4
    assert (log.latency[again] >= SECOND).all()
    assert run.audit.retried == log.wire.retries.sum()
    records = mock.records()
    assert sum(map(len, records.values())) == 20 + log.wire.retries.sum()
    for query in np.flatnonzero(again).tolist():
        first, second = records[query][0], records[query][1]
        assert second["received"] - first["received"] >= SECOND  # no attempt earlier than asked
    assert any("further attempts" in note for note in run.audit.candidate_notes())


def test_a_retry_beyond_the_deadline_is_not_made(mock):
    mock.behave(error_every=1, error_status=429, retry_after="30")
    log = mock.run(qps=50, count=5, timeout="29 s", endpoint=mock.endpoint(retries=3)).log
    assert kinds(log) == {"HTTP": 5}
    assert (log.wire.retries == 0).all()
    assert (log.latency < 29 * SECOND).all()


def test_retries_end_with_the_last_refusal(mock):
    mock.behave(error_every=1, error_status=503, retry_after="0")
    log = mock.run(qps=50, count=5, endpoint=mock.endpoint(retries=2)).log
    assert kinds(log) == {"HTTP": 5}
    assert (log.wire.retries == 2).all()
    assert (log.wire.http == 503).all()
    assert (log.wire.received > 0).all()


def test_a_broken_connection_is_tried_again_where_that_is_declared(mock):
    mock.behave(drop_every=4, reset=True, tokens=8)
    log = mock.run(qps=20, count=12, endpoint=mock.endpoint(retries=3)).log
    assert log.ok.all()
    assert (log.wire.retries > 0).sum() >= 3
    assert (log.wire.chunks == 8).all()  # those of the broken attempt are not counted


@pytest.mark.parametrize(
    ("tried", "after", "pause"),
    [
        (0, None, 0.5),
        (1, None, 1),
        (3, None, 4),
        (9, None, 8),
        (0, "2", 2),
        (0, "nonsense", 0.5),
        (0, "-5", 0),
    ],
)
def test_the_pause_before_a_retry(tried, after, pause):
    assert pause_ns(tried, after) == pause * SECOND


def test_a_date_in_retry_after_is_a_time_to_wait_for():
    assert pause_ns(0, "Fri, 31 Dec 1999 23:59:59 GMT") == 0
    assert pause_ns(0, "Wed, 31 Dec 2098 23:59:59 GMT") > 1000 * SECOND


def closed_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def test_an_endpoint_that_is_not_there_fails_every_request(mock):
    endpoint = OpenAIEndpoint(f"http://127.0.0.1:{closed_port()}/v1", model="m").load(None)
    log = mock.run(qps=100, count=10, endpoint=endpoint).log
    assert kinds(log) == {"CONNECT": 10}
    assert not log.answered.any()
    assert reasons(log) == ["no connection: Connection refused"]


def test_all_refused_is_no_latency_of_0(mock):
    mock.behave(error_every=1)
    log = mock.run(qps=100, count=10).log
    assert not log.ok.any()
    assert (log.latency > 0).all()


@pytest.fixture
def server(serving):
    """A server that sends given bytes to whoever connects, and then does nothing."""

    def begin(answer, *, close=False):
        def serve(connection):
            connection.recv(65536)
            connection.sendall(answer)
            while not close and connection.recv(65536):
                pass

        return OpenAIEndpoint(f"{serving(serve)}v1", model="m").load(None)

    return begin


def test_bytes_that_are_no_http_are_told_as_such(mock, server):
    log = mock.run(qps=100, count=3, endpoint=server(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")).log
    assert kinds(log) == {"PROTOCOL": 3}


def test_a_server_that_closes_without_a_word_is_a_broken_connection(mock, server):
    log = mock.run(qps=100, count=3, endpoint=server(b"", close=True)).log
    assert kinds(log) == {"RESET": 3}


def test_an_interim_answer_is_no_answer(mock, server):
    body = b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"
    answer += b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer += body
    log = mock.run(qps=100, count=3, endpoint=server(answer)).log
    assert log.answers == ["x", "x", "x"]


def test_what_answers_say_of_themselves_is_told(mock, server):
    body = b'{"model": "m-2", "system_fingerprint": "fp_1", '
    body += b'"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}'
    answer = b"HTTP/1.1 200 OK\r\nServer: acme/2\r\nVia: 1.1 cdn\r\nOpenAI-Version: 2020-10-01\r\n"
    answer += b"X-Model-Version: 7\r\nX-Served-By: node-3\r\nX-Else: 1\r\nContent-Type: application/json\r\n"
    answer += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    said = mock.run(qps=100, count=3, endpoint=server(answer + body)).conditions["answers_say"]
    assert said == {
        "finish_reason": ["length"],
        "model": ["m-2"],
        "openai-version": ["2020-10-01"],
        "server": ["acme/2"],
        "system_fingerprint": ["fp_1"],
        "via": ["1.1 cdn"],
        "x-model-version": ["7"],
        "x-served-by": ["node-3"],
    }


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(mock, server):
    body = b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    log = mock.run("single_stream", count=4, endpoint=server(2 * (answer % (len(body), body)))).log
    assert "PROTOCOL" in kinds(log)
    assert log.ok.sum() == 0


def test_a_server_that_never_answers_ends_at_the_time_out(mock, server):
    log = mock.run(qps=100, count=5, timeout="500 ms", endpoint=server(b"")).log
    assert kinds(log) == {"TIMEOUT": 5}
    assert (log.latency >= SECOND // 2).all()


def test_a_name_that_does_not_exist_is_told_in_a_sentence(mock):
    from pytest_procure.errors import ProvisionError

    endpoint = OpenAIEndpoint("http://nowhere.invalid/v1", model="m").load(None)
    with pytest.raises(ProvisionError, match=r"the host nowhere\.invalid cannot be found"):
        mock.run(qps=100, count=5, endpoint=endpoint)


def test_answers_are_counted_by_what_ended_them_and_errors_are_those_of_failures(mock):
    mock.behave(cut_every=4, error_every=5)
    run = mock.run(qps=100, count=40, endpoint=mock.endpoint(load_processes=2))
    assert run.conditions["ended_by"] == {"stop": 24, "length": 8}
    assert reasons(run.log) == ["HTTP 500: the mock refuses"]
    assert len(run.log.errors) == 8
