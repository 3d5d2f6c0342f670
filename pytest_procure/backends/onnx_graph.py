"""What stands in an ONNX model, read without running or trusting it: nodes, and tensors by type and size.

The numbers of fields are those of onnx.proto. A field that holds one message and stands there twice is put
together from both, as protobuf does.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field

from .protobuf import BYTES, FIXED, NUMBER, fields, varint

#: More graphs within graphs than protobuf would read.
_DEEPEST = 100
_MOST_DIMENSIONS = 1000
#: AttributeProto.AttributeType -> the field that it says holds the value.
_HELD = {4: 5, 5: 6, 6: 7, 9: 10, 10: 11, 11: 22, 12: 23}
_FLOAT = 1
#: A part of the file: first byte and end.
Span = tuple[int, int]
#: What an operator or a function is found by: domain, name, overload.
Key = tuple[bytes, bytes, bytes]


@dataclass(slots=True)
class Tensor:
    """A tensor's name, TensorProto.DataType and number of elements."""

    name: bytes = b""
    kind: int = 0
    size: int = 0


@dataclass(slots=True)
class Node:
    """An operator, or the call of one of the model's functions."""

    operator: str = ""
    key: Key = (b"", b"", b"")
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)
    numbers: dict[bytes, int] = field(default_factory=dict)  # attributes that are whole numbers
    tensors: list[Tensor] = field(default_factory=list)  # attributes that are tensors
    graphs: list[Graph] = field(default_factory=list)  # the same


@dataclass(slots=True)
class Graph:
    """Nodes by what they make, and tensors by name: of a graph, a branch, or a function."""

    inputs: list[bytes] = field(default_factory=list)
    kinds: dict[bytes, int] = field(default_factory=dict)  # of inputs, where they are told
    outputs: list[bytes] = field(default_factory=list)
    makers: dict[bytes, Node] = field(default_factory=dict)
    tensors: dict[bytes, Tensor] = field(default_factory=dict)
    defaults: list[Tensor] = field(default_factory=list)  # attributes that a function is called without


@dataclass(slots=True)
class Model:
    """A graph, and the functions that it may call."""

    graph: Graph
    functions: dict[Key, Graph]


def read(data: mmap.mmap) -> Model:
    """Read a model. Raises `ValueError` or `IndexError` for what is none."""
    graphs: list[Span] = []
    functions = {}
    for number, wire, first, last in fields(data, 0, len(data)):
        if number == 7 and wire == BYTES:
            graphs.append((first, last))
        elif number == 25 and wire == BYTES:
            key, body = _function(data, (first, last))
            functions[key] = body
    return Model(_graph(data, graphs, 0), functions)


def _all(data: mmap.mmap, spans: list[Span]) -> Iterator[tuple[int, int, int, int]]:
    for first, last in spans:
        yield from fields(data, first, last)


def _graph(data: mmap.mmap, spans: list[Span], depth: int) -> Graph:
    if depth > _DEEPEST:
        raise ValueError("its graphs are nested too deeply")
    graph, dense, sparse, nodes = Graph(), [], [], []
    for number, wire, first, last in _all(data, spans):
        if wire != BYTES:
            continue
        if number == 1:
            nodes.append(_node(data, (first, last), depth))
        elif number == 5:
            dense.append(_tensor(data, [(first, last)]))
        elif number == 12:
            graph.outputs.append(_port(data, (first, last))[0])
        elif number == 11:
            name, kind = _port(data, (first, last))
            graph.inputs.append(name)
            graph.kinds[name] = kind
        elif number == 15:
            sparse.append(_sparse(data, [(first, last)]))
    _add(graph, nodes, dense, sparse)
    return graph


def _add(graph: Graph, nodes: list[Node], dense: list[Tensor], sparse: list[Tensor]) -> None:
    """Put nodes and tensors into a graph; of several of one name onnxruntime takes the last in this order."""
    graph.tensors = {each.name: each for each in dense}
    for node in nodes:
        if node.operator == "Constant" and not node.key[0] and len(node.tensors) == 1:
            graph.tensors.update(dict.fromkeys(node.outputs, node.tensors[0]))
        else:
            graph.makers.update(dict.fromkeys(filter(None, node.outputs), node))
    graph.tensors |= {each.name: each for each in sparse}


def _function(data: mmap.mmap, span: Span) -> tuple[Key, Graph]:
    graph, nodes, defaults, key = Graph(), [], Node(), {1: b"", 10: b"", 13: b""}
    for number, wire, first, last in fields(data, *span):
        if wire != BYTES:
            continue
        if number == 4:
            graph.inputs.append(data[first:last])
        elif number == 5:
            graph.outputs.append(data[first:last])
        elif number == 7:
            nodes.append(_node(data, (first, last), 0))
        elif number == 11:
            _attribute(data, (first, last), defaults, 0)
        elif number in key:
            key[number] = data[first:last]
    graph.defaults = defaults.tensors
    _add(graph, nodes, [], [])
    return _key(key[10], key[1], key[13]), graph


def _key(domain: bytes, name: bytes, overload: bytes) -> Key:
    return b"" if domain == b"ai.onnx" else domain, name, overload  # ONNX's own goes by both


def _node(data: mmap.mmap, span: Span, depth: int) -> Node:
    node, key = Node(), {4: b"", 7: b"", 8: b""}
    for number, wire, first, last in fields(data, *span):
        if wire != BYTES:
            continue
        if number == 1:
            node.inputs.append(data[first:last])
        elif number == 2:
            node.outputs.append(data[first:last])
        elif number == 5:
            _attribute(data, (first, last), node, depth)
        elif number in key:
            key[number] = data[first:last]
    node.key = _key(key[7], key[4], key[8])
    node.operator = key[4].decode("utf-8", "replace")
    return node


def _attribute(data: mmap.mmap, span: Span, node: Node, depth: int) -> None:
    name, kind, whole, floats = b"", 0, 0, 0
    held: dict[int, list[Span]] = {}
    for number, wire, first, last in fields(data, *span):
        if number == 1 and wire == BYTES:
            name = data[first:last]
        elif number == 3 and wire == NUMBER:
            whole = first
        elif number == 20 and wire == NUMBER:
            kind = first & 0xFFFFFFFF
        elif number == 7:
            floats += (last - first) // 4 if wire == BYTES else int(wire in FIXED)
        elif wire == BYTES:
            held.setdefault(number, []).append((first, last))
    node.numbers[name] = whole
    only = {_HELD[kind]} if kind in _HELD else set(_HELD.values()) if kind == 0 else set()
    found = {number: spans for number, spans in held.items() if number in only}
    node.tensors += [_tensor(data, found[5])] if 5 in found else []
    node.tensors += [_tensor(data, [each]) for each in found.get(10, ())]
    node.tensors += [_sparse(data, found[22])] if 22 in found else []
    node.tensors += [_sparse(data, [each]) for each in found.get(23, ())]
    node.tensors += [Tensor(kind=_FLOAT, size=floats)] if floats and 7 in only else []
    node.graphs += [_graph(data, found[6], depth + 1)] if 6 in found else []
    node.graphs += [_graph(data, [each], depth + 1) for each in found.get(11, ())]


def _sparse(data: mmap.mmap, spans: list[Span]) -> Tensor:
    values = [
        (first, last) for number, wire, first, last in _all(data, spans) if (number, wire) == (1, BYTES)
    ]
    return _tensor(data, values)


def _tensor(data: mmap.mmap, spans: list[Span]) -> Tensor:
    tensor, sizes = Tensor(), []
    for number, wire, value, last in _all(data, spans):
        if number == 1 and wire == NUMBER:
            sizes.append(value)
        elif number == 1 and wire == BYTES:  # packed
            place = value
            while place < last:
                size, place = varint(data, place)
                sizes.append(size)
            if place > last:
                raise ValueError("a field reaches beyond its message")
        elif number == 2 and wire == NUMBER:
            tensor.kind = value & 0xFFFFFFFF  # protobuf keeps as much of it
        elif number == 8 and wire == BYTES:
            tensor.name = data[value:last]
    if len(sizes) > _MOST_DIMENSIONS:
        raise ValueError("a tensor has too many dimensions")
    tensor.size = math.prod(sizes)
    return tensor


def _port(data: mmap.mmap, span: Span) -> tuple[bytes, int]:
    """An input's or output's name and, of a tensor, the type of its elements."""
    name, kind = b"", 0
    types: list[Span] = []
    for number, wire, first, last in fields(data, *span):
        if number == 1 and wire == BYTES:
            name = data[first:last]
        elif number == 2 and wire == BYTES:
            types.append((first, last))
    tensors = [
        (first, last) for number, wire, first, last in _all(data, types) if (number, wire) == (1, BYTES)
    ]
    for number, wire, value, _ in _all(data, tensors):
        if number == 1 and wire == NUMBER:
            kind = value & 0xFFFFFFFF
    return name, kind
