"""What one load process has to send, as plain data: it travels there as JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one load process has to send: the queries `first`, `first + step`, ... below `total`.

    From each of these on, `together` requests leave at once, or `turns` follow each other, `think_ns` after
    an answer.
    """

    first: int
    step: int
    total: int
    timeout_ns: int
    connections: int  # most of them
    retries: int  # most of them, for one query
    concurrency: int | None = None  # closed loop
    think_ns: int = 0
    duration_ns: int | None = None  # closed loop
    together: int = 1  # closed loop of one query at a time
    turns: int = 1  # open loop
