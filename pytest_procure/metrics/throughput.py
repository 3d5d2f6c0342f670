"""Throughput: good answers a second, one value a launch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Means, Measurement, unmeasurable
from .metric import Metric

#: A capacity claim rests on this many fresh launches: within one, all samples share its luck.
MINIMUM_LAUNCHES = 5


def rates(run: Execution) -> NDArray[np.float64]:
    """`(launches,)` good samples a second, from the first scheduled time to the last completion."""
    return np.array(
        [
            int(log.ok.sum()) * log.samples_per_query / (log.window_ns / 1e9) if log.window_ns else 0.0
            for log in run.logs
        ]
    )


def throughput(what: Metric, run: Execution) -> Measurement:
    """Measure samples a second. Not where the rate is declared: there it is a condition."""
    if run.scenario.rate_is_declared:
        return unmeasurable(what, "at a declared rate the rate is a condition, not a result")
    if run.blocks:
        return unmeasurable(what, "the blocks of a comparison are no fresh launches")
    values = rates(run)
    return Measurement(
        what,
        Quantity.of(round(float(values.mean()), 6), "1/s"),
        len(values),
        "launches",
        Means(values, "launches", MINIMUM_LAUNCHES),
    )
