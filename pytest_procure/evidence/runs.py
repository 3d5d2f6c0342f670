"""A run as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.deviation import answered_by
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import Run
from pytest_procure.metrics import Execution
from pytest_procure.metrics.latency import request_latencies
from pytest_procure.metrics.measurement import NEVER
from pytest_procure.metrics.scoring import unscored_notes

from .curves import curve, reached
from .gallery import gallery
from .keeping import Kept
from .record import RunRecord
from .stages import stage_records
from .streams import stream_record
from .timeline import timeline

_SHOWN = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
_ERROR_TEXTS = 5


def run_record(run: Execution, *, declared: bool, faults: Sequence[str], kept: Kept | None) -> RunRecord:
    """Write an execution as plain data; `kept` says where its request log lies, if it is kept."""
    status = run.status
    milliseconds = _latencies(run)
    record: RunRecord = {
        "candidate": run.candidate.name,
        "label": run.scenario.label,
        "conditions": run.launches[0].conditions,
        "declared": declared,
        "requests": run.requests,
        "ok": int((status == Status.OK).sum()),
        "failures": {
            kind.name.lower(): int((status == kind).sum())
            for kind in Status
            if kind is not Status.OK and (status == kind).any()
        },
        "error_texts": list(
            dict.fromkeys(log.errors[place] for log in run.logs for place in sorted(log.errors))
        )[:_ERROR_TEXTS],
        "seconds": round(sum(log.window_ns for log in run.logs) / 1e9, 6),
        "latency_ms": {label: ms for label, q in _SHOWN if (ms := reached(milliseconds, q)) is not None},
        "curve": curve(milliseconds),
        "slice": run.slice.describe(),
        "scores": {scorer: round(float(scores.mean()), 12) for scorer, scores in run.scores.items()},
        "strata": _strata(run),
        "audit": _worst(run.launches).audit.as_dict(),
        "faults": list(faults),
        "notes": [*(note for each in run.launches for note in _notes(each)), *unscored_notes(run)],
        "stopped": run.stopped,
        "stream": stream_record(run),
    }
    if run.requests:
        warmup = run.launches[0].warmup_ns
        record["timeline"] = timeline(run.logs, latency=run.scenario.allows_latency, warmup_ns=warmup)
    failures = gallery(run) if kept is None else kept.gallery
    if failures is not None:
        record["gallery"] = failures
    if run.instead is not None:
        record["instead"] = dict(run.instead)
    if stages := stage_records(run):
        record["stages"] = stages
    if kept is not None:
        record["log"] = kept.file
        record["log_sha256"] = kept.log.sha256
        if kept.cut is not None:
            record["cut_log"], record["cut_log_sha256"] = kept.cut
        record["wire_sha256"] = dict(kept.wires)
    return record


def _notes(launch: Run) -> list[str]:
    """Tell what the driver saw of the candidate, and where answers name another model than was asked for."""
    answered = answered_by(launch.conditions)
    return [*launch.audit.candidate_notes(), *([answered.sentence] if answered else [])]


def _worst(launches: Sequence[Run]) -> Run:
    """Give the launch that the harness served worst: the first of those with most faults and the latest."""
    return max(launches, key=lambda each: (len(each.audit.faults()), each.audit.send_lag_p99_ns or 0))


def _latencies(run: Execution) -> NDArray[np.float64]:
    """Sorted, in ms, failures as infinite; nothing under offline, where all samples are due at once."""
    if not run.scenario.allows_latency or run.requests == 0:
        return np.empty(0)
    values = request_latencies(run)
    return np.sort(np.where(values == NEVER, np.inf, values / 1e6))


def _strata(run: Execution) -> list[dict[str, Any]]:
    """Give the share of the first scorer in each stratum, so that a failing group is seen."""
    if run.slice.strata is None or not run.scores:
        return []
    scores = next(iter(run.scores.values()))
    groups = run.slice.strata[run.items]
    return [
        {
            "stratum": str(stratum),
            "n": int((groups == stratum).sum()),
            "share": round(float(scores[groups == stratum].mean()), 12),
        }
        for stratum in np.unique(groups)
    ]
