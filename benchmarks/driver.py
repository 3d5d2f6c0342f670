"""What the pull driver itself costs a query: ns with a backend that does nothing.

    python benchmarks/driver.py [QUERIES] [PAIRS]

Each loop runs several times, in turns, and the median of (window / queries) is printed with its range, beside
the share of the window that the worker threads waited for a processor: figures of a busy machine show there.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.pull import drive
from pytest_procure.scenarios import Scenario


class Null:
    """Answers with its inputs."""

    device = "cpu"
    releases_gil = True  # a lie, to see what the lock between workers costs

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


def main(queries: int = 100_000, repeats: int = 7) -> None:
    """Print one line a loop."""
    declare, rate = Scenario.declare, 50_000_000  # a query every 20 ns: all are due
    loops = {
        "single_stream": declare("single_stream", count=queries),
        "multi_stream, 8 samples, a query": declare("multi_stream", count=queries // 8),
        "server, all due, no batching": declare("server", qps=rate, count=queries),
        "server, all due, 8 a batch": declare("server", qps=rate, count=queries, max_batch=8),
        "server, all due, 32 a batch": declare("server", qps=rate, count=queries, max_batch=32),
        "server, all due, 2 workers": declare("server", qps=rate, count=queries, workers=2),
        "offline, 8 a batch": declare("offline", count=queries, max_batch=8),
        "offline, 32 a batch": declare("offline", count=queries, max_batch=32),
    }
    costs: dict[str, list[float]] = {name: [] for name in loops}
    delays: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
        for name, scenario in loops.items():
            run = drive(Null(), Numbers(), scenario)
            costs[name].append(run.log.window_ns / len(run.log))
            delays[name].append(run.audit.run_delay_share or 0.0)
    print(f"{'ns a query':36}{'median':>8}{'least':>8}{'most':>8}{'delay':>8}")
    for name, cost in costs.items():
        shown = (statistics.median(cost), min(cost), max(cost))
        print(
            f"{name:36}" + "".join(f"{ns:8.0f}" for ns in shown) + f"{statistics.median(delays[name]):8.1%}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
