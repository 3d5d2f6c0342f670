"""Runs a scenario against an endpoint, and logs every request."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_procure.backends.endpoints.admission import REFUSING, turned_away
from pytest_procure.backends.endpoints.target import refuse_proxy
from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.driver.audit import Worked
from pytest_procure.driver.interrupts import Interrupts
from pytest_procure.driver.journal import Journal
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.pull import Run, interruptible
from pytest_procure.driver.readings import Readings
from pytest_procure.driver.source import SampleSource
from pytest_procure.driver.watch import Progress
from pytest_procure.errors import DataError, ProvisionError
from pytest_procure.scenarios import Scenario, repeat_share
from pytest_procure.telemetry.sampling import Probe, Sampler, sampling

from .audit import endpoint_audit
from .copying import Copy
from .crew import Crew
from .host import Host
from .outcome import endings_of, request_log
from .plan import Plan
from .recount import Recount

#: Between the start signal and the first scheduled time, so that all load processes have heard it.
_LEAD_NS = 50_000_000
#: How long load processes may take to read the answers that are left, when the run is over, and for each.
_GRACE_NS, _GRACE_EACH_NS = 60_000_000_000, 1_000_000
#: The same from a second Ctrl-C on.
_HURRIED_NS = 5_000_000_000
_POLL, _PROGRESS = 0.5, 0.25


@dataclass(frozen=True, slots=True)
class _Looks:
    """What is done each time this process looks how far the run is."""

    plan: Plan
    progress: Progress | None
    copy: Copy | None
    host: Host

    @property
    def every(self) -> float:
        """Seconds from one look to the next."""
        return _PROGRESS if self.progress else _POLL

    def begin(self, origin: int) -> None:
        """Note when the first request is due."""
        if self.copy is not None:
            self.copy.begin(origin)

    def take(self) -> None:
        """Tell how far it is, and copy what has happened."""
        if self.copy is not None:
            self.copy.take()
        if self.progress is not None:
            self.progress(self.plan.sent, 0 if self.plan.by_duration else self.plan.rows)


@dataclass(slots=True)
class _Window:
    before: Readings
    after: Readings | None = None
    origin: int = 0
    ended: int = 0
    stopped: str = ""
    interrupted: bool = False
    sampler: Sampler | None = None
    warmup_ns: int = 0


@interruptible
def drive(  # noqa: PLR0913 - who is driven, over what, and who looks on
    interrupts: Interrupts,
    backend: LoadedEndpoint,
    source: SampleSource,
    scenario: Scenario,
    *,
    progress: Progress | None = None,
    probes: Sequence[Probe] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    journal: Journal | None = None,
    unproven: bool = False,
) -> Run:
    """Run `scenario` against an endpoint over the samples of `source`, and log every request.

    Ctrl-C ends the run; its log is then written as far as it came. A second one waits less for load processes
    that do not report.

    `progress(begun, total)` is called a few times a second; the total is 0 where the duration decides.
    `probes` are started and stopped with the measured window; `limits` are what the audit calls a fault. A
    `journal` is brought up to date twice a second. Where it is `unproven` that questions are let in, a run of
    which each was turned away is none.

    Raises `DeclarationError` for a scenario that this endpoint cannot be asked, `DataError` when the slice is
    empty or a sample makes no request, `EvidenceError` for a journal that cannot be written, and
    `ProvisionError` when the load processes cannot begin, and where all is turned away. What the endpoint
    does wrong is logged.
    """
    wall_limit = time.perf_counter_ns() + scenario.wall_limit.ns
    if not len(source):
        raise DataError("the dataset slice is empty; expected at least one sample")
    host = Host(backend)
    refuse_proxy(backend.target)
    plan = Plan(backend, source, scenario)
    try:
        copy = None if journal is None else Copy(journal, plan)
        crew = Crew(plan.asked(), plan.descriptors)
        try:
            looks = _Looks(plan, progress, copy, host)
            window = _open(plan, crew, interrupts, wall_limit, looks, probes)
        except ProvisionError:
            if copy is not None:
                copy.forget()
            raise
        else:
            _collect(plan, crew, interrupts)
            run = _run(plan, crew, window, limits, host, backend.describe())
            if unproven:
                _refuse_turned_away(backend, run, journal)
            return run
        finally:
            crew.close()
    finally:
        plan.close()


def _refuse_turned_away(backend: LoadedEndpoint, run: Run, journal: Journal | None) -> None:
    """Raise `ProvisionError` for a run of which every request was: it says how it was asked, and no more."""
    statuses = np.empty(0) if run.log.wire is None else run.log.wire.http
    if run.interrupted or not len(statuses) or not np.isin(statuses, list(REFUSING)).all():
        return
    if journal is not None:
        journal.forget()
    told = next(iter(run.log.errors.values()), "")
    raise ProvisionError(turned_away(backend.target, int(statuses[0]), told))


def _open(  # noqa: PLR0913, PLR0917 - what a window needs
    plan: Plan,
    crew: Crew,
    interrupts: Interrupts,
    wall_limit: int,
    looks: _Looks,
    probes: Sequence[Probe],
) -> _Window:
    """Let the load processes warm up and run, and stop them when they are done or waiting is over."""
    window = _Window(Readings.take())
    begun = time.perf_counter_ns()
    try:
        if not crew.wait(
            "ready",
            poll=0.1,
            keep_on=lambda: time.perf_counter_ns() < wall_limit and not looks.host.ended(),
        ):
            crew.check_ready()
            window.stopped = looks.host.ended() or (
                f"the warm-up was not over at the wall limit of {plan.scenario.wall_limit}"
            )
            window.origin = time.perf_counter_ns()
            return window
        window.warmup_ns = time.perf_counter_ns() - begun
        with sampling(probes) as window.sampler:
            window.before = Readings.take()
            window.origin = time.perf_counter_ns() + _LEAD_NS
            looks.begin(window.origin)
            crew.go(window.origin)
            window.stopped = _watch(plan, crew, window.origin, wall_limit, looks)
            interrupts.hold()
    except KeyboardInterrupt:
        window.stopped, window.interrupted = "interrupted", True
        window.origin = window.origin or time.perf_counter_ns()
    finally:
        interrupts.hold()
        window.after = Readings.take()
        window.ended = time.perf_counter_ns()
    return window


def _watch(plan: Plan, crew: Crew, origin: int, wall_limit: int, looks: _Looks) -> str:
    """Wait until all load processes are done; give "", or the reason to stop them."""
    scenario, drain = plan.scenario, plan.scenario.drain
    paced = plan.is_paced and scenario.rate_is_declared
    reason = ""

    def keep_on() -> bool:
        nonlocal reason
        now = time.perf_counter_ns()
        looks.take()
        # Where users think, or sessions are still to begin, nobody waits for anything until the next is due.
        deadline = origin + plan.last_due + drain.ns
        if not paced:
            deadline = max(deadline, int(plan.control[:, 2].max()) + scenario.think_time.ns + drain.ns)
        if now >= wall_limit:
            reason = f"the wall limit of {scenario.wall_limit} was over"
        elif now >= deadline + int(_POLL * 1e9):
            since = "the last request was due" if paced else "the last answer"
            reason = f"answers were still missing {drain} after {since}"
        reason = reason or looks.host.ended()
        return not reason

    whole = crew.wait("over", poll=looks.every, keep_on=keep_on)
    looks.take()
    return "" if whole else reason or "a load process was lost"


def _collect(plan: Plan, crew: Crew, interrupts: Interrupts) -> None:
    """Stop the load processes, wait for their reports, and end those that make none."""
    limit = time.perf_counter_ns() + _GRACE_NS + _GRACE_EACH_NS * plan.rows

    def keep_on() -> bool:
        hurried = interrupts.hurried_ns
        return time.perf_counter_ns() < (limit if hurried is None else min(limit, hurried + _HURRIED_NS))

    crew.stop(keep_on)


def _run(  # noqa: PLR0913, PLR0917 - what a run was made of
    plan: Plan, crew: Crew, window: _Window, limits: Limits, host: Host, described: Mapping[str, Any]
) -> Run:
    """Write the log and the audit of what the load processes have left."""
    reports = [worker.said["done"] for worker in crew.workers if "done" in worker.said]
    texts = [worker.said.get("done", {}).get("texts", []) for worker in crew.workers]
    endings = host.endings()
    ended_by = endings_of(plan, texts)
    recount = Recount(plan.sending.count_tokens)
    log = request_log(plan, texts, recount, window.stopped, window.ended - window.origin)
    told = endpoint_audit(
        log,
        plan,
        before=window.before,
        after=window.after or Readings.take(),
        reports=reports,
        lost=crew.gone() if window.origin else [],
        worked=Worked(sampling_ns=window.sampler.cpu_ns if window.sampler else None),
        limits=limits,
        server_log=host.log_bytes(),
        uncounted=recount.trouble,
    )
    conditions = _conditions(plan, crew, reports) | {
        "ended_by": ended_by,
        "model_asked": str(described.get("model") or ""),
        "repeated": repeat_share(log.samples),
    }
    return Run(
        log=log,
        audit=told,
        conditions=conditions | host.conditions(),
        interrupted=window.interrupted,
        warmup_ns=window.warmup_ns,
        endings=endings,
        origin_ns=window.origin,
    )


def _conditions(plan: Plan, crew: Crew, reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Disclose the scenario's conditions and what the driver chose, as plain JSON data."""
    ready = [worker.said["ready"] for worker in crew.workers if "ready" in worker.said]
    seen: dict[str, set[str]] = {}
    for report in reports:
        for name, values in report["seen"].items():
            seen.setdefault(name, set()).update(values)
    return plan.scenario.conditions() | {
        "queries": None if plan.by_duration else plan.queries,
        "items": plan.items,
        "inputs": "requests prepared before the run, of later turns when they were sent"
        if plan.scenario.history
        else "requests prepared before the run",
        "batches": _batches(plan),
        "endpoint": plan.target.url,
        "addresses": sorted({each["address"] for each in ready}),
        "request_ids": f"X-Request-Id: {plan.run}-QUERY.RETRY",
        "load_processes": plan.processes,
        "connections_at_most": plan.connections,
        "connections_before_the_run": sum(each["connections"] for each in ready),
        "retries_at_most": plan.sending.retries,
        "protocol": "HTTP/1.1, kept alive; no redirects, no compression, no proxy",
        "warmup_calls": sum(each["calls"] for each in ready),
        "warmup_failures": sum(each["failures"] for each in ready),
        "answers_say": {name: sorted(values) for name, values in sorted(seen.items())},
        "clock": "perf_counter_ns (monotonic), one stamp a read",
        "garbage_collection": "frozen before the run, off during it",
    }


def _batches(plan: Plan) -> str:
    told = "formed by the endpoint; each request asks one sample"
    if plan.scenario.samples_per_query > 1:
        told += "; those of a query are sent together, and the last answer ends it"
    return told
