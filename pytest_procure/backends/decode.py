"""From what a model gives to outputs that can be scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from pytest_procure.errors import DeclarationError

from .function import qualified_name

Decode = Literal["argmax"] | Callable[[Any], Sequence[Any]] | None


def decoder(declared: Decode) -> Callable[[Any], Sequence[Any]]:
    """The function that `decode=` names. Raises `DeclarationError` for anything else."""
    if declared is None:
        return _rows
    if declared == "argmax":
        return argmax
    if callable(declared):
        return declared
    raise DeclarationError(
        f"`decode={declared!r}`; expected 'argmax', a function of the model's output, or None"
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


def _rows(outputs: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", outputs)
