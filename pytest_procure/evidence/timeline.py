"""A run in steps of time: what was due, what was answered, how long it took, and where it stood still."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.stats import percentile

from .shown import TimelineRecord

#: Steps of a run; more would be narrower than a line on paper.
_STEPS = 40
#: Fewer requests a step than this say little of their percentiles.
_REQUESTS_A_STEP = 5
#: A stall: nothing is answered, though something is due, for this many times the usual wait ...
_STALL_FACTOR = 10.0
#: ... and this part of the run. Most that are told.
_STALL_PART, _STALLS = 0.01, 5

Int64 = NDArray[np.int64]


def timeline(logs: Sequence[RequestLog], *, latency: bool, warmup_ns: int = 0) -> TimelineRecord:
    """Cut a run into at most 40 equal steps; launches follow each other, without the pauses between them.

    `due` counts requests by their scheduled time, `answered` good ones by their completion. `half_ms` and
    `slow_ms` are percentiles (p50 and p95, nearest rank) of the requests that were due in a step, failures
    as infinitely long; None where that many were not answered, or none was due. Without `latency` (offline:
    all are due at once) both are empty.
    """
    starts = np.cumsum([0, *(log.window_ns for log in logs)])
    due = np.concatenate([log.scheduled + start for log, start in zip(logs, starts, strict=False)])
    done = np.concatenate(
        [
            np.where(log.completed >= 0, log.completed + start, -1)
            for log, start in zip(logs, starts, strict=False)
        ]
    )
    status = np.concatenate([log.status for log in logs])
    steps = int(min(_STEPS, max(1, len(due) // _REQUESTS_A_STEP)))
    total = max(int(starts[-1]), steps)  # a run may end at once, and no step takes no time
    good = status == Status.OK
    told: TimelineRecord = {
        "step": round(total / steps / 1e9, 9),
        "warmup": round(warmup_ns / 1e9, 3),
        "launches": [round(int(start) / 1e9, 6) for start in starts[:-1]],
        "due": _counts(_step(due, total, steps), steps),
        "answered": _counts(_step(done[good], total, steps), steps),
        "failed": _counts(_step(due[~good], total, steps), steps),
        "half_ms": [],
        "slow_ms": [],
        "stalls": _stalls(due, done, good, total),
    }
    if latency:
        waited = np.where(good, done - due, np.inf)
        step = _step(due, total, steps)
        told["half_ms"] = _percentiles(waited, step, steps, 0.5)
        told["slow_ms"] = _percentiles(waited, step, steps, 0.95)
    return told


def _step(times: Int64, total: int, steps: int) -> Int64:
    """`(n,)` number of the step that a time falls into; what is later belongs to the last."""
    return np.clip(times * steps // total, 0, steps - 1)


def _counts(step: Int64, steps: int) -> list[int]:
    counted: list[int] = np.bincount(step, minlength=steps).tolist()
    return counted


def _percentiles(waited: NDArray[np.float64], step: Int64, steps: int, q: float) -> list[float | None]:
    order = np.argsort(step, kind="stable")
    ends = np.cumsum(np.bincount(step, minlength=steps))
    return [_milliseconds(part, q) for part in np.split(waited[order], ends[:-1])]


def _milliseconds(values: NDArray[np.float64], q: float) -> float | None:
    if not len(values):
        return None
    at = float(percentile(values, q, method="nearest-rank"))
    return round(at / 1e6, 6) if np.isfinite(at) else None


def _stalls(due: Int64, done: Int64, good: NDArray[np.bool_], total: int) -> list[list[float]]:
    """List the longest times in which something was due and nothing came: [from, how long], in seconds."""
    ended = np.sort(done[done >= 0])
    if len(ended) < 2:
        return []
    asked = np.sort(due)
    # After k answers the next one has been waited for since the last answer, or since request k was due.
    since = np.maximum(ended[:-1], asked[1 : len(ended)])
    gaps = ended[1:] - since
    usual = float(np.median((done - due)[good])) if good.any() else 0.0
    least = max(_STALL_FACTOR * usual, _STALL_PART * total)
    longest = np.argsort(-gaps, kind="stable")[:_STALLS]
    found = sorted((int(since[i]), int(gaps[i])) for i in longest if gaps[i] >= least)
    return [[round(start / 1e9, 6), round(gap / 1e9, 6)] for start, gap in found]
