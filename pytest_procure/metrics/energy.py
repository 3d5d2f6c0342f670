"""Energy per request, from the device's own counter over the measured window."""

from __future__ import annotations

import numpy as np

from pytest_procure.telemetry.instruments import NOT_COUNTED
from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Means, Measurement, unmeasurable
from .metric import Metric
from .throughput import MINIMUM_LAUNCHES


def energy_per_request(what: Metric, run: Execution) -> Measurement:
    """Measure joules a good answer, one value a launch: what fails takes its energy all the same.

    What else the device did meanwhile is counted as well. Whose energy it is, and by which counter, stands in
    the run's conditions.
    """
    joules = run.energy
    if joules is None or len(joules) != len(run.launches):
        return unmeasurable(what, _why(run))
    answered = [int(log.ok.sum()) for log in run.logs]
    if 0 in answered:
        return unmeasurable(what, "a launch answered no request, so it has no energy for one")
    each = np.array([j / n for j, n in zip(joules, answered, strict=True)])
    return Measurement(
        what,
        Quantity.of(round(float(each.mean()), 12), "J"),
        len(each),
        "launches",
        Means(each, "launches", MINIMUM_LAUNCHES),
    )


def _why(run: Execution) -> str:
    told = str(run.launches[0].conditions.get("energy", "")) if run.launches else ""
    if told.startswith(NOT_COUNTED):
        return told.removeprefix(NOT_COUNTED)
    if told:
        return "a reading of the energy counter is missing"
    return "the device has no energy counter that can be read here"
