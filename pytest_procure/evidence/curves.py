"""How times are spread: the share of them that came within each of a few times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.stats import nearest_rank

#: Even steps, and finer ones where the bars are.
_SHARES = tuple(sorted({*(i / 100 for i in range(1, 100)), *(0.99 + i / 1000 for i in range(10)), 0.9995}))


def curve(sorted_ms: NDArray[np.float64]) -> list[list[float]]:
    """Give [share, ms] by nearest rank, up to the share that was answered; failures are infinite."""
    return [[q, ms] for q in _SHARES if (ms := reached(sorted_ms, q)) is not None]


def reached(sorted_ms: NDArray[np.float64], q: float) -> float | None:
    """Give a percentile (nearest rank); None where it falls among the failures, or nothing was timed."""
    if not len(sorted_ms):
        return None
    value = float(sorted_ms[-1 if q == 1 else nearest_rank(len(sorted_ms), q)])
    return round(value, 6) if np.isfinite(value) else None
