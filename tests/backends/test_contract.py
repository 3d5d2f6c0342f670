"""The contract that any backend can be held to: each promise is told when it is broken."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import tiny_onnx as tiny

from pytest_procure.backends import Command, Function, OnnxRuntime, Pipeline, Stage, TorchModule
from pytest_procure.testing import backend_contract

ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)


def doubles(batch):
    return [2 * value for value in batch]


def test_a_function_keeps_the_contract(tmp_path):
    backend_contract(
        Function(doubles), base=tmp_path, inputs=[1, 2, 3], expected=[2, 4, 6], bad_input=[{"a": 1}, None]
    )


def test_onnxruntime_keeps_the_contract(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    wrong = np.zeros((2, 4), dtype=np.float32)
    labels = OnnxRuntime("m.onnx", decode="argmax")
    backend_contract(labels, base=tmp_path, inputs=ROWS, expected=[2, 0, 1], bad_input=wrong)
    backend_contract(OnnxRuntime("m.onnx"), base=tmp_path, inputs=ROWS, expected=list(ROWS), bad_input=wrong)


def test_torch_keeps_the_contract(tmp_path):
    torch = pytest.importorskip("torch")
    wrong = np.zeros((2, 4), dtype=np.float32)
    module = TorchModule(torch.nn.Linear(3, 3))
    backend_contract(module, base=tmp_path, inputs=ROWS, bad_input=wrong)
    backend_contract(
        TorchModule(torch.nn.Identity(), decode="argmax"), base=tmp_path, inputs=ROWS, expected=[2, 0, 1]
    )


def test_a_pipeline_keeps_the_contract(tmp_path):
    (tmp_path / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    declared = Pipeline(
        [
            ("rows", OnnxRuntime("m.onnx")),
            Stage("label", lambda rows: [int(np.argmax(row)) for row in rows]),
        ]
    )
    wrong = np.zeros((2, 4), dtype=np.float32)
    backend_contract(declared, base=tmp_path, inputs=ROWS, expected=[2, 0, 1], bad_input=wrong)


ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["input"] == "bad":
        print(json.dumps({"id": asked["id"], "error": "no"}), flush=True)
    else:
        print(json.dumps({"id": asked["id"], "output": asked["input"] * 2}), flush=True)
"""


def test_a_command_keeps_the_contract(tmp_path, monkeypatch):
    (tmp_path / "vendor.py").write_text(ECHO)
    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    declared = Command([sys.executable, "vendor.py"], environment=["VENDOR_KEY"])
    backend_contract(
        declared, base=tmp_path, inputs=["a", "b", "c"], expected=["aa", "bb", "cc"], bad_input=["bad", "bad"]
    )


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
def test_a_process_that_is_left_is_told(tmp_path):
    try:
        with pytest.raises(AssertionError, match=r"process\(es\) are left"):
            backend_contract(Declared(close=closes), base=tmp_path, inputs=[1, 2, 3])
    finally:
        for process in LEFT:
            process.communicate(b"\n")
