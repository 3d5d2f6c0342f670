"""Bounds that hold however often one looks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_procure.errors import DomainError
from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable


def confidence_sequence(successes: int, n: int, *, confidence: float) -> Bounds:
    """Bounds of a share that hold at every n at once, so that a run may be looked at and stopped any time.

    The shares p at which the uniform beta-binomial mixture B(k+1, n-k+1) / (p^k (1-p)^(n-k)) stays below
    1 / (1 - confidence); by Ville's inequality it ever leaves a true p with at most that risk. Both ends
    hold together at `confidence`. For independent items only.
    Source: Robbins (1970); Howard, Ramdas, McAuliffe and Sekhon (2021).

    successes: 0 to n. n: at least 1. Returns shares in [0, 1]. Raises DomainError otherwise.
    """
    confidence = domain.confidence_level(confidence)
    n = domain.whole("n", n, 1)
    hits = domain.whole("successes", successes, 0)
    if hits > n:
        raise DomainError(f"successes is {successes!r}, expected at most n, which is {n}")
    evidence = distributions.log_beta(hits + 1.0, n - hits + 1.0) + math.log1p(-confidence)

    def excluded(share: float) -> bool:
        return evidence >= hits * math.log(share) + (n - hits) * math.log1p(-share)

    share = hits / n
    low = 0.0 if hits == 0 else _edge(0.0, share, excluded)
    high = 1.0 if hits == n else _edge(1.0, share, excluded)
    return Bounds(low, high)


def _edge(outside: float, inside: float, excluded: Callable[[float], bool]) -> float:
    """Return the excluded number next to the interval's end, between one outside and one inside."""
    while min(outside, inside) < (middle := (outside + inside) / 2.0) < max(outside, inside):
        if excluded(middle):
            outside = middle
        else:
            inside = middle
    return outside
