"""Paired differences between candidates, worded."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from pytest_procure.evidence.record import Record

from . import words


class Pair(NamedTuple):
    """Two candidates on the same items."""

    candidate: str
    other: str
    difference: str
    range: str
    only_candidate: str
    only_other: str
    counted: str


def pairs(record: Record) -> list[tuple[str, list[Pair]]]:
    """List the pairs of each requirement, by its question."""
    questions = {q["id"]: q["question"] or q["id"] for q in record["requirements"]}
    found: dict[str, list[Pair]] = {}
    for pair in record.get("paired", []):
        found.setdefault(questions.get(pair["requirement"], pair["requirement"]), []).append(
            Pair(
                pair["candidate"],
                pair["other"],
                f"{_points(pair['difference'])} points",
                f"{_points(pair['low'], ROUND_FLOOR)} to {_points(pair['high'], ROUND_CEILING)}",
                f"{pair['only_candidate']:,}",
                f"{pair['only_other']:,}",
                words.count(pair["n"], "samples"),
            )
        )
    return list(found.items())


def _points(share: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write hundredths with their sign, as in "+1.4"; the ends of a range are rounded outward."""
    number = (Decimal(repr(share)) * 100).quantize(Decimal("0.1"), rounding)
    if number == 0:
        return "0"
    return f"{'+' if number > 0 else '−'}{abs(number)}"  # noqa: RUF001 - a minus, not a hyphen
