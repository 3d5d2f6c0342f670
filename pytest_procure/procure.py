"""What a test holds: `procure.run()` drives the marked scenario and gives the measured values back."""

from __future__ import annotations

from typing import Any

from .backends import device_lock
from .cases import Case
from .datasets import DatasetSlice
from .driver.pull import Run, drive
from .errors import DeclarationError, ProvisionError
from .measured import Measured
from .metrics import Execution, score
from .progress import Progress
from .provision import Provisioned, provisioned
from .result import Result
from .scenarios import Scenario
from .units import Number, Quantity

#: How long to wait for another process of this user to finish measuring on the same device.
_LOCK_SECONDS = 600.0


class Procure:
    """Runs scenarios on one candidate, and records what comes of them for the verdict."""

    def __init__(
        self,
        case: Case,
        backend: Provisioned,
        chosen: DatasetSlice,
        scenario: Scenario,
        *,
        progress: Progress | None = None,
    ) -> None:
        self._case = case
        self._backend = backend
        self._slice = chosen
        self._progress = progress
        candidate = case.candidate
        self.scenario = scenario.replace_batch(candidate.max_batch, candidate.max_wait)

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
        on = self._backend if backend is None else provisioned(backend, self._backend.base)
        if on.hung:
            raise ProvisionError(f"candidate `{self._case.candidate.name}` hung in an earlier run")
        try:
            execution = self._execute(on, chosen)
        finally:
            if on is not self._backend and on is not backend:
                on.close()
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
            candidate = self._case.candidate
            return Scenario.declare(scenario, **arguments).replace_batch(
                candidate.max_batch, candidate.max_wait
            )
        if arguments:
            listed = ", ".join(sorted(arguments))
            raise DeclarationError(f"`procure.run({listed}=...)` needs the scenario's name first")
        return scenario or self.scenario

    def _drive(self, backend: Provisioned, scenario: Scenario) -> Run:
        try:
            return drive(backend.loaded, self._slice, scenario, progress=self._progress)
        finally:
            if self._progress is not None:
                self._progress.done()

    def _execute(self, backend: Provisioned, scenario: Scenario) -> Execution:
        with device_lock(backend.device, timeout=_LOCK_SECONDS):
            launches: list[Run] = []
            for number in range(scenario.launches):
                if number:
                    backend.reload()
                run = self._drive(backend, scenario)
                launches.append(run)
                backend.hung = backend.hung or run.hung
                if run.interrupted:
                    raise KeyboardInterrupt
                if run.hung:
                    break
        logs = tuple(run.log for run in launches)
        scores = {
            name: score(logs, self._slice, scorer)
            for name, scorer in self._slice.dataset.scorers.items()
            if self._slice.references is not None
        }
        return Execution(self._case.candidate, scenario, self._slice, tuple(launches), scores)
