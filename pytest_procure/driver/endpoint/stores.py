"""What load processes have left in their stores, read once: what has been taken is given back at once.

A request's token times and output lie where its answer was read, so about in the order of the rows. Rows are
taken in their order, in pieces; behind each piece, what no later row needs is given back to the system, so
that ten million answers are not there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pytest_procure.driver.log import Int64

from . import columns
from .plan import Plan

#: Rows of a piece.
PIECE = 4096


class Stores:
    """One store of each load process, with items of a numpy type `code`; `(begins, sizes)` of each row."""

    def __init__(self, descriptors: list[int], code: str) -> None:
        self._memories = [columns.mapped(descriptor) for descriptor in descriptors]
        self._arrays: list[Any] = [
            np.empty(0, dtype=code) if memory is None else np.frombuffer(memory, dtype=code)
            for memory in self._memories
        ]
        self._width = np.dtype(code).itemsize
        self._given_back = [0] * len(descriptors)  # bytes

    def __getitem__(self, process: int) -> Any:
        """Give all that a load process has left: `(n,)`."""
        return self._arrays[process]

    def has(self, owners: Int64, ends: Int64) -> Any:
        """Tell which rows lie in their store as a whole: a process that was killed has written out less."""
        return ends <= np.array([len(array) for array in self._arrays])[owners]

    def give_back_before(self, needed: Int64) -> None:
        """Release the items before those that are still needed of each store: `(processes,)`."""
        for process, memory in enumerate(self._memories):
            end = min(int(needed[process]), len(self._arrays[process])) * self._width
            if memory is not None:
                self._given_back[process] = columns.give_back(memory, self._given_back[process], end)


class Rows:
    """The rows of a log in their order: where they stand in the columns, and who sent them."""

    def __init__(self, plan: Plan, order: Int64 | None) -> None:
        """`order`: None where they stand in their order."""
        self._plan = plan
        self._order = order
        self.count = plan.rows if order is None else len(order)

    @property
    def numbers(self) -> Int64:
        """Give where each stood as it was planned: `(n,)`."""
        return np.arange(self.count) if self._order is None else self._order

    def pieces(self) -> Iterator[slice]:
        """Give them in pieces."""
        for first in range(0, self.count, PIECE):
            yield slice(first, min(first + PIECE, self.count))

    def owners(self, piece: slice) -> Int64:
        """Tell which load process has sent each."""
        numbers = np.arange(piece.start, piece.stop) if self._order is None else self._order[piece]
        return self._plan.process_of(numbers)

    def needed_from(self, begins: Any, is_needed: Any) -> Int64:
        """From where on each store is needed behind each piece: `(pieces, processes)`, ends included."""
        pieces, processes = list(self.pieces()), self._plan.processes
        least = np.full((len(pieces) + 1, processes), np.iinfo(np.int64).max)
        for place, piece in enumerate(pieces):
            there = np.flatnonzero(is_needed[piece])
            np.minimum.at(least[place], self.owners(piece)[there], begins[piece][there])
        return np.minimum.accumulate(least[::-1])[::-1][1:]
