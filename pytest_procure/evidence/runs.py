"""A run as plain data, and its request log as a file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import Status
from pytest_procure.metrics import Execution
from pytest_procure.metrics.latency import request_latencies
from pytest_procure.metrics.measurement import NEVER
from pytest_procure.stats import percentile

from .logs import write_log
from .record import RunRecord

_SHOWN = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
#: Shares at which the latency curve is kept: even steps, and finer ones where the bars are.
_CURVE = tuple(sorted({*(i / 100 for i in range(1, 100)), *(0.99 + i / 1000 for i in range(10)), 0.9995}))
_ERROR_TEXTS = 5


def run_record(
    run: Execution, name: str, *, declared: bool, faults: Sequence[str], folder: Path | None
) -> RunRecord:
    """Write an execution as plain data; with a folder, its request log goes there as `runs/<name>.csv.gz`."""
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
        "error_texts": list(dict.fromkeys(text for log in run.logs for text in log.errors.values()))[
            :_ERROR_TEXTS
        ],
        "seconds": round(sum(log.window_ns for log in run.logs) / 1e9, 6),
        "latency_ms": {label: ms for label, q in _SHOWN if (ms := _at(milliseconds, q)) is not None},
        "curve": [[q, ms] for q in _CURVE if (ms := _at(milliseconds, q)) is not None],
        "slice": run.slice.describe(),
        "scores": {scorer: round(float(scores.mean()), 12) for scorer, scores in run.scores.items()},
        "strata": _strata(run),
        "audit": run.launches[0].audit.as_dict(),
        "faults": list(faults),
        "notes": [note for each in run.launches for note in each.audit.candidate_notes()],
        "stopped": run.stopped,
    }
    if folder is not None:
        file = f"runs/{file_name(name)}.csv.gz"
        record["log"] = file
        record["log_sha256"] = write_log(folder / file, run)
    return record


def file_name(name: str) -> str:
    """Make a file name of a test's id: readable, without separators, never longer than systems allow.

    Eight digits of the id's digest keep `acme int8` and `acme-int8` apart.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    return f"{plain[-120:]}.{hashlib.sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def _latencies(run: Execution) -> NDArray[np.float64]:
    """Sorted, in ms, failures as infinite; nothing under offline, where all samples are due at once."""
    if not run.scenario.allows_latency or run.requests == 0:
        return np.empty(0)
    values = request_latencies(run)
    return np.sort(np.where(values == NEVER, np.inf, values / 1e6))


def _at(sorted_ms: NDArray[np.float64], q: float) -> float | None:
    """Give a percentile (nearest rank); None where it falls among the failures, or nothing was timed."""
    if not len(sorted_ms):
        return None
    value = float(sorted_ms[-1]) if q == 1 else percentile(sorted_ms, q, method="nearest-rank")
    return round(value, 6) if np.isfinite(value) else None


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
