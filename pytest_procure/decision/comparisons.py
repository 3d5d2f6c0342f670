"""Bars against another candidate: paired on the same items, interleaved in time."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import Contrast, Pairs

from .policy import Decision, Policy, undecided
from .tails import by_bounds, in_rows

#: The exponential of more than this is no float.
_LARGEST = 700.0


def contrast(basis: Contrast, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide "at least 99 % of the reference", or "at most 2 points below it", on the same items."""
    groups = len(basis.candidate) if basis.clusters is None else len(np.unique(basis.clusters))
    if groups < policy.min_clusters:
        why = f"{groups} independent items are too few for a verdict; it takes {policy.min_clusters}"
        return undecided(why, n_effective=float(groups))
    if basis.as_ratio:
        decided = by_bounds(
            lambda confidence: _contrast_at(basis, float(bar), confidence),
            sense,
            Decimal(0),
            policy,
            n_effective=float(groups),
        )
        low, high = _ratio_range(basis, policy)
        return replace(decided, low=low, high=high)
    return by_bounds(
        lambda confidence: _difference_at(basis, confidence), sense, bar, policy, n_effective=float(groups)
    )


def _contrast_at(basis: Contrast, ratio: float, confidence: float) -> stats.Bounds:
    bounds = stats.contrast_bounds(
        basis.candidate, basis.reference, ratio, confidence=confidence, clusters=basis.clusters
    )
    centre = stats.exact_sum(basis.candidate - ratio * basis.reference) / len(basis.candidate)
    return in_rows(bounds, centre, basis.rows, len(basis.candidate), confidence)


def _difference_at(basis: Contrast, confidence: float) -> stats.Bounds:
    """Give bounds of the difference in points: Newcombe's or wider for right and wrong, else Student's t."""
    if basis.counts:
        a, b = basis.candidate == 1, basis.reference == 1
        counts = [int(each.sum()) for each in (a & b, a & ~b, ~a & b, ~a & ~b)]
        bounds = stats.paired_share_bounds(*counts, confidence=confidence)
        centre = (counts[1] - counts[2]) / sum(counts)
        bounds = in_rows(bounds, centre, basis.rows, sum(counts), confidence)
    else:
        bounds = _contrast_at(basis, 1.0, confidence)
    # Made-up items and rows of failures widen it; scores are shares, and lie no further apart than this.
    return stats.Bounds(max(bounds.low, -1.0) * 100, min(bounds.high, 1.0) * 100)


def _ratio_range(basis: Contrast, policy: Policy) -> tuple[Decimal | None, Decimal | None]:
    """Find the ratios at which the contrast's bounds are 0: the likely range of the ratio itself."""
    ends: list[Decimal | None] = []
    for end in ("low", "high"):
        below, above = 1e-6, 1e6
        for _ in range(50):  # to nine digits and more
            middle = (below * above) ** 0.5
            value = getattr(_contrast_at(basis, middle, policy.confidence), end)
            below, above = (middle, above) if value >= 0 else (below, middle)
        found = below if end == "low" else above
        ends.append(None if found > 1e5 or found < 1e-5 else Decimal(repr(round(found, 9))))
    return ends[0], ends[1]


def pairs(basis: Pairs, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide a ratio of speeds by Student's t on the logarithms of interleaved pairs."""
    b = len(basis.logs)
    if b < basis.minimum:
        why = f"{b} pairs of blocks are too few for a verdict; it takes {basis.minimum}"
        return undecided(why, n_effective=float(b))

    def bounds_at(confidence: float) -> stats.Bounds:
        logs = stats.launch_mean_bounds(basis.logs, confidence=confidence)
        return stats.Bounds(math.exp(logs.low), math.exp(logs.high) if logs.high < _LARGEST else math.inf)

    return by_bounds(bounds_at, sense, bar, policy, n_effective=float(b))
