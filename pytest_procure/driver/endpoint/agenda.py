"""What a load does later, and when: attempts that are made again, users who think, and what it waits for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from .alarm import Alarm
from .loop import EDGE, Loop


class Agenda:
    """Queries with the times at which they are due, absolute ns, and an alarm that rings for the first."""

    def __init__(self, loop: Loop, rung: Callable[[], None]) -> None:
        """`rung` is called when something is due; it takes what is, and says until when to wait."""
        self._loop = loop
        self._rung = rung
        self._alarm = Alarm()
        self._later: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        """Whether any query is still to come."""
        return bool(self._later)

    def begin(self, origin: int) -> None:
        """Ring at `origin` for the first time."""
        self._loop.watch(self._alarm.fd, self._rung, EDGE)
        self._alarm.set(origin)

    def end(self) -> None:
        """Ring no more."""
        self._loop.forget(self._alarm.fd)

    def add(self, due: int, query: int) -> None:
        """Have a query due then."""
        heapq.heappush(self._later, (due, query))
        if due < self._alarm.due:
            self._alarm.set(due)

    def due(self, stamp: int) -> Iterator[tuple[int, int]]:
        """Take the queries that are due, each with its time, also those that become so meanwhile."""
        while self._later and self._later[0][0] <= stamp:
            yield heapq.heappop(self._later)

    def wait(self, until: int) -> None:
        """Ring then, or for the first query that is due before."""
        self._alarm.set(min(until, self._later[0][0]) if self._later else until)
