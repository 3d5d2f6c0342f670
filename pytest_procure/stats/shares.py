"""Bounds for a share: accuracy, error rate, requests within a limit, graded scores in [0, 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_procure.errors import DomainError
from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums
from pytest_procure.stats.bounds import Bounds
from pytest_procure.stats.effects import cluster_design_effect

if TYPE_CHECKING:
    import numpy.typing as npt


def share_bounds(successes: float, n: int, *, confidence: float, n_effective: float | None = None) -> Bounds:
    """Clopper-Pearson bounds of a share, each end one-sided at `confidence`.

    Source: Clopper and Pearson (1934), in the beta form, which also takes a non-integer number of
    observations. A two-sided 95 % interval is `confidence=0.975`.

    successes: 0 to n; a sum of graded scores may be non-integer.
    n: observations, at least 1.
    confidence: above 0.5, below 1.
    n_effective: independent observations that carry the same information, above 0, at most n
        (Korn and Graubard 1998); n when None.

    Returns shares in [0, 1]. Raises DomainError for an argument outside these ranges.
    """
    confidence = domain.confidence_level(confidence)
    hits, trials = _counts(successes, n, n_effective)
    low = 0.0 if hits <= 0.0 else distributions.beta_quantile(1.0 - confidence, hits, trials - hits + 1.0)
    high = 1.0 if hits >= trials else distributions.beta_quantile(confidence, hits + 1.0, trials - hits)
    return Bounds(low, high)


def share_p_value(
    successes: float,
    n: int,
    bar: float,
    *,
    alternative: Literal["less", "greater"],
    n_effective: float | None = None,
) -> float:
    """Exact binomial tail at the bar: how surprising these successes are if the share were `bar`.

    "greater" is evidence that the true share is above the bar, "less" that it is below. It is the dual of
    `share_bounds`: the p-value is at most 1 - confidence exactly when the bound on that side has reached
    the bar (low >= bar for "greater", high <= bar for "less").

    With `n_effective` from `effective_n` it is the Korn-Graubard p-value *at the confidence that number was
    made for*: the effective size depends on the confidence through a ratio of two t quantiles, so one size,
    that of the nominal confidence, is used for the whole p-value. The duality then holds exactly at the
    nominal confidence, and the value is deterministic.

    successes, n, n_effective: as in `share_bounds`. bar: a share, 0 to 1.
    Raises DomainError for an argument outside these ranges.
    """
    bar = domain.real("bar", bar, low=0.0, high=1.0)
    hits, trials = _counts(successes, n, n_effective)
    if alternative == "greater":
        return distributions.at_least(hits, trials, bar)
    if alternative == "less":
        return distributions.at_most(hits, trials, bar)
    raise domain.refusal("alternative", alternative, "'less' or 'greater'")


def effective_n(n: int, design_effect: float, df: float, *, confidence: float) -> float:
    """Independent observations worth as much as `n` correlated ones.

    n / max(design_effect, 1), times (t with n-1 df / t with df)^2 at the one-sided confidence, at most n.
    Source: Korn and Graubard (1998), Survey Methodology 24; the NCHS standard for published proportions.

    n: observations, at least 2. design_effect: 0 or more. df: those of the design effect, above 0 and at
    most n - 1. Raises DomainError for an argument outside these ranges.
    """
    confidence = domain.confidence_level(confidence)
    n = domain.whole("n", n, 2)
    design_effect = domain.real("design_effect", design_effect, low=0.0)
    df = domain.positive("df", df)
    if df > n - 1:
        raise domain.refusal("df", df, f"at most n - 1, which is {n - 1}")
    ratio = distributions.t_quantile(confidence, n - 1.0) / distributions.t_quantile(confidence, df)
    return min(float(n), n / max(design_effect, 1.0) * ratio**2)


def korn_graubard_bounds(
    share: float, n: int, design_effect: float, df: float, *, confidence: float
) -> Bounds:
    """Clopper-Pearson bounds at the effective sample size, each end one-sided at `confidence`.

    Source: Korn and Graubard (1998). share: 0 to 1; the rest as in `effective_n`.
    Returns shares in [0, 1]. Raises DomainError for an argument outside these ranges.
    """
    share = domain.real("share", share, low=0.0, high=1.0)
    size = effective_n(n, design_effect, df, confidence=confidence)
    return share_bounds(share * n, n, confidence=confidence, n_effective=size)


def graded_bounds(
    scores: npt.ArrayLike, *, confidence: float, clusters: npt.ArrayLike | None = None
) -> Bounds:
    """Korn-Graubard bounds of the mean of scores in [0, 1], each end one-sided at `confidence`.

    The design effect is the variance of the mean relative to p(1 - p)/(n - 1), floored at 1: of all scores
    with a given mean those that are 0 or 1 vary most, so graded scores never count for more than yes or no
    would. Without clusters this is Clopper-Pearson on the sum of the scores.

    scores: (n,) in [0, 1], n at least 2. clusters: (n,) labels of any kind, at least 2 distinct ones.
    Returns shares in [0, 1]. Raises DomainError for an argument outside these ranges.
    """
    values = domain.vector("scores", scores, at_least=2, low=0.0, high=1.0)
    if clusters is None:
        return share_bounds(sums.total(values), values.size, confidence=confidence)
    mean = sums.mean(values)
    effect, df = cluster_design_effect(values, clusters)
    yes_or_no = mean * (1.0 - mean)
    if yes_or_no > 0.0 and np.ptp(values) > 0.0:
        effect *= sums.mean((values - mean) ** 2) / yes_or_no
    return korn_graubard_bounds(mean, values.size, effect, df, confidence=confidence)


def _counts(successes: float, n: int, n_effective: float | None) -> tuple[float, float]:
    """Successes and trials on the scale of the effective sample size."""
    n = domain.whole("n", n, 1)
    hits = domain.real("successes", successes, low=0.0)
    if hits > n:
        raise DomainError(f"successes is {successes!r}, expected at most n, which is {n}")
    if n_effective is None:
        return hits, float(n)
    size = domain.positive("n_effective", n_effective)
    if size > n:
        raise DomainError(f"n_effective is {n_effective!r}, expected at most n, which is {n}")
    return hits / n * size, size
