"""What a test holds: `procure.run()` drives the marked scenario and gives the measured values back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .backends import device_lock
from .candidates import Candidate
from .cases import Case
from .datasets import DatasetSlice, Scorer
from .driver.log import RequestLog
from .driver.pull import Run, drive
from .driver.source import SampleSource
from .errors import DeclarationError, ProvisionError
from .interleave import interleaved
from .measured import Measured
from .metrics import Execution, score
from .progress import Progress
from .provision import Provisioned, provisioned
from .result import Result
from .scenarios import Scenario
from .stopping import staged
from .telemetry.energy import counter, used
from .units import Number, Quantity

if TYPE_CHECKING:
    from .suite import Offer

#: How long to wait for another process of this user to finish measuring on the same device.
_LOCK_SECONDS = 600.0


class Procure:
    """Runs scenarios on one candidate, and records what comes of them for the verdict."""

    def __init__(  # noqa: PLR0913 - what a test's fixtures bring together
        self,
        case: Case,
        backend: Provisioned,
        chosen: DatasetSlice,
        scenario: Scenario,
        *,
        references: Sequence[Offer] = (),
        progress: Progress | None = None,
    ) -> None:
        self._case = case
        self._backend = backend
        self._slice = chosen
        self._references = references  # the candidates that declared bars compare this one with
        self._progress = progress
        self._marked = scenario
        self._scores: dict[tuple[int, str], tuple[RequestLog, NDArray[np.float64]]] = {}
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
        on = self._backend if backend is None else provisioned(backend, self._backend.base)
        if on.hung:
            raise ProvisionError(f"candidate `{self._case.candidate.name}` hung in an earlier run")
        try:
            if not own and self._references:
                return self._compared()
            with device_lock(on.device, timeout=_LOCK_SECONDS):
                if not own and chosen.stopping != "fixed":
                    launches, energy = self._staged(on, chosen), None
                else:
                    launches, energy = self._launches(on, chosen)
        finally:
            if on is not self._backend:
                on.close()
        self._slice.check_unchanged()
        execution = self._execution(self._case.candidate, chosen, launches, energy)
        return self._case.add(execution, declared=not own)

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

    def _chosen(self, scenario: Scenario | str | None, arguments: dict[str, Any]) -> Scenario:
        if isinstance(scenario, str):
            return _served(self._case.candidate, Scenario.declare(scenario, **arguments))
        if arguments:
            listed = ", ".join(sorted(arguments))
            raise DeclarationError(f"`procure.run({listed}=...)` needs the scenario's name first")
        return scenario or self.scenario

    def _launches(
        self, backend: Provisioned, scenario: Scenario
    ) -> tuple[list[Run], tuple[float, ...] | None]:
        """Run each launch, with the joules that the device counted for it where it counts them."""
        launches: list[Run] = []
        joules: list[float | None] = []
        read = counter(backend.device)
        for number in range(scenario.launches):
            if number:
                backend.reload()
            before = read() if read else None
            launches.append(self._drive(backend, self._slice, scenario))
            joules.append(used(before, read() if read else None))
            if backend.hung:
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
                backends[other.name] = Provisioned(other.backend, offer.base)
                loaded.callback(backends[other.name].close)
            for device in sorted({backend.device for backend in backends.values()}):
                loaded.enter_context(device_lock(device, timeout=_LOCK_SECONDS))
            scenarios = {each: _served(candidates[each], self._marked) for each in candidates}
            runs = interleaved(backends, self._slice, scenarios, self._drive)
        self._slice.check_unchanged()
        executions = {
            each: self._execution(candidates[each], scenarios[each], runs[each], None, blocks=True)
            for each in candidates
        }
        return self._case.add(executions.pop(name), declared=True, references=executions)

    def _drive(self, backend: Provisioned, source: SampleSource, scenario: Scenario) -> Run:
        try:
            run = drive(backend.loaded, source, scenario, progress=self._progress)
        finally:
            if self._progress is not None:
                self._progress.done()
        backend.hung = backend.hung or run.hung
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def _execution(
        self,
        candidate: Candidate,
        scenario: Scenario,
        launches: list[Run],
        energy: tuple[float, ...] | None,
        *,
        blocks: bool = False,
    ) -> Execution:
        scores = {
            name: np.concatenate([self._scored(run.log, scorer) for run in launches])
            for name, scorer in self._slice.dataset.scorers.items()
            if self._slice.references is not None
        }
        return Execution(candidate, scenario, self._slice, tuple(launches), scores, energy, blocks)

    def _scored(self, log: RequestLog, scorer: Scorer) -> NDArray[np.float64]:
        """Score a log once: a judge may be slow, may cost, and may not say the same twice."""
        key = (id(log), scorer.metric)  # the log is kept, so that no other takes its id
        if key not in self._scores:
            self._scores[key] = (log, score((log,), self._slice, scorer))
        return self._scores[key][1]


def _served(candidate: Candidate, scenario: Scenario) -> Scenario:
    """Put a candidate's own batch policy in place of the scenario's."""
    return scenario.replace_batch(candidate.max_batch, candidate.max_wait)
