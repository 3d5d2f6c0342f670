"""Forms batches: which queries a free worker takes, and when."""

from __future__ import annotations

import threading
from bisect import bisect_right

from pytest_procure.scenarios import Scenario

from .board import Board
from .clock import Clock
from .log import Int64


class Queue:
    """The one queue of all workers: first in, first out.

    A single worker at a time waits in it and forms the next batch under the lock; others queue behind the
    lock, which costs no processor time.
    """

    def __init__(self, schedule: Int64, scenario: Scenario, board: Board, clock: Clock) -> None:
        self._schedule = schedule.data
        self._max_batch = scenario.max_batch
        self._max_wait_ns = scenario.max_wait.ns
        self.board = board
        self.clock = clock
        self._lock = threading.Lock()
        self._head = 0  # the first query that nobody has taken
        self._batches = 0
        self.busy = bytearray(scenario.workers)  # 1 for each worker that is serving

    def claim(self, worker: int) -> tuple[int, int, int] | None:
        """Wait for the next batch and take it: its number, its first query and the one after its last.

        None when nothing is left or the run is stopped.
        """
        with self._lock:
            first = self._head
            limit = min(first + self._max_batch, len(self._schedule))
            if first == limit:
                return None
            now = self._gather(first)
            if self.board.stop:
                return None
            end = limit
            if self._schedule[limit - 1] > now - self.board.origin:
                end = bisect_right(self._schedule, now - self.board.origin, first, limit)
            number = self._batches
            self.board.ends[number] = self._head = end
            self._batches = number + 1
            self.busy[worker] = 1
        return number, first, end

    def _gather(self, first: int) -> int:
        """Wait until a batch that begins with query `first` has to be sent; give the time."""
        oldest = self.board.origin + self._schedule[first]
        leave = oldest + self._max_wait_ns
        now = self.clock.now()
        if now < leave:
            # A server does not know that no more queries come, so the last batches wait like any other.
            last = first + self._max_batch - 1
            if last < len(self._schedule):
                leave = min(leave, self.board.origin + self._schedule[last])
            if now < leave:
                # A spinning thread would slow the ones that serve, and hold Python's lock against them.
                now = self.clock.until(leave, self.board.stop, spin=1 not in self.busy)
        return now
