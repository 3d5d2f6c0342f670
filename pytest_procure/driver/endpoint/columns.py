"""The columns that this process and the load processes share: anonymous memory, one row a query.

Rows are written by the load process whose part of the schedule they are. What a query has any number of
(token times, output bytes) lies in stores, one of each a load process; the row says where.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Literal

Code = Literal["q", "i", "I", "H", "B"]

#: name -> (type code of `array`, bytes, what stands there until something happened)
LAYOUT: dict[str, tuple[Code, int, int]] = {
    "scheduled": ("q", 8, -1),  # ns from the origin; -1: not known yet, as it follows from an answer
    "sent": ("q", 8, -1),  # ns from the origin, the first attempt
    "headers": ("q", 8, -1),  # ns from the origin, the last attempt, like all below
    "ended": ("q", 8, -1),  # last byte, or when it was given up
    "output_start": ("q", 8, 0),  # in the store of outputs, each of which begins with its `SIZE`
    "item": ("q", 8, 0),  # which body it sends
    "token_start": ("I", 4, 0),  # in the store of token times
    "lag": ("I", 4, 0),  # ns from when a connection was free and the query was due; `MOST_LAG`: or more
    "chunks": ("i", 4, -1),  # events with tokens, so also token times; -1: no stream
    "input_tokens": ("i", 4, -1),
    "output_tokens": ("i", 4, -1),
    "cached_tokens": ("i", 4, -1),
    "received": ("I", 4, 0),  # bytes, over all attempts
    "http": ("H", 2, 0),  # status
    "text": ("H", 2, 0),  # which of its load process's messages, from 1: why it failed, or what ended it
    "failure": ("B", 1, 0),
    "retries": ("B", 1, 0),
    "good": ("B", 1, 0),  # 1: answered and read
}
#: Most ns that a lag can tell, 4.29 s; and most token times of one store.
MOST_LAG = MOST_TIMES = 2**32 - 1
#: How many bytes an output has, before them.
SIZE = struct.Struct("=I")
#: For each load process: begun (of sessions, how many), ended, time of the last end (absolute ns).
CONTROL = 3

Columns = dict[str, memoryview]


def size(rows: int) -> int:
    """Count the bytes of all columns."""
    return sum(_padded(rows * width) for _, width, _ in LAYOUT.values())


def places(rows: int) -> Iterator[tuple[str, Code, int, int]]:
    """Give name, type code, first byte and end of each column."""
    offset = 0
    for name, (code, width, _) in LAYOUT.items():
        yield name, code, offset, offset + rows * width
        offset += _padded(rows * width)


def views(memory: mmap.mmap, rows: int) -> Columns:
    """Give the columns as memoryviews, which cost a third of a numpy store."""
    whole = memoryview(memory)
    return {name: whole[first:end].cast(code) for name, code, first, end in places(rows)}


def shared(name: str, length: int = 0) -> int:
    """Make anonymous memory that a child may inherit; a file descriptor."""
    descriptor = os.memfd_create(f"procure-{name}")
    if length:
        os.ftruncate(descriptor, length)
    return descriptor


def mapped(descriptor: int, *, at_once: bool = False) -> mmap.mmap | None:
    """Map all of it; None where it is empty. `at_once`: so that no first touch of a page waits for one."""
    length = os.fstat(descriptor).st_size
    flags = mmap.MAP_SHARED | (mmap.MAP_POPULATE if at_once else 0)
    return mmap.mmap(descriptor, length, flags=flags) if length else None


def give_back(memory: mmap.mmap, first: int, end: int) -> int:
    """Give the whole pages between two bytes back to the system, for all who share them; up to where.

    They take no memory any more, and read as zeros.
    """
    first, end = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
    if end <= first:
        return first
    memory.madvise(mmap.MADV_REMOVE, first, end - first)
    return end


def _padded(length: int) -> int:
    return -(-length // 8) * 8
