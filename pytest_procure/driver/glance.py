"""A look at a run while it goes on: how many were begun, how many failed, how long the latest ones took."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .job import Job

#: The running percentile is that of this many requests, the latest ones: a look takes some ten microseconds.
_LATEST = 500


class Glance(NamedTuple):
    """What somebody who watches is shown. It is rough, and decides nothing."""

    begun: int
    total: int  # 0 where the duration decides
    failed: int  # batches in which the backend raised
    slow_ns: int | None  # p95 of the latest requests, by nearest rank; None before the first answer


def glance(job: Job) -> Glance:
    """Look at the board of a run without holding its workers up."""
    board = job.board
    batches = board.batches_begun()
    begun = board.ends[batches - 1] if batches else 0
    total = 0 if job.by_duration else job.queries
    return Glance(begun, total, len(board.failures), _slow(job, batches))


def _slow(job: Job, batches: int) -> int | None:
    """Give the p95 of the latest batches that were answered, from when their first request was due."""
    first = max(0, batches - _LATEST)
    if batches == first or not job.scenario.allows_latency:  # offline, all wait for each other
        return None
    board, latest = job.board, slice(first, batches)
    ended = np.array(board.completed[latest], dtype=np.int64)
    since = np.array(board.started[latest], dtype=np.int64)
    if job.schedule is not None:
        ends = np.array(board.ends[latest], dtype=np.int64)
        firsts = np.concatenate([[board.ends[first - 1] if first else 0], ends[:-1]])
        since = job.schedule[np.minimum(firsts, len(job.schedule) - 1)] + board.origin
    took = np.sort((ended - since)[ended >= 0])
    return int(took[max(0, math.ceil(0.95 * len(took)) - 1)]) if len(took) else None
