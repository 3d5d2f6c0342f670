"""The board that workers write on during the window: one row a batch, preallocated."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from .log import Int64

_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of the board that no worker writes on. Times are absolute ns of the driver's clock."""

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
    """

    __slots__ = ("_arrays", "completed", "crash", "ends", "failures", "origin", "outputs", "started", "stop")

    def __init__(self, queries: int) -> None:
        started = np.full(queries, -1, dtype=np.int64)
        completed = np.full(queries, -1, dtype=np.int64)
        ends = np.arange(1, queries + 1, dtype=np.int64)  # as if every query were a batch of its own
        self._arrays = (started, completed, ends)
        self.started = started.data
        self.completed = completed.data
        self.ends = ends.data
        self.outputs: list[Any] = [None] * queries
        self.failures: dict[int, str] = {}
        self.origin = 0  # the first scheduled time
        self.stop: list[str] = []  # no longer empty: begin nothing new
        self.crash: BaseException | None = None  # not the backend's: the inputs, or the driver itself

    def begun(self) -> int:
        """Count the queries that were started, in O(log n); while several workers start some, roughly."""
        low, high = 0, len(self.started)
        while low < high:
            middle = (low + high) // 2
            if self.started[middle] < 0:
                high = middle
            else:
                low = middle + 1
        return self.ends[low - 1] if low else 0

    def last_completion(self) -> int:
        """Give the latest completion, -1 before the first."""
        completed = self._arrays[1]
        return int(completed.max()) if len(completed) else -1

    def snapshot(self, taken: int) -> Snapshot:
        """Copy the board. Workers that are still busy may write on it; the copy stays as it is."""
        started, completed, ends = self._arrays
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
    text = text[: 4 * _LONGEST_MESSAGE]
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in f"{name}: {text}").split())
    return sys.intern(text.removesuffix(":")[:_LONGEST_MESSAGE])  # a million failures, one text
