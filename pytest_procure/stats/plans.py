"""Sampling plans: how many requests a bar needs, and what a plan would accept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_procure.errors import DomainError
from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_FAILURES = 2**20


class SharePlan(NamedTuple):
    """Accept when at most `allowed_failures` of `n` independent requests fail."""

    n: int
    allowed_failures: int


def plan_share(bar: float, design: float, *, consumer_risk: float, producer_risk: float) -> SharePlan:
    """Smallest plan that meets both risks for an "at least `bar`" share.

    P(accept) is at most `consumer_risk` when the true share is `bar`, and at least 1 - `producer_risk` when
    it is `design`. Accepting under the plan is the same as a Clopper-Pearson lower bound at confidence
    1 - `consumer_risk` that reaches the bar. Single sampling by attributes: ISO 2859, Guenther (1969).
    For an "at most" bar give 1 - bar and 1 - design. For correlated requests multiply n by the design effect.

    bar: above 0, below 1. design: above bar, at most 1. consumer_risk: above 0, below 0.5.
    producer_risk: above 0, below 1. Raises DomainError for other values, or when more than a million
    failures would have to be allowed.
    """
    bar = domain.inside("bar", bar, 0.0, 1.0)
    design = domain.real("design", design, low=0.0, high=1.0)
    if design <= bar:
        raise DomainError(f"design is {design!r}, expected a share above the bar, which is {bar!r}")
    consumer_risk = domain.inside("consumer_risk", consumer_risk, 0.0, 0.5)
    producer_risk = domain.inside("producer_risk", producer_risk, 0.0, 1.0)
    enough = 1
    while _power(enough, bar, design, consumer_risk) < 1.0 - producer_risk:
        enough *= 2
        if enough > _MOST_FAILURES:
            raise DomainError(
                f"design is {design!r}, expected a share farther above the bar of {bar!r}: "
                f"telling the two apart takes more than {_MOST_FAILURES} failures"
            )
    # With n real the power grows steadily with the failures allowed, so no plan that allows fewer than
    # `allowed` can do; rounding n up costs a little power, which the few steps after it make up.
    too_few, allowed = -1, enough
    while allowed - too_few > 1:
        middle = (too_few + allowed) // 2
        if _power(middle, bar, design, consumer_risk) < 1.0 - producer_risk:
            too_few = middle
        else:
            allowed = middle
    while True:
        n = math.ceil(_trials(allowed, bar, consumer_risk))
        if distributions.at_most(allowed, n, 1.0 - design) >= 1.0 - producer_risk:
            return SharePlan(n, allowed)
        allowed += 1


def _trials(allowed: int, bar: float, risk: float) -> float:
    """Real n at which a share exactly at the bar passes with probability `risk`."""
    short, long = float(allowed), 2.0 * (allowed + 1)
    while distributions.at_most(allowed, long, 1.0 - bar) > risk:
        short, long = long, 2.0 * long
    while short < (middle := (short + long) / 2.0) < long:
        if distributions.at_most(allowed, middle, 1.0 - bar) > risk:
            short = middle
        else:
            long = middle
    return long


def _power(allowed: int, bar: float, design: float, risk: float) -> float:
    """P(accept) at the design value when n, were it real, used up the consumer's risk."""
    return distributions.at_most(allowed, _trials(allowed, bar, risk), 1.0 - design)


def operating_characteristic(plan: SharePlan, shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """P(accept) under `plan` at each true share.

    plan: n at least 1, allowed failures from 0 to n. shares: (m,) in [0, 1]. Returns (m,) probabilities.
    Raises DomainError otherwise.
    """
    n = domain.whole("plan.n", plan.n, 1)
    allowed = domain.whole("plan.allowed_failures", plan.allowed_failures, 0)
    if allowed > n:
        raise domain.refusal("plan.allowed_failures", allowed, f"at most n, which is {n}")
    values = domain.vector("shares", shares, low=0.0, high=1.0)
    return np.array([distributions.at_most(allowed, n, 1.0 - share) for share in values.tolist()])
