"""What the main thread does during the window: wait, and end the run when waiting is over."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from .glance import glance
from .job import Job


class Progress(Protocol):
    """Is told how a run goes, a few times a second, as `Glance` says; its time is not the candidate's."""

    def __call__(self, begun: int, total: int, failed: int = 0, slow_ns: int | None = None, /) -> None:
        """Take a look in."""


#: Short enough for signals that do not wake a waiting thread, rare enough to disturb nobody.
_POLL_NS = 1_000_000_000
_PROGRESS_NS = 250_000_000


def watch(job: Job, done: threading.Event, wall_limit: int, progress: Progress | None) -> str:
    """Wait until all workers are done; give "", or the reason to stop them.

    `wall_limit` is a time of `perf_counter_ns`. Waiting ends `drain` after the last scheduled time, or, where
    the candidate sets the pace, when nothing has been answered for `drain`.
    """
    board, drain = job.board, job.scenario.drain
    paced = job.schedule is not None and job.scenario.rate_is_declared
    deadline = board.origin + drain.ns + (int(job.schedule[-1]) if job.schedule is not None else 0)
    poll = _PROGRESS_NS if progress else _POLL_NS
    while True:
        now = time.perf_counter_ns()
        if not paced and now >= deadline:
            deadline = max(deadline, job.last_sign() + drain.ns)
        if now >= wall_limit:
            return f"the wall limit of {job.scenario.wall_limit} was over"
        if now >= deadline:
            since = "the last request was due" if paced else "the last answer"
            return f"answers were still missing {drain} after {since}"
        if done.wait(min(poll, deadline - now, wall_limit - now) * 1e-9):
            return ""
        if progress:
            progress(*glance(job))
