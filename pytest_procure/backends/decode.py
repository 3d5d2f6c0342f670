"""From what a model gives to outputs that can be scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from pytest_procure.errors import DeclarationError

from .function import qualified_name

#: "argmax", "top-5" and the like, a function of the model's output, or None for its rows.
Decode = str | Callable[[Any], Sequence[Any]] | None
_TOP = re.compile(r"top-([1-9]\d{0,3})")


def decoder(declared: Decode) -> Callable[[Any], Sequence[Any]]:
    """The function that `decode=` names. Raises `DeclarationError` for anything else."""
    if declared is None:
        return _rows
    if declared == "argmax":
        return argmax
    if callable(declared):
        return declared
    if isinstance(declared, str) and (match := _TOP.fullmatch(declared)):
        return partial(top, int(match[1]))
    raise DeclarationError(
        f"`decode={declared!r}`; expected 'argmax', 'top-5', a function of the model's output, or None"
    )


def decoder_name(declared: Decode) -> str | None:
    """How a report names the decoder."""
    return qualified_name(declared) if callable(declared) else declared


def argmax(scores: Any) -> list[int | None]:
    """The number of the largest score in each row of `scores` `(b, classes)`; None for a row that holds NaN.

    NaN counts as the largest of all, so a model that breaks down would otherwise answer with a label.
    """
    if scores.ndim != 2:
        raise TypeError(
            f"scores of shape {scores.shape} have no largest class a row; expected (batch, classes)"
        )
    if len(scores) == 1:  # the batch that decides latency; a tenth of the time of the general way
        label = int(scores.argmax())
        best = scores.item(label)
        return [label if best == best else None]  # noqa: PLR0124 - false for NaN only
    labels = scores.argmax(axis=1)
    best = scores.max(axis=1)
    return [int(label) if value == value else None for label, value in zip(labels, best, strict=True)]  # noqa: PLR0124


def top(k: int, scores: Any) -> list[list[int] | None]:
    """The numbers of the k largest scores in each row, the best first; ties go to the smaller number.

    None for a row that holds NaN. Raises `TypeError` for scores that are no rows of k classes or more.
    """
    if scores.ndim != 2 or scores.shape[1] < k:
        raise TypeError(f"scores of shape {scores.shape} have no {k} best a row; expected (batch, classes)")
    order = np.argsort(-np.asarray(scores, dtype=np.float64), axis=1, kind="stable")[:, :k]
    broken = np.isnan(scores).any(axis=1)
    return [None if bad else row.tolist() for row, bad in zip(order, broken, strict=True)]


def _rows(outputs: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", outputs)
