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
    if values.size and np.abs(values).max() * values.size < _WHOLE and (values == np.rint(values)).all():
        return float(values.sum())  # counts add up exactly in any order, and 40 times quicker
    return math.fsum(values.tolist())


def mean(values: npt.NDArray[np.float64]) -> float:
    """Return the mean of `values`."""
    return total(values) / values.size


def by_group(values: npt.NDArray[np.float64], member_of: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the sum of `values` in each group, added one after the other."""
    return np.bincount(member_of, weights=values).astype(np.float64)
