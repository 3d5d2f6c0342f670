"""Bars on means: of independent launches or items, and of costs over successes."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import Means, Ratio

from .policy import Decision, Policy, undecided
from .tails import by_bounds, outward


def means(basis: Means, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Student's t over independent repeats."""
    values, g = basis.values, len(basis.values)
    if g < 2:
        why = f"{g} of {basis.of} has no range; a verdict takes {basis.minimum} (`launches={basis.minimum}`)"
        return undecided(why, n_effective=float(g))
    bounds = stats.launch_mean_bounds(values, confidence=policy.confidence)
    down, up = outward(bounds)
    assert down is not None, "a mean of finite values has finite bounds"
    assert up is not None, "the same"
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


def ratio(basis: Ratio, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Fieller's bounds: mean cost over mean success, item by item."""
    g = len(basis.cost)
    if g < policy.min_clusters:
        why = f"{g} items are too few for a verdict; it takes {policy.min_clusters}"
        return undecided(why, n_effective=float(g))
    return by_bounds(
        lambda confidence: stats.fieller_ratio(basis.cost, basis.success, confidence=confidence),
        sense,
        bar,
        policy,
        n_effective=float(g),
    )
