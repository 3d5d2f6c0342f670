"""Worker threads and the loops they run.

in_turn        closed loop: the next query when the last is answered
one_by_one     open loop, one worker, no batches
in_batches     open loop, batches or several workers

Each loop is written out on its own because what it does between two queries is charged to the candidate.
Columns are absolute ns; nothing is allocated per query but the stamps, what the backend returns and its copy.
An answer is copied before the clock is read: until it is, it was not given.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pytest_procure.threads import schedstat

from .batching import Queue
from .board import Board, one_line
from .clock import Clock, sharpen
from .log import Int64
from .turns import Turns

Predict = Callable[[Any], Sequence[Any]]
#: Makes what was returned our own: `taking`.
Take = Callable[[Any], Any]
_FOREVER = 2**63 - 1
_Stat = tuple[int, int] | None


def in_turn(  # noqa: PLR0913, PLR0917 - who answers what, and how
    board: Board, predict: Predict, take: Take, inputs: Iterable[Any], clock: Clock, duration_ns: int | None
) -> None:
    """Send each of `inputs` when the one before it is answered, until `duration_ns` is over.

    The end is decided when a query would be sent. Inputs that are not prepared are gathered between queries.
    """
    started, completed, outputs, stop, now = _columns(board, clock)
    clock.until(board.origin, stop)
    until = _FOREVER if duration_ns is None else now() + duration_ns
    for query, batch in enumerate(inputs):
        begin = now()
        if begin >= until or stop:
            break
        started[query] = begin
        try:
            outputs[query] = take(predict(batch))
            completed[query] = now()
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is a failed request
            stamp = now()
            board.failures[query] = one_line(error)
            completed[query] = stamp


def one_by_one(  # noqa: PLR0913, PLR0917 - as above
    board: Board, predict: Predict, take: Take, inputs: Iterable[Any], clock: Clock, schedule: Int64
) -> None:
    """Serve each of `inputs` when it is due and the one before it is answered."""
    started, completed, outputs, stop, now = _columns(board, clock)
    due_after = schedule.data
    origin = board.origin
    for query, batch in enumerate(inputs):
        due = origin + due_after[query]
        begin = now()
        if begin < due:
            begin = clock.until(due, stop)
        if stop:
            break
        started[query] = begin
        try:
            outputs[query] = take(predict(batch))
            completed[query] = now()
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is a failed request
            stamp = now()
            board.failures[query] = one_line(error)
            completed[query] = stamp


def in_batches(
    queue: Queue | Turns,
    worker: int,
    predict: Predict,
    take: Take,
    gather: Callable[[int, int, int], Any],
) -> None:
    """Serve what `queue` gives; `gather(number, first, end)` makes a batch of inputs."""
    board = queue.board
    started, completed, outputs, _, now = _columns(board, queue.clock)
    free = 0
    while (claim := queue.claim(worker, free)) is not None:
        number, first, end = claim
        batch = gather(number, first, end)
        started[number] = now()
        try:
            outputs[number] = take(predict(batch))
            completed[number] = free = now()
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is a failed request
            free = now()
            board.failures[number] = one_line(error)
            completed[number] = free
        queue.busy[worker] = 0


def _columns(
    board: Board, clock: Clock
) -> tuple[memoryview, memoryview, list[Any], list[str], Callable[[], int]]:
    return board.started, board.completed, board.outputs, board.stop, clock.now


class Crew:
    """Daemon threads that warm up, wait for the start, and run one loop each.

    A thread that a backend never returns to cannot be ended from outside; as a daemon it does not keep the
    process alive.
    """

    def __init__(
        self, board: Board, warm_up: Callable[[], None], loops: Sequence[Callable[[], None]]
    ) -> None:
        self._board = board
        self._warm_up = warm_up
        self._loops = loops
        self._ready = threading.Semaphore(0)
        self._go = threading.Event()
        self._lock = threading.Lock()
        self._working = len(loops)
        self._times: list[tuple[int, _Stat, _Stat]] = [(0, None, None)] * len(loops)
        self.threads = [
            threading.Thread(target=self._work, args=(number,), name=f"procure-worker-{number}", daemon=True)
            for number in range(len(loops))
        ]
        self.done = threading.Event()

    def start(self) -> None:
        """Start the threads; they warm up at once."""
        for thread in self.threads:
            thread.start()

    def wait_ready(self, limit: int) -> bool:
        """Wait until all have warmed up; False when `limit`, a time of `perf_counter_ns`, comes first."""
        return all(
            self._ready.acquire(timeout=max(0.0, (limit - time.perf_counter_ns()) * 1e-9))
            for _ in self.threads
        )

    def go(self) -> None:
        """Let them run their loops; or, when the board says stop, end."""
        self._go.set()

    def join(self, grace_ns: int) -> bool:
        """Wait for the threads to end; False when one has not come back after `grace_ns`."""
        limit = time.perf_counter_ns() + grace_ns
        for thread in self.threads:
            if thread.ident is not None:
                thread.join(max(0.0, (limit - time.perf_counter_ns()) * 1e-9))
        return not any(thread.is_alive() for thread in self.threads)

    def ran_ns(self) -> list[int] | None:
        """Tell how much processor time each thread used in its loop; None where unknown."""
        return self._used(0)

    def run_delays_ns(self) -> list[int] | None:
        """Tell how long each thread has waited for a processor in its loop; None where unknown."""
        return self._used(1)

    def _used(self, place: int) -> list[int] | None:
        told = []
        for tid, before, after in self._times:
            now = schedstat(tid) if after is None else after  # a thread that hangs has not told its own
            if before is None or now is None:
                return None
            told.append(now[place] - before[place])
        return told

    def _work(self, number: int) -> None:
        board = self._board
        tid = threading.get_native_id()
        sharpen()
        try:
            self._warm_up()
            self._ready.release()
            self._go.wait()
            before = schedstat(tid)
            self._times[number] = (tid, before, None)
            if not board.stop:
                self._loops[number]()
            self._times[number] = (tid, before, schedstat(tid))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the run was asked for
            board.crash = error
            board.stop.append("crashed")
        with self._lock:
            self._working -= 1
            if not self._working:
                self.done.set()
        self._ready.release()  # for those who wait for a thread that failed in its warm-up
