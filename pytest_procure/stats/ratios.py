"""Ratios of two means: cost per correct answer, cost per accepted request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_procure.errors import DomainError
from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums
from pytest_procure.stats.bounds import Bounds
from pytest_procure.stats.launches import launch_mean_bounds
from pytest_procure.stats.shares import share_bounds

if TYPE_CHECKING:
    import numpy.typing as npt


def fieller_ratio(cost: npt.ArrayLike, success: npt.ArrayLike, *, confidence: float) -> Bounds:
    """Fieller bounds of mean(cost) / mean(success), each end one-sided at `confidence`.

    The roots of (a - R b)^2 = t^2 (s_aa - 2 R s_ab + R^2 s_bb), t with n - 1 df. Source: Fieller (1954).
    Where the success is not clearly above 0 (t^2 s_bb >= b^2) no finite interval holds and the bounds are
    -inf and inf. Where every unit succeeded alike, successes show no spread to measure: the cost's t bounds
    are divided by a success of 1 and of the Clopper-Pearson lower bound of n in n.

    cost, success: (n,) at least 0, one entry for each independent unit, n at least 2: a request, or with
    clusters the cluster's sums. Returns cost for each success. Raises DomainError otherwise.
    """
    confidence = domain.confidence_level(confidence)
    costs = domain.vector("cost", cost, at_least=2, low=0.0)
    successes = domain.vector("success", success, at_least=2, low=0.0)
    domain.same_length("success", successes, "cost", costs.size)
    if not successes.any():
        raise DomainError("success sums to 0, expected at least one success to divide by")
    n = costs.size
    a, b = sums.mean(costs), sums.mean(successes)
    if np.ptp(successes) == 0.0:
        mean = launch_mean_bounds(costs, confidence=confidence)
        return Bounds(mean.low / b, mean.high / (b * share_bounds(n, n, confidence=confidence).low))
    s_aa, s_ab, s_bb = (
        sums.total(product) / (n - 1) / n
        for product in ((costs - a) ** 2, (costs - a) * (successes - b), (successes - b) ** 2)
    )
    t2 = distributions.t_quantile(confidence, n - 1.0) ** 2
    square = b * b - t2 * s_bb
    if square <= 0.0:
        return Bounds(-math.inf, math.inf)
    half = a * b - t2 * s_ab
    root = math.sqrt(max(half * half - square * (a * a - t2 * s_aa), 0.0))
    return Bounds((half - root) / square, (half + root) / square)
