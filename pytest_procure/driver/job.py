"""A run before its window: everything that can be made in advance is made here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import LoadedBackend
from pytest_procure.isolation.hosted import LoadedHosted
from pytest_procure.scenarios import (
    Scenario,
    arrivals,
    order_of,
    queries,
)
from pytest_procure.units import Quantity

from .batching import Queue
from .board import Board
from .clock import calibrated
from .history import History
from .journal import Journal
from .log import Int64
from .outcomes import Plan
from .source import SampleSource, conversations, in_batches_of, in_order
from .taking import taken, untouched
from .turns import Turns
from .workers import in_batches, in_turn, one_by_one


class Job:
    """Order, schedule, prepared inputs, an empty board, and one loop for each worker."""

    def __init__(
        self,
        backend: LoadedBackend,
        source: SampleSource,
        scenario: Scenario,
        journal: Journal | None = None,
    ) -> None:
        size = scenario.samples_per_query
        self.scenario = scenario
        self.queries = queries(scenario, len(source))
        self.by_duration = scenario.is_closed_loop and scenario.duration is not None
        self.order = (
            conversations(source, scenario)
            if scenario.conversations
            else order_of(scenario, len(source), self.queries * size)
        )
        no_schedule = scenario.is_closed_loop or scenario.is_dynamic
        self.schedule = None if no_schedule else arrivals(scenario, self.queries)
        columns = None if journal is None else journal.open(self.queries, self.order, self.schedule)
        self.board = Board(self.queries, columns)
        self.clock = calibrated()
        turns = Turns(scenario, len(source), self.board, self.clock) if scenario.is_dynamic else None
        self._turns = turns
        self._source = source
        self._predict = backend.predict
        self._history = History(source, self.order, scenario.turns, self.board) if scenario.history else None
        self._inputs_of = source.take if self._history is None else self._history.opening
        self._take = untouched if isinstance(backend, LoadedHosted) else taken
        # Batches are known in advance where queries are sent alone, and offline, where all of them are there.
        # With history nothing is known in advance.
        if self._history is not None:
            self._batches = self._samples = None
        elif scenario.max_batch == 1 or scenario.name == "offline":
            self._batches = in_batches_of(size * scenario.max_batch, source, self.order)
            self._samples = None
        else:
            self._batches = None
            self._samples = in_order(source, self.order)
        self._is_prepared = self._batches is not None or self._samples is not None
        self._warm_up_calls: dict[int, int] = {}
        self._warm_up_failures = 0

    def plan(self, ended: int) -> Plan:
        """Tell what the log has to account for, when the run has ended at that time."""
        played = None if self._turns is None else self._turns.played(ended)
        return Plan(
            order=self.order if played is None else self.order[played.asked],
            schedule=self.schedule,
            due=None if played is None else played.due,
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
            "warmup_calls_by_batch": {str(size): n for size, n in self._warm_up_calls.items()},
            "warmup_failures": self._warm_up_failures,
            "clock": "perf_counter_ns (monotonic)",
            "garbage_collection": "frozen before the run, off during it",
        }

    def clear(self) -> None:
        """Let go of the inputs and of the board: what is left is what the log has to account for."""
        self._batches = self._samples = self._history = None
        self.board = Board(0)

    def probe(self) -> Any:
        """Give a batch of the smallest size that the run asks for."""
        return self._inputs_of(self.order[: self.scenario.samples_per_query])

    def warm_up(self) -> None:
        """Call the backend with single samples and with whole batches, from the end of the order.

        Each worker does it, because runtimes keep state by thread. What the backend raises here it will raise
        again in the run, where it counts.
        """
        for size, share in self._warm_ups():
            for call in self._warm_up_numbers(share):
                if self.board.stop:
                    return
                places = np.arange(-size, 0) - call * size
                batch = self._inputs_of(self.order.take(places, mode="wrap"))
                self._warm_up_calls[size] = max(self._warm_up_calls.get(size, 0), call + 1)
                try:
                    self._predict(batch)
                except BaseException:  # noqa: BLE001 - a candidate may raise anything
                    self._warm_up_failures += 1

    def last_sign(self) -> int:
        """Give the time since when, at the latest, an answer may be missing: of the last thing that happened.

        Where users think, or sessions are still to begin, nobody waits for anything until the next is due.
        """
        if self._turns is None:
            return self.board.last_completion()
        return max(self.board.last_completion(), self.board.last_start(), self._turns.next_due())

    def loops(self) -> list[Callable[[], None]]:
        """Give the loop of each worker; they read the board's origin when they begin."""
        if self._turns is not None:
            return self._batch_loops(self._turns)
        if self.schedule is None:
            duration = self.scenario.duration
            limit = None if duration is None else duration.ns
            return [
                partial(in_turn, self.board, self._predict, self._take, self._inputs(), self.clock, limit)
            ]
        if self.scenario.max_batch == self.scenario.workers == 1:
            return [
                partial(
                    one_by_one,
                    self.board,
                    self._predict,
                    self._take,
                    self._inputs(),
                    self.clock,
                    self.schedule,
                )
            ]
        return self._batch_loops(Queue(self.schedule, self.scenario, self.board, self.clock))

    def _batch_loops(self, queue: Queue | Turns) -> list[Callable[[], None]]:
        return [
            partial(in_batches, queue, worker, self._predict, self._take, self._gather)
            for worker in range(self.scenario.workers)
        ]

    def _warm_ups(self) -> list[tuple[int, int | Quantity]]:
        """Batch sizes to warm up with, and how many calls each, or for how long."""
        size, warmup = self.scenario.samples_per_query, self.scenario.warmup
        if self.scenario.max_batch == 1:
            return [(size, warmup)]
        largest = min(self.scenario.max_batch, self.queries)
        if isinstance(warmup, Quantity):
            half = Quantity(warmup.number / 2, warmup.unit)
            return [(1, half), (largest, half)]
        return [(1, -(-warmup // 2)), (largest, warmup // 2)]

    @staticmethod
    def _warm_up_numbers(share: int | Quantity) -> Iterator[int]:
        """Number the calls of a warm-up; one that goes by time takes one call at least."""
        if not isinstance(share, Quantity):
            yield from range(share)
            return
        until = time.perf_counter_ns() + share.ns
        for number in count():
            if number and time.perf_counter_ns() >= until:
                return
            yield number

    def _inputs(self) -> Iterable[Any]:
        if self._batches is not None:
            return self._batches
        size, order, take = self.scenario.samples_per_query, self.order, self._source.take
        return (take(order[first : first + size]) for first in range(0, len(order), size))

    def _gather(self, number: int, first: int, end: int) -> Any:
        """Make the inputs of batch `number`, which serves the queries from `first` to `end`."""
        if self._turns is not None:
            places = self._turns.places(first, end)
            return (
                self._gather_asked(places) if self._history is None else self._history.batch(number, places)
            )
        if self._batches is not None:
            return self._batches[number]
        if self._samples is not None:
            return self._samples[first:end]
        return self._source.take(self.order[first:end])

    def _gather_asked(self, places: Int64) -> Any:
        """Make the inputs of a batch whose samples lie at these places of the order."""
        if self._batches is not None:
            return self._batches[places[0]]
        if isinstance(self._samples, np.ndarray):
            return self._samples[places]
        if self._samples is not None:
            return [self._samples[place] for place in places]
        return self._source.take(self.order[places])
