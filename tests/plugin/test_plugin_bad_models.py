"""Models that are not what they should be: each is named in the record, and the other offers are tested."""

import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

TINY = Path(__file__).parents[1] / "backends" / "tiny_onnx.py"
TESTS = """
@pytest.mark.scenario("single_stream", count=100)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""
CONFTEST = """
from pytest_procure import OnnxRuntime, TorchModule

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    sound = Candidate("sound", backend=OnnxRuntime("sound.onnx", decode="argmax"))
    return [sound, Candidate("other", backend=OTHER)]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    labels = np.arange(100) % 3
    rows = np.eye(3, dtype=np.float32)[labels] + np.arange(100, dtype=np.float32)[:, None] / 1000
    return {"rows": lambda: Dataset.from_arrays("rows", inputs=rows, references=labels)}
"""


@pytest.fixture
def tiny():
    pytest.importorskip("onnxruntime")
    return SimpleNamespace(**runpy.run_path(str(TINY)))


@pytest.fixture
def beside(suite, tiny):
    """Runs a sound offer and another one, and gives the other's result."""
    (suite.path / "sound.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    suite.tests(TESTS)

    def run(other, *head):
        suite.conftest("\n".join([*head, CONFTEST.replace("OTHER", other)]))
        ended = suite.run("--procure-report")
        assert ended.status == 1
        assert ended.verdicts["test_reads[sound]"] == "accept"
        assert "Traceback" not in ended.text
        return ended.results["test_reads[other]"]

    return run


def test_weights_outside_the_models_folder_are_refused_by_name(suite, tiny, beside):
    (suite.path / "m").mkdir()
    (suite.path / "secret.bin").write_bytes(b"\0" * 12)
    (suite.path / "m" / "bad.onnx").write_bytes(tiny.adds(tiny.external("w", (3,), "../secret.bin")))
    result = beside('OnnxRuntime("m/bad.onnx", decode="argmax")')
    assert result["verdict"] == "not tested"
    assert result["problem"] == (
        "`m/bad.onnx` reads its weights from `../secret.bin`, outside its own folder; that is refused"
    )


def test_a_model_of_the_wrong_input_shape_fails_its_requests_and_is_rejected(suite, tiny, beside):
    ports = [tiny.port(name, shape=("n", 4)) for name in ("x", "y")]
    body = tiny.graph([tiny.node("Identity", ["x"], ["y"])], ports[:1], ports[1:])
    (suite.path / "wide.onnx").write_bytes(tiny.model(body))
    result = beside('OnnxRuntime("wide.onnx", decode="argmax")')
    (run,) = result["runs"]
    assert (result["verdict"], run["failures"]) == ("reject", {"error": 100})
    assert "Got: 3 Expected: 4" in run["error_texts"][0]


@pytest.fixture(scope="session")
def torch():
    """Imported before Pytester remembers which modules there are: it cannot be imported twice."""
    return pytest.importorskip("torch")


class Poison:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_poisoned_pickle_is_refused_by_name_and_not_run(torch, suite, beside):
    mark = suite.path / "ran"
    torch.save({"weight": Poison(mark)}, suite.path / "poisoned.pt")
    make = "def network():\n    import torch\n    return torch.nn.Linear(3, 3)\n"
    result = beside('TorchModule(network, state="poisoned.pt", decode="argmax")', make)
    assert result["verdict"] == "not tested"
    assert "`poisoned.pt` would run `posix.mkdir` when read, which is refused" in result["problem"]
    assert not mark.exists()


def test_an_accelerator_that_is_not_there_is_refused_by_name(torch, beside):
    make = "def network():\n    import torch\n    return torch.nn.Linear(3, 3)\n"
    result = beside('TorchModule(network, device="cuda:77", decode="argmax")', make)
    assert result["verdict"] == "not tested"
    assert "has no device `cuda:77`" in result["problem"]
