"""The two ends of an interval."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import NamedTuple

from pytest_procure.stats import _domain as domain

_GRID = Decimal("0.000001")
_CONTEXT = Context(prec=320)  # the digits of the largest float and six more


class Bounds(NamedTuple):
    """Two ends, each a one-sided confidence bound; -inf and inf where the data bound nothing."""

    low: float
    high: float


def round_outward(bounds: Bounds) -> Bounds:
    """Round `low` down and `high` up to 6 decimals, so that rounding never helps a verdict.

    A float counts as the shortest decimal that names it: 0.57 stays 0.57, although its binary value
    lies below. Infinite ends stay. Rounding twice changes nothing. Raises DomainError for NaN.
    """
    return Bounds(_rounded(bounds.low, ROUND_FLOOR), _rounded(bounds.high, ROUND_CEILING))


def _rounded(value: float, rounding: str) -> float:
    if math.isnan(value):
        raise domain.refusal("bounds", value, "two numbers")
    if math.isinf(value):
        return value
    # The context is our own: a caller's decimal settings must not move a verdict. Adding 0.0 drops -0.0.
    return float(Decimal(repr(float(value))).quantize(_GRID, rounding, _CONTEXT)) + 0.0
