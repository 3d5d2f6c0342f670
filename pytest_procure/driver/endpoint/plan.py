"""A run before its window: what each load process will send, in shared memory."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.driver.log import Int64
from pytest_procure.driver.source import SampleSource
from pytest_procure.errors import DeclarationError
from pytest_procure.scenarios import Scenario, arrivals, order_of, queries

from . import columns
from .traffic import Traffic

#: Warm-up requests of a run that is warmed up for a time.
_MOST_WARM_UPS = 100_000


class Plan:
    """Order, schedule, bodies, and empty columns. Holds descriptors: to be closed."""

    def __init__(self, backend: LoadedEndpoint, source: SampleSource, scenario: Scenario) -> None:
        if scenario.samples_per_query > 1:
            raise DeclarationError(
                f"scenario `{scenario.name}` asks {scenario.samples_per_query} samples a query, and an "
                "endpoint takes one a request; expected `closed_loop`, `single_stream` or `server`"
            )
        if scenario.starts is not None:
            raise DeclarationError(
                f"scenario `{scenario.name}` has turns that wait for each other, which are not asked of an "
                "endpoint; expected `server`, `burst`, `ramp`, `replay`, `closed_loop` or `single_stream`"
            )
        self.scenario = scenario
        self.sending = backend.sending
        self.target = backend.target
        self.output = backend.output
        self.run = f"procure-{os.urandom(4).hex()}"  # begins the ids of its requests
        self.rows = queries(scenario, len(source))
        self.by_duration = scenario.is_closed_loop and scenario.duration is not None
        self.order = order_of(scenario, len(source), self.rows)
        self.schedule = None if scenario.is_closed_loop else arrivals(scenario, self.rows)
        self.concurrency = self._concurrency()
        self.processes = min(self.sending.load_processes, self.rows, self.concurrency or self.rows)
        bodies = _bodies(backend, source)
        self._lengths = [len(body) for body in bodies]
        self.descriptors: list[int] = []
        self._bodies = self._store("bodies", sum(self._lengths))
        _fill(self._bodies, bodies)
        self._columns = self._store("columns", columns.size(self.rows))
        self._control = self._store("control", 8 * columns.CONTROL * self.processes)
        self.token_stores = [self._store("tokens") for _ in range(self.processes)]
        self.output_stores = [self._store("outputs") for _ in range(self.processes)]
        self.table = table(self._columns, self.rows)
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
        if self.schedule is None or self.rows < 2 or not self.schedule[-1]:
            return 0.0
        return float((self.rows - 1) / (int(self.schedule[-1]) * 1e-9))

    @property
    def connections(self) -> int:
        """Most connections at once, over all load processes."""
        return max(self.sending.connections, self.concurrency or 0)

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

    def _traffic(self, rank: int) -> Traffic:
        scenario, duration = self.scenario, self.scenario.duration
        return Traffic(
            first=rank,
            step=self.processes,
            total=self.rows,
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
        for name, (_, _, nothing) in columns.LAYOUT.items():
            self.table[name][:] = nothing
        self.table["item"][:] = self.order
        if self.schedule is not None:
            self.table["scheduled"][:] = self.schedule

    def _store(self, name: str, length: int = 0) -> int:
        descriptor = columns.shared(name, length)
        self.descriptors.append(descriptor)
        return descriptor


def table(descriptor: int, rows: int) -> dict[str, Any]:
    """Give the columns as arrays, `(rows,)` each."""
    memory = columns.mapped(descriptor)
    assert memory is not None, "there is at least one row"
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
