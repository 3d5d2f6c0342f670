"""F1 over classes: one number for all answers, which no class hides in."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


def macro_f1(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """Mean F1 of the classes that the references hold, each weighing the same.

    A failed request, or an answer outside of these classes, is a wrong answer in none of them: it lowers the
    recall of its own class.
    """
    true, said, right = _counts(outputs, references)
    return sum(2 * right[label] / (true[label] + said[label]) for label in true) / len(true)


def micro_f1(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """F1 over all answers together; a failed request gives no answer, so it costs recall and no precision."""
    true, said, right = _counts(outputs, references, everywhere=True)
    return 2 * sum(right.values()) / (sum(true.values()) + sum(said.values()))


def _counts(
    outputs: Sequence[Any], references: Sequence[Any], *, everywhere: bool = False
) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Count each class's references, answers and right answers."""
    true: Counter[Any] = Counter(map(_label, references))
    answers = [None if output is None else _label(output) for output in outputs]
    said = Counter(answer for answer in answers if answer is not None and (everywhere or answer in true))
    pairs = zip(answers, map(_label, references), strict=True)
    right = Counter(expected for answer, expected in pairs if answer is not None and answer == expected)
    return true, said, right


def _label(value: Any) -> Any:
    """A class as something that can be counted; what cannot stands for no class at all."""
    if isinstance(value, np.ndarray):
        value = value.item() if value.size == 1 else value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    return (
        value
        if kind in {str, int, float, bool, bytes}
        else (kind.__name__, hashlib.sha256(repr(value).encode("utf-8", "replace")).digest())
    )
