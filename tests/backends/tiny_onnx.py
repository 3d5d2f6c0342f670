"""ONNX files of a few bytes, written by hand: the tests need no package that makes models.

Field numbers are those of onnx.proto, IR version 8.
"""

from collections.abc import Sequence

import numpy as np

FLOAT, INT64, STRING = 1, 7, 8


def field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def node(kind, inputs: Sequence[str], outputs: Sequence[str], **attributes):
    """An operator; its attributes are whole numbers and graphs."""
    parts = [field(1, name) for name in inputs] + [field(2, name) for name in outputs] + [field(4, kind)]
    for name, value in attributes.items():
        held = field(3, value) + field(20, 2) if isinstance(value, int) else field(6, value) + field(20, 5)
        parts.append(field(5, field(1, name) + held))
    return b"".join(parts)


def port(name, kind=FLOAT, shape=("n", 3)):
    sizes = [field(1, field(1, size) if isinstance(size, int) else field(2, size)) for size in shape]
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, b"".join(sizes))))


def weights(name, values):
    array = np.asarray(values, dtype="<f4")
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, FLOAT) + field(8, name) + field(9, array.tobytes())


def tensor(name, kind, array):
    """A tensor of any type, whose elements lie in the array's bytes."""
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, kind) + field(8, name) + field(9, array.tobytes())


def external(name, shape, location):
    dims = b"".join(field(1, size) for size in shape)
    where = field(13, field(1, "location") + field(2, location))
    return dims + field(2, FLOAT) + field(8, name) + where + field(14, 1)


def graph(nodes, inputs, outputs, tensors=()):
    return (
        b"".join(field(1, one) for one in nodes)
        + field(2, "g")
        + b"".join(field(5, one) for one in tensors)
        + b"".join(field(11, one) for one in inputs)
        + b"".join(field(12, one) for one in outputs)
    )


def model(body):
    return field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 17))


def adds(tensor):
    """A model that adds `w` to its rows of three."""
    return model(graph([node("Add", ["x", "w"], ["y"])], [port("x")], [port("y")], [tensor]))
