"""Where a run settles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_procure.stats import _domain as domain

if TYPE_CHECKING:
    import numpy.typing as npt

#: Values of a batch.
BATCH = 5


def mser5(values: npt.ArrayLike) -> int:
    """Return how many first values to cut so that the rest looks steady (MSER-5).

    Means of batches of 5 (a last partial batch is left out); of the cuts up to half of the batches, the one
    with the smallest variance of the remaining mean, the earliest where two are equal. A cut at or near the
    half says that the run never settled. Source: White (1997); White, Cobb and Spratt (2000).

    values: (n,) finite, in time order, n at least 10. Returns a multiple of 5, at most n / 2.
    Raises DomainError otherwise.
    """
    return BATCH * mser(batch_means(domain.vector("values", values, at_least=2 * BATCH)))


def batch_means(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the means of batches of 5 of numbers in time order; a last partial batch is left out.

    values: (n,). Returns (n // 5,), which is all that `mser` needs of ten million values.
    """
    batches = values.size // BATCH
    means: npt.NDArray[np.float64] = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    return means


def mser(means: npt.NDArray[np.float64]) -> int:
    """Return how many first batches to cut so that the rest looks steady.

    means: (b,) finite means of batches in time order, b at least 2. Returns at most b / 2. As `mser5`, which
    counts values.
    """
    # Measured from a late value and summed from the end, a large transient costs the steady part no digits.
    backwards = means[::-1] - means[-1]
    left = np.arange(1, len(means) + 1, dtype=np.float64)
    sums = np.cumsum(backwards)
    squares = np.cumsum(backwards**2)
    # max(0, squares - sums**2 / left) / left**2 in place: of ten million values each copy counts.
    sums **= 2
    sums /= left
    squares -= sums
    np.maximum(squares, 0.0, out=squares)
    left **= 2
    spread = np.divide(squares, left, out=squares)
    return int(np.argmin(spread[::-1][: len(means) // 2 + 1]))
