"""Runs of a case's candidate: driven, read beside, and scored into executions.

launches   loaded anew for each
staged     until the declared bars are settled
compared   with other candidates, in interleaved blocks
short      for a search or a sweep, judged by nobody
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .backends import LoadedBackend, LoadedEndpoint, device_lock
from .candidates import Candidate
from .cases import Case
from .datasets import DatasetSlice, Scorer
from .disclosure import files_of, refuse_deviating, refuse_unfit
from .driver.cutting import measured_part
from .driver.hiding import hide_secrets
from .driver.journal import Journal
from .driver.limits import Limits
from .driver.log import RequestLog
from .driver.pull import Run, drive
from .driver.source import SampleSource
from .errors import ProvisionError
from .interleave import interleaved
from .metrics import Execution, Scored, score, score_stages, telling
from .progress import Progress
from .provision import Provisioned
from .redaction import redacted_data
from .scenarios import Scenario
from .stopping import staged
from .telemetry.instruments import Instruments
from .units import Quantity

if TYPE_CHECKING:
    from .holds import Hold
    from .suite import Offer

Journals = Callable[[Candidate, Scenario], Journal]

#: How long to wait for another process of this user to finish measuring on the same device.
_LOCK_SECONDS = 600.0


class Runner:
    """Runs scenarios on one candidate with one slice. What comes of them is for others to judge and keep."""

    def __init__(  # noqa: PLR0913 - what a run brings together
        self,
        case: Case,
        backend: Provisioned,
        chosen: DatasetSlice,
        *,
        hold: Hold | None,
        progress: Progress | None,
        waiting: Callable[[str], None] | None,
        limits: Limits,
        journals: Journals | None,
    ) -> None:
        self._case = case
        self._candidate = case.candidate
        self._backend = backend
        self._slice = chosen
        self._hold = hold
        self._progress = progress
        self._waiting = waiting  # is told when another process holds the device
        self._limits = limits
        self._journals = journals  # a journal for each run of the driver
        self._reached: list[Provisioned] = []  # somebody was there, so from then on it is their own doing
        self._admitted: list[LoadedBackend] = []  # a question was let in, so it was asked rightly
        self._beside: list[Provisioned] = []  # of candidates that this one is compared with
        self._scores: dict[tuple[int, str], tuple[RequestLog, Scored]] = {}

    def alone_on(self, device: str) -> AbstractContextManager[None]:
        """Keep other processes of this user from measuring on the device."""
        return device_lock(device, timeout=_LOCK_SECONDS, waiting=self._waiting)

    def reach(self, backend: Provisioned, scenario: Scenario) -> None:
        """See once, before anything is measured, that somebody is there, and may be asked.

        Raises `ProvisionError`.
        """
        if backend not in self._reached:
            with self.alone_on(backend.device):
                backend.reach(self._questions(scenario))
            self._reached.append(backend)

    def _questions(self, scenario: Scenario) -> Sequence[Any]:
        """Give samples that may be asked before the run; none where the first of all answers is measured."""
        warms_up = scenario.warmup.base if isinstance(scenario.warmup, Quantity) else scenario.warmup
        last = len(self._slice) - 1
        places = sorted({0, last // 2, last}) if warms_up and last >= 0 else ()
        return [self._slice.take([place])[0] for place in places]

    def short(self, scenario: Scenario) -> Execution:
        """Make a short run, which is judged by nobody."""
        scenario = served(self._candidate, scenario)
        run = self._drive(usable(self._candidate, self._backend), self._slice, scenario)
        return self.execution(scenario, [run])

    def launches(
        self, backend: Provisioned, scenario: Scenario
    ) -> tuple[list[Run], tuple[float, ...] | None]:
        """Run each launch, with the joules that the device counted in its measured window where it counts.

        Raises `ProvisionError` where files of the candidate change between two launches.
        """
        launches: list[Run] = []
        joules: list[float | None] = []
        for number in range(scenario.launches):
            try:
                if number:
                    self._reload(backend)
                instruments = backend.instruments()
                run = self._drive(backend, self._slice, scenario, instruments)
            except KeyboardInterrupt:
                if launches:  # those before it are kept as well, and judged by nobody
                    self._case.add(
                        self.execution(scenario, launches, instead=self.instead(backend)), declared=False
                    )
                raise
            launches.append(run)
            joules.append(instruments.joules(run.origin_ns, run.origin_ns + run.log.window_ns))
            if run.broken:
                break
        counted = tuple(each for each in joules if each is not None)
        return launches, counted if len(counted) == len(launches) else None

    def staged(self, backend: Provisioned, scenario: Scenario) -> list[Run]:
        """Run in stages until the declared bars are settled, or all planned samples are asked."""

        def settled(runs: Sequence[Run]) -> bool:
            return self._case.settled(self.execution(scenario, runs, blocks=True))

        return staged(backend, self._slice, scenario, self._drive, settled)

    def compared(self, marked: Scenario, references: Sequence[Offer]) -> dict[str, Execution]:
        """Run the candidate and those it is compared with in interleaved blocks, all loaded; by name."""
        name = self._candidate.name
        candidates = {name: self._candidate}
        backends = {name: self._backend}
        with ExitStack() as loaded:
            for offer in references:
                other = offer.candidate
                candidates[other.name] = other
                backends[other.name] = Provisioned(other.backend, offer.base, offer.isolation)
                self._beside.append(backends[other.name])
                loaded.callback(backends[other.name].close)
                backends[other.name].before &= self._backend.before  # the candidate is there already
                refuse_deviating(other, backends[other.name].describe())
                refuse_unfit(backends[other.name].describe(), self._slice.inputs)
                if self._hold is not None:
                    told = redacted_data(backends[other.name].describe())
                    self._hold.look_at_other(other.name, other.describe(), told)
            for device in sorted({backend.device for backend in backends.values()}):
                loaded.enter_context(self.alone_on(device))
            for offer in references:
                _reach_other(offer.candidate, backends[offer.candidate.name], self._questions(marked))
            scenarios = {each: served(candidates[each], marked) for each in candidates}
            runs = interleaved(backends, self._slice, scenarios, self._drive)
        for beside in sorted(set(backends) - {name}):
            self._backend.troubles += [f"`{beside}`: {trouble}" for trouble in backends[beside].troubles]
        self._slice.check_unchanged()
        return {
            each: self.execution(scenarios[each], runs[each], blocks=True, of=candidates[each])
            for each in candidates
        }

    def execution(  # noqa: PLR0913 - what an execution is made of
        self,
        scenario: Scenario,
        launches: Sequence[Run],
        energy: tuple[float, ...] | None = None,
        *,
        blocks: bool = False,
        of: Candidate | None = None,
        instead: Mapping[str, Any] | None = None,
    ) -> Execution:
        """Score what was answered; `of`: by another candidate than the case's own; `instead`: see there."""
        known = {} if self._slice.references is None else self._slice.dataset.scorers
        found = [{name: self._scored(run.log, known[name]) for name in known} for run in launches]
        by_stage = score_stages(tuple(run.log for run in launches), self._slice)
        runs = telling(launches, found, by_stage, whole=not blocks)
        scores = {name: np.concatenate([each[name].values for each in found]) for name in known}
        stages = {name: each.values for name, each in by_stage.items()}
        return Execution(
            of or self._candidate, scenario, self._slice, runs, scores, energy, blocks, stages, instead
        )

    def instead(self, backend: Provisioned) -> dict[str, Any] | None:
        """Give what a backend discloses of itself that is not the offer's; None for the offer's own."""
        own = backend is self._backend or backend in self._beside or backend.is_of(self._candidate.backend)
        return None if own else redacted_data(backend.describe())

    def _reload(self, backend: Provisioned) -> None:
        """Load anew for a further launch, of the same files."""
        before = files_of(backend.describe())
        backend.reload()
        if self._hold is None and files_of(backend.describe()) != before:
            raise ProvisionError(
                f"the files of candidate `{self._candidate.name}` changed between two launches"
            )
        if self._hold is not None and backend is self._backend:
            self._hold.look_again(redacted_data(backend.describe()))

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
        self._admitted.append(backend.loaded)
        run = hide_secrets(_with_readings(run, instruments))
        backend.hung = backend.hung or run.hung
        # Of what is no pipeline nobody here has timed a stage; it would be the candidate's own word.
        told = run.log.stages
        run.log.stages = {name: told[name] for name in backend.stages if name in told}
        if run.interrupted:
            # What was seen so far is kept, marked as interrupted; no bar is judged on it.
            self._case.add(self.execution(scenario, [run], instead=self.instead(backend)), declared=False)
            raise KeyboardInterrupt
        return measured_part(run, scenario)

    def _driver(self, loaded: LoadedBackend, scenario: Scenario) -> Callable[..., Run]:
        """Pick the driver: an endpoint's requests are sent from processes of their own."""
        journal = self._journals(self._candidate, scenario) if self._journals else None
        if isinstance(loaded, LoadedEndpoint):
            from .driver.endpoint.drive import drive as drive_endpoint  # noqa: PLC0415 - needs an extra

            return partial(drive_endpoint, journal=journal, unproven=loaded not in self._admitted)
        return partial(drive, journal=journal)

    def _scored(self, log: RequestLog, scorer: Scorer) -> Scored:
        """Score a log once: a judge may be slow, may cost, and may not say the same twice."""
        key = (id(log), scorer.metric)  # the log is kept, so that no other takes its id
        if key not in self._scores:
            self._scores[key] = (log, score((log,), self._slice, scorer))
        return self._scores[key][1]


def usable(candidate: Candidate, backend: Provisioned) -> Provisioned:
    """Give a backend that can be asked. Raises `ProvisionError` for one that hung before."""
    if backend.hung:
        raise ProvisionError(f"candidate `{candidate.name}` hung in an earlier run")
    return backend


def _reach_other(candidate: Candidate, backend: Provisioned, samples: Sequence[Any]) -> None:
    """See that a candidate that others are compared with is there. Raises `ProvisionError` that names it."""
    try:
        backend.reach(samples)
    except ProvisionError as error:
        raise ProvisionError(f"candidate `{candidate.name}`: {error}") from None


def served(candidate: Candidate, scenario: Scenario) -> Scenario:
    """Put a candidate's own batch policy in place of the scenario's."""
    return scenario.replace_batch(candidate.max_batch, candidate.max_wait)


def _with_readings(run: Run, instruments: Instruments) -> Run:
    """Put what was read of the device beside what was seen of the harness."""
    seen, conditions = run.audit, dict(run.conditions)
    if instruments.energy:
        conditions["energy"] = instruments.energy
    if instruments.gpus or instruments.unseen:
        seen = replace(seen, gpus=instruments.seen(), gpus_unseen=instruments.unseen)
    return replace(run, audit=seen, conditions=conditions)
