"""Bars on means: of independent launches or items, of costs over successes, and of loads."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Literal

import numpy as np
from scipy import special

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import Carried, Corpus, Means, Ratio

from .policy import Decision, Policy, undecided
from .tails import by_bounds, in_rows, outward

#: Items that differ from the rest in success; fewer than this show little of its spread.
_FEW = 60
#: No load is known to better than a thousandth: one that is exactly at its limit is 1.0000001 by chance.
_LEAST_ERROR = 0.001


def means(basis: Means, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Student's t over independent repeats; that of items allows for skewness."""
    values, g = basis.values, len(basis.values)
    if basis.of != "launches" and g >= basis.minimum:
        return by_bounds(
            lambda confidence: stats.skewed_mean_bounds(values, confidence=confidence),
            sense,
            bar,
            policy,
            n_effective=float(g),
        )
    if g < 2:
        why = f"{g} of {basis.of} has no range; a verdict takes {basis.minimum}"
        if basis.of == "launches":
            why += f" (`launches={basis.minimum}`)"
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


def corpus(basis: Corpus, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by the delete-a-group jackknife: Student's t on what the metric is without each group."""
    if basis.clusters < policy.min_clusters:
        why = f"{basis.clusters} independent items are too few for a verdict; it takes {policy.min_clusters}"
        return undecided(why, n_effective=float(basis.clusters))
    groups = range(len(basis.without))

    def known(kept: list[int]) -> float:
        left_out = set(groups).difference(kept)
        return basis.without[left_out.pop()] if left_out else basis.value

    def bounds_at(confidence: float) -> stats.Bounds:
        found = stats.jackknife_bounds(groups, known, confidence=confidence)
        found = _missed(found, basis, confidence)
        return in_rows(found, basis.value, basis.rows, len(groups), confidence)

    return by_bounds(bounds_at, sense, bar, policy, n_effective=float(basis.clusters))


def _missed(found: stats.Bounds, basis: Corpus, confidence: float) -> stats.Bounds:
    """Widen by one item that is wrong and was just missed: in the estimate, and in its spread.

    Near its best value a metric moves by a handful of items, and a spread taken from them is too small where
    the run was lucky: micro F1 of 300 items exactly at 99 % was accepted 15 times in 100, with it 5.
    """
    if not basis.missed or not math.isfinite(found.low):
        return found
    moved = [each - basis.value for each in basis.missed]
    centre = basis.value + math.fsum(moved) / len(moved)
    t = float(special.stdtrit(len(basis.without) - 1, confidence))
    reach = math.hypot(basis.value - found.low, t * math.sqrt(math.fsum(m * m for m in moved) / len(moved)))
    return stats.Bounds(min(found.low, centre - reach), max(found.high, centre + reach))


def ratio(basis: Ratio, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Fieller's bounds: mean cost over mean success, item by item.

    A few failures tell little of how many there are: 100 items at a fixed cost, of which 97 in 100 succeed,
    would be accepted exactly at their bar 18 times in 100. Where few items differ, one made-up success and
    one made-up failure are added (the adjusted Wald interval of Agresti and Coull), and no bound is closer
    than the exact one of the share. At a fixed cost: at most 7 in 100.
    """
    g = len(basis.cost)
    if g < policy.min_clusters:
        why = f"{g} {basis.of} are too few for a verdict; it takes {policy.min_clusters}"
        return undecided(why, n_effective=float(g))
    return by_bounds(
        lambda confidence: in_rows(_ratio_at(basis, confidence), _centre(basis), basis.rows, g, confidence),
        sense,
        bar,
        policy,
        n_effective=float(g),
    )


def _ratio_at(basis: Ratio, confidence: float) -> stats.Bounds:
    cost, success = basis.cost, basis.success
    _, alike = np.unique(success, return_counts=True)
    if len(success) - alike.max() >= _FEW:
        return stats.fieller_ratio(cost, success, confidence=confidence)
    mean = math.fsum(cost.tolist()) / len(cost)
    padded = np.append(cost, (mean, mean)), np.append(success, (1.0, 0.0))
    low, high = stats.fieller_ratio(*padded, confidence=confidence)
    if basis.of == "items":
        share = stats.share_bounds(math.fsum(success.tolist()), len(success), confidence=confidence)
        low = min(low, mean / share.high)
        high = max(high, mean / share.low if share.low > 0 else math.inf)
    return stats.Bounds(low, high)


def _centre(basis: Ratio) -> float:
    won = math.fsum(basis.success.tolist())
    return math.fsum(basis.cost.tolist()) / won if won else math.inf


def carried(basis: Carried, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Student's t of a load: what can be done of it is one over it.

    The load is the worst of those that were looked at, so its probability counts as often (Bonferroni).
    """
    error = max(basis.error, _LEAST_ERROR)
    far = float(special.stdtrit(basis.freedom, policy.confidence)) * error
    end = 1.0 / (basis.load - far) if basis.load > far else math.inf
    bounds = stats.round_outward(stats.Bounds(1.0 / (basis.load + far), end))
    low, high = (Decimal(repr(each)) if math.isfinite(each) else None for each in bounds)
    above = (1.0 / float(bar) - basis.load) / error
    p = float(special.stdtr(basis.freedom, above if sense == "at least" else -above))
    meets = (low is not None and low >= bar) if sense == "at least" else (high is not None and high <= bar)
    return Decision(meets, min(1.0, basis.looks * p), low, high, float(basis.freedom + 1))
