"""What the record says of an endpoint's run: token times, tokens, failures by class, attempts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.log import RequestLog, Wire
from pytest_procure.metrics import Execution
from pytest_procure.metrics.measurement import NEVER
from pytest_procure.metrics.tokens import absent, times_of
from pytest_procure.stats import percentile

_SHOWN = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


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
    }
    if not reason:
        for family in ("ttft", "itl", "tpot"):
            values = np.concatenate([times_of(family, log) for log in logs])
            told[f"{family}_ms"] = {
                label: round(at / 1e6, 6)
                for label, q in _SHOWN
                if len(values) and (at := int(percentile(values, q, method="nearest-rank"))) < NEVER
            }
    return told


def _tokens(logs: list[RequestLog], wires: list[Wire]) -> dict[str, int | None]:
    """Sum up tokens of good answers, each way they were counted; None where one of them was not."""
    return {
        "reported_input": _sum([log.input_tokens for log in logs], logs),
        "reported_output": _sum([log.output_tokens for log in logs], logs),
        "reported_cached": _sum([wire.cached for wire in wires], logs),
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
