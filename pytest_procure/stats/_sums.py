"""Sums that come out the same everywhere.

numpy adds in an order that follows the CPU's vector width, BLAS in one that follows the CPU's model. A bound
that is recomputed elsewhere, or from items in another order, must not move.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_WHOLE = 2.0**53


def total(values: npt.NDArray[np.float64]) -> float:
    """Return the sum of `values`, rounded once."""
    return float(values.sum()) if _counts(values) else math.fsum(values.tolist())


def _counts(values: npt.NDArray[np.float64]) -> bool:
    """Whether they are whole and few enough to add up exactly in any order, which is 40 times quicker."""
    for part in (values[:16], values):  # most that are not whole show it at once
        if (part != np.rint(part)).any():
            return False
    return values.size == 0 or max(values.max(), -values.min()) * values.size < _WHOLE


def mean(values: npt.NDArray[np.float64]) -> float:
    """Return the mean of `values`."""
    return total(values) / values.size


def by_group(values: npt.NDArray[np.float64], member_of: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the sum of `values` in each group, added one after the other."""
    return np.bincount(member_of, weights=values).astype(np.float64)
