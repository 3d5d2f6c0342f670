"""MiniLM as an ONNX graph in fp32, built of the weights that a package ships: no torch, no exporter.

The model is BERT (Devlin et al. 2019) with 6 layers of 384, 12 heads: inputs `input_ids`, `attention_mask`,
`token_type_ids` `(batch, sequence)` int64, output `last_hidden_state` `(batch, sequence, 384)` float32.
"""

import json
import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
HEADS = 12
WIDTH = 384
LAYERS = 6
EPSILON = 1e-12


def read_weights(path):
    """Read a safetensors file: name -> array. The head says where each tensor lies; nothing is executed."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            flat = np.frombuffer(data[8 + size + first : 8 + size + last], dtype="<f4")
            found[name] = flat.reshape(entry["shape"])
    return found


class _Graph:
    """Nodes and their constants, as they are added."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = {}

    def op(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, name, value):
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def number(self, value):
        return self.constant(f"number {value}", np.float32(value))

    def shape(self, *sizes):
        return self.constant(f"shape {sizes}", np.array(sizes, dtype=np.int64))

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def dense(self, x, name):
        weight = self.constant(f"{name}.weight.T", self.weights[f"{name}.weight"].T)
        return self.op("Add", self.op("MatMul", x, weight), self.weight(f"{name}.bias"))

    def normed(self, x, name):
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.number(np.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.number(1))), self.number(0.5))

    def heads(self, x, name):
        split = self.op("Reshape", self.dense(x, name), self.shape(0, 0, HEADS, WIDTH // HEADS))
        return self.op("Transpose", split, perm=[0, 2, 1, 3])

    def attention(self, x, mask, layer):
        query, key, value = (
            self.heads(x, f"{layer}.attention.self.{one}") for one in ("query", "key", "value")
        )
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Div", scores, self.number(np.sqrt(WIDTH // HEADS)))
        mixed = self.op("MatMul", self.op("Softmax", self.op("Add", scores, mask), axis=-1), value)
        joined = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.shape(0, 0, WIDTH))
        out = self.dense(joined, f"{layer}.attention.output.dense")
        return self.normed(self.op("Add", out, x), f"{layer}.attention.output.LayerNorm")

    def layer(self, x, mask, layer):
        x = self.attention(x, mask, layer)
        wide = self.gelu(self.dense(x, f"{layer}.intermediate.dense"))
        return self.normed(
            self.op("Add", self.dense(wide, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm"
        )

    def embedded(self):
        words, kinds, places = (
            self.weight(f"embeddings.{one}_embeddings.weight") for one in ("word", "token_type", "position")
        )
        length = self.op("Slice", self.op("Shape", "input_ids"), self.shape(1), self.shape(2))
        near = self.op("Slice", places, self.shape(0), length, self.shape(0))
        both = self.op(
            "Add", self.op("Gather", words, "input_ids"), self.op("Gather", kinds, "token_type_ids")
        )
        return self.normed(self.op("Add", both, near), "embeddings.LayerNorm")

    def hidden_padding(self):
        """0 where a token stands, a number below all scores where there is padding: `(b, 1, 1, sequence)`."""
        kept = self.op("Cast", self.op("Unsqueeze", "attention_mask", self.shape(1, 2)), to=TensorProto.FLOAT)
        return self.op("Mul", self.op("Sub", self.number(1), kept), self.number(np.finfo(np.float32).min))


def build(weights):
    """Build the model. Returns an `onnx.ModelProto`, checked."""
    graph = _Graph(weights)
    mask = graph.hidden_padding()
    x = graph.embedded()
    for number in range(LAYERS):
        x = graph.layer(x, mask, f"encoder.layer.{number}")
    graph.nodes[-1].output[0] = "last_hidden_state"
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", WIDTH]
    )
    made = helper.make_graph(graph.nodes, "MiniLM-L6", inputs, [output], list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model
