"""The weights that an ONNX model answers with, and as what: not all those that stand in its file.

From the outputs backwards: a tensor that nothing leads to is no weight of what runs. On the way back is kept
what a tensor is converted to before it meets anything that depends on the input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .onnx_graph import Graph, Model, Node, Tensor

#: TensorProto.DataType -> our word.
_NUMBERS = {
    1: "fp32",
    2: "int8",
    3: "int8",
    10: "fp16",
    11: "fp64",
    16: "bf16",
    17: "fp8",
    18: "fp8",
    19: "fp8",
    20: "fp8",
    21: "int4",
    22: "int4",
    23: "fp4",
}
#: Those that are indices and shapes, unless they are converted to numbers with a point.
_WHOLE = {4: "int16", 5: "int16", 6: "int32", 7: "int64", 12: "int32", 13: "int64"}
_BITS = {"fp64": 64, "fp32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4, "fp4": 4}
#: Several weights in each byte.
_PACKED = {"int4": 2, "int2": 4, "int1": 8}
_BITS |= {word: 8 // each for word, each in _PACKED.items()}
#: Operators whose second input is packed so, and how many bits each weight has where `bits` does not tell.
_PACKERS = {"MatMulNBits": 4, "MatMulBnb4": 4}
#: Operators in which a model spends its time: they multiply what depends on the input by weights.
_LAYERS = re.compile(
    r"\w*MatMul\w*|\w*Gemm\w*|\w*Conv\w*|Einsum|GRU|LSTM|RNN|\w*Attention|DynamicQuantizeLSTM|\w*MoE"
)
#: Operators that look at no number of what they are given.
_SHAPES = {"Shape", "Size"}
#: More than any model takes that runs; functions that call each other can make as many as they like.
_MOST_STEPS, _MOST_CALLS = 5_000_000, 100_000
_LONGEST_CHAIN = 10_000


@dataclass(slots=True, eq=False)
class _Scope:
    """A graph where it runs: the whole one, a branch within another, or a function that is called."""

    graph: Graph
    outer: _Scope | None = None
    given: dict[bytes, _Name] = field(default_factory=dict)  # what a function is called with
    inner: dict[tuple[int, int], _Scope] = field(default_factory=dict)  # of nodes: branches, calls


#: A value, by its name in a scope.
_Name = tuple[_Scope, bytes]


class Weights:
    """What leads to a model's outputs: its `operators`, and its tensors with what they are used as.

    Raises `ValueError` for a model that goes on and on.
    """

    def __init__(self, model: Model) -> None:
        self.operators: set[str] = set()
        self._functions = model.functions
        self._calls = 0
        self._found: dict[int, tuple[Tensor, set[str]]] = {}
        self._constant: dict[_Name, bool] = {}
        self._layers: dict[tuple[int, int], tuple[_Scope, Node]] = {}
        self._steps = 0
        whole = _Scope(model.graph)
        self._follow([(whole, name, "") for name in model.graph.outputs])

    def counted(self) -> Iterator[tuple[str, int]]:
        """Count the elements of each tensor, for each precision that it is used as."""
        for tensor, words in self._found.values():
            for word in words:
                packed = _NUMBERS.get(tensor.kind) == "int8" and word in _PACKED
                yield word, tensor.size * (_PACKED[word] if packed else 1)

    def layers(self) -> Iterator[str]:
        """Name for each operator that multiplies by weights what most of them are used as."""
        known: dict[tuple[_Scope, bytes, str], Counter[str]] = {}
        whole = self._found
        for scope, node in self._layers.values():
            counts: Counter[str] = Counter()
            for each, word in zip(node.inputs, self._words(scope, node, ""), strict=True):
                step = (scope, each, word)
                if step not in known and self._is_constant(scope, each):
                    self._found = {}
                    self._follow([step])
                    known[step] = Counter()
                    for used, size in self.counted():
                        known[step][used] += size
                counts += known.get(step, Counter())
            if counts:
                yield counts.most_common(1)[0][0]
        self._found = whole

    def _follow(self, todo: list[tuple[_Scope, bytes, str]]) -> None:
        """Go back from values, each with what it is converted to on the way from here to the outputs."""
        seen = set(todo)
        while todo:
            scope, name, word = todo.pop()
            found = _resolved(scope, name)
            if found is None:
                continue
            here, known = found
            node = here.graph.makers.get(known)
            if node is None:
                self._use(here.graph.tensors[known], word)
                continue
            new = {step for step in self._behind(here, node, known, word) if step[1]} - seen
            seen |= new
            todo += new
            self._steps += len(new)
            if self._steps > _MOST_STEPS:
                raise ValueError("it has too many nodes")

    def _use(self, tensor: Tensor, word: str) -> None:
        own = _NUMBERS.get(tensor.kind, "")
        if own:
            used = word if word and _BITS[word] <= _BITS[own] else own
        elif word.startswith("int"):
            used = word
        else:
            used = _WHOLE.get(tensor.kind, "") if word else ""
        if used:
            self._found.setdefault(id(tensor), (tensor, set()))[1].add(used)

    def _behind(
        self, scope: _Scope, node: Node, name: bytes, word: str
    ) -> Iterator[tuple[_Scope, bytes, str]]:
        """What a node takes to make a value, and as what."""
        place = node.outputs.index(name)
        body = self._functions.get(node.key)
        for tensor in node.tensors or (body.defaults if body else ()):
            self._use(tensor, "")
        if body is not None:
            called = self._called(scope, node, body)
            yield from ((called, output, word) for output in body.outputs[place : place + 1])
            return
        self.operators.add(node.operator)
        if _LAYERS.fullmatch(node.operator):
            self._layers[id(scope), id(node)] = (scope, node)  # scopes are kept by those around them
        if node.operator in _SHAPES:
            return
        for number, graph in enumerate(node.graphs):
            branch = scope.inner.setdefault((id(node), number), _Scope(graph, scope))
            if node.operator == "If":
                yield from ((branch, output, word) for output in graph.outputs[place : place + 1])
            else:
                yield from ((branch, output, "") for output in graph.outputs)
        for each, used in zip(node.inputs, self._words(scope, node, word), strict=True):
            yield scope, each, used

    def _called(self, scope: _Scope, node: Node, body: Graph) -> _Scope:
        found = scope.inner.get((id(node), 0))
        if found is None:
            self._calls += 1
            if self._calls > _MOST_CALLS:
                raise ValueError("its functions call each other without end")
            given = {own: (scope, each) for own, each in zip(body.inputs, node.inputs, strict=False)}
            found = scope.inner[id(node), 0] = _Scope(body, given=given)
        return found

    def _words(self, scope: _Scope, node: Node, word: str) -> list[str]:
        """As what a node takes each of its inputs, when it makes what is used as `word`."""
        words = [""] * len(node.inputs)
        if node.operator in _PACKERS and len(words) > 1:
            bits = f"int{node.numbers.get(b'bits', _PACKERS[node.operator])}"
            words[1] = bits if bits in _BITS else ""
        elif node.operator == "CastLike" and words and self._is_constant(scope, node.inputs[0]):
            words[0] = _narrower(word, _NUMBERS.get(self._kind(scope, node.inputs[-1]), ""))
        elif all(self._is_constant(scope, each) for each in node.inputs if each):
            first = _narrower(word, self._made(scope, node))
            quantises = node.operator in {"QuantizeLinear", "DequantizeLinear"}
            words = [first if number == 0 or not quantises else "" for number in range(len(words))]
        return words

    def _made(self, scope: _Scope, node: Node) -> str:
        """What a node converts constants to; nothing for one that does not."""
        if node.operator == "Cast":
            return _NUMBERS.get(node.numbers.get(b"to", 0), "")
        if node.operator == "DequantizeLinear":
            return "fp32"
        if node.operator == "QuantizeLinear":
            zero = self._kind(scope, node.inputs[2]) if len(node.inputs) > 2 else 0
            return _NUMBERS.get(zero or node.numbers.get(b"output_dtype", 0), "int8")
        return ""

    def _kind(self, scope: _Scope, name: bytes) -> int:
        """The type of a value, as far as its way tells; most operators keep that of their first input."""
        for _ in range(_LONGEST_CHAIN):
            found = _resolved(scope, name)
            if found is None:
                return _told(scope, name)
            scope, name = found
            if name in scope.graph.tensors:
                return scope.graph.tensors[name].kind
            node = scope.graph.makers[name]
            if node.operator == "Cast":
                return node.numbers.get(b"to", 0)
            if not node.inputs:
                return 0
            name = node.inputs[-1 if node.operator == "CastLike" else 0]
        return 0

    def _is_constant(self, scope: _Scope, name: bytes) -> bool:
        """Whether a value follows from the model alone."""
        known, todo = self._constant, [(scope, name)]
        opened: set[_Name] = set()
        while todo:
            asked = todo[-1]
            found = None if asked in known else _resolved(*asked)
            if asked in known or found is None:
                known.setdefault(asked, False)
                todo.pop()
                continue
            node = found[0].graph.makers.get(found[1])
            behind = [] if node is None else [(found[0], each) for each in node.inputs if each]
            unknown = next((each for each in behind if each not in known), None)
            opened.add(asked)
            if node is None:
                known[asked] = True
            elif node.graphs or not behind or not all(known.get(each, True) for each in behind):
                known[asked] = False
            elif unknown is None:
                known[asked] = True
            elif unknown in opened:  # a circle, which no runtime takes
                known[asked] = False
            else:
                todo.append(unknown)
        return known[scope, name]


def _resolved(scope: _Scope | None, name: bytes) -> _Name | None:
    """Where a value is made or stands, outwards from a scope; None for an input of the model's."""
    while scope is not None:
        if name in scope.graph.makers or name in scope.graph.tensors:
            return scope, name
        if name in scope.given:
            scope, name = scope.given[name]
        else:
            scope = scope.outer
    return None


def _told(scope: _Scope | None, name: bytes) -> int:
    """The type of an input, as the graph tells it."""
    while scope is not None:
        if name in scope.graph.kinds:
            return scope.graph.kinds[name]
        if name in scope.given:
            scope, name = scope.given[name]
        else:
            scope = scope.outer
    return 0


def _narrower(one: str, other: str) -> str:
    """The word of fewer bits; that of the two that is one where the other is none."""
    if not one or not other:
        return one or other
    return one if _BITS[one] <= _BITS[other] else other
