"""The contract that any backend can be held to: each promise is told when it is broken."""

import json
import subprocess
import sys
import threading
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import tiny_onnx as tiny
from tiny_gguf import DESK, tiny_gguf
from tiny_llama import tiny_llama
from triton_server import triton

from pytest_procure.backends import (
    Command,
    Function,
    HttpJson,
    KServeV2,
    LoadedEndpoint,
    OnnxRuntime,
    OpenAIEndpoint,
    Pipeline,
    Served,
    Stage,
    TorchModule,
)
from pytest_procure.backends.server import free_port
from pytest_procure.datasets import Dataset
from pytest_procure.driver.log import Status
from pytest_procure.scenarios import Scenario
from pytest_procure.testing import backend_contract

HERE = Path(__file__).parent
ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)
WRONG = np.zeros((2, 4), dtype=np.float32)


def doubles(batch):
    return [2 * value for value in batch]


def function(folder):
    return Function(doubles), {"inputs": [1, 2, 3], "expected": [2, 4, 6], "bad_input": [{"a": 1}, None]}


def onnx_labels(folder):
    pytest.importorskip("onnxruntime")
    (folder / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    asked = {"inputs": ROWS, "expected": [2, 0, 1], "bad_input": WRONG}
    return OnnxRuntime("m.onnx", decode="argmax"), asked


def onnx_rows(folder):
    onnx_labels(folder)
    return OnnxRuntime("m.onnx"), {"inputs": ROWS, "expected": list(ROWS), "bad_input": WRONG}


def torch_module(folder):
    torch = pytest.importorskip("torch")
    return TorchModule(torch.nn.Linear(3, 3)), {"inputs": ROWS, "bad_input": WRONG}


def torch_labels(folder):
    torch = pytest.importorskip("torch")
    return TorchModule(torch.nn.Identity(), decode="argmax"), {"inputs": ROWS, "expected": [2, 0, 1]}


def pipeline(folder):
    rows, asked = onnx_rows(folder)
    label = Stage("label", lambda rows: [int(np.argmax(row)) for row in rows])
    return Pipeline([("rows", rows), label]), asked | {"expected": [2, 0, 1]}


ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["input"] == "bad":
        print(json.dumps({"id": asked["id"], "error": "no"}), flush=True)
    else:
        print(json.dumps({"id": asked["id"], "output": asked["input"] * 2}), flush=True)
"""


def command(folder):
    (folder / "vendor.py").write_text(ECHO)
    declared = Command([sys.executable, "vendor.py"], environment=["VENDOR_KEY"])
    asked = {"inputs": ["a", "b", "c"], "expected": ["aa", "bb", "cc"], "bad_input": ["bad", "bad"]}
    return declared, asked


def stand_in(endpoint, **named):
    named.setdefault("environment", ["VENDOR_KEY"])
    return Served([sys.executable, str(HERE / "stand_in.py"), "{port}"], endpoint, ready="/health", **named)


CHAT = OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="m")
TEXTS = {"inputs": ["a", "b c", "d"], "expected": ["A ", "B C ", "D "], "bad_input": [3, None]}


def served_chat(folder):
    return stand_in(CHAT), TEXTS


def served_json(folder):
    asked = HttpJson("http://127.0.0.1:{port}/upper", output=("output",))
    return stand_in(asked), {"inputs": ["a", "b", "c"], "expected": ["A", "B", "C"], "bad_input": [3, None]}


def served_tensors(folder, extension="JSON"):
    asked = KServeV2("http://127.0.0.1:{port}", model="doubler")
    rows = {"inputs": ROWS, "expected": list(2 * ROWS), "bad_input": WRONG}
    return stand_in(asked, settings={"EXTENSION": extension}), rows


def served_raw_tensors(folder):
    return served_tensors(folder, "binary")


def llama_server(folder):
    """llama.cpp's own server, with a model that answers nonsense, always the same."""
    pytest.importorskip("xllamacpp")
    tiny_gguf(folder / "tiny.gguf")
    endpoint = OpenAIEndpoint(
        "http://127.0.0.1:{port}/v1", model="tiny", options={"max_tokens": 6, "temperature": 0}
    )
    return llama(endpoint), {"inputs": ["hello", "you and me", "x"], "bad_input": [3, None]}


def llama_json(folder):
    """The same server asked in its own JSON, which is nobody's standard."""
    pytest.importorskip("xllamacpp")
    tiny_gguf(folder / "tiny.gguf")
    asked = {"prompt": "$sample", "n_predict": 6, "temperature": 0}
    endpoint = HttpJson("http://127.0.0.1:{port}/completion", template=asked, output=("content",))
    return llama(endpoint), {"inputs": ["hello", "you and me", "x"], "bad_input": [3, None]}


def llama(endpoint):
    """Serve a tiny model."""
    return Served(
        [sys.executable, str(DESK / "llm_server.py"), "tiny.gguf", "{port}", "1"],
        endpoint,
        ready="/health",
        files=["tiny.gguf"],
    )


DOUBLER = """
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse

class Doubler(MLModel):
    async def load(self):
        return True

    async def predict(self, payload):
        x = self.decode(payload.inputs[0], default_codec=NumpyCodec)
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("y", 2 * x)])
"""


def ml_server(folder):
    """MLServer, with a model that doubles."""
    pytest.importorskip("mlserver")
    row = {"datatype": "FP32", "shape": [-1, 3]}
    model = {"name": "doubler", "implementation": "doubler.Doubler"}
    model |= {"inputs": [{"name": "x", **row}], "outputs": [{"name": "y", **row}]}
    (folder / "model-settings.json").write_text(json.dumps(model))
    (folder / "settings.json").write_text(json.dumps({"parallel_workers": 0, "host": "127.0.0.1"}))
    (folder / "doubler.py").write_text(DOUBLER)
    ports = {f"MLSERVER_{each}_PORT": str(free_port()) for each in ("GRPC", "METRICS")}
    served = Served(
        [str(Path(sys.executable).with_name("mlserver")), "start", "."],
        KServeV2("http://127.0.0.1:{port}", model="doubler"),
        ready="/v2/models/doubler/ready",
        settings={"PYTHONPATH": ".", "MLSERVER_HTTP_PORT": "{port}", **ports},
    )
    return served, {"inputs": ROWS, "expected": list(2 * ROWS), "bad_input": WRONG}


def triton_server(folder):
    """Triton, with a model that doubles; tensors go as raw bytes."""
    asked = KServeV2("http://127.0.0.1:{port}", model="doubler")
    rows = {"inputs": ROWS, "expected": list(2 * ROWS), "bad_input": WRONG}
    return triton(folder, asked, "doubler"), rows


def transformers_serve(folder):
    """The server of Hugging Face's transformers, with a model that answers nonsense, always the same."""
    pytest.importorskip("transformers")
    tiny_llama(folder / "tiny")
    program = str(Path(sys.executable).with_name("transformers"))
    served = Served(
        [program, "serve", "tiny", "--device", "cpu", "--host", "127.0.0.1", "--port", "{port}"],
        OpenAIEndpoint(
            "http://127.0.0.1:{port}/v1", model="tiny", options={"max_tokens": 6, "temperature": 0}
        ),
        ready="/health",
        files=["tiny/model.safetensors"],
        settings={"HF_HUB_OFFLINE": "1"},
        version=f"transformers {version('transformers')}",
    )
    return served, {"inputs": ["hello", "bar dal fat", "x gax"], "bad_input": [3, None]}


HERE_AND_NOW = [
    function,
    onnx_labels,
    onnx_rows,
    torch_module,
    torch_labels,
    pipeline,
    command,
    served_chat,
    served_json,
    served_tensors,
    served_raw_tensors,
]
REAL_SERVERS = [
    pytest.param(each, marks=pytest.mark.servers)
    for each in (llama_server, llama_json, ml_server, triton_server)
]
# It takes seven seconds and more to start, and the contract starts a server twelve times.
SLOW = pytest.param(transformers_serve, marks=pytest.mark.servers)
ENDPOINTS = [served_chat, served_json, served_tensors, served_raw_tensors, *REAL_SERVERS, SLOW]


def named(case):
    return case.__name__ if callable(case) else None


@pytest.mark.parametrize("case", [*HERE_AND_NOW, *REAL_SERVERS], ids=named)
def test_it_keeps_the_contract(tmp_path, monkeypatch, case):
    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    declared, asked = case(tmp_path)
    backend_contract(declared, base=tmp_path, **asked)


@pytest.mark.parametrize("case", ENDPOINTS, ids=named)
def test_the_endpoint_of_a_server_that_runs_already_keeps_it_too(tmp_path, monkeypatch, case):
    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    served, asked = case(tmp_path)
    running = served.load(tmp_path)
    try:
        url = served.endpoint.url.replace("{port}", str(running.target.port))
        backend_contract(replace(served.endpoint, url=url), base=tmp_path, **asked)
    finally:
        running.close()


@pytest.mark.parametrize("case", ENDPOINTS, ids=named)
def test_a_run_on_a_server_answers_every_request(tmp_path, monkeypatch, case):
    from pytest_procure.driver.endpoint.drive import drive

    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    served, asked = case(tmp_path)
    running = served.load(tmp_path)
    assert isinstance(running, LoadedEndpoint)  # else it would be driven as a backend of this process
    try:
        data = Dataset.from_arrays("asked", inputs=asked["inputs"])
        done = drive(running, data.slice(), Scenario.declare("closed_loop", concurrency=2, count=60))
    finally:
        running.close()
    assert (done.log.status == Status.OK).all(), done.log.errors
    assert done.endings == ()
    assert done.conditions["server"]["starts"] == 1


class Declared:
    """A backend of somebody else's, which breaks one promise."""

    def __init__(self, **broken):
        self.broken = broken

    def load(self, base):
        return Loaded(base, self.broken)


class Loaded:
    """See above."""

    releases_gil = True

    def __init__(self, base, broken):
        self.broken = broken
        self.base = base
        self.owner = threading.get_ident()
        self.kept = []

    @property
    def device(self):
        return self.broken.get("device", "cpu")

    def predict(self, inputs):
        return self.broken.get("predict", lambda mine, batch: [x * 2 for x in batch])(self, inputs)

    def describe(self):
        return self.broken.get("describe", lambda mine: {"runtime": "theirs"})(self)

    def close(self):
        return self.broken.get("close", lambda mine: None)(self)


def reused(mine, batch):
    mine.kept[:] = [np.array([x * 2]) for x in batch] if not mine.kept else mine.kept
    for place, x in enumerate(batch):
        mine.kept[place][0] = x * 2
    return mine.kept[: len(batch)]


def owned(mine, batch):
    if threading.get_ident() != mine.owner:
        raise RuntimeError("another thread")
    return [x * 2 for x in batch]


def changes(mine, batch):
    answers = [x * 2 for x in batch]
    batch[:] = [0] * len(batch)
    return answers


LEFT = []


def closes(mine):
    LEFT.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))


def test_a_backend_of_somebody_elses_keeps_it(tmp_path):
    backend_contract(Declared(), base=tmp_path, inputs=[1, 2, 3], expected=[2, 4, 6])


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"predict": lambda mine, batch: sorted(x * 2 for x in batch)}, "asked backwards"),
        ({"predict": lambda mine, batch: [x * 2 + (len(batch) > 2) for x in batch]}, "asked in batches of 3"),
        ({"predict": lambda mine, batch: [x * 2 for x in batch][:2]}, "2 outputs for 3 inputs"),
        ({"predict": lambda mine, batch: iter(batch)}, "without a length"),
        ({"predict": lambda mine, batch: [x * 2 for x in batch] or [0]}, "1 outputs for an empty batch"),
        ({"predict": reused}, "after two more calls"),
        ({"predict": owned}, "another thread"),
        ({"predict": changes}, "changed its inputs"),
        ({"describe": lambda mine: {"x": {1, 2}}}, "not JSON serializable"),
        ({"describe": lambda mine: {"x": (1, 2)}}, "does not survive JSON"),
        ({"describe": lambda mine: {"x": float("nan")}}, "raised ValueError"),
        ({"describe": lambda mine: {"key": "hunter2hunter2"}}, "value of a secret"),
        ({"describe": lambda mine: {"file": f"{mine.base}/m"}}, "it holds the folder"),
        ({"device": ""}, "`device` is empty"),
        ({"device": None}, "`device` is None"),
        ({"close": lambda mine: 1 / 0}, "ZeroDivisionError"),
    ],
)
def test_a_broken_promise_is_told(tmp_path, broken, told):
    with pytest.raises(AssertionError, match="breaks its contract") as refusal:
        backend_contract(
            Declared(**broken),
            base=tmp_path,
            inputs=[1, 2, 3],
            expected=[2, 4, 6],
            secrets=["hunter2hunter2"],
        )
    assert told in str(refusal.value)


def test_a_wrong_answer_is_told(tmp_path):
    with pytest.raises(AssertionError, match="asked one by one: output 1 is 4, expected 5"):
        backend_contract(Declared(), base=tmp_path, inputs=[1, 2, 3], expected=[2, 5, 6])


def test_a_bad_input_that_is_answered_is_told(tmp_path):
    with pytest.raises(AssertionError, match="the bad input was answered"):
        backend_contract(Declared(), base=tmp_path, inputs=[1, 2, 3], bad_input=[4])


@pytest.mark.skipif(sys.platform != "linux", reason="children are counted in /proc")
def test_processes_that_have_left_their_parent_and_its_session_are_told_and_ended(tmp_path):
    script = "(setsid sleep 600 >&- 2>&- & echo $!) >> left"

    def leaves(_):
        subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, check=True)

    with pytest.raises(AssertionError, match=r"1 process\(es\) are left"):
        backend_contract(Declared(close=leaves), base=tmp_path, inputs=[1, 2, 3])
    pids = (tmp_path / "left").read_text().split()
    assert pids
    assert not [pid for pid in pids if Path("/proc", pid).exists()]


@pytest.mark.skipif(sys.platform != "linux", reason="children are counted in /proc")
def test_processes_that_end_by_themselves_are_not_left(tmp_path):
    def ends(_):
        # Its output is closed when the last of them has ended.
        subprocess.run(["/bin/sh", "-c", "(setsid true &)"], check=True, stdout=subprocess.PIPE)

    backend_contract(Declared(close=ends), base=tmp_path, inputs=[1, 2, 3])


@pytest.mark.skipif(sys.platform != "linux", reason="children are counted in /proc")
def test_a_process_that_is_left_is_told(tmp_path):
    try:
        with pytest.raises(AssertionError, match=r"process\(es\) are left"):
            backend_contract(Declared(close=closes), base=tmp_path, inputs=[1, 2, 3])
    finally:
        for process in LEFT:
            process.communicate(b"\n")
