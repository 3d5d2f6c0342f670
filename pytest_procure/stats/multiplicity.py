"""Several bars at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_procure.stats import _domain as domain

if TYPE_CHECKING:
    import numpy.typing as npt


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Holm's step-down adjustment, in the order given.

    A hypothesis is rejected at a family-wise risk when its adjusted p-value is at most that risk.
    Source: Holm (1979). p_values: (m,) in [0, 1], m at least 1. Returns (m,) in [0, 1].
    Raises DomainError otherwise.
    """
    values = domain.vector("p_values", p_values, low=0.0, high=1.0)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
