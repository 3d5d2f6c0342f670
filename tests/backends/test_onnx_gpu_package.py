"""onnxruntime's package for GPUs on a machine without one: `make test-onnx-gpu` installs it."""

import ctypes
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
import tiny_onnx as tiny
from contract import refuses

from pytest_procure.backends import OnnxRuntime


def _installed():
    try:
        return bool(version("onnxruntime-gpu"))
    except PackageNotFoundError:
        return False


def _driver():
    try:
        return bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


pytestmark = [
    pytest.mark.skipif(not _installed(), reason="onnxruntime-gpu is not installed (`make test-onnx-gpu`)"),
    pytest.mark.skipif(_driver(), reason="there is an NVIDIA driver (`make test-gpu`)"),
]
CPU = "CPUExecutionProvider"


@pytest.fixture
def base(tmp_path):
    (tmp_path / "rows.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    return tmp_path


@pytest.mark.parametrize("provider", ["CUDAExecutionProvider", "TensorrtExecutionProvider"])
@pytest.mark.parametrize("after", [[], [CPU]])
def test_a_gpu_that_is_asked_for_and_not_there_is_an_error_and_no_run_on_the_cpu(base, provider, after):
    refuses(OnnxRuntime("rows.onnx", providers=[provider, *after]), base, f"{provider} was asked for, but")


def test_the_processor_is_still_there_when_it_is_asked_for(base):
    loaded = OnnxRuntime("rows.onnx", providers=[CPU], decode="argmax").load(base)
    assert loaded.device == "cpu"
    assert list(loaded.predict(np.array([[1, 2, 9]], dtype=np.float32))) == [2]
