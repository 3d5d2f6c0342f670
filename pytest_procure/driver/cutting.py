"""Cutting the beginning off a run: it was sent like the rest, is kept and shown, and is not measured.

A queue that begins empty, a cache that begins cold or a runtime that still compiles is not what the buyer
asks about. What the harness did is judged over all of the run: `audit` sees the whole log.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pytest_procure.errors import DataError
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

from .log import RequestLog
from .pull import Run


def measured_part(run: Run, scenario: Scenario) -> Run:
    """Part the log of a run where its scenario's `cut` ends; what was cut is `Run.cut`.

    Raises `DataError` when nothing is left to measure.
    """
    if not scenario.cut:
        return run
    rows = _rows(run.log, scenario.cut)
    if rows == len(run.log):
        raise DataError(
            f"all {rows:,} queries lie in the first {scenario.cut}, which are not counted (`cut=`); "
            f"expected a longer run, or a smaller cut"
        )
    before, after = part(run.log, 0, rows), part(run.log, rows, len(run.log))
    return replace(
        run,
        log=after,
        cut=before,
        conditions=run.conditions | {"cut_off": _told(before, after)},
        origin_ns=run.origin_ns + int(run.log.scheduled[rows]),
    )


def part(log: RequestLog, first: int, end: int) -> RequestLog:
    """Give the rows from `first` to `end`, with times from the first row's own."""
    per = log.samples_per_query
    rows, samples = slice(first, end), slice(first * per, end * per)
    shift = int(log.scheduled[first]) if first < end else 0
    return replace(
        log,
        scheduled=log.scheduled[rows] - shift,
        started=_since(log.started[rows], shift),
        completed=_since(log.completed[rows], shift),
        status=log.status[rows],
        batch=log.batch[rows],
        samples=log.samples[samples],
        answers=log.answers[samples],
        input_tokens=None if log.input_tokens is None else log.input_tokens[samples],
        output_tokens=None if log.output_tokens is None else log.output_tokens[samples],
        cached_tokens=None if log.cached_tokens is None else log.cached_tokens[samples],
        errors={query - first: text for query, text in log.errors.items() if first <= query < end},
        window_ns=log.window_ns - shift,
        stages={name: stage.part(samples) for name, stage in log.stages.items()},
        wire=None if log.wire is None else log.wire.part(first * per, end * per, shift),
    )


def _rows(log: RequestLog, cut: int | Quantity) -> int:
    """Count the rows that are cut. What waiting ended for is never among them: it would be forgotten."""
    late = np.flatnonzero(log.scheduled >= cut.ns) if isinstance(cut, Quantity) else np.arange(cut, len(log))
    first = int(late[0]) if len(late) else len(log)
    ended = np.flatnonzero(log.completed >= 0)
    lost_from = int(ended[-1]) + 1 if len(ended) else 0
    return first if lost_from == len(log) else min(first, lost_from)


def _since(column: Any, shift: int) -> Any:
    return np.where(column >= 0, column - shift, -1)


def _told(before: RequestLog, after: RequestLog) -> dict[str, Any]:
    """Tell what was cut, as plain JSON data."""
    told: dict[str, Any] = {"queries": len(before), "failed": int((~before.ok).sum())}
    if before.ok.any():
        took = np.sort(before.latency[before.ok]) / 1e6
        for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99)):
            told[name] = round(float(np.quantile(took, share, method="inverted_cdf")), 6)
    told["counted"] = len(after)
    return told
