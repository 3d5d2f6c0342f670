"""Whether a measurement shows that a bar is met, and whether it shows the opposite.

One function a basis. None of them uses randomness, the clock or the locale; bounds are rounded outward to six
decimals before they are compared, so the same log gives the same decision on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import stats
from .bars import Sense
from .metrics.measurement import (
    NEVER,
    Exact,
    Interval,
    Latencies,
    Means,
    Measurement,
    Share,
    Unmeasurable,
)
from .stats.effects import BATCHES
from .units import Quantity


@dataclass(frozen=True, slots=True)
class Policy:
    """The risks and floors of the decision rule."""

    consumer_risk: float = 0.05  # to accept an offer that is exactly at the bar
    rejection_risk: float = 0.05  # to reject an offer that meets every bar, over all bars together
    min_clusters: int = 20
    min_effective: int = 100  # latency: requests' worth of independent information
    min_under_load: int = 200  # latency: requests, where arrivals do not wait for answers
    far: float = 20.0  # latency: a limit this many times the run's own p90 is not near the bulk

    @property
    def confidence(self) -> float:
        """Of each end of a range, one-sided."""
        return 1.0 - self.consumer_risk


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the bar is shown to be met, and with what probability its opposite would show by chance.

    `low` and `high`: the likely range, in the unit of the measurement's estimate; None where it has no end.

    `reject_p`: the probability of evidence this bad from an offer that meets the bar; None if the evidence
    cannot reject. `exact`: no sampling, so no risk. `blocked`: why the evidence decides nothing.
    """

    accept: bool
    reject_p: float | None
    low: Decimal | None = None
    high: Decimal | None = None
    n_effective: float = 0.0
    design_effect: float = 1.0
    exact: bool = False
    blocked: str = ""


def decide(measured: Measurement, sense: Sense, limit: Quantity, policy: Policy) -> Decision:
    """Decide one bar on one measurement. `limit` has the measurement's dimension."""
    match measured.basis:
        case Share() as basis:
            return _share(basis, sense, limit.base, policy)
        case Latencies() as basis:
            return _latencies(basis, sense, limit.ns, policy)
        case Means() as basis:
            return _means(basis, sense, _in_unit(limit, measured), policy)
        case Interval(_, low, high):
            bar = _in_unit(limit, measured)
            meets, misses = (low >= bar, high < bar) if sense == "at least" else (high <= bar, low > bar)
            return Decision(meets, float(not misses), low, high, 1.0, exact=True)
        case Exact(value, _):
            bar = _in_unit(limit, measured)
            meets = value >= bar if sense == "at least" else value <= bar
            return Decision(meets, float(meets), n_effective=float(measured.n), exact=True)
        case Unmeasurable(reason):
            return Decision(accept=False, reject_p=None, blocked=reason)


def _in_unit(limit: Quantity, measured: Measurement) -> Decimal:
    return limit.to(measured.estimate.unit) if measured.estimate is not None else limit.base


def _share(basis: Share, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Clopper-Pearson bounds at the effective sample size (Korn and Graubard)."""
    n_effective = float(basis.n)
    if basis.df is not None:
        n_effective = stats.effective_n(basis.n, basis.design_effect, basis.df, confidence=policy.confidence)
    share = basis.total / basis.n
    bounds = stats.round_outward(
        stats.share_bounds(basis.total, basis.n, confidence=policy.confidence, n_effective=n_effective)
    )
    low, high = Decimal(repr(bounds.low)), Decimal(repr(bounds.high))
    p = _share_p(share, basis.n, bar, sense, n_effective)
    if basis.clusters is not None and basis.clusters < policy.min_clusters:
        why = f"{basis.clusters} clusters are too few for a verdict; it takes {policy.min_clusters}"
        return Decision(
            accept=False,
            reject_p=None,
            low=low,
            high=high,
            n_effective=n_effective,
            design_effect=basis.design_effect,
            blocked=why,
        )
    meets = low >= bar if sense == "at least" else high <= bar
    return Decision(meets, p, low, high, n_effective, basis.design_effect)


def _share_p(share: float, n: int, bar: Decimal, sense: Sense, n_effective: float) -> float:
    alternative: Literal["less", "greater"] = "less" if sense == "at least" else "greater"
    return stats.share_p_value(share * n, n, float(bar), alternative=alternative, n_effective=n_effective)


def _latencies(basis: Latencies, sense: Sense, limit: int, policy: Policy) -> Decision:
    """Decide "p95 at most 80 ms" as "at least 95 % of the requests took at most 80 ms"."""
    values, n = basis.values, len(basis.values)
    if n < min(BATCHES):
        why = f"{n} requests are too few; it takes {min(BATCHES)}"
        return Decision(accept=False, reject_p=None, blocked=why)
    low, high = _percentile_range(basis, policy)
    within = values <= limit if sense == "at most" else values < limit
    effect, df = _latency_effect(values, limit, policy)
    n_effective = stats.effective_n(n, effect, df, confidence=policy.confidence)
    share = float(within.mean())
    bounds = stats.round_outward(
        stats.share_bounds(share * n, n, confidence=policy.confidence, n_effective=n_effective)
    )
    shown: Sense = "at least" if sense == "at most" else "at most"
    p: float | None = _share_p(share, n, basis.q, shown, n_effective)
    meets = (
        Decimal(repr(bounds.low)) >= basis.q if shown == "at least" else Decimal(repr(bounds.high)) <= basis.q
    )
    blocked = ""
    if basis.under_load and n < policy.min_under_load:
        blocked, p = f"{n} requests under load are too few; it takes {policy.min_under_load}", None
    elif meets and n / effect < policy.min_effective:
        blocked = (
            f"latencies came in rows: {n} requests told as much as {n / effect:.0f} independent ones, "
            f"and acceptance takes {policy.min_effective}"
        )
    return Decision(meets and not blocked, p, low, high, n_effective, effect, blocked=blocked)


def _latency_effect(values: NDArray[np.int64], limit: int, policy: Policy) -> tuple[float, int]:
    """Give the design effect of "within the limit": the bar's own, and the bulk's where the bulk is near it.

    A short lucky run holds too few requests over the limit to show how they cluster; the slowest tenth stands
    in for them. Where even that tenth lies far below the limit, its rows tell of small delays only.
    """
    if stats.percentile(values, 0.9) * policy.far > limit:
        return stats.latency_design_effect(values, limit)
    effect = stats.batch_design_effect(values > limit, [b for b in BATCHES if b <= len(values)])
    return (1.0, min(BATCHES) - 1) if effect is None else (max(1.0, effect[0]), effect[1])


def _percentile_range(basis: Latencies, policy: Policy) -> tuple[Decimal | None, Decimal | None]:
    """Order statistics at the bounds of the percentile's own share; None above the failures."""
    values, n, q = basis.values, len(basis.values), float(basis.q)
    at = int(stats.percentile(values, q, method="nearest-rank"))
    effect, df = stats.latency_design_effect(values, min(at, NEVER - 1))
    bounds = stats.korn_graubard_bounds(q, n, effect, df, confidence=policy.confidence)
    ends = [
        int(stats.percentile(values, min(max(share, 1 / n), 1.0 - 1e-12), method="nearest-rank"))
        for share in (bounds.low, bounds.high)
    ]
    low, high = (None if end >= NEVER else Decimal(end) for end in ends)
    return low, high


def _means(basis: Means, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Student's t over independent repeats."""
    values, g = basis.values, len(basis.values)
    if g < 2:
        why = f"{g} of {basis.of} has no range; a verdict takes {basis.minimum} (`launches={basis.minimum}`)"
        return Decision(accept=False, reject_p=None, n_effective=float(g), blocked=why)
    bounds = stats.launch_mean_bounds(values, confidence=policy.confidence)
    down, up = _outward(bounds.low, bounds.high)
    low: Decimal | None = down
    high: Decimal | None = up
    if basis.inverse is not None:
        # A cost of c / rate is at most b where the rate is at least c / b.
        low, high = basis.inverse / up, (basis.inverse / down if down > 0 else None)
        bar = basis.inverse / bar
        sense = "at most" if sense == "at least" else "at least"
    meets = down >= bar if sense == "at least" else up <= bar
    alternative: Literal["less", "greater"] = "less" if sense == "at least" else "greater"
    p = stats.launch_mean_p_value(values, float(bar), alternative=alternative)
    if g < basis.minimum:
        why = f"{g} {basis.of} are too few for a verdict; it takes {basis.minimum}"
        return Decision(accept=False, reject_p=None, low=low, high=high, n_effective=float(g), blocked=why)
    return Decision(meets, p, low, high, float(g))


def _outward(low: float, high: float) -> tuple[Decimal, Decimal]:
    """Twelve significant digits, rounded away from the mean: a rate has no natural scale for six decimals."""
    down = Decimal(repr(low)) - abs(Decimal(repr(low))) * Decimal("1e-12")
    up = Decimal(repr(high)) + abs(Decimal(repr(high))) * Decimal("1e-12")
    return down, up
