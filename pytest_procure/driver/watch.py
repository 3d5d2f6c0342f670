"""What the main thread does during the window: wait, and end the run when waiting is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .job import Job

Progress = Callable[[int, int], None]

#: Short enough for signals that do not wake a waiting thread, rare enough to disturb nobody.
_POLL_NS = 1_000_000_000
_PROGRESS_NS = 250_000_000


def watch(job: Job, done: threading.Event, wall_limit: int, progress: Progress | None) -> str:
    """Wait until all workers are done; give "", or the reason to stop them.

    `wall_limit` is a time of `perf_counter_ns`. Waiting ends `drain` after the last scheduled time, or, where
    the candidate sets the pace, when nothing has been answered for `drain`.
    """
    board, drain = job.board, job.scenario.drain
    paced = job.scenario.rate_is_declared
    deadline = board.origin + drain.ns + (int(job.schedule[-1]) if job.schedule is not None else 0)
    poll = _PROGRESS_NS if progress else _POLL_NS
    while True:
        now = time.perf_counter_ns()
        if not paced and now >= deadline:
            deadline = max(deadline, board.last_completion() + drain.ns)
        if now >= wall_limit:
            return f"the wall limit of {job.scenario.wall_limit} was over"
        if now >= deadline:
            since = "the last request was due" if paced else "the last answer"
            return f"answers were still missing {drain} after {since}"
        if done.wait(min(poll, deadline - now, wall_limit - now) * 1e-9):
            return ""
        if progress:
            progress(board.begun(), 0 if job.by_duration else job.queries)
