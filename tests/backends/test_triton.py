"""NVIDIA's own Triton: tensors of each datatype as raw bytes, a real network, a server that is killed."""

import http.client
import os
import signal
import socket
from pathlib import Path

import numpy as np
import pytest
from contract import refuses
from triton_server import DATATYPES, DIGITS, remove_shared_memory, triton

from pytest_procure.backends import KServeV2, OnnxRuntime
from pytest_procure.backends.endpoints.exchange import fields_of
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.datasets import Dataset
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario
from pytest_procure.testing import backend_contract

pytestmark = pytest.mark.servers
URL = "http://127.0.0.1:{port}"
CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
WAYS = pytest.mark.parametrize("binary", [True, False], ids=["raw bytes", "JSON"])
SCANS = np.load(DIGITS / "data" / "scans-brighter.npy")[:100, np.newaxis] / np.float32(255)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One Triton with a model of each kind, and its address."""
    folder = tmp_path_factory.mktemp("triton")
    running = triton(folder, KServeV2(URL, model="every"), "every", "digits", "faulty").load(folder)
    yield running
    running.close()


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.target.port}"


@pytest.fixture
def own(tmp_path):
    """A Triton for a test that kills it."""
    running = triton(tmp_path, KServeV2(URL, model="doubler"), "doubler").load(tmp_path)
    port = running.target.port
    yield running
    running.close()
    remove_shared_memory(port)


def one_of_each():
    """A tensor of each datatype, with the values at its ends."""
    sample = {}
    for datatype, code in zip(DATATYPES, CODES, strict=False):
        kind = np.dtype(code)
        ends = [np.iinfo, np.finfo][kind.kind == "f"](kind) if kind.kind != "b" else None
        values = [[True, False], [False, False]] if ends is None else [[ends.min, ends.max], [0, 1]]
        sample[datatype] = np.array(values, dtype=kind)
    sample["FP32"][1] = [np.nan, -np.inf]
    return sample | {"BYTES": [["grüß dich", ""], ["a\0b", "x" * 5000]]}


def test_a_tensor_of_each_datatype_comes_back_as_it_was_sent(server):
    sample = one_of_each()
    (given,) = server.predict([sample])
    assert server.describe()["tensors_as"] == "raw bytes"
    for datatype in DATATYPES:
        sent, there = np.asarray(sample[datatype], dtype=object), given[datatype.lower()]
        if datatype != "BYTES":
            sent = sample[datatype]
            assert there.dtype == sent.dtype
        assert np.array_equal(there, sent, equal_nan=there.dtype.kind == "f")


def test_the_bytes_are_raw_on_the_wire_both_ways(server):
    body = server.body(one_of_each())
    size = int(fields_of(server.target)["Inference-Header-Content-Length"])
    assert np.array([-128, 127, 0, 1], dtype=np.int8).tobytes() in body[size:]
    connection = http.client.HTTPConnection("127.0.0.1", server.target.port, timeout=60)
    connection.request("POST", server.target.path, body, fields_of(server.target))
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert 0 < int(answer.headers["Inference-Header-Content-Length"]) < int(answer.headers["Content-Length"])
    connection.close()


@WAYS
def test_a_network_gives_the_labels_that_it_gives_in_this_process(url, binary):
    there = OnnxRuntime(DIGITS / "models" / "vendor-a-fp32.onnx", decode="argmax").load(DIGITS)
    asked = KServeV2(url, model="digits", decode="argmax", binary=binary).load(DIGITS)
    labels = list(there.predict(SCANS))
    assert len(set(labels)) == 10
    assert asked.predict(SCANS) == labels
    there.close()


@WAYS
def test_the_contract_is_kept_by_a_real_network(url, tmp_path, binary):
    scans = SCANS[:5]
    with_labels = KServeV2(url, model="digits", decode="argmax", binary=binary)
    wrong = np.zeros((2, 3), dtype=np.float32)
    backend_contract(with_labels, base=tmp_path, inputs=scans, bad_input=wrong)
    backend_contract(
        KServeV2(url, model="digits", binary=binary), base=tmp_path, inputs=scans, bad_input=wrong
    )


def test_what_triton_does_not_have_is_told_when_it_is_loaded(url, tmp_path):
    refuses(KServeV2(url, model="digit"), tmp_path, "HTTP 404", "unknown model: 'digit'")
    refuses(KServeV2(url, model="digits", version="7"), tmp_path, "'digits' version 7 is not found")
    refuses(
        KServeV2(url, model="digits", inputs={"X": "scan"}),
        tmp_path,
        "unknown input `X`; did you mean `x`? Known: x",
    )
    assert KServeV2(url, model="digits", version="1").load(tmp_path).describe()["model_version"] == "1"


def run(loaded, rows, *, progress=None, count=200):
    data = Dataset.from_arrays("rows", inputs=np.asarray(rows, dtype=np.float32))
    scenario = Scenario.declare("closed_loop", concurrency=2, count=count, warmup=0, timeout="20 s")
    return drive(loaded, data.slice(), scenario, progress=progress)


def test_a_request_that_the_model_refuses_fails_with_triton_s_words_and_others_are_answered(url, tmp_path):
    log = run(KServeV2(url, model="faulty").load(tmp_path), [[1, 2, 3], [13, 0, 0]], count=20).log
    refused = np.asarray(log.samples) == 1
    assert refused.any()
    assert (log.ok == ~refused).all()
    assert all("HTTP 500" in text and "thirteen is out of stock" in text for text in log.errors.values())
    assert (log.wire.failure[refused] == Failure.HTTP).all()


def kills(pid, *, after):
    """Kill a process without warning once so many requests have begun."""

    def look(begun, total):
        del total
        if begun >= after:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    return look


def children(pid):
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_kill_in_the_middle_of_a_run_is_told_and_leaves_no_process_and_the_next_run_gets_a_fresh_one(own):
    (server,) = children(own._server._keeper.pid)
    with_model = [server, *children(server)]
    port = own.target.port
    assert len(with_model) == 2
    done = run(own, [[1, 2, 3], [4, 5, 6], [7, 8, 9]], progress=kills(server, after=50), count=100_000)
    assert done.log.ok[:20].all()
    assert not done.log.ok[-1]
    (ending,) = done.endings
    assert "SIGKILL" in ending.sentence
    assert not ending.by_candidate
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    again = run(own, [[1, 2, 3], [4, 5, 6], [7, 8, 9]], count=60)
    assert again.log.ok.all()
    assert again.conditions["server"]["starts"] == 2
    assert all(map(gone, with_model))


def test_of_a_server_of_somebody_else_s_that_is_killed_every_request_is_told(own, tmp_path):
    (server,) = children(own._server._keeper.pid)
    theirs = KServeV2(f"http://127.0.0.1:{own.target.port}", model="doubler").load(tmp_path)
    log = run(theirs, [[1, 2, 3], [4, 5, 6], [7, 8, 9]], progress=kills(server, after=50), count=20_000).log
    assert log.ok[:20].all()
    failed = ~log.ok
    assert failed[-1]
    assert set(log.wire.failure[failed]) <= {Failure.RESET, Failure.CONNECT}
    assert set(np.flatnonzero(failed)) == set(log.errors)
