"""Where the time of a pipeline's requests goes, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import RequestLog
from pytest_procure.metrics import Execution, measure, metric
from pytest_procure.metrics.stages import columns, stage_names
from pytest_procure.stats import percentile
from pytest_procure.units import readable

from .shown import StageRecord

#: The rest of a request's time: the queue before it, and what hands over between stages.
WAITING = "waiting"


def stage_records(run: Execution) -> list[StageRecord]:
    """Give the mean time of each stage over the good answers, with the waiting first; [] for no pipeline.

    They add up to the mean latency. Under offline, where all samples are due at once, no waiting is told.
    """
    names = stage_names(run)
    good = _per_sample(run, lambda log: log.ok)
    if not names or not good.any():
        return []
    times = {name: columns(run, name).ns[good] / 1e6 for name in names}
    found: list[StageRecord] = []
    if run.scenario.allows_latency:
        latency = _per_sample(run, lambda log: log.latency)[good] / 1e6
        found.append(_record(WAITING, latency - np.sum(list(times.values()), axis=0)))
    found += [_more(_record(name, times[name]), run) for name in names]
    return found


def _record(name: str, milliseconds: NDArray[np.float64]) -> StageRecord:
    p95 = float(percentile(np.sort(milliseconds), 0.95, method="nearest-rank"))
    return {"name": name, "mean_ms": round(max(float(milliseconds.mean()), 0.0), 6), "p95_ms": round(p95, 6)}


def _more(record: StageRecord, run: Execution) -> StageRecord:
    name = record["name"]
    told = columns(run, name)
    record["reached"], record["failed"] = int(told.reached.sum()), int(told.failed.sum())
    score = measure(metric(f"stage.{name}.quality"), run).estimate
    if score is not None:
        record["score"] = float(score.number)
    cost = measure(metric(f"stage.{name}.cost_per_request"), run).estimate
    if cost is not None:
        record["cost"] = readable(cost)
    return record


def _per_sample(run: Execution, column: Callable[[RequestLog], NDArray[Any]]) -> NDArray[Any]:
    spread = [np.repeat(column(log), log.samples_per_query)[: len(log.samples)] for log in run.logs]
    return np.concatenate(spread)
