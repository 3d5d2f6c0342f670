"""onnxruntime's package for OpenVINO, on a processor: `make test-onnx-openvino` installs it."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
import tiny_onnx as tiny
from contract import refuses

from pytest_procure import Candidate
from pytest_procure.backends import OnnxRuntime
from pytest_procure.backends.onnx_files import external_files
from pytest_procure.disclosure import deviations
from pytest_procure.errors import ProvisionError
from pytest_procure.testing import backend_contract


def _installed():
    try:
        return bool(version("onnxruntime-openvino"))
    except PackageNotFoundError:
        return False


pytestmark = pytest.mark.skipif(
    not _installed(), reason="onnxruntime-openvino is not installed (`make test-onnx-openvino`)"
)
onnxruntime = pytest.importorskip("onnxruntime")
OPENVINO, CPU = "OpenVINOExecutionProvider", "CPUExecutionProvider"
DIGITS = Path(__file__).parents[2] / "example_suite" / "form_digits" / "models"
ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)


@pytest.fixture
def base(tmp_path):
    (tmp_path / "rows.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    nodes = [tiny.node("Add", ["x", "w"], ["h"]), tiny.node("Hardmax", ["h"], ["y"])]  # which it has not
    parts = [tiny.port("x", shape=("n", 3))], [tiny.port("y", shape=("n", 3))]
    (tmp_path / "mixed.onnx").write_bytes(
        tiny.model(tiny.graph(nodes, *parts, [tiny.weights("w", [0, 0, 0])]))
    )
    return tmp_path


def asked(base, model="rows.onnx", providers=(OPENVINO,), **more):
    loaded = OnnxRuntime(model, providers=list(providers), **more).load(base)
    return loaded, loaded.describe()


def test_it_keeps_the_contract(base):
    declared = OnnxRuntime("rows.onnx", providers=[OPENVINO], decode="argmax")
    backend_contract(declared, base=base, inputs=ROWS, expected=[2, 0, 1], bad_input=np.zeros((1, 4), "f4"))


@pytest.mark.parametrize("model", ["vendor-a-fp32.onnx", "vendor-b-int8.onnx"])
def test_its_labels_are_those_of_the_processors_own_and_every_node_is_proved_to_run_on_it(model):
    ours, told = asked(DIGITS, model, decode="argmax")
    theirs, _ = asked(DIGITS, model, [CPU], decode="argmax")
    shape = [n if isinstance(n, int) else 32 for n in told["inputs"][0]["shape"]]
    pictures = np.random.default_rng(5).random(shape, dtype=np.float32)
    assert list(ours.predict(pictures)) == list(theirs.predict(pictures))
    assert set(told["observed"]["nodes"]) == {OPENVINO}
    assert told["observed"]["device"] == "cpu"
    word = "int8" if "int8" in model else "fp32"
    assert told["observed"]["precision"][word] == 1.0
    for said, wrong in ((word, False), ("fp32" if word == "int8" else "int8", True)):
        found = deviations(Candidate("c", backend=len, precision=said), told)
        assert [each.what for each in found if each.invalidates] == ["precision"] * wrong


def test_it_computes_in_as_many_threads_as_are_declared(base):
    n = 1000
    weights = tiny.weights("w", np.full((n, n), 1 / n))
    ports = [tiny.port("x", shape=("n", n))], [tiny.port("y", shape=("n", n))]
    (base / "wide.onnx").write_bytes(
        tiny.model(tiny.graph([tiny.node("MatMul", ["x", "w"], ["y"])], *ports, [weights]))
    )
    loaded, told = asked(base, "wide.onnx", threads=1)
    assert told["observed"]["threads"] == 1
    assert told["provider_options"] == {OPENVINO: {"num_of_threads": "1"}}
    samples = np.ones((n, n), dtype=np.float32)
    loaded.predict(samples)
    before = _worked()
    for _ in range(10):
        loaded.predict(samples)
    after = _worked()
    busy = [ticks - before.get(thread, 0) for thread, ticks in after.items()]
    assert max(busy) > 10
    assert sum(busy) - max(busy) <= 0.1 * max(busy)


def _worked():
    """Processor time of each thread of this process, in ticks."""
    found = {}
    for thread in Path("/proc/self/task").iterdir():
        told = (thread / "stat").read_text().rpartition(")")[2].split()
        found[thread.name] = int(told[11]) + int(told[12])
    return found


@pytest.mark.parametrize(
    "options", [{"num_of_threads": "2"}, {"load_config": json.dumps({"CPU": {"INFERENCE_NUM_THREADS": 2}})}]
)
def test_other_threads_of_its_own_options_are_a_deviation(base, options):
    _, told = asked(base, providers=[(OPENVINO, options)])
    (found,) = deviations(Candidate("c", backend=len), told)
    assert (found.what, found.declared, found.observed) == ("threads", "1", "2")


@pytest.mark.parametrize("after", [[], [CPU]])
@pytest.mark.parametrize("device", ["GPU", "GPU.1", "NPU"])
def test_a_device_that_is_asked_for_and_not_there_is_an_error_and_no_run_on_the_cpu(base, device, after):
    providers = [(OPENVINO, {"device_type": device}), *after]
    wanted = device.partition(".")[0]
    refuses(
        OnnxRuntime("rows.onnx", providers=providers),
        base,
        f"{OPENVINO} was asked for, but ",
        f"OpenVINO finds no {wanted} here, only CPU",
    )


def test_nodes_that_it_leaves_to_the_processors_own_provider_are_found_out(base):
    refuses(OnnxRuntime("mixed.onnx", providers=[OPENVINO]), base, "would run parts of the model on the CPU")
    loaded, told = asked(base, "mixed.onnx", [OPENVINO, CPU])
    assert np.array(loaded.predict(ROWS)).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert told["observed"]["nodes"] == {CPU: 1, OPENVINO: 1}
    (found,) = deviations(Candidate("c", backend=len), told)
    assert found.sentence == f"provider: declared `{OPENVINO}`, observed 1 of 2 nodes on {CPU}"


def test_a_precision_that_it_cannot_compute_in_is_an_error_and_no_run_on_the_cpu(base):
    providers = [(OPENVINO, {"device_type": "CPU", "precision": "FP16"}), CPU]
    refuses(OnnxRuntime("rows.onnx", providers=providers), base, f"{OPENVINO} was asked for, but onnxruntime")


def test_what_it_has_compiled_into_a_file_belongs_to_the_model(base):
    options = onnxruntime.SessionOptions()
    for name, value in (("enable", "1"), ("embed_mode", "0"), ("file_path", str(base / "context.onnx"))):
        options.add_session_config_entry(f"ep.context_{name}", value)
    onnxruntime.InferenceSession(base / "rows.onnx", options, providers=[OPENVINO])
    (found,) = external_files(base / "context.onnx", shown="context.onnx").values()
    assert found.suffix == ".bin"
    assert found.stat().st_size > 100
    found.rename(base.parent / found.name)
    with pytest.raises(ProvisionError, match=r"keeps a part that is compiled in .* which is not there"):
        external_files(base / "context.onnx", shown="context.onnx")
