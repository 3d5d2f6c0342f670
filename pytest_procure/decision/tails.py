"""Probabilities of evidence this bad, from an offer that meets the bar: what Holm's method goes by."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

from scipy import special

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import Rows

from .policy import Decision, Policy


def share_p(share: float, n: int, bar: Decimal, sense: Sense, n_effective: float) -> float:
    """Give the exact binomial tail at the bar, on the side that speaks against the offer."""
    alternative: Literal["less", "greater"] = "less" if sense == "at least" else "greater"
    return stats.share_p_value(share * n, n, float(bar), alternative=alternative, n_effective=n_effective)


#: Confidence below which one-sided bounds are none; evidence weaker than this rejects nothing anyway.
_LEAST = 0.51


def outward(bounds: stats.Bounds) -> tuple[Decimal | None, Decimal | None]:
    """Widen by a part in 10^12, for rates and costs: six decimals do not suit them. None: no end."""
    low, high = (Decimal(repr(end)) if math.isfinite(end) else None for end in bounds)
    part = Decimal("1e-12")
    return (
        None if low is None else low - abs(low) * part,
        None if high is None else high + abs(high) * part,
    )


def in_rows(bounds: stats.Bounds, centre: float, rows: Rows, n: int, confidence: float) -> stats.Bounds:
    """Widen bounds over `n` items for failures that came in rows, as if all that varies came so.

    The items' own spread takes each failure for one draw; their design effect in send order says how many of
    them tell as much as one. It errs on the buyer's side where other things vary as well.
    """
    if rows.df is None or not math.isfinite(centre):
        return bounds
    wider = math.sqrt(rows.effect) * float(
        special.stdtrit(rows.df, confidence) / special.stdtrit(max(n - 1, 1), confidence)
    )
    return stats.Bounds(centre - (centre - bounds.low) * wider, centre + (bounds.high - centre) * wider)


def by_bounds(
    bounds_at: Callable[[float], stats.Bounds],
    sense: Sense,
    bar: Decimal,
    policy: Policy,
    *,
    n_effective: float,
) -> Decision:
    """Decide by any bounds; the confidence at which the opposite one meets the bar gives the probability."""
    low, high = outward(bounds_at(policy.confidence))
    at_least = sense == "at least"
    meets = low is not None and low >= bar if at_least else high is not None and high <= bar

    def misses(confidence: float) -> bool:
        at = bounds_at(confidence)
        return at.high < bar if sense == "at least" else at.low > bar

    p, certain = 1.0, 0.0
    if misses(_LEAST):
        p, certain = 1 - _LEAST, 1e-12
        for _ in range(40):
            middle = (p * certain) ** 0.5
            p, certain = (middle, certain) if misses(1 - middle) else (p, middle)
    return Decision(meets, p, low, high, n_effective)
