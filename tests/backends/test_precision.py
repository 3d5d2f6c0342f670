from pathlib import Path

import numpy as np
import pytest
import tiny_onnx as tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.backends import precision

DIGITS = Path(__file__).parents[2] / "example_suite" / "form_digits" / "models"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("fp32", {"fp32"}),
        ("Float16 (mixed)", {"fp16"}),
        ("int8, static", {"int8"}),
        ("W4A16 AWQ", {"fp16", "int4"}),
        ("Q8_0", {"int8"}),
        ("Q4_K_M", {"int4"}),
        ("bfloat16", {"bf16"}),
        ("high", set()),
        ("print8", set()),
        ("", set()),
    ],
)
def test_the_words_of_an_offer_are_read(said, meant):
    assert precision.declared(said) == meant


def write(tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    return tmp_path / "m.onnx"


def half(name, values):
    array = np.asarray(values, dtype="<f2")
    return (
        tiny.field(1, len(array)) + tiny.field(2, 10) + tiny.field(8, name) + tiny.field(9, array.tobytes())
    )


def test_weights_are_counted_by_their_type(tmp_path):
    nodes = [tiny.node("Add", ["x", "w"], ["y"])]
    body = tiny.graph(
        nodes, [tiny.port("x")], [tiny.port("y")], [tiny.weights("w", [1] * 30), half("h", [1] * 10)]
    )
    assert precision.of_onnx(write(tmp_path, tiny.model(body))) == {"fp16": 0.25, "fp32": 0.75}


def test_weights_in_subgraphs_and_attributes_count(tmp_path):
    inner = tiny.graph([], [], [tiny.port("z")], [half("h", [1] * 4)])
    nodes = [tiny.node("If", ["c"], ["y"], then_branch=inner)]
    body = tiny.graph(nodes, [tiny.port("x")], [tiny.port("y")])
    assert precision.of_onnx(write(tmp_path, tiny.model(body))) == {"fp16": 1.0}


def test_packed_weights_count_by_their_bits(tmp_path):
    packed = tiny.field(1, 8) + tiny.field(2, 2) + tiny.field(8, "w") + tiny.field(9, bytes(8))
    bits = tiny.field(5, tiny.field(1, "bits") + tiny.field(3, 4) + tiny.field(20, 2))
    nodes = [tiny.node("MatMulNBits", ["x", "w"], ["y"]) + bits]
    body = tiny.graph(nodes, [tiny.port("x")], [tiny.port("y")], [packed, tiny.weights("s", [1] * 4)])
    assert precision.of_onnx(write(tmp_path, tiny.model(body))) == {"fp32": 0.2, "int4": 0.8}


@pytest.mark.skipif(not DIGITS.is_dir(), reason="the example suite is not there")
def test_the_models_of_the_example_are_what_their_vendors_say():
    assert precision.of_onnx(DIGITS / "vendor-a-fp32.onnx") == {"fp32": 1.0}
    assert precision.of_onnx(DIGITS / "vendor-b-int8.onnx")["int8"] == 1.0


def test_a_model_quantised_by_a_real_tool_is_seen(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnxruntime.quantization import quantize_dynamic

    weights = onnx.numpy_helper.from_array(np.ones((32, 32), dtype=np.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    ports = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 32]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, tmp_path / "m.onnx")
    assert precision.of_onnx(tmp_path / "m.onnx") == {"fp32": 1.0}
    quantize_dynamic(tmp_path / "m.onnx", tmp_path / "q.onnx")
    assert precision.of_onnx(tmp_path / "q.onnx")["int8"] == 1.0


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_harm(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("m") / "m.onnx"
    file.write_bytes(content)
    found = precision.of_onnx(file)
    assert all(0 <= share <= 1 for share in found.values())


def test_autocast_computes_in_its_own_precision():
    class Parameter:
        dtype = "torch.float32"

        def numel(self):
            return 10

    assert precision.of_torch([Parameter()], None) == {"fp32": 1.0}
    assert precision.of_torch([Parameter()], "bfloat16") == {"fp32": 1.0, "bf16": 1.0}
