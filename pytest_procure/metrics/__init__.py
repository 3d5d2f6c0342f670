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
from .metric import Kind, Metric, metric
from .quality import quality, score
from .throughput import throughput

__all__ = ["Execution", "Measurement", "Metric", "measure", "metric", "score", "unmeasurable"]


_BY_KIND: dict[Kind, Callable[[Metric, Execution], Measurement]] = {
    "quality": quality,
    "latency": latency,
    "throughput": throughput,
    "errors": error_rate,
    "cost": cost_per_request,
    "energy": energy_per_request,
    "goodput": lambda what, _: unmeasurable(what, "its limits are given in the bar, or to `result.goodput`"),
    "condition": sustained,
    "own": lambda what, _: unmeasurable(what, f"the test gave no `procure.measure({what.name!r}, ...)`"),
}


def measure(what: Metric, run: Execution) -> Measurement:
    """Measure one metric of a run. What cannot be measured says why; it is never 0."""
    if run.scenario.stopping != "fixed" and what.kind not in {"quality", "own"}:
        return unmeasurable(what, STOPPED)
    return replace(_BY_KIND[what.kind](what, run), seconds=run.seconds)
