import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_onnx as tiny
from contract import keeps_the_contract, refuses

from pytest_procure.backends import OnnxRuntime
from pytest_procure.backends.onnx_providers import (
    computed_in,
    device_of,
    given,
    lacking,
    refuse_variables,
    tf32_notes,
)
from pytest_procure.errors import DeclarationError

pytest.importorskip("onnxruntime")

ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)
DIGITS = Path(__file__).parents[2] / "example_suite" / "form_digits"


@pytest.fixture
def base(tmp_path):
    """A conftest's folder with a model that adds (0, 0, 0), so that it gives back its rows."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "rows.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    return tmp_path


def write(base, content, name="other.onnx"):
    (base / "models" / name).write_bytes(content)
    return f"models/{name}"


def test_an_onnx_model_keeps_the_contract(base):
    declared = OnnxRuntime("models/rows.onnx", decode="argmax")
    keeps_the_contract(declared, base, [(ROWS, [2, 0, 1]), (ROWS[1:2], [0]), (ROWS[2:], [1])])


@pytest.mark.skipif(not DIGITS.is_dir(), reason="the example suite is not there")
@pytest.mark.parametrize("model", ["vendor-a-fp32.onnx", "vendor-b-int8.onnx"])
def test_a_batch_gets_the_answers_of_its_samples_one_by_one(model):
    scans = np.load(DIGITS / "data" / "scans-clean.npy").reshape(-1, 1, 8, 8)[:40].astype(np.float32) / 255
    loaded = OnnxRuntime(f"models/{model}", decode="argmax").load(DIGITS)
    singly = [loaded.predict(scans[i : i + 1])[0] for i in range(len(scans))]
    assert list(loaded.predict(scans)) == singly
    assert len(set(singly)) == 10


def test_without_a_decoder_rows_are_the_outputs(base):
    assert np.array_equal(OnnxRuntime("models/rows.onnx").load(base).predict(ROWS), ROWS)


def test_a_decoder_of_the_buyers_own_gives_the_outputs(base):
    loaded = OnnxRuntime("models/rows.onnx", decode=lambda y: y.sum(axis=1).tolist()).load(base)
    assert loaded.predict(ROWS) == [12, 9, 9]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_row_with_nan_is_no_answer(base, rows):
    broken = ROWS[:rows].copy()
    broken[0, 1] = np.nan
    answers = OnnxRuntime("models/rows.onnx", decode="argmax").load(base).predict(broken)
    assert list(answers) == [None, 0, 1][:rows]


def test_a_model_of_several_inputs_and_outputs_takes_and_gives_mappings(base):
    nodes = [tiny.node("Add", ["a", "b"], ["sum"]), tiny.node("Sub", ["a", "b"], ["rest"])]
    body = tiny.graph(nodes, [tiny.port("a"), tiny.port("b")], [tiny.port("sum"), tiny.port("rest")])
    declared = OnnxRuntime(write(base, tiny.model(body)), inputs={"b": "second"}, dtype="float32")
    answers = declared.load(base).predict([{"a": [3, 4, 5], "second": [1, 1, 1]}])
    assert answers[0]["sum"].tolist() == [4, 5, 6]
    assert answers[0]["rest"].tolist() == [2, 3, 4]


def test_a_model_of_text_takes_a_list_of_texts(base):
    text = [tiny.port(name, tiny.STRING, ("n",)) for name in ("x", "y")]
    body = tiny.graph([tiny.node("Identity", ["x"], ["y"])], text[:1], text[1:])
    assert list(OnnxRuntime(write(base, tiny.model(body))).load(base).predict(["a", "bc"])) == ["a", "bc"]


def test_samples_are_converted_only_where_declared(base):
    doubles = ROWS.astype(np.float64)
    with pytest.raises(RuntimeError, match=r"dtype='float32'"):
        OnnxRuntime("models/rows.onnx").load(base).predict(doubles)
    converted = OnnxRuntime("models/rows.onnx", decode="argmax", dtype="float32").load(base)
    assert converted.predict(doubles) == [2, 0, 1]


def test_samples_of_another_shape_fail_in_one_line(base):
    with pytest.raises(RuntimeError, match="Got: 4 Expected: 3") as failure:
        OnnxRuntime("models/rows.onnx").load(base).predict(np.zeros((2, 4), dtype=np.float32))
    assert "\n" not in str(failure.value)


def test_a_missing_model_is_told_with_the_nearest_name(base):
    refuses(OnnxRuntime("models/row.onnx"), base, "`models/row.onnx`", "did you mean `models/rows.onnx`?")


def test_a_missing_folder_and_a_folder_are_told(base):
    refuses(OnnxRuntime("weights/rows.onnx"), base, "nor its folder")
    refuses(OnnxRuntime("models"), base, "is a folder")


@pytest.mark.parametrize("content", [b"", b"hello, this is no model" * 9, b"\x08\x08"])
def test_what_is_no_model_is_told(base, content):
    told = "cannot load" if content == b"\x08\x08" else "cannot be read to its end as an ONNX model"
    refuses(OnnxRuntime(write(base, content)), base, "`models/other.onnx`", told)


def test_an_unknown_provider_is_told_with_the_nearest(base):
    asked = OnnxRuntime("models/rows.onnx", providers=["CPUExecutionProvide"])
    refuses(asked, base, "did you mean `CPUExecutionProvider`?")


def test_a_provider_that_is_not_installed_is_told_with_what_is(base):
    asked = OnnxRuntime("models/rows.onnx", providers=["TensorrtExecutionProvider"])
    refuses(asked, base, "unknown execution provider `TensorrtExecutionProvider`", "CPUExecutionProvider")


# The CPU package brings a provider that runs none of these nodes: what a GPU provider without its libraries
# looks like.
IDLE = "AzureExecutionProvider"


def test_a_provider_that_would_leave_nodes_to_the_cpu_is_refused(base, capfd):
    refuses(OnnxRuntime("models/rows.onnx", providers=[IDLE]), base, IDLE, "on the CPU")


def test_a_provider_that_runs_nothing_is_refused_even_with_the_cpu_allowed(base):
    both = OnnxRuntime("models/rows.onnx", providers=[IDLE, "CPUExecutionProvider"])
    refuses(both, base, IDLE, "none of the model's nodes", "CPUExecutionProvider: 1")


def test_a_provider_that_fails_in_a_run_is_not_replaced_by_the_cpu(base):
    # onnxruntime's own switch; a provider that fails takes an accelerator to see.
    assert OnnxRuntime("models/rows.onnx").load(base)._session._enable_fallback is False


def test_a_model_cannot_bring_its_own_session_settings(base, monkeypatch):
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    refuses(OnnxRuntime("models/rows.onnx"), base, "ORT_LOAD_CONFIG_FROM_MODEL=1", "unset it")


def test_two_distributions_in_one_environment_are_refused(base, monkeypatch):
    site = base / "site"
    for name in ("onnxruntime", "onnxruntime_gpu"):
        info = site / f"{name}-9.9.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 9.9\n"
        )
    monkeypatch.syspath_prepend(str(site))
    refuses(OnnxRuntime("models/rows.onnx"), base, "onnxruntime 9.9 and onnxruntime-gpu 9.9")


def test_without_onnxruntime_the_command_to_run_is_told(base, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    refuses(OnnxRuntime("models/rows.onnx"), base, "pip install 'pytest-procure[onnx]'")


def test_argmax_needs_scores_of_classes(base):
    image = [tiny.port(name, shape=("n", 3, 2)) for name in ("x", "y")]
    body = tiny.graph([tiny.node("Identity", ["x"], ["y"])], image[:1], image[1:])
    refuses(
        OnnxRuntime(write(base, tiny.model(body)), decode="argmax"), base, "decode='argmax' needs one output"
    )


def test_an_unknown_model_input_is_told_with_the_nearest(base):
    refuses(OnnxRuntime("models/rows.onnx", inputs={"xx": "a"}), base, "unknown model input `xx`")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"threads": 0}, "threads=0"),
        ({"graph_optimisation": "al"}, "did you mean `all`?"),
        ({"providers": "CPUExecutionProvider"}, "expected a list"),
        ({"providers": []}, "expected a list"),
        ({"decode": "argmx"}, "expected 'argmax'"),
        ({"decode": "top5"}, "'top-5'"),
        ({"dtype": "float33"}, "no numpy type"),
        ({"providers": [("CPUExecutionProvider",)]}, "expected a name, or (name, options)"),
        ({"providers": [None]}, "expected a name, or (name, options)"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(arguments, told):
    with pytest.raises(DeclarationError) as refusal:
        OnnxRuntime("models/rows.onnx", **arguments)
    assert told in str(refusal.value)


def test_a_path_has_to_be_one():
    with pytest.raises(DeclarationError, match="expected the path of a model file"):
        OnnxRuntime(b"model")


def test_the_set_up_is_disclosed(base):
    described = OnnxRuntime("models/rows.onnx", graph_optimisation="basic", threads=2).load(base).describe()
    assert described["providers"] == ["CPUExecutionProvider"]
    assert described["provider_nodes"] == {"CPUExecutionProvider": 1}
    assert (described["threads"], described["graph_optimisation"]) == (2, "basic")
    assert described["files"][0]["file"] == "rows.onnx"
    assert described["inputs"] == [{"name": "x", "type": "tensor(float)", "shape": ["n", 3]}]


def test_the_best_few_are_labels_too(base):
    loaded = OnnxRuntime("models/rows.onnx", decode="top-2").load(base)
    broken = ROWS.copy()
    broken[1, 0] = np.nan
    assert loaded.predict(ROWS) == [[2, 1], [0, 1], [1, 2]]
    assert loaded.predict(np.array([[1, 1, 1]], dtype=np.float32)) == [[0, 1]]
    assert loaded.predict(broken)[1] is None


def test_more_best_than_there_are_classes_is_told(base):
    with pytest.raises(TypeError, match="no 5 best a row"):
        OnnxRuntime("models/rows.onnx", decode="top-5").load(base).predict(ROWS)


def test_what_was_observed_is_disclosed_beside_what_was_declared(base):
    told = OnnxRuntime("models/rows.onnx", threads=2).load(base).describe()
    assert told["observed"] == {
        "device": "cpu",
        "providers": ["CPUExecutionProvider"],
        "nodes": {"CPUExecutionProvider": 1},
        "precision": {"fp32": 1.0},
        "layers": {},
        "threads": 2,
        "sha256": told["files"][0]["sha256"],
    }
    assert told["declared"] == {"providers": ["CPUExecutionProvider"], "threads": 2, "sha256": None}


def test_a_model_that_takes_one_size_of_batch_says_which(base):
    fixed = [tiny.port(name, shape=(4, 3)) for name in ("x", "y")]
    body = tiny.graph([tiny.node("Identity", ["x"], ["y"])], fixed[:1], fixed[1:])
    loaded = OnnxRuntime(write(base, tiny.model(body))).load(base)
    assert loaded.describe()["observed"]["batch"] == 4


# Binding, on the processor: on a GPU the same calls put inputs and outputs into its memory


def test_a_bound_session_keeps_the_contract(base):
    declared = OnnxRuntime("models/rows.onnx", decode="argmax", io_binding=True)
    keeps_the_contract(declared, base, [(ROWS, [2, 0, 1]), (ROWS[1:2], [0]), (ROWS[2:], [1])])
    assert declared.load(base).describe()["io_binding"] is True


def test_a_bound_session_gives_all_outputs_by_name(base):
    nodes = [tiny.node("Add", ["a", "b"], ["sum"]), tiny.node("Sub", ["a", "b"], ["rest"])]
    body = tiny.graph(nodes, [tiny.port("a"), tiny.port("b")], [tiny.port("sum"), tiny.port("rest")])
    declared = OnnxRuntime(write(base, tiny.model(body)), dtype="float32", io_binding=True)
    (answer,) = declared.load(base).predict([{"a": [3, 4, 5], "b": [1, 1, 1]}])
    assert (answer["sum"].tolist(), answer["rest"].tolist()) == ([4, 5, 6], [2, 3, 4])


def test_a_bound_sessions_failure_is_one_line(base):
    with pytest.raises(RuntimeError, match="Got: 4 Expected: 3") as failure:
        OnnxRuntime("models/rows.onnx", io_binding=True).load(base).predict(np.zeros((2, 4), np.float32))
    assert "\n" not in str(failure.value)


# Providers

CUDA, TENSORRT = "CUDAExecutionProvider", "TensorrtExecutionProvider"


@pytest.mark.parametrize(
    ("name", "options", "device"),
    [
        ("CPU", {}, "cpu"),
        ("CUDA", {"device_id": "1"}, "cuda:1"),
        ("Tensorrt", {}, "cuda:0"),
        ("MIGraphX", {}, "rocm:0"),
        ("OpenVINO", {}, "cpu"),
        ("OpenVINO", {"device_type": "CPU_FP32"}, "cpu"),
        ("OpenVINO", {"device_type": "GPU.1"}, "openvino:gpu.1"),
        ("Dnnl", {}, "cpu"),
        ("QNN", {}, "qnn"),
    ],
)
def test_where_a_provider_computes(name, options, device):
    assert device_of(f"{name}ExecutionProvider", options) == device


class Package:
    """An onnxruntime that prints what it does not find."""

    def __init__(self, said):
        self._said = said

    def preload_dlls(self):
        print(self._said)  # noqa: T201 - as the package does


def test_a_library_that_cuda_lacks_is_named_with_the_command_that_brings_it(capfd):
    said = "Failed to load libcublasLt.so.13: cannot open shared object file\nPlease follow the guide"
    told = lacking(Package(said), {"CUDAExecutionProvider": {}, "CPUExecutionProvider": {}})
    assert told.startswith("libcublasLt.so.13 cannot be loaded (`pip install 'onnxruntime-gpu[cuda,cudnn]'`")
    assert capfd.readouterr().out == ""
    assert lacking(Package(said), {"CPUExecutionProvider": {}, "OpenVINOExecutionProvider": {}}) == ""


def test_a_missing_driver_is_told(monkeypatch):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", absent)
    assert lacking(Package(""), {CUDA: {}}) == "there is no NVIDIA driver (libcuda.so.1) here"


def test_tensorrts_own_library_is_named_beside_what_else_is_missing(tmp_path):
    folder = tmp_path / "onnxruntime" / "capi"
    folder.mkdir(parents=True)
    (folder / "libonnxruntime_providers_tensorrt.so").write_bytes(
        b"\x7fELF\0libnvinfer.so.99\0libcudart.so\0"
    )
    package = Package("Failed to load libcublas.so.13: no such file")
    package.__file__ = str(folder.parent / "__init__.py")
    told = lacking(package, {TENSORRT: {}, CUDA: {}})
    assert told.startswith("libcublas.so.13 cannot be loaded (")
    assert "; and libnvinfer.so.99 cannot be loaded, which is TensorRT's own (install TensorRT," in told
    assert "libnvinfer" not in lacking(package, {CUDA: {}})


OPENVINO = "OpenVINOExecutionProvider"


@pytest.mark.parametrize("device", ["AUTO", "AUTO:GPU,CPU", "HETERO:GPU,CPU", "multi:CPU"])
def test_a_device_that_openvino_would_choose_by_itself_is_refused(device):
    with pytest.raises(DeclarationError, match=f"`device_type='{device}'` lets OpenVINO choose .* name one"):
        OnnxRuntime("m.onnx", providers=[(OPENVINO, {"device_type": device})])


def test_a_configuration_of_openvino_that_is_no_json_is_refused():
    with pytest.raises(DeclarationError, match=r"`load_config` of OpenVINO.* is no JSON object"):
        OnnxRuntime("m.onnx", providers=[(OPENVINO, {"load_config": "settings.json"})])


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, {}),
        ({"precision": "ACCURACY"}, {}),
        ({"device_type": "GPU"}, {"fp16": 1.0}),
        ({"device_type": "GPU.0", "precision": "FP32"}, {}),
        ({"device_type": "NPU"}, {"fp16": 1.0}),
        ({"device_type": "GPU_FP16"}, {"fp16": 1.0}),
        ({"load_config": '{"CPU": {"INFERENCE_PRECISION_HINT": "bf16"}}'}, {"bf16": 1.0}),
        ({"load_config": '{"GPU": {"INFERENCE_PRECISION_HINT": "f16"}}'}, {}),
    ],
)
def test_what_openvino_computes_in_by_its_options_counts_whatever_the_weights_are(options, found):
    assert computed_in({OPENVINO: options, "CPUExecutionProvider": {}}) == found


def test_openvino_is_given_the_declared_threads_where_its_options_say_nothing_of_them():
    def threads(options):
        return given([(OPENVINO, options)], 3)[OPENVINO].get("num_of_threads")

    assert threads({}) == "3"
    assert threads({"num_of_threads": "5"}) == "5"
    assert threads({"device_type": "GPU"}) is None
    assert threads({"load_config": '{"CPU": {"INFERENCE_NUM_THREADS": "2"}}'}) is None


def test_a_model_that_is_not_the_one_declared_is_refused(base):
    digest = OnnxRuntime("models/rows.onnx").load(base).describe()["files"][0]["sha256"]
    assert OnnxRuntime("models/rows.onnx", sha256=digest.upper()).load(base)
    refuses(OnnxRuntime("models/rows.onnx", sha256="0" * 64), base, "has SHA-256", "another file")


@pytest.mark.parametrize(
    ("provider", "option", "value"),
    [
        (CUDA, "enable_cuda_graph", "1"),
        (CUDA, "enable_cuda_graph", True),
        (TENSORRT, "trt_cuda_graph_enable", "True"),
        ("NvTensorRTRTXExecutionProvider", "nv_cuda_graph_enable", 1),
    ],
)
def test_captured_graphs_are_refused_because_they_answer_from_the_first_inputs(provider, option, value):
    with pytest.raises(DeclarationError, match=f"`{option}` of {provider}: .* answer from the first ones"):
        OnnxRuntime("models/rows.onnx", providers=[(provider, {option: value}), "CPUExecutionProvider"])


@pytest.mark.parametrize("value", ["0", "False", False, 0])
def test_captured_graphs_that_are_switched_off_are_none(value):
    assert OnnxRuntime("models/rows.onnx", providers=[(CUDA, {"enable_cuda_graph": value})])


@pytest.mark.parametrize("bare", [TENSORRT, (TENSORRT, {})])
def test_variables_that_set_up_tensorrt_in_secret_are_refused(base, bare, monkeypatch):
    monkeypatch.setenv("ORT_TENSORRT_UNAVAILABLE", "1")  # set by onnxruntime itself
    refuse_variables([bare])
    monkeypatch.setenv("ORT_TENSORRT_CUDA_GRAPH_ENABLE", "1")
    refuses(OnnxRuntime("models/rows.onnx", providers=[bare]), base, "ORT_TENSORRT_CUDA_GRAPH_ENABLE would")
    refuse_variables([(TENSORRT, {"device_id": "0"}), CUDA])  # with options it reads no variables


@pytest.mark.parametrize(
    ("used", "named"),
    [
        ({CUDA: {"use_tf32": "1"}}, [CUDA]),
        ({CUDA: {"use_tf32": "0"}}, []),
        ({TENSORRT: {"trt_fp16_enable": "0"}, CUDA: {"use_tf32": "0"}}, [TENSORRT]),
        ({TENSORRT: {}, CUDA: {"use_tf32": "1"}}, [CUDA, TENSORRT]),
        ({"CPUExecutionProvider": {}}, []),
    ],
)
def test_providers_that_may_round_to_tf32_are_named(base, used, named, monkeypatch):
    loaded = OnnxRuntime("models/rows.onnx").load(base)
    monkeypatch.setattr(loaded._session, "get_provider_options", lambda: used)
    notes = loaded.describe()["notes"]
    assert notes == tf32_notes(used)
    assert [name for note in notes for name in (CUDA, TENSORRT) if name in note] == named
    loaded._weights = {"fp16": 1.0}
    assert loaded.describe()["notes"] == []


@pytest.mark.parametrize("which", ["input", "output"])
def test_text_that_cannot_be_bound_is_told_when_loaded(base, which):
    """Asked all the same, onnxruntime 1.32 ends the process over an output that is text."""
    kinds = (tiny.STRING, tiny.FLOAT) if which == "input" else (tiny.FLOAT, tiny.STRING)
    cast = tiny.node("Cast", ["x"], ["y"], to=kinds[1])
    ports = [[tiny.port(name, kind)] for name, kind in zip("xy", kinds, strict=True)]
    path = write(base, tiny.model(tiny.graph([cast], *ports)))
    told = f"`{'x' if which == 'input' else 'y'}` is text, which cannot be bound"
    refuses(OnnxRuntime(path, io_binding=True), base, told)
    OnnxRuntime(path).load(base).close()
