"""Runs a scenario against an endpoint, and logs every request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_procure.backends.endpoints.target import refuse_proxy
from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.driver.audit import Worked
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.pull import Run
from pytest_procure.driver.readings import Readings
from pytest_procure.driver.source import SampleSource
from pytest_procure.driver.watch import Progress
from pytest_procure.errors import DataError
from pytest_procure.scenarios import Scenario, repeat_share
from pytest_procure.telemetry.sampling import Probe, Sampler, sampling

from .audit import endpoint_audit
from .crew import Crew
from .outcome import request_log
from .plan import Plan

#: Between the start signal and the first scheduled time, so that all load processes have heard it.
_LEAD_NS = 50_000_000
#: How long load processes may take to read the answers that are left, when the run is over, and for each.
_GRACE_NS, _GRACE_EACH_NS = 60_000_000_000, 1_000_000
_POLL, _PROGRESS = 0.5, 0.25


@dataclass(slots=True)
class _Window:
    before: Readings
    after: Readings | None = None
    origin: int = 0
    stopped: str = ""
    interrupted: bool = False
    sampler: Sampler | None = None
    warmup_ns: int = 0


def drive(  # noqa: PLR0913 - who is driven, over what, and who looks on
    backend: LoadedEndpoint,
    source: SampleSource,
    scenario: Scenario,
    *,
    progress: Progress | None = None,
    probes: Sequence[Probe] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Run:
    """Run `scenario` against an endpoint over the samples of `source`, and log every request.

    `progress(begun, total)` is called a few times a second; the total is 0 where the duration decides.
    `probes` are started and stopped with the measured window; `limits` are what the audit calls a fault.

    Raises `DeclarationError` for a scenario that no endpoint can be asked, `DataError` when the slice is
    empty or a sample makes no request, and `ProvisionError` when the load processes cannot begin. What the
    endpoint does wrong is logged.
    """
    wall_limit = time.perf_counter_ns() + scenario.wall_limit.ns
    if not len(source):
        raise DataError("the dataset slice is empty; expected at least one sample")
    refuse_proxy(backend.target)
    plan = Plan(backend, source, scenario)
    try:
        crew = Crew(plan.asked(), plan.descriptors)
        try:
            window = _open(plan, crew, wall_limit, progress, probes)
            return _run(plan, crew, window, limits)
        finally:
            crew.close()
    finally:
        plan.close()


def _open(
    plan: Plan, crew: Crew, wall_limit: int, progress: Progress | None, probes: Sequence[Probe]
) -> _Window:
    """Let the load processes warm up and run, and stop them when they are done or waiting is over."""
    window = _Window(Readings.take())
    begun = time.perf_counter_ns()
    try:
        if not crew.wait("ready", poll=0.1, keep_on=lambda: time.perf_counter_ns() < wall_limit):
            crew.check_ready()
            window.stopped = f"the warm-up was not over at the wall limit of {plan.scenario.wall_limit}"
            window.origin = time.perf_counter_ns()
            return window
        window.warmup_ns = time.perf_counter_ns() - begun
        with sampling(probes) as window.sampler:
            window.before = Readings.take()
            window.origin = time.perf_counter_ns() + _LEAD_NS
            crew.go(window.origin)
            window.stopped = _watch(plan, crew, window.origin, wall_limit, progress)
    except KeyboardInterrupt:
        window.stopped, window.interrupted = "interrupted", True
        window.origin = window.origin or time.perf_counter_ns()
    finally:
        window.after = Readings.take()
    return window


def _watch(plan: Plan, crew: Crew, origin: int, wall_limit: int, progress: Progress | None) -> str:
    """Wait until all load processes are done; give "", or the reason to stop them."""
    scenario, drain = plan.scenario, plan.scenario.drain
    paced = plan.schedule is not None and scenario.rate_is_declared
    due = int(plan.schedule[-1]) if plan.schedule is not None else 0
    reason = ""

    def keep_on() -> bool:
        nonlocal reason
        now = time.perf_counter_ns()
        if progress:
            progress(int(plan.control[:, 0].sum()), 0 if plan.by_duration else plan.rows)
        deadline = origin + due + drain.ns
        if not paced:
            deadline = max(deadline, int(plan.control[:, 2].max()) + drain.ns)
        if now >= wall_limit:
            reason = f"the wall limit of {scenario.wall_limit} was over"
        elif now >= deadline + int(_POLL * 1e9):
            since = "the last request was due" if paced else "the last answer"
            reason = f"answers were still missing {drain} after {since}"
        return not reason

    if crew.wait("over", poll=_PROGRESS if progress else _POLL, keep_on=keep_on):
        return ""
    return reason or "a load process was lost"


def _run(plan: Plan, crew: Crew, window: _Window, limits: Limits) -> Run:
    """Collect what the load processes have left."""
    ended = time.perf_counter_ns()
    crew.stop(_GRACE_NS + _GRACE_EACH_NS * plan.rows)
    reports = [worker.said["done"] for worker in crew.workers if "done" in worker.said]
    texts = [worker.said.get("done", {}).get("texts", []) for worker in crew.workers]
    log = request_log(plan, texts, window.stopped, ended - window.origin)
    told = endpoint_audit(
        log,
        plan,
        before=window.before,
        after=window.after or Readings.take(),
        reports=reports,
        lost=crew.gone() if window.origin else [],
        worked=Worked(sampling_ns=window.sampler.cpu_ns if window.sampler else None),
        limits=limits,
    )
    return Run(
        log=log,
        audit=told,
        conditions=_conditions(plan, crew, reports) | {"repeated": repeat_share(log.samples)},
        interrupted=window.interrupted,
        warmup_ns=window.warmup_ns,
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
        "queries": None if plan.by_duration else plan.rows,
        "items": len(set(plan.order.tolist())),
        "inputs": "requests prepared before the run",
        "batches": "formed by the endpoint; each request asks one sample",
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
