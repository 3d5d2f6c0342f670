"""Forms batches: which queries a free worker takes, and when."""

from __future__ import annotations

import threading
from bisect import bisect_right
from heapq import heappop, heappush

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
        self._idle: list[int] = []  # since when each worker is free that waits in here or at the lock
        self.busy = bytearray(scenario.workers)  # 1 for each worker that is serving

    def claim(self, worker: int, free: int) -> tuple[int, int, int] | None:
        """Wait for the next batch and take it: its number, its first query and the one after its last.

        `free`: since when the worker is. The batch holds what was due when it had to leave: a query that came
        while the harness was late goes with the next one. Who comes first takes what the one that was free
        first had to take. None when nothing is left or the run is stopped.
        """
        heappush(self._idle, free)
        with self._lock:
            first = self._head
            limit = min(first + self._max_batch, len(self._schedule))
            if first == limit:
                return None
            left = max(self._gather(first), heappop(self._idle)) - self.board.origin
            if self.board.stop:
                return None
            end = limit
            if self._schedule[limit - 1] > left:
                end = bisect_right(self._schedule, left, first, limit)
            number = self._batches
            self.board.ends[number] = self._head = end
            self._batches = number + 1
            self.busy[worker] = 1
        return number, first, end

    def _gather(self, first: int) -> int:
        """Wait until a batch that begins with query `first` has to be sent; give the time when it had to."""
        leave = self.board.origin + self._schedule[first] + self._max_wait_ns
        # A server does not know that no more queries come, so the last batches wait like any other.
        last = first + self._max_batch - 1
        if self._max_wait_ns and last < len(self._schedule):
            leave = min(leave, self.board.origin + self._schedule[last])
        if self.clock.now() < leave:
            # A spinning thread would slow the ones that serve, and hold Python's lock against them.
            self.clock.until(leave, self.board.stop, spin=1 not in self.busy)
        return leave
