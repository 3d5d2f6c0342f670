"""Request logs and executions written by hand: the metrics' tests know what they have to find."""

import numpy as np

from pytest_procure.candidates import Candidate
from pytest_procure.datasets import Dataset
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.metrics import Execution
from pytest_procure.scenarios import Scenario

MILLISECOND = 1_000_000
ITEMS = 100


def log(latencies_ms, *, status=None, samples=None, per_query=1, window_ms=None, tokens=None):
    """A log whose queries follow each other; a latency of None never completed."""
    n = len(latencies_ms)
    taken = np.array(
        [-1 if each is None else round(each * MILLISECOND) for each in latencies_ms], dtype=np.int64
    )
    scheduled = np.arange(n, dtype=np.int64) * 1000
    completed = np.where(taken >= 0, scheduled + taken, -1)
    window = int(completed.max(initial=0)) if window_ms is None else round(window_ms * MILLISECOND)
    ended = (
        [Status.LOST if each is None else Status.OK for each in latencies_ms] if status is None else status
    )
    asked = np.arange(n * per_query) % ITEMS if samples is None else np.array(samples)
    told = [None, None] if tokens is None else np.array(tokens, dtype=np.int64).T
    return RequestLog(
        scheduled=scheduled,
        started=scheduled.copy(),
        completed=completed,
        status=np.array(ended, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=asked,
        answers=[None] * len(asked),
        samples_per_query=per_query,
        input_tokens=told[0],
        output_tokens=told[1],
        window_ns=window,
    )


def execution(*logs, scenario="single_stream", scores=None, price=None, clusters=None, **arguments):
    """An execution of these launches; `scores` maps a metric to one score a sample."""
    data = Dataset.from_arrays(
        "by hand", inputs=np.arange(ITEMS), references=np.arange(ITEMS), clusters=clusters
    )
    return Execution(
        candidate=Candidate("acme", backend=len, price=price),
        scenario=Scenario.declare(scenario, **arguments),
        slice=data.slice(),
        launches=tuple(Run(each, audit=None, conditions={}) for each in logs),
        scores={name: np.array(values, dtype=float) for name, values in (scores or {}).items()},
    )
