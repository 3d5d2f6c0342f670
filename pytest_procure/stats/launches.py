"""The mean over independent launches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats.bounds import Bounds

if TYPE_CHECKING:
    import numpy.typing as npt


def launch_mean_bounds(values_per_launch: npt.ArrayLike, *, confidence: float) -> Bounds:
    """Student's t bounds of the mean over launches, each end one-sided at `confidence`.

    The unit of observation is the launch, never the request: launches differ by more than the requests
    within one can show (Kalibera and Jones 2013). values_per_launch: (launches,) finite, one number each, at
    least 2. Returns bounds in the values' unit. Raises DomainError otherwise.
    """
    confidence = domain.confidence_level(confidence)
    values = domain.vector("values_per_launch", values_per_launch, at_least=2)
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(values.size)
    reach = distributions.t_quantile(confidence, values.size - 1.0) * error
    return Bounds(mean - reach, mean + reach)
