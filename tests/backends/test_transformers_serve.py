"""`transformers serve`: how its streams differ from others', and that they are measured all the same."""

import http.client
from dataclasses import replace

import numpy as np
import pytest
from test_contract import transformers_serve

from pytest_procure.backends.endpoints import sse
from pytest_procure.backends.endpoints.exchange import fields_of
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.datasets import Dataset
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario

pytestmark = pytest.mark.servers
QUESTIONS = ["hello", "bar dal fat", "x gax"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transformers")
    declared, _ = transformers_serve(folder)
    running = declared.load(folder)
    yield running
    running.close()


@pytest.fixture
def endpoint(server, tmp_path):
    """Ask the same server in another way."""

    def ask(**changed):
        url = f"http://127.0.0.1:{server.target.port}/v1"
        return replace(server._declared.endpoint, url=url, **changed).load(tmp_path)

    return ask


def run(loaded):
    data = Dataset.from_arrays("questions", inputs=QUESTIONS)
    scenario = Scenario.declare("closed_loop", concurrency=2, count=20, warmup=2, timeout="60 s")
    return drive(loaded, data.slice(), scenario).log


def test_a_stream_begins_with_a_role_and_ends_with_usage_and_without_an_end_mark(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.target.port, timeout=60)
    connection.request("POST", server.target.path, server.body("hello"), fields_of(server.target))
    payloads, _ = sse.events(connection.getresponse().read())
    connection.close()
    assert b'"role":"assistant"' in payloads[0]
    assert b"content" not in payloads[0]
    assert b'"finish_reason":"length"' in payloads[-1]
    assert b'"completion_tokens":6' in payloads[-1]


def test_every_token_of_a_stream_has_a_time_and_is_counted(server):
    log = run(server)
    assert log.ok.all(), log.errors
    assert (log.wire.chunks == 6).all()
    assert (log.output_tokens == 6).all()
    assert np.array_equal(log.input_tokens, [len(QUESTIONS[at].split()) for at in log.samples])
    assert (log.wire.cached == -1).all()
    assert (log.wire.first_token > log.wire.headers).all()  # the role came with the head
    assert (log.wire.first_token < log.wire.last_token).all()
    assert all(len(answer.split()) == 6 for answer in log.answers)


def test_an_answer_in_one_piece_says_what_the_stream_says(server, endpoint):
    assert endpoint(stream=False).predict(QUESTIONS) == server.predict(QUESTIONS)


@pytest.mark.parametrize("stream", [True, False])
def test_completions_are_answered_too(endpoint, stream):
    log = run(endpoint(kind="completions", stream=stream))
    assert log.ok.all(), log.errors
    assert (log.output_tokens == 6).all()


def test_another_model_s_name_is_refused_in_the_server_s_words(endpoint):
    log = run(endpoint(model="tiny-2"))
    assert (log.wire.failure == Failure.HTTP).all()
    assert all("HTTP 400: Server is pinned to 'tiny'" in text for text in log.errors.values())
