"""Two candidates on the same items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums
from pytest_procure.stats.bounds import Bounds

if TYPE_CHECKING:
    import numpy.typing as npt

_FEW_DIFFERENCES = 30


def newcombe_paired(both: int, only_a: int, only_b: int, neither: int, *, confidence: float) -> Bounds:
    """Bounds of the difference between two shares of the same items, A minus B.

    Newcombe's method 10: Wilson bounds of each share, joined with their correlation, whose numerator is
    lowered by n/2 (to 0 at least) where it is positive. Each end one-sided at `confidence`.
    Source: Newcombe (1998), Statistics in Medicine 17, 2635-2650.

    both, only_a, only_b, neither: items that both candidates got right, only A, only B, neither; at least one
    item in all. Returns differences in [-1, 1]. Raises DomainError for other counts.
    """
    confidence = domain.confidence_level(confidence)
    both = domain.whole("both", both, 0)
    only_a = domain.whole("only_a", only_a, 0)
    only_b = domain.whole("only_b", only_b, 0)
    neither = domain.whole("neither", neither, 0)
    n = both + only_a + only_b + neither
    if n == 0:
        raise domain.refusal("both + only_a + only_b + neither", 0, "at least 1 item")
    right_a, right_b = both + only_a, both + only_b
    share_a, share_b = right_a / n, right_b / n
    a, b = _wilson(right_a, n, confidence), _wilson(right_b, n, confidence)
    joint = float(both * neither - only_a * only_b)
    if joint > 0.0:
        joint = max(joint - n / 2.0, 0.0)
    margins = right_a * (n - right_a) * right_b * (n - right_b)
    correlation = joint / math.sqrt(margins) if margins else 0.0
    down = _joined(share_a - a.low, b.high - share_b, correlation)
    up = _joined(a.high - share_a, share_b - b.low, correlation)
    difference = (only_a - only_b) / n
    return Bounds(difference - down, difference + up)


def contrast_bounds(
    candidate: npt.ArrayLike,
    reference: npt.ArrayLike,
    ratio: float,
    *,
    confidence: float,
    clusters: npt.ArrayLike | None = None,
) -> Bounds:
    """Bounds of mean(candidate - ratio * reference): "at least `ratio` of the reference" when 0 or more.

    Student's t on the items' contrasts, by cluster where clusters are given (residual sums, G - 1 df), each
    end one-sided at `confidence`. Where fewer than 30 items (clusters) differ between the two, the spread
    seen says little of the spread there is; two made-up ones are added then, one that only the candidate
    gets right and one that only the reference does. Source: Bonett and Price (2012), adjusted Wald interval
    for paired proportions. Without them, candidates exactly at 99 % of their reference that differ on few
    items were accepted up to 68 times in 100 at a nominal 5; with them 7 (n = 50 to 5000).

    candidate, reference: (n,) scores in [0, 1] of the same items in the same order, n at least 2.
    ratio: above 0. clusters: (n,) labels of any kind, at least 2 distinct ones.
    Returns bounds in units of the score. Raises DomainError otherwise.
    """
    confidence = domain.confidence_level(confidence)
    ours = domain.vector("candidate", candidate, at_least=2, low=0.0, high=1.0)
    theirs = domain.vector("reference", reference, at_least=2, low=0.0, high=1.0)
    domain.same_length("reference", theirs, "candidate", ours.size)
    ratio = domain.positive("ratio", ratio)
    member_of, sizes = domain.grouping(clusters, ours.size)
    contrasts = sums.by_group(ours - ratio * theirs, member_of)
    df = sizes.size - 1
    if np.unique(member_of[ours != theirs]).size < _FEW_DIFFERENCES:
        typical = sums.mean(sizes)
        sizes = np.append(sizes, (typical, typical))
        contrasts = np.append(contrasts, (typical, -ratio * typical))
    n, groups = sums.total(sizes), sizes.size
    mean = sums.total(contrasts) / n
    error = math.sqrt(groups / (groups - 1) * sums.total((contrasts - mean * sizes) ** 2)) / n
    reach = distributions.t_quantile(confidence, df) * error
    return Bounds(mean - reach, mean + reach)


def paired_share_bounds(both: int, only_a: int, only_b: int, neither: int, *, confidence: float) -> Bounds:
    """Bounds of the difference between two shares of the same items: the wider of two at each end.

    Newcombe's method 10 leaves the range too short where few items differ: of 100 items that neither gets
    right half of the time, a candidate exactly 2 points below is shown to be no further below 13 times in 100
    at a nominal 5. The score interval (Tango 1998, Statistics in Medicine 17, 891-908) takes the spread at
    the difference that is tried, not at the one that was seen. `contrast_bounds` has two made-up items that
    differ, for samples that hold none.

    both, only_a, only_b, neither, confidence: as in `newcombe_paired`. Raises DomainError as there.
    """
    found = newcombe_paired(both, only_a, only_b, neither, confidence=confidence)
    counts = (both, only_a, only_b, neither)
    n = sum(counts)
    low, high = _score_end(only_a, only_b, n, confidence), -_score_end(only_b, only_a, n, confidence)
    ends = [found, Bounds(low, high)]
    if n > 1:
        ours, theirs = np.repeat((1.0, 1.0, 0.0, 0.0), counts), np.repeat((1.0, 0.0, 1.0, 0.0), counts)
        ends.append(contrast_bounds(ours, theirs, 1.0, confidence=confidence))
    return Bounds(min(each.low for each in ends), max(each.high for each in ends))


def _score_end(only_a: int, only_b: int, n: int, confidence: float) -> float:
    """Lower end of the score interval: the largest difference that the counts still lie far above."""
    z = distributions.normal_quantile(confidence)

    def far_above(tried: float) -> bool:
        # The most likely share of items that only B gets right, where A - B is as tried.
        linear = (2 * n - only_a + only_b) * tried - only_a - only_b
        root = math.sqrt(max(linear**2 + 8 * n * only_b * tried * (1.0 - tried), 0.0))
        variance = n * (2.0 * (root - linear) / (4 * n) + tried * (1.0 - tried))
        return only_a - only_b - n * tried >= z * math.sqrt(max(variance, 0.0))

    low, high = -1.0, (only_a - only_b) / n
    for _ in range(60):  # to the last digit
        middle = (low + high) / 2
        low, high = (middle, high) if far_above(middle) else (low, middle)
    return low


def _wilson(hits: int, n: int, confidence: float) -> Bounds:
    """Wilson score bounds, each end one-sided (Wilson 1927)."""
    z = distributions.normal_quantile(confidence)
    share = hits / n
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1.0 - share) / n + (z / (2 * n)) ** 2)
    scale = 1.0 + z * z / n
    return Bounds((centre - reach) / scale, (centre + reach) / scale)


def _joined(one: float, other: float, correlation: float) -> float:
    """Length of two correlated distances, the second subtracted from the first."""
    return math.sqrt(max(one * one - 2.0 * correlation * one * other + other * other, 0.0))
