"""What one load process has to send."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one load process has to send: the queries `first`, `first + step`, ... below `total`."""

    first: int
    step: int
    total: int
    timeout_ns: int
    connections: int  # most of them
    retries: int  # most of them, for one query
    concurrency: int | None = None  # closed loop
    think_ns: int = 0
    duration_ns: int | None = None  # closed loop
