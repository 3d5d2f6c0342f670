"""Percentiles, in the definitions people mean by the word, and their order-statistic interval."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain

if TYPE_CHECKING:
    import numpy.typing as npt


def percentile(
    values: npt.ArrayLike, q: float, method: Literal["nearest-rank", "loadgen", "linear"] = "nearest-rank"
) -> float:
    """Return the q-quantile of `values`, in their unit.

    "nearest-rank": the smallest value that at least a share q of the values does not exceed (numpy's
    `inverted_cdf`), with q read as the decimal it is written as. "loadgen": the value at the zero-based
    index floor(n * q) in double arithmetic, as MLPerf's LoadGen reports it. "linear": numpy's default.
    Of 1..100 the 0.99-quantile is 99, 100 and 99.01.

    values: (n,) integers or floats, n at least 1, no NaN; inf (a failed request) sorts last.
    q: above 0, below 1. Raises DomainError otherwise.
    """
    q = domain.inside("q", q, 0.0, 1.0)
    array = domain.sortable("values", values)
    n = array.size
    if method == "nearest-rank":
        index = nearest_rank(n, q)
        return float(np.partition(array, index)[index])
    if method == "loadgen":
        index = min(int(n * q), n - 1)
        return float(np.partition(array, index)[index])
    if method == "linear":
        position = Fraction(repr(q)) * (n - 1)
        below = math.floor(position)
        above = math.ceil(position)
        ordered = np.partition(array, (below, above))
        start, end = float(ordered[below]), float(ordered[above])
        # Two equal ends include inf and inf, whose difference is no number.
        return start if start == end else start + (end - start) * float(position - below)
    raise domain.refusal("method", method, "'nearest-rank', 'loadgen' or 'linear'")


def nearest_rank(n: int, q: float) -> int:
    """Return the zero-based place of the q-quantile ("nearest-rank") among n values in ascending order.

    n: at least 1. q: above 0, below 1. Raises DomainError otherwise.
    """
    n = domain.whole("n", n, 1)
    return math.ceil(Fraction(repr(domain.inside("q", q, 0.0, 1.0))) * n) - 1


def order_statistic_ranks(n: int, q: float, *, confidence: float) -> tuple[int | None, int | None]:
    """Ranks (1-based, ascending) of the two values that bound the q-quantile, two-sided at `confidence`.

    Exact for independent values of any distribution; each end leaves at most (1 - confidence) / 2. None
    where no value is extreme enough. For display: it knows nothing of serial correlation.
    Source: Thompson (1936); David and Nagaraja, Order Statistics.

    n: at least 1. q: above 0, below 1. confidence: above 0.5, below 1. Raises DomainError otherwise.
    """
    tail = (1.0 - domain.confidence_level(confidence)) / 2.0
    n = domain.whole("n", n, 1)
    q = domain.inside("q", q, 0.0, 1.0)
    # Few values at or below the quantile mirror few values at or above it.
    mirrored = _upper_rank(n, 1.0 - q, tail)
    return None if mirrored is None else n + 1 - mirrored, _upper_rank(n, q, tail)


def upper_rank(n: int, q: float, *, confidence: float) -> int | None:
    """Rank (1-based, ascending) of the one-sided upper bound of the q-quantile; None when n is too small.

    The smallest rank r with P(Binomial(n, q) <= r - 1) >= confidence. Arguments and source as in
    `order_statistic_ranks`. Raises DomainError for an argument outside those ranges.
    """
    tail = 1.0 - domain.confidence_level(confidence)
    return _upper_rank(domain.whole("n", n, 1), domain.inside("q", q, 0.0, 1.0), tail)


def _upper_rank(n: int, q: float, tail: float) -> int | None:
    """Smallest rank r with P(Binomial(n, q) >= r) <= tail."""
    if distributions.at_least(n, n, q) > tail:
        return None
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if distributions.at_least(middle, n, q) <= tail:
            high = middle
        else:
            low = middle
    return high
