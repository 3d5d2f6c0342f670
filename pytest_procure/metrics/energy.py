"""Energy per request, from the device's own counter over the measured window."""

from __future__ import annotations

import numpy as np

from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Means, Measurement, unmeasurable
from .metric import Metric
from .throughput import MINIMUM_LAUNCHES


def energy_per_request(what: Metric, run: Execution) -> Measurement:
    """Measure joules a request, one value a launch; what else the device did meanwhile is counted as well."""
    joules = run.energy
    if joules is None or len(joules) != len(run.launches):
        return unmeasurable(what, "the device has no energy counter that can be read here")
    each = np.array([j / max(1, len(log)) for j, log in zip(joules, run.logs, strict=True)])
    return Measurement(
        what,
        Quantity.of(round(float(each.mean()), 12), "J"),
        len(each),
        "launches",
        Means(each, "launches", MINIMUM_LAUNCHES),
    )
