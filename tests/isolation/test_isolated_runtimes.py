"""Backends of every runtime answer from a process of their own as they do in this one."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_procure.backends import OnnxRuntime, TorchModule
from pytest_procure.errors import ProvisionError
from pytest_procure.isolation.hosted import Hosted

ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)
ROWS.flags.writeable = False


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number, value):
    data = value.encode() if isinstance(value, str) else value
    return (
        varint(number << 3) + varint(data)
        if isinstance(data, int)
        else b"".join((varint(number << 3 | 2), varint(len(data)), data))
    )


def negates(path):
    """Write an ONNX model that negates rows of three (onnx.proto, IR version 8)."""
    sizes = field(1, field(2, "n")) + field(1, field(1, 3))
    rows = field(2, field(1, field(1, 1) + field(2, sizes)))
    node = field(1, "x") + field(2, "y") + field(4, "Neg")
    body = field(1, node) + field(2, "g") + field(11, field(1, "x") + rows) + field(12, field(1, "y") + rows)
    path.write_bytes(field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 17)))


def both(declared, base):
    """Give the answers and the disclosures of a backend here, and in a process of its own."""
    told = []
    for backend in (declared, Hosted(declared)):
        loaded = backend.load(base)
        told.append((loaded.predict(ROWS), dict(loaded.describe()), loaded.device))
        loaded.close()
    return told


@pytest.mark.parametrize("decode", [None, "argmax"])
def test_an_onnx_model_answers_as_it_does_here(tmp_path, decode):
    pytest.importorskip("onnxruntime")
    negates(tmp_path / "model.onnx")
    here, there = both(OnnxRuntime("model.onnx", decode=decode), tmp_path)
    assert np.array_equal(here[0], there[0])
    assert type(here[0]) is type(there[0])
    assert there[1] == here[1] | {"isolation": "process"}
    assert here[2] == there[2] == "cpu"


def test_a_torch_module_answers_as_it_does_here(tmp_path):
    torch = pytest.importorskip("torch")
    here, there = both(TorchModule(torch.nn.Linear(3, 2)), tmp_path)
    assert np.array_equal(here[0], there[0])
    assert there[1] == here[1] | {"isolation": "process"}


def test_a_model_that_is_not_there_is_told_as_it_is_here(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(ProvisionError) as here:
        OnnxRuntime("model.onnx").load(tmp_path)
    with pytest.raises(ProvisionError) as there:
        Hosted(OnnxRuntime("model.onnx")).load(tmp_path)
    assert str(here.value) == str(there.value)
