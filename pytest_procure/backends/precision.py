"""The precision that a model really has: read from its weights and operators, not from its name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .onnx_files import has_other_format, mapped
from .onnx_graph import read
from .onnx_weights import Weights

#: A part of the weights that is smaller says nothing of a model: scales, biases, a layer that is left.
SMALL = 0.1
#: A smaller part in a narrower precision than the declared one is told, from here on.
TRACE = 0.01

_TORCH = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "uint8": "int8",
    "qint8": "int8",
    "quint8": "int8",
    "qint32": "int32",
    "uint16": "int16",
    "uint32": "int32",
    "uint4": "int4",
    "quint4x2": "int4",
    "quint2x4": "int2",
    "float4_e2m1fn_x2": "fp4",
}
#: The formats of bitsandbytes that stand in bytes.
_QUANTISED = frozenset({"nf4", "fp4"})
#: Indices and masks.
_NO_WEIGHTS = {"int64", "uint64", "bool"}
#: Whole numbers that several narrower weights may be packed into, and what these may be.
PACKS, PACKABLE = frozenset({"int16", "int32"}), frozenset({"int8", "int4", "nf4", "fp8", "fp4"})
#: Operators that compute with 8-bit whole numbers, whatever the weights are stored as.
_INTEGER = re.compile(r"QLinear\w+|\w+Integer|QuantizeLinear|DynamicQuantizeLinear|QGemm|QAttention")
#: A part that a provider has compiled before: what it computes in stands nowhere.
_COMPILED = "EPContext"
#: How offers write them.
_WORDS = {
    "fp64": r"fp64|float64|f64|double",
    "fp32": r"fp32|float32|f32|single precision",
    "fp16": r"fp16|float16|f16|half|w\d+a16|awq|gptq",
    "bf16": r"bf16|bfloat16",
    "fp8": r"fp8|float8|f8|e4m3\w*|e5m2\w*|w8a8[-_ ]?fp8|8[- ]?bits?",
    "int8": r"u?int8|i8|w8a8|w8a16|q8_\w+|8[- ]?bits?",
    "int4": r"u?int4|i4|w4a\d+|q4_\w+|awq|gptq|4[- ]?bits?",
    "nf4": r"nf4|normal ?float ?4|4[- ]?bits?",
    "fp4": r"fp4|float4|nvfp4|mxfp4|e2m1|4[- ]?bits?",
}


def declared(text: str) -> set[str]:
    """The precisions that an offer's own words name; none where it says nothing that is known here."""
    return {
        word
        for word, pattern in _WORDS.items()
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", text.lower())
    }


def of_torch(weights: Iterable[Any], autocast: str | None) -> dict[str, float]:
    """Share of each precision among tensors; autocast computes in its own, so that counts whole.

    A tensor that says how it is packed, as those of bitsandbytes do, counts as that, with as many weights as
    it stands for.
    """
    counts: Counter[str] = Counter()
    for one in weights:
        kind, size = _packed(one) or (str(one.dtype).removeprefix("torch."), int(one.numel()))
        if kind not in _NO_WEIGHTS:
            counts[_TORCH.get(kind, "fp8" if kind.startswith("float8") else kind)] += size
    found = _shares(counts)
    return found if autocast is None else found | {_TORCH.get(autocast, autocast): 1.0}


def _packed(tensor: Any) -> tuple[str, int] | None:
    """How several weights lie in each byte, and how many they are; None for a tensor that says nothing."""
    state = getattr(tensor, "quant_state", None)
    kind = getattr(state, "quant_type", None) or getattr(tensor, "quant_type", None)
    if kind not in _QUANTISED:
        return None
    shape = getattr(state, "shape", None)  # none before the weights are packed, which the device does
    return kind, int(tensor.numel()) if shape is None else math.prod(map(int, shape))


def layers_of_torch(weights: Iterable[Any]) -> dict[str, float]:
    """Share of each precision among a module's matrices, whatever their size."""
    counts: Counter[str] = Counter()
    for one in weights:
        if len(one.shape) > 1:
            counts.update(of_torch([one], None))
    return _shares(counts)


def of_onnx(model: Path, *, shown: str) -> dict[str, float]:
    """Share of each precision among the weights that an ONNX model answers with; {} where none can be read.

    Weights that are converted before they are used count as the narrowest on the way, and those that
    `MatMulNBits` packs into bytes by their own number of bits. Models whose operators compute with 8-bit
    whole numbers hold `int8` whole, however the weights are stored. Raises `ProvisionError` for a model that
    cannot be read to its end.
    """
    return in_onnx(model, shown=shown)[0]


def in_onnx(model: Path, *, shown: str) -> tuple[dict[str, float], dict[str, float]]:
    """Give these, and the share of each precision among the operators that multiply by weights.

    The second says what the first cannot where one tensor is larger than all others: what is computed with it
    may change nothing. Raises `ProvisionError` likewise.
    """
    if has_other_format(model):
        return {}, {}
    counts: Counter[str] = Counter()
    with mapped(model, shown) as data:
        weights = Weights(read(data))
        layers = Counter(weights.layers())
    for word, size in weights.counted():
        counts[word] += size
    if _COMPILED in weights.operators:
        return {}, {}
    found = _shares(counts)
    if any(_INTEGER.fullmatch(operator) for operator in weights.operators):
        found["int8"] = 1.0
    return found, _shares(layers)


def bits_of(word: str) -> int:
    """How many bits a number of this precision takes."""
    return int(re.sub(r"\D", "", word) or 64)


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = sum(counts.values())
    return {word: round(count / total, 6) for word, count in sorted(counts.items()) if count}
