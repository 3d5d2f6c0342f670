import contextlib
from pathlib import Path

import numpy as np
import pytest
import tiny_onnx as tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.backends import precision
from pytest_procure.errors import ProvisionError

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
        ("NF4 (QLoRA)", {"nf4"}),
        ("4-bit", {"int4", "nf4", "fp4"}),
        ("8 bit", {"int8", "fp8"}),
        ("high", set()),
        ("print8", set()),
        ("", set()),
    ],
)
def test_the_words_of_an_offer_are_read(said, meant):
    assert precision.declared(said) == meant


FP32, UINT8, INT8, INT32, INT64, FP16, BF16 = 1, 2, 3, 6, 7, 10, 16
TYPES = {FP32: "f4", UINT8: "u1", INT8: "i1", INT32: "i4", INT64: "i8", FP16: "f2", BF16: "u2"}


def tensor(name, size, kind=FP32):
    return tiny.tensor(name, kind, np.ones(size, dtype=TYPES[kind]))


@pytest.fixture
def model(tmp_path):
    """Write a model: of a graph from `x` to `y`, and of bytes behind it."""

    def write(nodes, tensors=(), more=b""):
        body = tiny.graph(nodes, [tiny.port("x")], [tiny.port("y")], tensors)
        (tmp_path / "m.onnx").write_bytes(tiny.model(body) + more)
        return tmp_path / "m.onnx"

    return write


@pytest.fixture
def found(model):
    """What is read of a model's weights."""
    return lambda *graph: precision.of_onnx(model(*graph), shown="m.onnx")


def test_weights_are_counted_by_their_type(found):
    nodes = [tiny.node("Add", ["x", "w"], ["z"]), tiny.node("Mul", ["z", "h"], ["y"])]
    assert found(nodes, [tensor("w", 30), tensor("h", 10, FP16)]) == {"fp16": 0.25, "fp32": 0.75}


def test_weights_in_branches_count_and_so_do_those_that_branches_use(found):
    inner = tiny.graph([tiny.node("Add", ["w", "h"], ["z"])], [], [tiny.port("z")], [tensor("h", 4, FP16)])
    assert found([tiny.node("If", ["x"], ["y"], then_branch=inner)], [tensor("w", 12)]) == {
        "fp16": 0.25,
        "fp32": 0.75,
    }


@pytest.mark.parametrize(("bits", "size"), [(4, 16), (8, 8), (2, 32)])
def test_packed_weights_count_by_their_bits(found, bits, size):
    nodes = [tiny.node("MatMulNBits", ["x", "w", "s"], ["y"], bits=bits)]
    shares = {f"int{bits}": size / (size + 4), "fp32": 4 / (size + 4)}
    assert found(nodes, [tensor("w", 8, UINT8), tensor("s", 4)]) == pytest.approx(shares, abs=1e-6)


QUANTISED = tiny.node("DequantizeLinear", ["q", "s", "z"], ["w"])
IN_INT8 = [tensor("q", 12, INT8), tensor("s", 1), tensor("z", 1, INT8)]
DECOY = tensor("decoy", 300)


@pytest.mark.parametrize(
    "unused",
    [
        [],
        [tiny.node("Identity", ["decoy"], ["nobody"])],
        [tiny.node("Shape", ["decoy"], ["nobody"])],
        [tiny.node("If", ["x"], ["b"], then_branch=tiny.graph([], [], [tiny.port("decoy")]))],
    ],
    ids=["alone", "by a node for nobody", "by its shape", "by a branch for nobody"],
)
def test_a_tensor_that_no_answer_follows_from_is_no_weight(found, unused):
    shares = {"fp32": 0.071429, "int8": 0.928571}
    assert found([QUANTISED, tiny.node("MatMul", ["x", "w"], ["y"]), *unused], [*IN_INT8, DECOY]) == shares
    shaped = [QUANTISED, tiny.node("Shape", ["decoy"], ["n"]), tiny.node("Expand", ["w", "n"], ["e"])]
    assert found([*shaped, tiny.node("MatMul", ["x", "e"], ["y"])], [*IN_INT8, DECOY]) == shares


def test_an_operator_that_no_answer_follows_from_says_nothing(found):
    nodes = [tiny.node("Add", ["x", "w"], ["y"]), tiny.node("QuantizeLinear", ["x", "w"], ["nobody"])]
    assert found(nodes, [tensor("w", 3)]) == {"fp32": 1.0}


@pytest.fixture
def layers(model):
    """What is read of a model's layers."""
    return lambda *graph: precision.in_onnx(model(*graph), shown="m.onnx")


def test_weights_that_change_nothing_do_not_hide_what_the_layers_are_of(layers):
    nodes = [
        QUANTISED,
        tiny.node("MatMul", ["x", "w"], ["h"]),
        tiny.node("MatMul", ["h", "w"], ["g"]),
        tiny.node("ReduceSum", ["decoy"], ["sum"]),
        tiny.node("Mul", ["sum", "nought"], ["n"]),
        tiny.node("Add", ["g", "n"], ["y"]),
    ]
    weights, found = layers(nodes, [*IN_INT8, tensor("decoy", 10_000), tensor("nought", 1)])
    assert weights["int8"] < 0.01
    assert found == {"int8": 1.0}


def test_a_layer_is_of_what_most_of_its_weights_are(layers):
    nodes = [
        tiny.node("Conv", ["x", "w", "b"], ["a"]),
        cast("half", "v", FP32),
        tiny.node("Gemm", ["a", "v"], ["c"]),
        tiny.node("MatMulNBits", ["c", "q", "s"], ["d"], bits=4),
        tiny.node("MatMul", ["d", "x"], ["e"]),  # of which neither is a weight
        tiny.node("Mul", ["e", "w"], ["y"]),
    ]
    tensors = [tensor("w", 30), tensor("b", 3, FP16), tensor("half", 30, FP16), tensor("q", 16, UINT8)]
    _, found = layers(nodes, [*tensors, tensor("s", 4)])
    assert found == pytest.approx({"fp16": 1 / 3, "fp32": 1 / 3, "int4": 1 / 3}, abs=1e-6)


def test_a_layer_within_a_function_counts_at_each_call(layers):
    body = [tiny.node("MatMul", ["a", "k"], ["b"])]
    nodes = [tiny.node("F", ["x", "w"], ["h"]), tiny.node("F", ["h", "q"], ["y"])]
    inside = tiny.field(4, "a") + tiny.field(4, "k") + tiny.field(5, "b") + tiny.field(7, body[0])
    more = tiny.field(25, tiny.field(1, "F") + inside)
    assert layers(nodes, [tensor("w", 9), tensor("q", 9, FP16)], more)[1] == {"fp16": 0.5, "fp32": 0.5}


def cast(source, target, to):
    return tiny.node("Cast", [source], [target], to=to)


@pytest.mark.parametrize(
    ("stored", "chain", "used"),
    [
        (FP32, [cast("w", "v", FP16)], "fp16"),
        (FP16, [cast("w", "v", FP32)], "fp16"),
        (FP32, [cast("w", "c", BF16), cast("c", "v", FP32)], "bf16"),
        (FP32, [tiny.node("Transpose", ["w"], ["t"]), cast("t", "v", FP16)], "fp16"),
        (INT8, [cast("w", "v", FP32)], "int8"),
        (INT32, [cast("w", "v", FP32)], "int32"),
        (INT32, [tiny.node("DequantizeLinear", ["w", "one"], ["v"])], "int32"),
        (INT64, [cast("w", "v", FP16)], "int64"),
        (FP32, [tiny.node("CastLike", ["w", "half"], ["v"])], "fp16"),
        (FP32, [cast("x", "h", FP16), tiny.node("CastLike", ["w", "h"], ["v"])], "fp16"),
    ],
)
def test_weights_count_as_the_narrowest_that_they_are_converted_to(found, stored, chain, used):
    tensors = [tensor("w", 1000, stored), tensor("one", 1), tensor("half", 1, FP16)]
    assert found([*chain, tiny.node("MatMul", ["x", "v"], ["y"])], tensors)[used] > 0.99


def test_weights_that_are_used_twice_count_as_both(found):
    nodes = [
        cast("w", "v", FP16),
        tiny.node("MatMul", ["x", "v"], ["h"]),
        tiny.node("Add", ["h", "w"], ["y"]),
    ]
    assert found(nodes, [tensor("w", 10)]) == {"fp16": 0.5, "fp32": 0.5}


def test_a_conversion_of_what_depends_on_the_input_says_nothing_of_the_weights(found):
    nodes = [tiny.node("MatMul", ["x", "w"], ["z"]), cast("z", "y", FP16)]
    assert found(nodes, [tensor("w", 10)]) == {"fp32": 1.0}


def test_whole_numbers_are_no_weights_where_they_stay_whole(found):
    nodes = [tiny.node("Gather", ["w", "i"], ["g"]), tiny.node("Add", ["x", "g"], ["y"])]
    assert found(nodes, [tensor("w", 10), tensor("i", 90, INT64)]) == {"fp32": 1.0}


def function(name, inputs, outputs, nodes, *parts):
    ports = [tiny.field(4, each) for each in inputs] + [tiny.field(5, each) for each in outputs]
    return tiny.field(
        25, tiny.field(1, name) + b"".join([*ports, *(tiny.field(7, n) for n in nodes), *parts])
    )


def constant(name, value):
    return tiny.node("Constant", [], [name]) + tiny.field(
        5, tiny.field(1, "value") + tiny.field(5, value) + tiny.field(20, 4)
    )


def test_what_a_function_of_the_model_does_to_weights_counts(found):
    body = [cast("a", "h", FP16), constant("k", tensor("", 30)), tiny.node("Add", ["h", "k"], ["b"])]
    nodes = [tiny.node("Half", ["w"], ["v"]), tiny.node("MatMul", ["x", "v"], ["y"])]
    assert found(nodes, [tensor("w", 10)], function("Half", "a", "b", body)) == {"fp16": 0.25, "fp32": 0.75}


def test_functions_that_call_each_other_without_end_are_refused(found):
    with pytest.raises(ProvisionError, match="call each other without end"):
        found([tiny.node("F", ["x"], ["y"])], (), function("F", "a", "b", [tiny.node("F", ["a"], ["b"])]))


def test_an_attribute_in_two_parts_is_one(found):
    name, kind = tiny.field(1, "value"), tiny.field(20, 4)
    parts = tiny.field(5, tiny.field(1, 40)) + tiny.field(5, tiny.field(2, INT8) + tiny.field(9, bytes(40)))
    nodes = [
        tiny.node("Constant", [], ["q"]) + tiny.field(5, name + parts + kind),
        QUANTISED,
        tiny.node("MatMul", ["x", "w"], ["y"]),
    ]
    assert found(nodes, IN_INT8[1:])["int8"] > 0.9


def test_attributes_that_are_lists_of_numbers_are_weights(found):
    numbers = tiny.field(1, "coefficients") + tiny.field(7, bytes(120)) + tiny.field(20, 6)
    nodes = [tiny.node("LinearClassifier", ["x"], ["z"]) + tiny.field(5, numbers), cast("h", "g", FP32)]
    assert found([*nodes, tiny.node("Add", ["z", "g"], ["y"])], [tensor("h", 10, FP16)]) == {
        "fp16": 0.25,
        "fp32": 0.75,
    }


def test_of_tensors_of_one_name_the_last_counts_as_in_the_runtime(found):
    nodes = [tiny.node("MatMul", ["x", "w"], ["y"])]
    assert found(nodes, [tensor("w", 300), tensor("w", 3, FP16)]) == {"fp16": 1.0}


def test_a_group_that_onnx_does_not_know_hides_no_weights(found):
    nodes = [QUANTISED, tiny.node("MatMul", ["x", "w"], ["y"])]
    assert found(nodes, IN_INT8, bytes.fromhex("a306 a406")) == found(nodes, IN_INT8)


def test_what_cannot_be_read_is_said_to_have_nothing(found, tmp_path):
    assert found([tiny.node("EPContext", ["x", "w"], ["y"])], [tensor("w", 10)]) == {}
    (tmp_path / "m.ORT").write_bytes(b"    ORTM")
    assert precision.of_onnx(tmp_path / "m.ORT", shown="m.ORT") == {}


@pytest.mark.skipif(not DIGITS.is_dir(), reason="the example suite is not there")
def test_the_models_of_the_example_are_what_their_vendors_say():
    assert precision.of_onnx(DIGITS / "vendor-a-fp32.onnx", shown="m.onnx") == {"fp32": 1.0}
    assert precision.of_onnx(DIGITS / "vendor-b-int8.onnx", shown="m.onnx")["int8"] == 1.0


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
    assert precision.of_onnx(tmp_path / "m.onnx", shown="m.onnx") == {"fp32": 1.0}
    quantize_dynamic(tmp_path / "m.onnx", tmp_path / "q.onnx")
    assert precision.of_onnx(tmp_path / "q.onnx", shown="m.onnx")["int8"] == 1.0


@settings(derandomize=True, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_harm(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("m") / "m.onnx"
    file.write_bytes(content)
    with contextlib.suppress(ProvisionError):
        found = precision.of_onnx(file, shown="m.onnx")
        assert all(0 <= share <= 1 for share in found.values())


@settings(derandomize=True, max_examples=200)
@given(st.data())
def test_a_model_with_a_broken_byte_is_read_without_harm(tmp_path_factory, data):
    inner = tiny.graph([tiny.node("Add", ["w", "h"], ["z"])], [], [tiny.port("z")], [tensor("h", 4, FP16)])
    nodes = [QUANTISED, tiny.node("If", ["x"], ["b"], then_branch=inner), tiny.node("F", ["b"], ["y"])]
    whole = tiny.model(tiny.graph(nodes, [tiny.port("x")], [tiny.port("y")], IN_INT8))
    whole += function("F", "a", "b", [cast("a", "b", FP16)])
    content = bytearray(whole)
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("m") / "m.onnx"
    file.write_bytes(content)
    with contextlib.suppress(ProvisionError):
        assert all(0 <= share <= 1 for share in precision.of_onnx(file, shown="m.onnx").values())


def test_autocast_computes_in_its_own_precision():
    class Parameter:
        dtype = "torch.float32"

        def numel(self):
            return 10

    assert precision.of_torch([Parameter()], None) == {"fp32": 1.0}
    assert precision.of_torch([Parameter()], "bfloat16") == {"fp32": 1.0, "bf16": 1.0}
