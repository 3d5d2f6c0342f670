"""What a test holds: `procure.run()` drives the marked scenario and gives the measured values back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .backends import LoadedBackend, LoadedEndpoint, device_lock
from .candidates import Candidate
from .capacity import Capacity, find, ladder
from .cases import Case
from .datasets import DatasetSlice, Scorer
from .datasets.conditions import Features
from .disclosure import files_of, refuse_deviating
from .driver.cutting import measured_part
from .driver.hiding import hide_secrets
from .driver.journal import Journal
from .driver.limits import Limits
from .driver.log import RequestLog
from .driver.pull import Run, drive
from .driver.source import SampleSource
from .errors import DeclarationError, ProvisionError
from .interleave import interleaved
from .measured import Measured
from .metrics import Execution, Scored, score, score_stages, telling
from .metrics.throughput import MINIMUM_LAUNCHES
from .progress import Progress
from .provision import Provisioned, provisioned
from .redaction import redacted_data
from .result import Named, Result
from .scenarios import Scenario
from .stopping import staged
from .sweeping import Sweep, bars_of, loads_of
from .telemetry.instruments import Instruments
from .units import Number, Quantity, duration
from .worst_slice import Asked, FoundSlice, found_slice

if TYPE_CHECKING:
    from .evidence.record import SweepPoint
    from .holds import Hold
    from .suite import Offer

#: How long to wait for another process of this user to finish measuring on the same device.
_LOCK_SECONDS = 600.0


class Procure(Named):
    """Runs scenarios on one candidate, and records what comes of them for the verdict."""

    _called = "`procure` fixture"

    def __init__(  # noqa: PLR0913 - what a test's fixtures bring together
        self,
        case: Case,
        backend: Provisioned,
        chosen: DatasetSlice,
        scenario: Scenario,
        *,
        hold: Hold | None = None,
        references: Sequence[Offer] = (),
        progress: Progress | None = None,
        waiting: Callable[[str], None] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        folder: Path = Path(),
        journals: Callable[[Candidate, Scenario], Journal] | None = None,
    ) -> None:
        self._case = case
        self._backend = backend
        self._slice = chosen
        self._hold = hold
        self._references = references  # the candidates that declared bars compare this one with
        self._progress = progress
        self._waiting = waiting  # is told when another process holds the device
        self._limits = limits
        self._folder = folder  # where the relative path of a trace starts
        self._journals = journals  # a journal for each run of the driver
        self._marked = scenario
        self._scores: dict[tuple[int, str], tuple[RequestLog, Scored]] = {}
        self.scenario = _served(case.candidate, scenario)

    @property
    def candidate(self) -> Any:
        """The candidate that is measured."""
        return self._case.candidate

    def run(self, scenario: Scenario | str | None = None, *, backend: Any = None, **arguments: Any) -> Result:
        """Run the marked scenario, and score the answers it gave.

        With arguments (`procure.run("offline", count=100)`, or another `backend`) it is a run of your own: it
        carries what you assert on it, and the declared bars are not judged on it.

        Raises `DeclarationError` and `ProvisionError` for what cannot be run, `DataError` for what cannot be
        scored. Failures of the candidate raise nothing: they are counted.
        """
        own = scenario is not None or backend is not None or bool(arguments)
        chosen = self._chosen(scenario, arguments) if own else self.scenario
        if own and chosen.stopping != "fixed":
            raise DeclarationError(
                "`stopping=` is for the marked scenario, on which the declared bars are judged"
            )
        mine = self._backend
        on = self._usable(mine if backend is None else provisioned(backend, mine.base, mine.isolation))
        try:
            self._begin()
            if not own and self._references:
                return self._compared()
            with self._alone_on(on.device):
                if not own and chosen.stopping != "fixed":
                    launches, energy = self._staged(on, chosen), None
                else:
                    launches, energy = self._launches(on, chosen)
        finally:
            if on is not self._backend:
                on.close()
                mine.troubles += on.troubles
        self._slice.check_unchanged()
        execution = self._execution(self._case.candidate, chosen, launches, energy)
        return self._added(execution, declared=not own)

    def find_capacity(  # noqa: PLR0913 - a search has this many knobs, all of them keywords
        self,
        bars: dict[str, Any] | None = None,
        *,
        start: Quantity | str | float | None = None,
        most: Quantity | str | float | None = None,
        short: Quantity | str = "10 s",
        confirm: Quantity | str = "60 s",
        tolerance: float = 0.05,
        margin: float = 0.1,
        runs: int = 16,
        launches: int = MINIMUM_LAUNCHES,
    ) -> Capacity:
        """Find the highest rate at which bars are met, and show it in a fresh run, which alone counts.

        bars       as in `{"latency.p95": "80 ms", "error_rate": 0.01}`; None: those that the marks declare
        start      requests a second to begin with; the marked scenario's rate where it has one
        most       the highest rate that is of interest
        short      how long each run of the search is, or 20 requests where that is longer
        confirm    how long the confirming run is, over all its launches
        tolerance  bisect until the rates that met the bars and that did not are so close
        margin     confirm so far below the highest rate that met them
        runs       most short runs
        launches   of the confirming run; a capacity is accepted from 5 on

        Raises `DeclarationError` for what cannot be searched. A candidate that meets the bars at no rate
        raises nothing: its capacity is not measurable.
        """
        knobs = {"start": start, "most": most, "short": short, "confirm": confirm}
        knobs |= {"tolerance": tolerance, "margin": margin, "runs": runs, "launches": launches}
        judged = bars_of(bars, self._case.bars)
        if not judged:
            raise DeclarationError("a search takes bars, as in `find_capacity({'latency.p95': '80 ms'})`")
        asked = ladder(self.scenario, knobs)

        def confirmed(scenario: Scenario) -> Result:
            served = _served(self._case.candidate, scenario)
            runs, energy = self._launches(self._usable(self._backend), served)
            execution = self._execution(self._case.candidate, served, runs, energy)
            return self._added(execution, declared=False)

        self._begin()
        with self._alone_on(self._backend.device):
            sweep = Sweep(self._case, self._short, self.scenario, judged, "rate")
            found = find(self._case, sweep, self.scenario, asked, confirmed)
        self._slice.check_unchanged()
        self._keep(sweep, found.result, found.rate, found.sentence)
        return found

    def sweep(
        self,
        *,
        rates: Sequence[float] = (),
        concurrency: Sequence[int] = (),
        bars: dict[str, Any] | None = None,
        short: Quantity | str = "10 s",
    ) -> tuple[SweepPoint, ...]:
        """Run at one load after the other, and keep the latency-throughput curve for the report.

        `rates`: requests a second, at the marked traffic's shape; or `concurrency`: users of a closed loop. A
        point's `ok` says whether its point values met the bars; nothing is decided. Raises `DeclarationError`
        for what cannot be run.
        """
        loads, by = loads_of(rates, concurrency)
        length = duration(short, what="short")
        sweep = Sweep(self._case, self._short, self.scenario, bars_of(bars, self._case.bars), by)
        self._begin()
        with self._alone_on(self._backend.device):
            for load in loads:
                sweep.probe(load, length, "sweep")
        self._slice.check_unchanged()
        result = self._case.add(sweep.executions.pop(), declared=False)
        self._keep(sweep, result, None, f"{len(loads)} runs of {length} each")
        return tuple(sweep.points)

    def measure(
        self,
        name: str,
        value: Quantity | Number,
        *,
        unit: str = "",
        interval: tuple[Number, Number] | None = None,
    ) -> Measured:
        """Bring a value of your own, `own.NAME`, for a bar or an assert; `interval` is its likely range."""
        return self._case.measure(name, value, unit, interval)

    def find_slice(
        self, result: Result, features: Features | None = None, **asked: Unpack[Asked]
    ) -> FoundSlice:
        """Search a run for the slice on which the candidate is worst: see `worst_slice.Asked`.

        `features`: name -> function of an input that gives a number or a text; strata are one by themselves.
        """
        return found_slice(self._case, result.execution, features or {}, asked)

    def _chosen(self, scenario: Scenario | str | None, arguments: dict[str, Any]) -> Scenario:
        if isinstance(scenario, str):
            return _served(self._case.candidate, Scenario.declare(scenario, self._folder, **arguments))
        if arguments:
            listed = ", ".join(sorted(arguments))
            raise DeclarationError(f"`procure.run({listed}=...)` needs the scenario's name first")
        return scenario or self.scenario

    def _usable(self, backend: Provisioned) -> Provisioned:
        if backend.hung:
            raise ProvisionError(f"candidate `{self._case.candidate.name}` hung in an earlier run")
        return backend

    def _short(self, scenario: Scenario) -> Execution:
        """Make a short run, which is judged by nobody."""
        served = _served(self._case.candidate, scenario)
        run = self._drive(self._usable(self._backend), self._slice, served)
        return self._execution(self._case.candidate, served, [run], None)

    def _keep(self, sweep: Sweep, result: Result | None, found: float | None, sentence: str) -> None:
        """Keep the curve, and its short runs, with the run that ended it."""
        if result is None:  # nothing was confirmed: the last short run stands for the search
            result = self._case.add(sweep.executions.pop(), declared=False)
        result.sweep = sweep.record(found, sentence)
        result.probes = tuple(each for each in sweep.executions if each is not result.execution)

    def _launches(
        self, backend: Provisioned, scenario: Scenario
    ) -> tuple[list[Run], tuple[float, ...] | None]:
        """Run each launch, with the joules that the device counted in its measured window where it counts."""
        launches: list[Run] = []
        joules: list[float | None] = []
        for number in range(scenario.launches):
            if number:
                before = files_of(backend.describe())
                backend.reload()
                if self._hold is None and files_of(backend.describe()) != before:
                    raise ProvisionError(
                        f"the files of candidate `{self._case.candidate.name}` changed between two launches"
                    )
                if self._hold is not None and backend is self._backend:
                    self._hold.look_again(redacted_data(backend.describe()))
            instruments = backend.instruments()
            run = self._drive(backend, self._slice, scenario, instruments)
            launches.append(run)
            joules.append(instruments.joules(run.origin_ns, run.origin_ns + run.log.window_ns))
            if launches[-1].broken:
                break
        counted = tuple(each for each in joules if each is not None)
        return launches, counted if len(counted) == len(launches) else None

    def _staged(self, backend: Provisioned, scenario: Scenario) -> list[Run]:
        """Run in stages until the declared bars are settled, or all planned samples are asked."""

        def settled(runs: Sequence[Run]) -> bool:
            so_far = self._execution(self._case.candidate, scenario, list(runs), None, blocks=True)
            return self._case.settled(so_far)

        return staged(backend, self._slice, scenario, self._drive, settled)

    def _compared(self) -> Result:
        """Run the candidate and those it is compared with in interleaved blocks, all loaded at once."""
        name = self._case.candidate.name
        candidates = {name: self._case.candidate}
        backends = {name: self._backend}
        with ExitStack() as loaded:
            for offer in self._references:
                other = offer.candidate
                candidates[other.name] = other
                backends[other.name] = Provisioned(other.backend, offer.base, offer.isolation)
                loaded.callback(backends[other.name].close)
                backends[other.name].before &= self._backend.before  # the candidate is there already
                refuse_deviating(other, backends[other.name].describe())
                if self._hold is not None:
                    told = redacted_data(backends[other.name].describe())
                    self._hold.look_at_other(other.name, other.describe(), told)
            for device in sorted({backend.device for backend in backends.values()}):
                loaded.enter_context(self._alone_on(device))
            scenarios = {each: _served(candidates[each], self._marked) for each in candidates}
            runs = interleaved(backends, self._slice, scenarios, self._drive)
        for beside in sorted(set(backends) - {name}):
            self._backend.troubles += [f"`{beside}`: {trouble}" for trouble in backends[beside].troubles]
        self._slice.check_unchanged()
        executions = {
            each: self._execution(candidates[each], scenarios[each], runs[each], None, blocks=True)
            for each in candidates
        }
        return self._added(executions.pop(name), declared=True, references=executions)

    def _alone_on(self, device: str) -> AbstractContextManager[None]:
        return device_lock(device, timeout=_LOCK_SECONDS, waiting=self._waiting)

    def _begin(self) -> None:
        """Write the run into the ledger, where there is one, before its first request."""
        if self._hold is not None:
            self._case.policy = self._hold.begin(self._case.policy)

    def _added(
        self, execution: Execution, *, declared: bool, references: Mapping[str, Execution] | None = None
    ) -> Result:
        """Keep a run. That it is complete stands in the ledger before its test sees what came of it."""
        if self._hold is not None:
            self._case.policy = self._hold.measured(self._case.policy, execution.requests)
        return self._case.add(execution, declared=declared, references=references)

    def _drive(
        self,
        backend: Provisioned,
        source: SampleSource,
        scenario: Scenario,
        instruments: Instruments | None = None,
    ) -> Run:
        instruments = instruments or backend.instruments()
        try:
            run = self._driver(backend.loaded, scenario)(
                backend.loaded,
                source,
                scenario,
                progress=self._progress,
                probes=instruments.probes,
                limits=self._limits,
            )
        finally:
            if self._progress is not None:
                self._progress.done()
        run = hide_secrets(_with_readings(run, instruments))
        backend.hung = backend.hung or run.hung
        # Of what is no pipeline nobody here has timed a stage; it would be the candidate's own word.
        told = run.log.stages
        run.log.stages = {name: told[name] for name in backend.stages if name in told}
        if run.interrupted:
            # What was seen so far is kept, marked as interrupted; no bar is judged on it.
            self._case.add(self._execution(self._case.candidate, scenario, [run], None), declared=False)
            raise KeyboardInterrupt
        return measured_part(run, scenario)

    def _driver(self, loaded: LoadedBackend, scenario: Scenario) -> Callable[..., Run]:
        """Pick the driver: an endpoint's requests are sent from processes of their own."""
        journal = self._journals(self._case.candidate, scenario) if self._journals else None
        if isinstance(loaded, LoadedEndpoint):
            from .driver.endpoint.drive import drive as drive_endpoint  # noqa: PLC0415 - needs an extra

            return partial(drive_endpoint, journal=journal)
        return partial(drive, journal=journal)

    def _execution(
        self,
        candidate: Candidate,
        scenario: Scenario,
        launches: list[Run],
        energy: tuple[float, ...] | None,
        *,
        blocks: bool = False,
    ) -> Execution:
        known = {} if self._slice.references is None else self._slice.dataset.scorers
        found = [{name: self._scored(run.log, known[name]) for name in known} for run in launches]
        by_stage = score_stages(tuple(run.log for run in launches), self._slice)
        runs = telling(launches, found, by_stage)
        scores = {name: np.concatenate([each[name].values for each in found]) for name in known}
        stages = {name: each.values for name, each in by_stage.items()}
        return Execution(candidate, scenario, self._slice, runs, scores, energy, blocks, stages)

    def _scored(self, log: RequestLog, scorer: Scorer) -> Scored:
        """Score a log once: a judge may be slow, may cost, and may not say the same twice."""
        key = (id(log), scorer.metric)  # the log is kept, so that no other takes its id
        if key not in self._scores:
            self._scores[key] = (log, score((log,), self._slice, scorer))
        return self._scores[key][1]


def _with_readings(run: Run, instruments: Instruments) -> Run:
    """Put what was read of the device beside what was seen of the harness."""
    seen, conditions = run.audit, dict(run.conditions)
    if instruments.energy:
        conditions["energy"] = instruments.energy
    if instruments.gpus or instruments.unseen:
        seen = replace(seen, gpus=instruments.seen(), gpus_unseen=instruments.unseen)
    return replace(run, audit=seen, conditions=conditions)


def _served(candidate: Candidate, scenario: Scenario) -> Scenario:
    """Put a candidate's own batch policy in place of the scenario's."""
    return scenario.replace_batch(candidate.max_batch, candidate.max_wait)
