"""Where a run settles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_procure.stats import _domain as domain

if TYPE_CHECKING:
    import numpy.typing as npt

_BATCH = 5


def mser5(values: npt.ArrayLike) -> int:
    """Return how many first values to cut so that the rest looks steady (MSER-5).

    Means of batches of 5 (a last partial batch is left out); of the cuts up to half of the batches, the one
    with the smallest variance of the remaining mean, the earliest where two are equal. A cut at or near the
    half says that the run never settled. Source: White (1997); White, Cobb and Spratt (2000).

    values: (n,) finite, in time order, n at least 10. Returns a multiple of 5, at most n / 2.
    Raises DomainError otherwise.
    """
    array = domain.vector("values", values, at_least=2 * _BATCH)
    batches = array.size // _BATCH
    means = array[: batches * _BATCH].reshape(batches, _BATCH).mean(axis=1)
    # Measured from a late value and summed from the end, a large transient costs the steady part no digits.
    means -= means[-1]
    left = np.arange(1, batches + 1, dtype=np.float64)
    sums = np.cumsum(means[::-1])
    squares = np.cumsum(means[::-1] ** 2)
    # max(0, squares - sums**2 / left) / left**2 in place: of ten million values each copy counts.
    sums **= 2
    sums /= left
    squares -= sums
    np.maximum(squares, 0.0, out=squares)
    left **= 2
    spread = np.divide(squares, left, out=squares)
    cuts = spread[::-1][: batches // 2 + 1]
    return int(np.argmin(cuts)) * _BATCH
