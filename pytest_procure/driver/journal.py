"""The board's columns in a file, so that a session that is killed leaves what its run had seen by then.

The workers write on the same memory as without a journal: a shared mapping of the file. The kernel keeps what
was written when the process dies, and brings it to the disk in its own time, so a run loses no row to
`kill -9`, and at most what the kernel had not yet written to a power failure. There is no writer thread that
would take Python's lock from the workers.

    head       a line of JSON, padded with spaces: what is run, and how many rows follow
    origin     int64: the first scheduled time, 0 before the run's window
    started, completed, ends          (queries,) int64, as on the board
    order                             (samples,) int64: which item each sample asks
    schedule                          (queries,) int64: when each query is due; not in a closed loop

A run against an endpoint is journalled by `endpoint.copying`, a few times a second, from the columns of its
load processes: its rows are numbered before the run, so that the order is known, and its `schedule` is filled
as queries become due (-1 before).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.errors import EvidenceError, unwritten

from .log import Int64

_HEAD = 16_384


@dataclass(frozen=True, slots=True)
class Journal:
    """Where a run is journalled, and what it is: plain JSON data."""

    path: Path
    about: dict[str, Any]

    def open(self, queries: int, order: Int64, schedule: Int64 | None) -> Int64:
        """Make the file and map it: int64, origin, the board's columns, the order and the schedule.

        All pages are written once here, and brought to the disk, so that the run meets no page for the first
        time. Raises `EvidenceError` when the file cannot be written.
        """
        head = json.dumps(self.about | {"queries": queries, "samples": len(order)}, sort_keys=True).encode()
        if len(head) >= _HEAD:
            raise EvidenceError(f"the journal {self.path.name} cannot be made: its head is too long")
        columns = np.full(1 + 3 * queries, -1, dtype="<i8")
        columns[0] = 0
        columns[1 + 2 * queries :] = np.arange(1, queries + 1)  # as if every query were a batch of its own
        planned = order[:0] if schedule is None else schedule
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("wb") as file:
                file.write(head.ljust(_HEAD - 1) + b"\n")
                for part in (columns, order, planned):  # `tofile` would not say why it cannot
                    file.write(np.ascontiguousarray(part, "<i8").view(np.uint8).data)
            mapped = np.memmap(self.path, "<i8", "r+", _HEAD)
            mapped.flush()
        except OSError as error:
            self.forget()  # half a journal would be told as a run that was under way
            raise unwritten(f"the journal {self.path.name}", error, self.path.parent) from error
        return mapped

    def forget(self) -> None:
        """Remove the file, and its folder where nothing else is in it: no pack has an empty one."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
            self.path.parent.rmdir()


@dataclass(frozen=True, slots=True)
class Journalled:
    """What a journal holds. The columns are absolute ns of the driver's clock."""

    about: dict[str, Any]
    origin: int
    started: Int64
    completed: Int64
    ends: Int64
    order: Int64
    schedule: Int64 | None

    @classmethod
    def read(cls, path: Path) -> Journalled:
        """Read a journal. Raises `EvidenceError` for a file that is none."""
        try:
            with path.open("rb") as file:
                about = json.loads(file.read(_HEAD))
                queries, samples = about["queries"], about["samples"]
                rows = np.fromfile(file, "<i8")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EvidenceError(f"{path.name} is no journal of a run: {error}") from None
        whole = [1 + 3 * queries + samples, 1 + 4 * queries + samples]  # without and with a schedule
        if not (isinstance(queries, int) and isinstance(samples, int) and len(rows) in whole):
            raise EvidenceError(f"{path.name} is no journal of a run: it was cut")
        started, completed, ends, order, planned = np.split(
            rows[1:], [queries, 2 * queries, 3 * queries, 3 * queries + samples]
        )
        schedule = planned if len(planned) else None
        return cls(about, int(rows[0]), started, completed, ends, order, schedule)
