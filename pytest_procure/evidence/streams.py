"""What the record says of an endpoint's run: token times, tokens, failures by class, attempts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.log import RequestLog, Wire
from pytest_procure.metrics import Execution
from pytest_procure.metrics.measurement import NEVER
from pytest_procure.metrics.tokens import absent, gaps, times_of

from .curves import curve, reached

_SHOWN = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
#: A pause: an answer under way stands still for this many times the usual gap between tokens ...
_PAUSE_FACTOR = 10.0
#: ... and this part of the run. Most that are told.
_PAUSE_PART, _PAUSES = 0.01, 5


def stream_record(run: Execution) -> dict[str, Any]:
    """Give all of it as plain JSON data; {} where the candidate is no endpoint.

    Percentiles that lie among the failures are left out, and so are those of what did not come as a stream;
    `not_measurable` says why.
    """
    logs = [log for log in run.logs if log.wire is not None]
    wires = [log.wire for log in logs if log.wire is not None]
    if not wires:
        return {}
    reason = next((why for log in logs if (why := absent(log))), "")
    classes = np.concatenate([wire.failure for wire in wires])
    told: dict[str, Any] = {
        "not_measurable": reason,
        "failures": {
            Failure(kind).name.lower(): int((classes == kind).sum()) for kind in np.unique(classes) if kind
        },
        "attempts": int(
            sum(
                (log.started >= 0).sum() * log.samples_per_query + wire.retries.sum()
                for log, wire in zip(logs, wires, strict=True)
            )
        ),
        "bytes": int(sum(wire.received.sum(dtype=np.int64) for wire in wires)),
        "tokens": _tokens(logs, wires),
        "ended_by": _ended_by(run),
    }
    if not reason:
        told["curves"] = {}
        for family in ("ttft", "itl", "tpot"):
            values = np.concatenate([times_of(family, log) for log in logs])
            milliseconds = np.sort(np.where(values == NEVER, np.inf, values / 1e6))
            told[f"{family}_ms"] = {
                label: ms for label, q in _SHOWN if (ms := reached(milliseconds, q)) is not None
            }
            told["curves"][family] = curve(milliseconds)
        told["pauses"] = _pauses(logs, wires)
    return told


def _ended_by(run: Execution) -> dict[str, int]:
    """Count the answers by what the server says ended them, over all launches."""
    counted: Counter[str] = Counter()
    for launch in run.launches:
        counted.update(launch.conditions.get("ended_by", {}))
    return dict(sorted(counted.items()))


def _pauses(logs: list[RequestLog], wires: list[Wire]) -> list[list[float]]:
    """List the longest times in which an answer under way stood still: [from, how long], in seconds.

    A pause is a gap between two arrivals of tokens of one good answer that is ten times the median gap, and a
    hundredth of the run, or longer. Launches follow each other.
    """
    begins, lengths, start = [], [], 0
    for log, wire in zip(logs, wires, strict=True):
        _, begun, took = gaps(log, wire)
        begins.append(begun + start)
        lengths.append(took)
        start += log.window_ns
    begun, took = np.concatenate(begins), np.concatenate(lengths)
    if not len(took):
        return []
    least = max(_PAUSE_FACTOR * float(np.median(took)), _PAUSE_PART * start)
    long = np.flatnonzero(took >= least)
    longest = long[np.argsort(-took[long], kind="stable")[:_PAUSES]]
    found = sorted((int(begun[i]), int(took[i])) for i in longest)
    return [[round(first / 1e9, 6), round(gap / 1e9, 6)] for first, gap in found]


def _tokens(logs: list[RequestLog], wires: list[Wire]) -> dict[str, int | None]:
    """Sum up tokens of good answers, each way they were counted; None where one of them was not."""
    return {
        "reported_input": _sum([log.input_tokens for log in logs], logs),
        "reported_output": _sum([log.output_tokens for log in logs], logs),
        "reported_cached": _sum([wire.cached for wire in wires], logs),
        "counted_input": _sum([wire.counted_input for wire in wires], logs),
        "counted_output": _sum([wire.counted for wire in wires], logs),
        "chunks": _sum([wire.chunks for wire in wires], logs),
    }


def _sum(columns: list[Any], logs: list[RequestLog]) -> int | None:
    total = 0
    for column, log in zip(columns, logs, strict=True):
        good = log.by_sample(log.ok)
        if column is None or not good.any() or (column[good] < 0).any():
            return None
        total += int(column[good].sum(dtype=np.int64))
    return total
