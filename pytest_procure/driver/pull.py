"""The pull driver: worker threads take queries when they are due, and the request log says what happened.

A worker knows the schedule, so it needs no issuer: it takes what is due when it is free. Arrival is virtual,
latency is completion minus scheduled time, and the system is exactly a first-in-first-out queue with batches
and k workers, without a thread that would fight the candidate for Python's lock.

    job ──► warm-up ──► window: workers write on the board, this thread watches ──► log and audit
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_procure.backends.protocol import LoadedBackend
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.scenarios import Scenario

from .audit import Audit, Readings, audit
from .job import Job
from .log import RequestLog
from .outcomes import request_log
from .source import SampleSource
from .watch import Progress, watch
from .workers import Crew

#: Between the start signal and the first scheduled time, so that all threads are awake by then.
_LEAD_NS = 10_000_000
#: How long a call of the backend may take to return when the run is over, before its thread is given up.
_GRACE_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a scenario on a candidate.

    Every run but an interrupted one is complete: what the candidate did not answer stands in the log as lost.
    """

    log: RequestLog
    audit: Audit
    conditions: dict[str, Any]  # plain JSON data, for disclosure
    hung: bool = (
        False  # a call never returned: its thread is given up, and the backend must not be used again
    )
    interrupted: bool = False  # Ctrl-C: the log is partial, and the caller has to raise KeyboardInterrupt


@dataclass(slots=True)
class _Window:
    """What was seen while the workers ran."""

    before: Readings
    after: Readings | None = None
    stopped: str = ""
    interrupted: bool = False
    ended: int = 0


def drive(
    backend: LoadedBackend,
    source: SampleSource,
    scenario: Scenario,
    *,
    progress: Progress | None = None,
) -> Run:
    """Run `scenario` on `backend` over the samples of `source`, and log every query.

    `progress(begun, total)` is called a few times a second with numbers of queries; the total is 0 where the
    duration decides.

    Raises `DeclarationError` when the backend cannot serve with that many workers, `DataError` when the slice
    is empty, and whatever `source.take` raises. What the backend raises is logged.
    """
    wall_limit = time.perf_counter_ns() + scenario.wall_limit.ns
    if scenario.workers > 1 and not backend.releases_gil:
        raise DeclarationError(
            f"`workers={scenario.workers}`, but this backend holds Python's lock while it predicts, so its "
            f"threads would slow each other down; expected `workers=1`, or a backend that releases the lock"
        )
    if not len(source):
        raise DataError("the dataset slice is empty; expected at least one sample")
    job = Job(backend, source, scenario)
    crew = Crew(job.board, job.warm_up, job.loops())
    window = _open(job, crew, wall_limit, progress)
    board = job.board.snapshot(window.ended)
    after = window.after or Readings.take()
    hung = not crew.join(_GRACE_NS)
    if job.board.crash is not None and not window.interrupted:
        raise job.board.crash
    if hung:
        window.stopped += "; a call of the backend did not return"
    log = request_log(board, job.plan, job.board.origin, window.stopped)
    return Run(
        log=log,
        audit=audit(log, scenario, before=window.before, after=after, run_delays_ns=crew.run_delays_ns()),
        conditions=job.conditions(),
        hung=hung,
        interrupted=window.interrupted,
    )


def _open(job: Job, crew: Crew, wall_limit: int, progress: Progress | None) -> _Window:
    """Warm up, let the workers run, and stop them when they are done or waiting is over."""
    window = _Window(Readings.take())
    try:
        crew.start()
        if not crew.wait_ready(wall_limit):
            window.stopped = f"the warm-up was not over at the wall limit of {job.scenario.wall_limit}"
            return window
        with _no_collection():
            window.before = Readings.take()
            job.board.origin = time.perf_counter_ns() + _LEAD_NS
            crew.go()
            window.stopped = watch(job, crew.done, wall_limit, progress)
            window.after = Readings.take()
    except KeyboardInterrupt:
        window.stopped, window.interrupted = "interrupted", True
    finally:
        job.board.stop.append("over")
        crew.go()
        window.ended = time.perf_counter_ns()
        job.board.origin = job.board.origin or window.ended
    return window


@contextmanager
def _no_collection() -> Iterator[None]:
    """Turn the garbage collector off: a pass over a test session's objects takes 0.3 ms or more."""
    enabled = gc.isenabled()
    frozen = gc.get_freeze_count()  # not ours to unfreeze
    gc.collect()
    if not frozen:
        gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()
        if enabled:
            gc.enable()
