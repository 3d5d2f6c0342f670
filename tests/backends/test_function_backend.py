import subprocess
import sys

import numpy as np
import pytest
from contract import keeps_the_contract

from pytest_procure.backends import Function
from pytest_procure.errors import DeclarationError


def doubles(batch):
    return [2 * value for value in batch]


def test_a_function_keeps_the_contract(tmp_path):
    keeps_the_contract(Function(doubles), tmp_path, [([1], [2]), ([1, 2, 3], [2, 4, 6])])


def test_a_function_keeps_the_contract_on_arrays(tmp_path):
    sums = Function(lambda batch: batch.sum(axis=1), name="sums")
    keeps_the_contract(sums, tmp_path, [(np.ones((4, 3)), [3.0] * 4)])


def test_a_generator_answers_as_a_list(tmp_path):
    assert Function(lambda batch: (value + 1 for value in batch)).load(tmp_path).predict([1, 2]) == [2, 3]


@pytest.mark.parametrize("one", ["text", b"bytes", {"a": 1}])
def test_one_answer_for_a_whole_batch_is_no_sequence_of_answers(tmp_path, one):
    with pytest.raises(TypeError, match="expected one output for each input"):
        Function(lambda batch: one).load(tmp_path).predict([1, 2, 3, 4])


def test_what_the_function_raises_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError):
        Function(lambda batch: 1 / 0).load(tmp_path).predict([1])


def test_device_and_threading_are_as_declared(tmp_path):
    loaded = Function(doubles, device="cuda:1", releases_gil=True).load(tmp_path)
    assert (loaded.device, loaded.releases_gil) == ("cuda:1", True)


def test_a_function_is_disclosed_by_name_and_source(tmp_path):
    described = Function(doubles).load(tmp_path).describe()
    assert described["function"].endswith("test_function_backend.doubles")
    assert len(described["source_sha256"]) == 64


def test_a_function_without_source_says_so(tmp_path):
    assert Function(len).load(tmp_path).describe()["source_sha256"] is None


def test_what_cannot_be_called_is_refused_when_declared():
    with pytest.raises(DeclarationError, match="expected a function"):
        Function(3)


def test_declaring_a_backend_imports_no_runtime():
    code = (
        "import sys; from pytest_procure.backends import OnnxRuntime, TorchModule;"
        "OnnxRuntime('m.onnx'); TorchModule(dict);"
        "assert not {'onnxruntime', 'torch', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_backend_is_an_attribute_error():
    with pytest.raises(ImportError, match="OnnxRuntim"):
        from pytest_procure.backends import OnnxRuntim  # noqa: F401 - it is the promise that this fails
