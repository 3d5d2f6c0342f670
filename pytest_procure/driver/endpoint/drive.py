"""Runs a scenario against an endpoint, and logs every request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_procure.backends.endpoints.target import refuse_proxy
from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.backends.served import LoadedServed
from pytest_procure.driver.audit import Worked
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.pull import Run
from pytest_procure.driver.readings import Readings
from pytest_procure.driver.source import SampleSource
from pytest_procure.driver.watch import Progress
from pytest_procure.errors import DataError
from pytest_procure.isolation.endings import Ending
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
    served = backend if isinstance(backend, LoadedServed) else None
    if served is not None:
        served.begin()
    refuse_proxy(backend.target)
    plan = Plan(backend, source, scenario)
    try:
        crew = Crew(plan.asked(), plan.descriptors)
        try:
            watch = _Watch(plan, crew, wall_limit, progress, served)
            window = _open(watch, probes)
            return _run(watch, window, limits)
        finally:
            crew.close()
    finally:
        plan.close()


def _open(watch: _Watch, probes: Sequence[Probe]) -> _Window:
    """Let the load processes warm up and run, and stop them when they are done or waiting is over."""
    crew, window = watch.crew, _Window(Readings.take())
    begun = time.perf_counter_ns()
    try:
        if not crew.wait("ready", poll=0.1, keep_on=watch.may_warm_up):
            crew.check_ready()
            window.stopped = watch.reason or "the warm-up did not end"
            window.origin = time.perf_counter_ns()
            return window
        window.warmup_ns = time.perf_counter_ns() - begun
        with sampling(probes) as window.sampler:
            window.before = Readings.take()
            window.origin = time.perf_counter_ns() + _LEAD_NS
            crew.go(window.origin)
            window.stopped = watch.run(window.origin)
    except KeyboardInterrupt:
        window.stopped, window.interrupted = "interrupted", True
        window.origin = window.origin or time.perf_counter_ns()
    finally:
        window.after = Readings.take()
    return window


class _Watch:
    """Says how long a run goes on, and why it is stopped."""

    def __init__(
        self,
        plan: Plan,
        crew: Crew,
        wall_limit: int,
        progress: Progress | None,
        served: LoadedServed | None,
    ) -> None:
        self.plan = plan
        self.crew = crew
        self.served = served
        self.reason = ""
        self._wall_limit = wall_limit
        self._progress = progress
        self._log_before = 0 if served is None else served.log_bytes[0]

    def may_warm_up(self) -> bool:
        """Whether the warm-up may go on."""
        if time.perf_counter_ns() >= self._wall_limit:
            self.reason = f"the warm-up was not over at the wall limit of {self.plan.scenario.wall_limit}"
        return not self.reason and not self._server_ended()

    def run(self, origin: int) -> str:
        """Wait until all load processes are done; give "", or the reason to stop them."""
        plan, scenario, drain = self.plan, self.plan.scenario, self.plan.scenario.drain
        paced = plan.schedule is not None and scenario.rate_is_declared
        due = int(plan.schedule[-1]) if plan.schedule is not None else 0

        def keep_on() -> bool:
            now = time.perf_counter_ns()
            if self._progress:
                self._progress(int(plan.control[:, 0].sum()), 0 if plan.by_duration else plan.rows)
            deadline = origin + due + drain.ns
            if not paced:
                deadline = max(deadline, int(plan.control[:, 2].max()) + drain.ns)
            if now >= self._wall_limit:
                self.reason = f"the wall limit of {scenario.wall_limit} was over"
            elif now >= deadline + int(_POLL * 1e9):
                since = "the last request was due" if paced else "the last answer"
                self.reason = f"answers were still missing {drain} after {since}"
            return not self.reason and not self._server_ended()

        if self.crew.wait("over", poll=_PROGRESS if self._progress else _POLL, keep_on=keep_on):
            return ""
        return self.reason or "a load process was lost"

    def ending(self) -> Ending | None:
        """Tell how the server that was started for the run has ended, if it has."""
        return None if self.served is None else self.served.ending(patient=True)

    def written(self) -> tuple[int, int]:
        """What that server has written into its log in this run, and how much of it is kept at most."""
        if self.served is None:
            return 0, 0
        written, most = self.served.log_bytes
        return written - self._log_before, most

    def _server_ended(self) -> bool:
        """Whether the server has ended: what is still due is not asked of nobody."""
        ending = None if self.served is None else self.served.ending()
        if ending is not None:
            self.reason = ending.sentence
        return ending is not None


def _run(watch: _Watch, window: _Window, limits: Limits) -> Run:
    """Collect what the load processes have left."""
    plan, crew = watch.plan, watch.crew
    ended = time.perf_counter_ns()
    crew.stop(_GRACE_NS + _GRACE_EACH_NS * plan.rows)
    reports = [worker.said["done"] for worker in crew.workers if "done" in worker.said]
    texts = [worker.said.get("done", {}).get("texts", []) for worker in crew.workers]
    ending = watch.ending()
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
        server_log=watch.written(),
    )
    conditions = _conditions(plan, crew, reports) | {"repeated": repeat_share(log.samples)}
    return Run(
        log=log,
        audit=told,
        conditions=conditions if watch.served is None else conditions | watch.served.conditions(),
        interrupted=window.interrupted,
        warmup_ns=window.warmup_ns,
        endings=() if ending is None else (ending,),
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
