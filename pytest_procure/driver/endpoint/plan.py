"""A run before its window: what each load process will send, in shared memory."""

from __future__ import annotations

import mmap
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from pytest_procure.backends import chat
from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.driver.log import Int64
from pytest_procure.driver.source import SampleSource, conversations
from pytest_procure.errors import DeclarationError
from pytest_procure.scenarios import Scenario, arrivals, order_of, queries, sessions

from . import columns
from .traffic import Traffic

#: Warm-up requests of a run that is warmed up for a time.
_MOST_WARM_UPS = 100_000


class Plan:
    """Order, schedule, bodies, and empty columns. Holds descriptors: to be closed."""

    def __init__(self, backend: LoadedEndpoint, source: SampleSource, scenario: Scenario) -> None:
        self.scenario = scenario
        self.items = len(source)
        self.sending = backend.sending
        self.target = backend.target
        self.output = backend.output
        self.run = f"procure-{os.urandom(4).hex()}"  # begins the ids of its requests
        self.queries = queries(scenario, len(source))
        self.rows = self.queries * scenario.samples_per_query  # requests
        self.turns = scenario.turns if scenario.starts is not None else 1
        self.by_duration = scenario.is_closed_loop and scenario.duration is not None
        self.order = (
            conversations(source, scenario)
            if scenario.conversations
            else order_of(scenario, len(source), self.rows)
        )
        self.is_paced = not (scenario.is_closed_loop or scenario.is_dynamic)
        self.schedule = arrivals(scenario, self.rows) if self.is_paced else None
        self.concurrency = self._concurrency()
        self._group = self.turns * scenario.samples_per_query  # requests that one load process sends in turn
        self.processes = min(
            self.sending.load_processes,
            self.rows // self._group,
            self.concurrency or self.rows,
            self.connections,  # each has one
        )
        bodies = _bodies(backend, source)
        self._around = self._carried(backend, source) if scenario.history else None
        self._lengths = [len(body) for body in bodies]
        self._starts = np.cumsum([0, *self._lengths])
        self.descriptors: list[int] = []
        self._bodies = self._store("bodies", sum(self._lengths))
        _fill(self._bodies, bodies)
        self._columns = self._store("columns", columns.size(self.rows))
        self._control = self._store("control", 8 * columns.CONTROL * self.processes)
        self.token_stores = [self._store("tokens") for _ in range(self.processes)]
        self.output_stores = [self._store("outputs") for _ in range(self.processes)]
        memory = columns.mapped(self._columns)
        assert memory is not None, "there is at least one row"
        self._memory = memory
        self.table = _table(memory, self.rows)
        self.control = array_of(self._control, "q").reshape(self.processes, columns.CONTROL)
        self._prepare()

    def asked(self) -> list[dict[str, Any]]:
        """Tell each load process what to do, as plain JSON data."""
        rate = self.rate / self.processes
        return [
            {
                "rank": rank,
                "rows": self.rows,
                "target": self.target.as_dict(),
                "traffic": asdict(self._traffic(rank)),
                "columns": self._columns,
                "control": self._control,
                "bodies": self._bodies,
                "around": self._around,
                "lengths": self._lengths,
                "token_store": self.token_stores[rank],
                "output_store": self.output_stores[rank],
                "run": self.run,
                "warmup_items": self._warm_up_items(rank),
                "warmup_ns": None if isinstance(self.scenario.warmup, int) else self.scenario.warmup.ns,
                "rate": rate,
            }
            for rank in range(self.processes)
        ]

    @property
    def rate(self) -> float:
        """Requests a second that are due, on average; 0 where the candidate sets the pace."""
        if self.scenario.starts is not None:
            return self.scenario.starts * self.turns
        if self.schedule is None or self.rows < 2 or not self.schedule[-1]:
            return 0.0
        return float((self.rows - 1) / (int(self.schedule[-1]) * 1e-9))

    @property
    def connections(self) -> int:
        """Most connections at once, over all load processes."""
        return max(self.sending.connections, (self.concurrency or 0) * self.scenario.samples_per_query)

    @property
    def begun(self) -> int:
        """Tell up to which query some were begun, as far as the load processes have said."""
        taken = self.control[:, 0]
        ends = np.where(taken > 0, (taken - 1) * self.processes + np.arange(self.processes) + 1, 0)
        return int(ends.max()) * self.turns

    @property
    def sent(self) -> int:
        """Count the requests that were begun, or, of sessions, that have ended, as far as it is known."""
        taken, ended, _ = self.control.sum(axis=0).tolist()
        return int(ended if self.turns > 1 else taken * self.scenario.samples_per_query)

    @property
    def last_due(self) -> int:
        """Give when the last request is due of which that is known, in ns from the origin."""
        if self.schedule is not None:
            return int(self.schedule[-1])
        return 0 if self.scenario.is_closed_loop else int(self.table["scheduled"].max())

    def process_of(self, rows: Int64) -> Int64:
        """Tell which load process has sent each request: `(n,)`."""
        return rows // self._group % self.processes

    def body(self, item: int) -> bytes:
        """Give what a request about an item sends."""
        first = int(self._starts[item])
        return os.pread(self._bodies, self._lengths[item], first)

    def drop(self, *names: str) -> None:
        """Give back the memory of columns that nobody reads any more."""
        for name, _, first, end in columns.places(self.rows):
            if name in names:
                del self.table[name]
                columns.give_back(self._memory, first, end)

    def shorten(self, rows: int) -> None:
        """Keep the first `rows`, and give back the memory of the others."""
        for name, _, first, end in columns.places(self.rows):
            self.table[name] = self.table[name][:rows]
            columns.give_back(self._memory, first + self.table[name].nbytes, end)
        self.order = self.table["item"]

    def close(self) -> None:
        """Release the shared memory; arrays made of it stay."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()

    def _concurrency(self) -> int | None:
        """How many queries are under way at once, where the scenario says so; offline all that fit."""
        if self.scenario.name == "offline":
            return min(self.sending.connections, self.rows)
        if not self.scenario.is_closed_loop:
            return None
        return min(self.scenario.concurrency, self.rows)

    def _carried(self, backend: LoadedEndpoint, source: SampleSource) -> list[int]:
        """Tell how many bytes of a body stand before and behind its messages, to which turns add others."""
        if backend.around is None:
            raise DeclarationError(
                "`history=True`, but the requests of this endpoint hold no messages that a turn could add "
                "to; expected an `OpenAIEndpoint` of kind `chat`, or a backend in this process"
            )
        for item in np.unique(self.order.reshape(-1, self.turns)[:, 1:]).tolist():
            chat.later_turn(source.take(np.array([item], dtype=np.int64))[0])
        return [len(part) for part in backend.around]

    def _traffic(self, rank: int) -> Traffic:
        scenario, duration = self.scenario, self.scenario.duration
        return Traffic(
            first=rank * self._group,
            step=self.processes * self._group,
            total=self.rows,
            together=scenario.samples_per_query,
            turns=self.turns,
            timeout_ns=scenario.timeout.ns,
            connections=max(1, _part(self.connections, rank, self.processes)),
            retries=self.sending.retries,
            concurrency=None if self.concurrency is None else _part(self.concurrency, rank, self.processes),
            think_ns=scenario.think_time.ns,
            duration_ns=duration.ns if self.by_duration and duration is not None else None,
        )

    def _warm_up_items(self, rank: int) -> list[int]:
        """From the end of the order, so that the first items of the run have not just been asked."""
        warmup = self.scenario.warmup
        calls = warmup if isinstance(warmup, int) else _MOST_WARM_UPS
        return [int(item) for item in self.order.take(np.arange(-calls, 0), mode="wrap")][
            rank :: self.processes
        ]

    def _prepare(self) -> None:
        # What both sides know lies in memory once, and before the other columns take theirs.
        self.table["item"][:] = self.order
        self.order = self.table["item"]
        if self.schedule is not None:
            self.table["scheduled"][:] = self.schedule
            self.schedule = self.table["scheduled"]
        for name, (_, _, nothing) in columns.LAYOUT.items():
            if self.table[name] is not self.order and self.table[name] is not self.schedule:
                self.table[name][:] = nothing
        if self.scenario.starts is not None:
            self.table["scheduled"][:: self.turns] = arrivals(self.scenario, sessions(self.scenario))

    def _store(self, name: str, length: int = 0) -> int:
        descriptor = columns.shared(name, length)
        self.descriptors.append(descriptor)
        return descriptor


def _table(memory: mmap.mmap, rows: int) -> dict[str, Any]:
    """Give the columns as arrays, `(rows,)` each."""
    return {
        name: np.frombuffer(memory, dtype=code, count=rows, offset=first)
        for name, code, first, _ in columns.places(rows)
    }


def array_of(descriptor: int, code: str) -> Any:
    """Give all of a store as an array; an empty one where nothing was written."""
    memory = columns.mapped(descriptor)
    return np.empty(0, dtype=code) if memory is None else np.frombuffer(memory, dtype=code)


def _bodies(backend: LoadedEndpoint, source: SampleSource) -> list[bytes]:
    """Write the body of every sample before the run."""
    every: Int64 = np.arange(len(source), dtype=np.int64)
    return [backend.body(source.take(every[place : place + 1])[0]) for place in range(len(source))]


def _fill(descriptor: int, bodies: list[bytes]) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as store:
        store.writelines(bodies)


def _part(total: int, rank: int, of: int) -> int:
    return total // of + (rank < total % of)
