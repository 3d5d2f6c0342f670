"""The pull driver: worker threads take queries when they are due, and the request log says what happened.

A worker knows the schedule, so it needs no issuer: it takes what is due when it is free. Arrival is virtual,
latency is completion minus scheduled time, and the system is exactly a first-in-first-out queue with batches
and k workers, without a thread that would fight the candidate for Python's lock.

    job ──► warm-up ──► window: workers write on the board, this thread watches ──► log and audit
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from pytest_procure import threads
from pytest_procure.backends.protocol import LoadedBackend
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.isolation.endings import Ending
from pytest_procure.scenarios import Scenario, repeat_share
from pytest_procure.telemetry.sampling import Probe, Sampler, sampling

from .audit import Audit, Worked, audit
from .hosting import Host
from .interrupts import Interrupts
from .job import Job
from .journal import Journal
from .limits import Limits
from .log import RequestLog
from .outcomes import request_log
from .readings import Collections, Readings
from .source import SampleSource
from .watch import Progress, watch
from .workers import Crew

#: Between the start signal and the first scheduled time, so that all threads are awake by then.
_LEAD_NS = 10_000_000
#: How long a call of the backend may take to return when the run is over, before its thread is given up.
_GRACE_NS = 1_000_000_000


Asked = ParamSpec("Asked")


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
    cut: RequestLog | None = None  # the first part of the run, where the scenario says it is not measured
    warmup_ns: int = 0  # how long the warm-up calls took, before the first scheduled time
    endings: tuple[Ending, ...] = ()  # of the candidate's own processes, since the run before
    origin_ns: int = 0  # of `perf_counter_ns`: 0 of the log's times

    @property
    def broken(self) -> bool:
        """Whether the backend has to be brought up anew before it can answer again."""
        return self.hung or any(not ending.idle for ending in self.endings)

    def marked(self, interrupts: Interrupts) -> Run:
        """Mark it where Ctrl-C was pressed, be it after the last answer."""
        if not interrupts.pressed or self.interrupted:
            return self
        why = f"{self.log.stopped}; interrupted" if self.log.stopped else "interrupted"
        return replace(self, interrupted=True, log=replace(self.log, stopped=why))


@dataclass(slots=True)
class _Window:
    """What was seen while the workers ran."""

    before: Readings
    collections: Collections = field(default_factory=Collections)
    after: Readings | None = None
    sampler: Sampler | None = None
    stopped: str = ""
    interrupted: bool = False
    ended: int = 0
    warmup_ns: int = 0


def interruptible(driving: Callable[Concatenate[Interrupts, Asked], Run]) -> Callable[Asked, Run]:
    """Make a driver whose run Ctrl-C ends, and marks; it holds Ctrl-C itself while a log is written."""

    @wraps(driving)
    def driven(*args: Asked.args, **more: Asked.kwargs) -> Run:
        with Interrupts() as interrupts:
            interrupts.arm()
            run = driving(interrupts, *args, **more)
        return run.marked(interrupts)

    return driven


@interruptible
def drive(  # noqa: PLR0913 - who is driven, over what, and who looks on
    interrupts: Interrupts,
    backend: LoadedBackend,
    source: SampleSource,
    scenario: Scenario,
    *,
    progress: Progress | None = None,
    probes: Sequence[Probe] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    journal: Journal | None = None,
) -> Run:
    """Run `scenario` on `backend` over the samples of `source`, and log every query.

    Ctrl-C ends the run; its log is then written as far as it came, also under a second one.

    `progress` is called a few times a second with what `Glance` holds; the total is 0 where the duration
    decides. `probes` are started and stopped with the measured window, and read ten times a second in it.
    `limits` are what the audit calls a fault. With a `journal` the workers write on the memory of its file,
    which outlives a kill.

    Raises `DeclarationError` when the backend cannot serve with that many workers, `DataError` when the slice
    is empty or holds what cannot be sent to a process of its own, `ProvisionError` when such a process cannot
    be brought up again, and whatever `source.take` raises. What the backend raises is logged.
    """
    if scenario.workers > 1 and not backend.releases_gil:
        raise DeclarationError(
            f"`workers={scenario.workers}`, but this backend holds Python's lock while it predicts, so its "
            f"threads would slow each other down; expected `workers=1`, or a backend that releases the lock"
        )
    if not len(source):
        raise DataError("the dataset slice is empty; expected at least one sample")
    before = set(threading.enumerate())
    host = Host(backend)
    host.open(scenario.workers)  # which may load it, and is no part of the run
    wall_limit = time.perf_counter_ns() + scenario.wall_limit.ns
    job = Job(backend, source, scenario, journal)
    host.begin(job.board.stop, scenario, job.probe())
    crew = Crew(job.board, job.warm_up, job.loops())
    window = _open(job, crew, host, interrupts, wall_limit, progress, probes)
    after = window.after or host.readings()
    origin = job.board.origin
    hung = not crew.join(_GRACE_NS)
    if hung:
        host.give_up(window.stopped)
        hung = not crew.join(_GRACE_NS)
    threads.remember(before)  # what runs now and did not then was started by the candidate, or is hung in it
    endings = host.end()
    if job.board.crash is not None and not window.interrupted:
        raise job.board.crash
    if hung:
        window.stopped += "; a call of the backend did not return"
    if not window.stopped:
        window.stopped = next((ending.sentence for ending in endings if not ending.idle), "")
    worked = _worked(crew, host.delays_ns(crew.run_delays_ns()), window, after)
    del crew  # with the inputs: ten million requests have to fit
    log = _written(job, window, hung=hung)
    return Run(
        log=log,
        audit=audit(
            log,
            scenario,
            before=window.before,
            after=after,
            worked=worked,
            limits=limits,
        ),
        conditions=job.conditions() | host.conditions() | {"repeated": repeat_share(log.samples)},
        hung=hung,
        interrupted=window.interrupted,
        endings=endings,
        warmup_ns=window.warmup_ns,
        origin_ns=origin,
    )


def _open(  # noqa: PLR0913, PLR0917 - what a window needs
    job: Job,
    crew: Crew,
    host: Host,
    interrupts: Interrupts,
    wall_limit: int,
    progress: Progress | None,
    probes: Sequence[Probe],
) -> _Window:
    """Warm up, let the workers run, and stop them when they are done or waiting is over."""
    window = _Window(host.readings())
    begun = time.perf_counter_ns()
    try:
        crew.start()
        if not crew.wait_ready(wall_limit):
            window.stopped = f"the warm-up was not over at the wall limit of {job.scenario.wall_limit}"
            return window
        window.warmup_ns = time.perf_counter_ns() - begun
        with window.collections, sampling(probes) as window.sampler:
            window.before = host.readings()
            job.board.begin(time.perf_counter_ns() + _LEAD_NS)
            crew.go()
            window.stopped = watch(job, crew.done, wall_limit, progress)
            interrupts.hold()
            window.after = host.readings()
    except KeyboardInterrupt:
        window.stopped, window.interrupted = "interrupted", True
    finally:
        interrupts.hold()
        job.board.stop.append("over")
        crew.go()
        window.ended = time.perf_counter_ns()
        job.board.origin = job.board.origin or window.ended
    return window


def _written(job: Job, window: _Window, *, hung: bool) -> RequestLog:
    """Write the log from the board, and give the board back."""
    board = job.board.snapshot(window.ended, busy=hung)
    plan, origin = job.plan(window.ended), job.board.origin
    job.clear()
    return request_log(board, plan, origin, window.stopped)


def _worked(crew: Crew, delays_ns: list[int] | None, window: _Window, after: Readings) -> Worked:
    """Tell which threads used the processor in the window, and which ran the garbage collector."""
    ran = crew.ran_ns()
    candidates = {thread.native_id for thread in crew.threads} | threads.candidates_ids()
    passes = window.collections.passes
    return Worked(
        ran_ns=None if ran is None else sum(ran),
        waited_ns=None if delays_ns is None else max(delays_ns),
        others=threads.used(window.before.threads_ns, after.threads_ns, set(crew.threads)),
        gc_pauses_ns=[ns for _, ns in passes],
        gc_foreign_ns=max((ns for tid, ns in passes if tid not in candidates), default=0),
        sampling_ns=window.sampler.cpu_ns if window.sampler else None,
    )
