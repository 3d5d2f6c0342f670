"""The board that workers write on during the window: one row a batch, preallocated."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_procure.redaction import quoted

from .log import Int64

_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The board at one moment. Times are absolute ns of the driver's clock; later ones do not count.

    No worker writes on it, and whoever reads it may.
    """

    taken: int  # when
    started: Int64  # (b,) -1 where not started
    completed: Int64  # (b,) -1 where not completed
    ends: Int64  # (b,) batch k served the queries from ends[k - 1] to ends[k]
    outputs: list[Any]  # (b,) what the backend returned
    failures: dict[int, str]  # batch -> what the backend raised


class Board:
    """What the workers have done.

    The columns are written through memoryviews, which cost a third of a numpy store. A batch is committed by
    its `completed` stamp, which is written last: what lacks it has not happened.

    `columns`: int64, the memory of a journal: the origin, then `queries` each of started, completed, ends.
    What is behind them is left alone.
    """

    __slots__ = (
        "_arrays",
        "_journalled",
        "_origin",
        "completed",
        "crash",
        "ends",
        "failures",
        "origin",
        "outputs",
        "started",
        "stop",
    )

    def __init__(self, queries: int, columns: Int64 | None = None) -> None:
        if columns is None:
            columns = np.full(1 + 3 * queries, -1, dtype=np.int64)
        self._journalled = isinstance(columns, np.memmap)
        self._origin = columns[:1]
        started, completed, ends = np.split(columns[1 : 1 + 3 * queries], [queries, 2 * queries])
        ends[:] = np.arange(1, queries + 1, dtype=np.int64)  # as if every query were a batch of its own
        self._arrays = (started, completed, ends)
        self.started = started.data
        self.completed = completed.data
        self.ends = ends.data
        self.outputs: list[Any] = [None] * queries
        self.failures: dict[int, str] = {}
        self.origin = 0  # the first scheduled time
        self.stop: list[str] = []  # no longer empty: begin nothing new
        self.crash: BaseException | None = None  # not the backend's: the inputs, or the driver itself

    def begin(self, origin: int) -> None:
        """Set the first scheduled time, before any worker looks at it."""
        self.origin = self._origin[0] = origin

    def batches_begun(self) -> int:
        """Count the batches that were started, in O(log n); while several workers start some, roughly."""
        low, high = 0, len(self.started)
        while low < high:
            middle = (low + high) // 2
            if self.started[middle] < 0:
                high = middle
            else:
                low = middle + 1
        return low

    def begun(self) -> int:
        """Count the queries that were started, as roughly."""
        batches = self.batches_begun()
        return self.ends[batches - 1] if batches else 0

    def last_completion(self) -> int:
        """Give the latest completion, -1 before the first."""
        completed = self._arrays[1]
        return int(completed.max()) if len(completed) else -1

    def last_start(self) -> int:
        """Give the latest start, -1 before the first."""
        started = self._arrays[0]
        return int(started.max()) if len(started) else -1

    def snapshot(self, taken: int, *, busy: bool) -> Snapshot:
        """Give the board as at `taken`: a copy where `busy` workers may still write on it, else itself.

        A journal keeps what was seen as it was: whoever reads the board writes on a copy.
        """
        started, completed, ends = self._arrays
        if not (busy or self._journalled):
            return Snapshot(taken, started, completed, ends, self.outputs, self.failures)
        # Completions first: whatever they commit was written before them, so it is in the later copies.
        completed = completed.copy()
        return Snapshot(
            taken, started.copy(), completed, ends.copy(), list(self.outputs), dict(self.failures)
        )


def one_line(error: BaseException) -> str:
    """Tell an exception in one printable line of at most 200 characters; never raise."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - the text of a candidate's exception is the candidate's code
        text = "(its text cannot be read)"
    return printable(f"{name}: {text}".rstrip().removesuffix(":"))


def printable(text: str) -> str:
    """Give a text as one printable line of at most 200 characters, without keys."""
    return sys.intern(quoted(text, _LONGEST_MESSAGE))  # a million failures, one text
