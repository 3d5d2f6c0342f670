"""What the driver does for a backend in processes of its own; nothing of it for one in this process.

open ──► begin ──► [ before ── window ── after ] ──► give_up, where a call still runs ──► end
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_procure.backends.protocol import LoadedBackend
from pytest_procure.isolation.endings import Ending
from pytest_procure.isolation.hosted import LoadedHosted
from pytest_procure.scenarios import Scenario

from .readings import Readings


class Host:
    """The processes of one backend, during one run."""

    def __init__(self, backend: LoadedBackend) -> None:
        self._hosted = backend if isinstance(backend, LoadedHosted) else None
        self._waits: list[list[int | None]] = []  # before and after the window

    def open(self, workers: int) -> None:
        """See that each worker has a living process. Raises `ProvisionError`."""
        if self._hosted is not None:
            self._hosted.open(workers)

    def begin(self, stop: list[str], scenario: Scenario, probe: Any) -> None:
        """Begin a run. A call that outlasts its deadline and the patience for it is not waited for."""
        if self._hosted is not None:
            limit = float(scenario.timeout.base + scenario.drain.base)
            self._hosted.begin(stop, limit, probe)

    def readings(self) -> Readings:
        """Read the machine's counters; what the candidate's processes use is no foreign load."""
        taken = Readings.take()
        if self._hosted is None:
            return taken
        self._waits.append(self._hosted.waited_ns())
        return replace(taken, own_cpu_ns=taken.own_cpu_ns + self._hosted.cpu_ns())

    def delays_ns(self, of_workers: list[int] | None) -> list[int] | None:
        """Add how long each process waited for a processor to what the worker threads did."""
        if of_workers is None or len(self._waits) < 2:
            return of_workers
        pairs = zip(self._waits[-2], self._waits[-1], strict=False)
        return of_workers + [
            after - before for before, after in pairs if before is not None and after is not None
        ]

    def give_up(self, why: str) -> None:
        """End the processes in which a call still runs, now that the run is over."""
        if self._hosted is not None:
            self._hosted.end_calls(why)

    def end(self) -> tuple[Ending, ...]:
        """End the run; tell which processes ended. Raises `DataError` for an input that could not be sent."""
        if self._hosted is None:
            return ()
        endings = self._hosted.end()
        if self._hosted.fault is not None:
            raise self._hosted.fault
        return endings

    def conditions(self) -> dict[str, Any]:
        """Disclose where the candidate runs, as plain JSON data."""
        return {"isolation": "none"} if self._hosted is None else self._hosted.conditions()
