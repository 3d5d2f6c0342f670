"""The mean over independent launches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums
from pytest_procure.stats.bounds import Bounds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def launch_mean_bounds(values_per_launch: npt.ArrayLike, *, confidence: float) -> Bounds:
    """Student's t bounds of the mean over launches, each end one-sided at `confidence`.

    The unit of observation is the launch, never the request: launches differ by more than the requests
    within one can show (Kalibera and Jones 2013). values_per_launch: (launches,) finite, one number each, at
    least 2. Returns bounds in the values' unit. Raises DomainError otherwise.
    """
    confidence = domain.confidence_level(confidence)
    values = domain.vector("values_per_launch", values_per_launch, at_least=2)
    mean, error = _mean_and_error(values)
    reach = distributions.t_quantile(confidence, values.size - 1.0) * error
    return Bounds(mean - reach, mean + reach)


def launch_mean_p_value(
    values_per_launch: npt.ArrayLike, bar: float, *, alternative: Literal["less", "greater"]
) -> float:
    """Probability of a mean this far on that side of `bar` if the true mean were `bar` (Student's t).

    The dual of `launch_mean_bounds`; without spread it is 0 or 1. values_per_launch: as there. bar: finite,
    in the values' unit. Raises DomainError otherwise.
    """
    values = domain.vector("values_per_launch", values_per_launch, at_least=2)
    bar = domain.real("bar", bar)
    if alternative not in {"less", "greater"}:
        raise domain.refusal("alternative", alternative, "'less' or 'greater'")
    mean, error = _mean_and_error(values)
    beyond = bar - mean if alternative == "less" else mean - bar
    if error == 0.0:
        return 0.0 if beyond > 0 else 1.0
    return distributions.t_upper_tail(beyond / error, values.size - 1.0)


def _mean_and_error(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    mean, n = sums.mean(values), values.size
    return mean, math.sqrt(sums.total((values - mean) ** 2) / (n - 1) / n)
