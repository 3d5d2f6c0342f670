"""One measurement of the pull driver, in a process of its own as the other side's are.

    python benchmarks/own_side.py WHAT N [QPS] [--fifo]

Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from queueing import Batch, simulate
from sides import Figures, percentiles, scheduling

from pytest_procure.driver.pull import Run, drive
from pytest_procure.scenarios import Scenario

declare = Scenario.declare
_ALL_DUE = 10_000_000  # a query every 100 ns


class Offer:
    """A backend that takes as long as `serve` does."""

    device = "cpu"
    releases_gil = True  # a lie for those who do nothing, to see what the lock between workers costs

    def __init__(self, serve: Callable[[Any], Any] | None = None) -> None:
        if serve is not None:
            self.predict = serve  # type: ignore[method-assign]

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Do nothing."""
        answers: Sequence[Any] = inputs
        return answers

    def describe(self) -> Mapping[str, Any]:
        """Tell nothing."""
        return {}

    def close(self) -> None:
        """Nothing to release."""


class Numbers:
    """A slice of a thousand rows of four floats."""

    def __init__(self) -> None:
        self._rows = np.ones((1000, 4), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, indices: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Gather rows."""
        return self._rows[indices]


_NOTHING = (0,)


def nothing(inputs: Any) -> Sequence[Any]:
    """Answer as LoadGen's null system does: with nothing that would have to be kept."""
    del inputs
    return _NOTHING


#: What one query costs in each loop, with a backend that does nothing.
LOOPS: dict[str, Callable[[int], Scenario]] = {
    "own_cost": lambda n: declare("single_stream", count=n),
    "own_cost_arrays": lambda n: declare("single_stream", count=n),
    "pull": lambda n: declare("server", qps=_ALL_DUE, count=n),
    "pull_batch_8": lambda n: declare("server", qps=_ALL_DUE, count=n, max_batch=8),
    "pull_batch_32": lambda n: declare("server", qps=_ALL_DUE, count=n, max_batch=32),
    "pull_2_workers": lambda n: declare("server", qps=_ALL_DUE, count=n, workers=2),
    "offline_batch_1": lambda n: declare("offline", count=n),
    "offline_batch_32": lambda n: declare("offline", count=n, max_batch=32),
}
ANSWERS_NOTHING = {"own_cost", "pull", "pull_2_workers", "offline_batch_1"}
#: Queues whose batches and times are held against the simulation: scenario, and the service in ms.
QUEUES: dict[str, tuple[Callable[[int], Scenario], float]] = {
    "replay_half": (lambda n: declare("server", qps=250, count=n), 2.0),
    "replay": (lambda n: declare("server", qps=400, count=n), 2.0),
    "replay_batches": (
        lambda n: declare("server", qps=800, count=n, max_batch=8, max_wait="5 ms", workers=2),
        4.0,
    ),
}
_OVERSLEPT = 1e-4  # seconds, about: what is asked for is shorter by it


def measured(what: str, n: int, qps: int) -> Figures:
    """Run one measurement."""
    if what == "lag":
        audit = drive(Offer(), Numbers(), declare("server", qps=qps, count=n)).audit
        found = (audit.send_lag_p50_ns, audit.send_lag_p99_ns, audit.send_lag_max_ns)
        names = ("p50_us", "p99_us", "max_us")
        return {name: (ns or 0) / 1e3 for name, ns in zip(names, found, strict=True)} | _delay(audit)
    if what in QUEUES:
        return _replayed(*QUEUES[what], n)
    # The others give their inputs back: arrays, of which each is copied and kept.
    offer = Offer(nothing) if what in ANSWERS_NOTHING else Offer()
    run = drive(offer, Numbers(), LOOPS[what](n))
    ns = run.log.window_ns / len(run.log)
    return {"ns_a_query": ns, "samples_per_s": 1e9 / ns} | _delay(run.audit)


def _delay(audit: Any) -> Figures:
    return {"run_delay_share": audit.run_delay_share or 0.0}


def _replayed(declared: Callable[[int], Scenario], service_ms: float, n: int) -> Figures:
    """Hold a run against the simulation of the same arrivals with the service times that it measured."""
    seconds = service_ms * 1e-3 - _OVERSLEPT

    def sleep(inputs: Any) -> Any:
        time.sleep(seconds)
        return [1] * len(inputs)  # a label each

    scenario = declared(n)
    return _against_simulation(drive(Offer(sleep), Numbers(), scenario), scenario)


def _against_simulation(run: Run, scenario: Scenario) -> Figures:
    log = run.log
    heads = log.heads()
    services = (log.completed - log.started)[heads].tolist()
    expected = simulate(
        log.scheduled.tolist(),
        services,
        max_batch=scenario.max_batch,
        max_wait=scenario.max_wait.ns,
        servers=scenario.workers,
    )
    ends = [*heads[1:].tolist(), len(log)]
    formed = [tuple(range(first, end)) for first, end in zip(heads.tolist(), ends, strict=True)]
    completed = np.zeros(len(log), dtype=np.int64)
    for batch in expected:
        completed[list(batch.queries)] = batch.completed
    same = sum(mine == batch.queries for mine, batch in zip(formed, expected, strict=False))
    return percentiles(np.abs(log.completed - completed)) | {
        "batches": len(formed),
        "batches_as_simulated": same,
        "batches_unexplained": _unexplained(run, formed, expected),
    }


def _unexplained(run: Run, formed: list[tuple[int, ...]], expected: list[Batch]) -> int:
    """Count batches that hold others than in the simulation though the order of events was clear.

    The simulation loses no time between two batches, so it is ahead of the run. Whether a query that came
    between the two times of leaving belongs to a batch is not clear; batches that begin with another query
    follow from such a one before.
    """
    twins = {batch.queries[0]: batch for batch in expected}
    found = 0
    for queries in formed:
        twin = twins.get(queries[0])
        if twin is None or twin.queries == queries:
            continue
        edge = run.log.scheduled[min(queries[-1], twin.queries[-1]) + 1]
        first, last = sorted((twin.started, int(run.log.started[queries[0]])))
        found += not first <= edge <= last
    return found


def main(what: str, n: int, qps: int) -> None:
    """Measure and print."""
    told = scheduling("--fifo" in sys.argv)
    print(json.dumps({"scheduling": told, **measured(what, n, qps)}))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    main(sys.argv[1], numbers[0], [*numbers, 0][1])
