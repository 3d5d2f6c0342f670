"""Who asks next: users and sessions whose next query follows from the answer to their last.

The counterpart of `batching` where the schedule is not known before the run. A user of a closed loop, or a
session, has one query at a time; its next one is due `think_time` after the answer. Free workers take what is
due, first come first served, in batches as declared.

Pauses are all alike, so queries become due in the order of answers. Two sorted columns hold all that will be
asked as far as it is known: when users begin, and when those that were answered ask again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from pytest_procure.scenarios import Scenario, arrivals, queries, sessions

from .board import Board
from .clock import Clock
from .log import Int64

#: How long a worker waits for the others before it looks again whether the run is over.
_SLICE_NS = 50_000_000
_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Played:
    """What was asked, row by row of the log.

    `due`: `(n,)` absolute ns, -1 where a query never became due, because the one before it was not answered.
    `asked`: `(n,)` place in the order of samples.
    """

    due: Int64
    asked: Int64


class Turns:
    """The one queue of all workers: the query that has been due longest goes first.

    One worker at a time waits for the next due time; those that are told of an answer meanwhile look again.
    """

    def __init__(self, scenario: Scenario, items: int, board: Board, clock: Clock) -> None:
        self.board = board
        self.clock = clock
        self.busy = bytearray(scenario.workers)  # 1 for each worker that is serving
        self._total = queries(scenario, items)
        self._by_session = scenario.name == "sessions"
        self._think_ns = scenario.think_time.ns
        self._max_batch = scenario.max_batch
        self._max_wait_ns = scenario.max_wait.ns if scenario.max_batch > 1 else 0
        self._turns = scenario.turns if self._by_session else self._total
        ends = scenario.duration if scenario.is_closed_loop else None
        self._over_ns = _NEVER if ends is None else ends.ns  # what is due later is not sent
        begins = arrivals(scenario, sessions(scenario) if self._by_session else scenario.concurrency)
        self._begins = begins.data
        self._begun = 0
        self._turn = np.zeros(len(begins), dtype=np.int64).data  # the next of each user
        again = np.zeros((2, self._total), dtype=np.int64)
        self._again, self._again_by = again[0].data, again[1].data  # when, and who
        self._again_first = self._again_end = 0
        self._columns = (np.full(self._total, -1, dtype=np.int64), np.arange(self._total, dtype=np.int64))
        self._was_due, self._asked = (column.data for column in self._columns)
        self._by = np.zeros(self._total, dtype=np.int64).data  # the user of each row
        self._rows = 0
        self._batches = 0
        self._serving: list[tuple[int, int, int] | None] = [None] * scenario.workers
        self._alone = scenario.workers == 1
        self._changed = threading.Condition()

    def claim(self, worker: int, free: int | None = None) -> tuple[int, int, int] | None:
        """Hand the last batch back, wait for the next and take it: number, first row, the one after its last.

        `free`: since when the worker is. The batch then holds what was due when it had to leave; without it,
        what is due when it leaves. None when nothing is left or the run is stopped.
        """
        with self._changed:
            served = self._serving[worker]
            if served is not None:
                self._hand_back(worker, served)
            while not self.board.stop and self._rows < self._total:
                head = self._head()
                if head < self._over_ns:
                    leave = self.board.origin + (self._leaves(head) if self._max_wait_ns else head)
                    if self._is_time(leave):
                        return self._take(worker, self.clock.now() if free is None else max(leave, free))
                elif any(self._serving):
                    self._changed.wait(_SLICE_NS * 1e-9)
                else:
                    break
            self._changed.notify_all()
        return None

    def places(self, first: int, end: int) -> Int64:
        """Give the places in the order of samples that the rows from `first` to `end` ask."""
        return self._columns[1][first:end]

    def next_due(self) -> int:
        """Give the absolute time at which the next query is due, 0 where nobody will ask before an answer."""
        head = self._head()
        return 0 if head >= self._over_ns else self.board.origin + head

    def played(self, until: int) -> Played:
        """Tell what was asked; what was due by `until`, an absolute time, and not taken is asked as well."""
        with self._changed:
            last = min(until - self.board.origin, self._over_ns - 1)
            while self._rows < self._total and self._head() <= last:
                self._put()
            was_due, asked = (column.copy() for column in self._columns)
            rows = self._rows
        was_due[was_due >= 0] += self.board.origin
        if self._by_session:  # what never became due comes last, in the order of sessions
            asked[rows:] = np.setdiff1d(np.arange(len(asked)), asked[:rows])
        return Played(was_due, asked)

    def _head(self) -> int:
        """Give the earliest time at which somebody asks, in ns from the origin."""
        begun, first = self._begun, self._again_first
        begin = self._begins[begun] if begun < len(self._begins) else _NEVER
        if first == self._again_end:
            return begin
        head: int = min(begin, self._again[first])
        return head

    def _hand_back(self, worker: int, served: tuple[int, int, int]) -> None:
        """Let the users of the batch that a worker has served think, and ask again."""
        self._serving[worker] = None
        number, first, end = served
        due = self.board.completed[number] - self.board.origin + self._think_ns
        if due >= self._over_ns:
            end = first  # nobody asks again
        again, by, place = self._again, self._again_by, self._again_end
        for row in range(first, end):
            user = self._by[row]
            if self._turn[user] == self._turns:
                continue
            at = place
            # Another worker may have been answered later, and have come back sooner.
            while at > self._again_first and again[at - 1] > due:
                again[at], by[at] = again[at - 1], by[at - 1]
                at -= 1
            again[at], by[at] = due, user
            place += 1
        self._again_end = place
        if not self._alone:
            self._changed.notify_all()

    def _is_time(self, leave: int) -> bool:
        """Wait until a batch has to leave; False when it is to be looked at again first."""
        now = self.clock.now()
        if now >= leave:
            return True
        # Never spin while another worker serves, and sleep so that its answer wakes this one.
        left = leave - now - (0 if any(self.busy) else self.clock.margin_ns)
        if left > 0 and not self._alone:
            self._changed.wait(min(left, _SLICE_NS) * 1e-9)
            return False
        self.clock.until(leave, self.board.stop)
        return not self.board.stop

    def _leaves(self, head: int) -> int:
        """Give the time at which the next batch is full, or its oldest query has waited long enough."""
        waited = head + self._max_wait_ns
        begins, agains = len(self._begins) - self._begun, self._again_end - self._again_first
        # Of more than are left to be asked the candidate never hears.
        if min(self._total - self._rows, begins + agains) < self._max_batch:
            return waited
        known: list[int] = [
            *self._begins[self._begun : self._begun + self._max_batch],
            *self._again[self._again_first : self._again_first + min(agains, self._max_batch)],
        ]
        return min(waited, sorted(known)[self._max_batch - 1])

    def _take(self, worker: int, left: int) -> tuple[int, int, int]:
        """Take what was due at `left`, an absolute time, up to a batch; the first was."""
        first = self._rows
        self._put()
        if self._max_batch > 1:
            end = min(first + self._max_batch, self._total)
            last = min(left - self.board.origin, self._over_ns - 1)
            while self._rows < end and self._head() <= last:
                self._put()
        claim = (self._batches, first, self._rows)
        self.board.ends[self._batches] = self._rows
        self._batches += 1
        self._serving[worker] = claim
        self.busy[worker] = 1
        return claim

    def _put(self) -> None:
        """Give the query that is due first the next row."""
        row, user, first = self._rows, self._begun, self._again_first
        due = self._begins[user] if user < len(self._begins) else _NEVER
        if first < self._again_end and self._again[first] < due:
            due, user = self._again[first], self._again_by[first]
            self._again_first = first + 1
        else:
            self._begun = user + 1
        self._was_due[row] = due
        self._by[row] = user
        if self._by_session:
            self._asked[row] = user * self._turns + self._turn[user]
        self._turn[user] += 1
        self._rows = row + 1
