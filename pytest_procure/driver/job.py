"""A run before its window: everything that can be made in advance is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import LoadedBackend
from pytest_procure.scenarios import Scenario, arrivals, queries, sample_order

from .batching import Queue
from .board import Board
from .clock import calibrated
from .outcomes import Plan
from .source import SampleSource, in_batches_of, in_order
from .workers import in_batches, in_turn, one_by_one


class Job:
    """Order, schedule, prepared inputs, an empty board, and one loop for each worker."""

    def __init__(self, backend: LoadedBackend, source: SampleSource, scenario: Scenario) -> None:
        size = scenario.samples_per_query
        self.scenario = scenario
        self.queries = queries(scenario, len(source))
        self.by_duration = scenario.is_closed_loop and scenario.duration is not None
        self.order = sample_order(len(source), self.queries * size, scenario.seed)
        self.schedule = None if scenario.is_closed_loop else arrivals(scenario, self.queries)
        self.board = Board(self.queries)
        self.clock = calibrated()
        self._source = source
        self._predict = backend.predict
        # Batches are known in advance where queries are sent alone, and offline, where all of them are there.
        if scenario.max_batch == 1 or scenario.name == "offline":
            self._batches = in_batches_of(size * scenario.max_batch, source, self.order)
            self._samples = None
        else:
            self._batches = None
            self._samples = in_order(source, self.order)
        self._warm_up_failures = 0

    @property
    def plan(self) -> Plan:
        """What the log has to account for."""
        return Plan(
            order=self.order,
            schedule=self.schedule,
            samples_per_query=self.scenario.samples_per_query,
            timeout_ns=self.scenario.timeout.ns,
            from_start=not self.scenario.allows_latency,
            by_duration=self.by_duration,
        )

    def conditions(self) -> dict[str, Any]:
        """Disclose the scenario's conditions and what the driver chose, as plain JSON data."""
        return self.scenario.conditions() | {
            "queries": None if self.by_duration else self.queries,
            "items": len(self._source),
            "inputs": "prepared before the run" if self._is_prepared else "gathered in the run",
            "warmup_calls_by_batch": {str(size): calls for size, calls in self._warm_ups()},
            "warmup_failures": self._warm_up_failures,
            "clock": "perf_counter_ns (monotonic)",
            "garbage_collection": "frozen before the run, off during it",
        }

    def warm_up(self) -> None:
        """Call the backend with single samples and with whole batches, from the end of the order.

        Each worker does it, because runtimes keep state by thread. What the backend raises here it will raise
        again in the run, where it counts.
        """
        for size, calls in self._warm_ups():
            for call in range(calls):
                if self.board.stop:
                    return
                places = np.arange(-size, 0) - call * size
                batch = self._source.take(self.order.take(places, mode="wrap"))
                try:
                    self._predict(batch)
                except BaseException:  # noqa: BLE001 - a candidate may raise anything
                    self._warm_up_failures += 1

    def loops(self) -> list[Callable[[], None]]:
        """Give the loop of each worker; they read the board's origin when they begin."""
        if self.schedule is None:
            duration = self.scenario.duration
            limit = None if duration is None else duration.ns
            return [partial(in_turn, self.board, self._predict, self._inputs(), self.clock, limit)]
        if self.scenario.max_batch == self.scenario.workers == 1:
            return [partial(one_by_one, self.board, self._predict, self._inputs(), self.clock, self.schedule)]
        queue = Queue(self.schedule, self.scenario, self.board, self.clock)
        return [
            partial(in_batches, queue, worker, self._predict, self._gather)
            for worker in range(self.scenario.workers)
        ]

    @property
    def _is_prepared(self) -> bool:
        return self._batches is not None or self._samples is not None

    def _warm_ups(self) -> list[tuple[int, int]]:
        """Batch sizes to warm up with, and how many calls each."""
        size, calls = self.scenario.samples_per_query, self.scenario.warmup
        if self.scenario.max_batch == 1:
            return [(size, calls)]
        return [(1, -(-calls // 2)), (min(self.scenario.max_batch, self.queries), calls // 2)]

    def _inputs(self) -> Iterable[Any]:
        if self._batches is not None:
            return self._batches
        size, order, take = self.scenario.samples_per_query, self.order, self._source.take
        return (take(order[first : first + size]) for first in range(0, len(order), size))

    def _gather(self, number: int, first: int, end: int) -> Any:
        """Make the inputs of batch `number`, which serves the queries from `first` to `end`."""
        if self._batches is not None:
            return self._batches[number]
        if self._samples is not None:
            return self._samples[first:end]
        return self._source.take(self.order[first:end])
