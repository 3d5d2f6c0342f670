"""From a request log to measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .cost import cost_per_request
from .energy import energy_per_request
from .execution import STOPPED, Execution
from .failures import error_rate, sustained
from .latency import latency
from .measurement import Measurement, unmeasurable
from .memory import gpu_memory_peak
from .metric import COST, Kind, Metric, metric
from .quality import by_items, quality
from .scoring import Scored, score, score_stages, telling
from .stages import is_priced_by_stage, of_stage, sum_of_stages
from .throughput import throughput

__all__ = [
    "Execution",
    "Measurement",
    "Metric",
    "Scored",
    "measure",
    "metric",
    "score",
    "score_stages",
    "telling",
    "unmeasurable",
]


_BY_KIND: dict[Kind, Callable[[Metric, Execution], Measurement]] = {
    "quality": quality,
    "latency": latency,
    "throughput": throughput,
    "errors": error_rate,
    "cost": cost_per_request,
    "energy": energy_per_request,
    "memory": gpu_memory_peak,
    "goodput": lambda what, _: unmeasurable(what, "its limits are given in the bar, or to `result.goodput`"),
    "condition": sustained,
    "own": lambda what, _: unmeasurable(what, f"the test gave no `procure.measure({what.name!r}, ...)`"),
}


def measure(what: Metric, run: Execution) -> Measurement:
    """Measure one metric of a run. What cannot be measured says why; it is never 0."""
    whole = what.kind in {"quality", "own"} and not what.stage
    if run.scenario.stopping != "fixed" and not whole:
        return unmeasurable(what, STOPPED)
    if what.name == COST.name and run.candidate.price is None and is_priced_by_stage(run):
        return replace(sum_of_stages(what, run), seconds=run.seconds)
    if what.stage:
        return replace(of_stage(what, run), seconds=run.seconds)
    measured = replace(_BY_KIND[what.kind](what, run), seconds=run.seconds)
    return by_items(measured, run) if what.kind in {"quality", "latency", "errors"} else measured
