"""A backend in processes of its own, one for each worker: as the driver sees it, a backend like any other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pytest_procure.backends.function import qualified_name
from pytest_procure.backends.protocol import Backend
from pytest_procure.errors import DataError, ProvisionError

from .endings import Ended, Ending, hung
from .lane import Lane
from .recipe import pickled
from .warden import Memory

#: Calls that measure what the way there and back costs; the first ones are not counted.
_ECHOES, _COLD_ECHOES = 50, 5


@dataclass(frozen=True, slots=True)
class Hosted:
    """Declares a backend that runs in a process of its own. `memory_limit`: bytes, over all its processes."""

    backend: Backend
    memory_limit: int | None = None

    def load(self, base: Path) -> LoadedHosted:
        """Start a process and load the backend there.

        Raises `DeclarationError` when the declaration cannot be sent there, `ProvisionError` when it cannot
        be loaded.
        """
        named = getattr(self.backend, "callable", None)
        what = f"`{qualified_name(named) if callable(named) else type(self.backend).__name__}`"
        return LoadedHosted(pickled((self.backend, base), what=what), self.memory_limit)


class LoadedHosted:
    """A backend that answers from its own processes.

    A process that has ended stays ended for the run in which it ended; the next run gets a fresh one.
    """

    #: Whatever holds Python's lock over there, waiting for it here does not.
    releases_gil = True

    def __init__(self, recipe: bytes, memory_limit: int | None) -> None:
        self._recipe = recipe
        self._memory = Memory(memory_limit)
        self._lanes = [Lane(recipe, self._memory)]
        self._mine = threading.local()  # each worker thread keeps to one process
        self._given = 0
        self._lock = threading.Lock()
        self._stop: list[str] = []
        self._endings: list[Ending] = []
        self._hand_off: dict[str, float] = {}
        self._restarts = 0
        self.fault: DataError | None = None  # not the candidate's: an input that cannot be sent

    @property
    def device(self) -> str:
        """Where it runs."""
        return self._lanes[0].device

    @property
    def pids(self) -> list[int]:
        """The numbers of its processes."""
        return [lane.pid for lane in self._lanes]

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch. Raises `Ended` when the process ends over it, or has ended before."""
        mine = self._mine
        try:
            lane = mine.lane if mine.run is self._stop else self._take()
        except AttributeError:
            lane = self._take()
        try:
            return cast("Sequence[Any]", lane.ask(inputs))
        except Ended as error:
            self._stop.append(str(error))
            raise
        except DataError as error:
            self.fault = error
            self._stop.append(str(error))
            raise

    def describe(self) -> Mapping[str, Any]:
        """Disclose what the backend discloses, and that it runs in a process of its own."""
        return {**self._lanes[0].disclosed, "isolation": "process"}

    def open(self, workers: int) -> None:
        """See that each worker has a living process. Raises `ProvisionError` if one cannot be brought up."""
        for place, lane in enumerate(self._lanes):
            known = lane.ending is not None
            ending = lane.look()
            if ending is None:
                continue
            if not known:
                self._endings.append(
                    replace(ending, sentence=f"between two runs, {ending.sentence}", idle=True)
                )
            lane.close()
            self._restarts += 1
            self._lanes[place] = Lane(self._recipe, self._memory)
        while len(self._lanes) < workers:
            self._lanes.append(Lane(self._recipe, self._memory))
        while len(self._lanes) > max(1, workers):
            self._lanes.pop().close()

    def begin(self, stop: list[str], limit: float, probe: Any) -> None:
        """Begin a run: whatever ends a process puts a word into `stop`, and no call lasts over `limit` s.

        `probe` is a batch of the run's; it is sent to and fro to measure what that costs.
        """
        self._stop = stop
        self._given = 0
        self.fault = None
        took = []
        try:
            for lane in self._lanes:
                lane.begin(limit)
            took = [self._lanes[0].echo(probe) for _ in range(_ECHOES)][_COLD_ECHOES:]
        except Ended as error:
            stop.append(str(error))
        if took:
            ranked = sorted(took)
            half, most = ranked[len(ranked) // 2], ranked[len(ranked) * 9 // 10]
            self._hand_off = {"hand_off_p50_us": half / 1e3, "hand_off_p90_us": most / 1e3}

    def end_calls(self, why: str) -> None:
        """End every process in which a call is still running, because waiting for it is over."""
        for lane in self._lanes:
            lane.kill_if_asked(hung(why))

    def end(self) -> tuple[Ending, ...]:
        """End the run, and tell how processes ended since the last one."""
        for lane in self._lanes:
            lane.end()
        told = [*self._endings, *(lane.ending for lane in self._lanes if lane.ending is not None)]
        self._endings = []
        return tuple(told)

    def conditions(self) -> dict[str, Any]:
        """Disclose how it is hosted, and what that costs, as plain JSON data."""
        limit = self._memory.limit
        return {
            "isolation": "process",
            "processes": len(self._lanes),
            "processes_started_anew": self._restarts,
            "memory_limit_mb": None if limit is None else limit / 1e6,
            "memory_peak_mb": round(self._memory.peak / 1e6, 1),
            "hand_off": "shared memory, part of every latency; measured with an input of the run, unanswered",
            **self._hand_off,
        }

    def cpu_ns(self) -> int:
        """Give the processor time of its processes so far."""
        return sum(lane.cpu_ns() for lane in self._lanes)

    def waited_ns(self) -> list[int | None]:
        """Tell how long each process has waited for a processor; None where unknown."""
        return [lane.waited_ns() for lane in self._lanes]

    def close(self) -> None:
        """End its processes. Raises `ProvisionError` when one does not end as it should."""
        wrong = [said for lane in self._lanes if (said := lane.close())]
        if wrong:
            raise ProvisionError(f"it could not be closed: {wrong[0]}")

    def _take(self) -> Lane:
        """Give a worker thread its process."""
        with self._lock:
            lane = self._lanes[self._given % len(self._lanes)]
            self._given += 1
        self._mine.lane, self._mine.run = lane, self._stop
        return lane
