"""The precision that a model really has: read from its weights and operators, not from its name."""

from __future__ import annotations

import math
import mmap
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .protobuf import BYTES, NUMBER, fields, messages, varint

#: A part of the weights that is smaller says nothing of a model: scales, biases, a layer that is left.
SMALL = 0.1

#: TensorProto.DataType of onnx.proto -> our word; whole numbers that are indices and shapes are left out.
_ONNX = {
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
_TORCH = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "uint8": "int8",
    "qint8": "int8",
    "quint8": "int8",
}
#: Operators that compute with 8-bit whole numbers, whatever the weights are stored as.
_INTEGER = re.compile(r"QLinear\w+|\w+Integer|QuantizeLinear|DynamicQuantizeLinear|QGemm|QAttention")
#: How offers write them.
_WORDS = {
    "fp64": r"fp64|float64|f64|double",
    "fp32": r"fp32|float32|f32|single precision",
    "fp16": r"fp16|float16|f16|half|w\d+a16|awq|gptq",
    "bf16": r"bf16|bfloat16",
    "fp8": r"fp8|float8|f8|e4m3\w*|e5m2\w*|w8a8[-_ ]?fp8",
    "int8": r"u?int8|i8|w8a8|w8a16|q8_\w+",
    "int4": r"u?int4|i4|w4a\d+|q4_\w+|nf4|awq|gptq",
    "fp4": r"fp4|float4|nvfp4|mxfp4|e2m1",
}


def declared(text: str) -> set[str]:
    """The precisions that an offer's own words name; none where it says nothing that is known here."""
    return {
        word
        for word, pattern in _WORDS.items()
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", text.lower())
    }


def of_torch(parameters: Iterable[Any], autocast: str | None) -> dict[str, float]:
    """Share of each precision among the weights; autocast computes in its own, so that counts whole."""
    counts: Counter[str] = Counter()
    for one in parameters:
        kind = str(one.dtype).removeprefix("torch.")
        counts[_TORCH.get(kind, "fp8" if kind.startswith("float8") else kind)] += int(one.numel())
    found = _shares(counts)
    return found if autocast is None else found | {_TORCH.get(autocast, autocast): 1.0}


def of_onnx(model: Path) -> dict[str, float]:
    """Share of each precision among an ONNX model's weights; {} where none can be read.

    Models whose operators compute with 8-bit whole numbers hold `int8` whole, however the weights are stored;
    weights that `MatMulNBits` packs into bytes count by their own number of bits.
    """
    if model.suffix == ".ort" or model.stat().st_size == 0:
        return {}
    counts: Counter[str] = Counter()
    bits: Counter[int] = Counter()
    operators: set[str] = set()
    with model.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            _Reader(data, counts, bits, operators).model()
        except (ValueError, IndexError, RecursionError):
            return {}
    if bits and counts["int8"]:
        width = bits.most_common(1)[0][0]
        packed = counts.pop("int8")
        counts[f"int{width}"] += packed * 8 // width
    found = _shares(counts)
    if any(_INTEGER.fullmatch(operator) for operator in operators):
        found["int8"] = 1.0
    return found


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = sum(counts.values())
    return {word: round(count / total, 6) for word, count in sorted(counts.items()) if count}


class _Reader:
    """Walks through a model's messages; the numbers are those of onnx.proto."""

    def __init__(
        self, data: mmap.mmap, counts: Counter[str], bits: Counter[int], operators: set[str]
    ) -> None:
        self._data = data
        self._counts = counts
        self._bits = bits
        self._operators = operators

    def model(self) -> None:
        for number, start, end in messages(self._data, 0, len(self._data)):
            if number == 7:
                self._graph(start, end)
            elif number == 25:  # a function
                for inner, first, last in messages(self._data, start, end):
                    if inner == 7:
                        self._node(first, last)

    def _graph(self, start: int, end: int) -> None:
        for number, first, last in messages(self._data, start, end):
            if number == 1:
                self._node(first, last)
            elif number == 5:
                self._tensor(first, last)

    def _node(self, start: int, end: int) -> None:
        operator = ""
        attributes = []
        for number, first, last in messages(self._data, start, end):
            if number == 4:
                operator = self._data[first:last].decode("utf-8", "replace")
                self._operators.add(operator)
            elif number == 5:
                attributes.append((first, last))
        for first, last in attributes:
            self._attribute(first, last, operator)

    def _attribute(self, start: int, end: int, operator: str) -> None:
        name = b""
        for number, wire, value, last in fields(self._data, start, end):
            if number == 1 and wire == BYTES:
                name = self._data[value:last]
            elif number == 3 and wire == NUMBER and name == b"bits" and operator == "MatMulNBits":
                if value in {1, 2, 4, 8}:
                    self._bits[value] += 1
            elif number == 5 and wire == BYTES:
                self._tensor(value, last)
            elif number == 6 and wire == BYTES:
                self._graph(value, last)

    def _tensor(self, start: int, end: int) -> None:
        sizes: list[int] = []
        kind = 0
        for number, wire, value, last in fields(self._data, start, end):
            if number == 1 and wire == NUMBER:
                sizes.append(value)
            elif number == 1 and wire == BYTES:  # packed
                place = value
                while place < last:
                    size, place = varint(self._data, place)
                    sizes.append(size)
            elif number == 2 and wire == NUMBER:
                kind = value
        if kind in _ONNX:
            self._counts[_ONNX[kind]] += math.prod(sizes)
