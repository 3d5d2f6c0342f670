"""llama.cpp's own server: chat, completions and embeddings, what it reports of tokens, and what of itself."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from tiny_gguf import tiny_gguf

from pytest_procure.backends import OpenAIEndpoint, Served
from pytest_procure.datasets import Dataset
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario

pytestmark = pytest.mark.servers
CHAT = OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="tiny", options={"max_tokens": 6, "temperature": 0})
QUESTIONS = ["hello you and me", "x"]
#: One that gives embeddings too, which the example suite's has no use for.
SERVER = """
import sys, threading, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.port, asked.hostnames = "tiny.gguf", int(sys.argv[1]), ["127.0.0.1"]
asked.n_ctx, asked.n_parallel, asked.embedding = 1024, 1, True
asked.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(asked)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("xllamacpp")
    folder = tmp_path_factory.mktemp("llama")
    tiny_gguf(folder / "tiny.gguf")
    (folder / "server.py").write_text(SERVER)
    running = Served([sys.executable, "server.py", "{port}"], CHAT, ready="/health").load(folder)
    yield running
    running.close()


@pytest.fixture
def asked(server, tmp_path):
    """Ask it in one way, the questions in turns."""

    def ask(**changed):
        changed.setdefault("options", CHAT.options)
        loaded = replace(CHAT, url=f"http://127.0.0.1:{server.target.port}/v1", **changed).load(tmp_path)
        data = Dataset.from_arrays("questions", inputs=QUESTIONS)
        return drive(loaded, data.slice(), Scenario.declare("single_stream", count=20, warmup=2))

    return ask


@pytest.mark.parametrize("kind", ["chat", "completions"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_texts_are_answered_and_tokens_counted(asked, kind, stream):
    run = asked(kind=kind, stream=stream)
    log, said = run.log, run.conditions["answers_say"]
    assert log.ok.all(), log.errors
    assert all(len(answer.split()) == 6 for answer in log.answers)
    assert (log.output_tokens == 6).all()
    assert (log.wire.chunks == (6 if stream else -1)).all()
    assert (log.wire.first_token >= 0).all() == stream
    assert said["finish_reason"] == ["length"]
    assert said["server"] == ["llama.cpp"]
    assert said["system_fingerprint"]


def test_tokens_from_its_cache_are_told(asked):
    log = asked().log
    assert (log.wire.cached >= 0).all()
    assert (log.wire.cached < log.input_tokens).all()
    assert log.wire.cached.any()  # both prompts begin alike


def test_an_embedding_is_a_vector_that_costs_its_input_tokens(asked):
    log = asked(kind="embeddings", options={}).log
    assert log.ok.all(), log.errors
    vectors = np.array(log.answers)
    assert vectors.shape == (20, 64)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert (log.input_tokens > 0).all()
    assert (log.output_tokens == 0).all()
