"""Bars on latency percentiles: decided as shares of requests within the limit."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import NEVER, Latencies
from pytest_procure.stats.effects import BATCHES

from .policy import Decision, Policy, too_few, undecided
from .tails import share_p


def latencies(basis: Latencies, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide "p95 at most 80 ms" as "at least 95 % of the requests took at most 80 ms"."""
    values, n, limit = basis.values, len(basis.values), int(bar)
    if n < min(BATCHES):
        why = f"{n} requests are too few; it takes {min(BATCHES)}"
        return undecided(why)
    within = values <= limit if sense == "at most" else values < limit
    rows = latency_effect(values, limit, policy)
    worst = stats.worst_effect(n, rows, basis.alike.effect(within))
    n_effective = effective(n, worst, policy)
    share = float(within.mean())
    bounds = stats.round_outward(
        stats.share_bounds(share * n, n, confidence=policy.confidence, n_effective=n_effective)
    )
    shown: Sense = "at least" if sense == "at most" else "at most"
    p: float | None = share_p(share, n, basis.q, shown, n_effective)
    meets = (
        Decimal(repr(bounds.low)) >= basis.q if shown == "at least" else Decimal(repr(bounds.high)) <= basis.q
    )
    low, high = _percentile_range(basis, policy, n_effective)
    if sense == "at most" and not meets and high is not None:
        high = max(high, bar)  # what the bounds of the share leave open, the range does not close
    blocked = too_few(worst.groups, policy)
    if basis.under_load and n < policy.min_under_load:
        blocked = f"{n} requests under load are too few; it takes {policy.min_under_load}"
    if blocked:
        p = None
    elif meets and n / rows.design_effect < policy.min_effective:
        blocked = in_rows(n, rows.design_effect, policy)
    return Decision(meets and not blocked, p, low, high, n_effective, worst.design_effect, blocked=blocked)


def effective(n: int, effect: stats.Effect, policy: Policy) -> float:
    """Give how many independent observations `n` of this effect are worth; all `n` where they are."""
    if effect.df is None:
        return float(n)
    return stats.effective_n(n, effect.design_effect, effect.df, confidence=policy.confidence)


def in_rows(n: int, effect: float, policy: Policy) -> str:
    """Say that so many requests told too little."""
    return (
        f"latencies came in rows: {n} requests told as much as {n / effect:.0f} independent ones, "
        f"and acceptance takes {policy.min_effective}"
    )


def latency_effect(values: NDArray[np.int64], limit: int, policy: Policy) -> stats.Effect:
    """Give the design effect of "within the limit": the larger of the bar's own and of the slow requests'.

    A short lucky run holds too few requests over the limit to show how they cluster; the slowest tenth stands
    in for them, or, where even that lies far below the limit, what is within sight of it.
    """
    batches = [b for b in BATCHES if b <= len(values)]
    return stats.Effect(*stats.latency_design_effect(values, limit, batches, far=policy.far))


def _percentile_range(basis: Latencies, policy: Policy, most: float) -> tuple[Decimal | None, Decimal | None]:
    """Order statistics at the bounds of the percentile's own share; None above the failures.

    It is told by `most` independent requests at most, as what is decided is.
    """
    values, n, q = basis.values, len(basis.values), float(basis.q)
    at = int(stats.percentile(values, q, method="nearest-rank"))
    rows = stats.Effect(*stats.latency_design_effect(values, min(at, NEVER - 1)))
    worst = stats.worst_effect(n, rows, basis.alike.effect(values <= at))
    size = min(effective(n, worst, policy), most)
    bounds = stats.share_bounds(q * n, n, confidence=policy.confidence, n_effective=size)
    ends = [
        int(stats.percentile(values, min(max(share, 1 / n), 1.0 - 1e-12), method="nearest-rank"))
        for share in (bounds.low, bounds.high)
    ]
    low, high = (None if end >= NEVER else Decimal(end) for end in ends)
    return low, high
