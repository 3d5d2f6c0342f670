"""What a test holds: `procure.run()` drives the marked scenario and gives the measured values back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from .calling import declaring
from .capacity import Capacity, find, ladder
from .cases import Case
from .datasets import DatasetSlice
from .datasets.conditions import Features
from .disclosure import refuse_unfit
from .driver.interrupts import Interrupts
from .driver.limits import Limits
from .errors import DeclarationError, ProcureError, nearest, unknown
from .measured import Measured
from .metrics import Execution
from .metrics.throughput import MINIMUM_LAUNCHES
from .progress import Progress
from .provision import Provisioned, provisioned
from .result import Named, Result
from .running import Journals, Runner, served, usable
from .scenarios import Scenario
from .sweeping import Sweep, bars_of, loads_of
from .units import Number, Quantity, duration
from .worst_slice import Asked, FoundSlice, found_slice

if TYPE_CHECKING:
    from .evidence.record import SweepPoint
    from .holds import Hold
    from .suite import Offer

_OF_RUN = ("scenario", "backend")


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
        journals: Journals | None = None,
    ) -> None:
        self._case = case
        self._backend = backend
        self._slice = chosen
        self._hold = hold
        self._references = references  # the candidates that declared bars compare this one with
        self._folder = folder  # where the relative path of a trace starts
        self._marked = scenario
        self._runner = Runner(
            case,
            backend,
            chosen,
            hold=hold,
            progress=progress,
            waiting=waiting,
            limits=limits,
            journals=journals,
        )
        self.scenario = served(case.candidate, scenario)

    @property
    def candidate(self) -> Any:
        """The candidate that is measured."""
        return self._case.candidate

    @declaring
    def run(self, scenario: Scenario | str | None = None, *, backend: Any = None, **arguments: Any) -> Result:
        """Run the marked scenario, and score the answers it gave.

        With arguments (`procure.run("offline", count=100)`) it is a run of your own: it carries what you
        assert on it, and the declared bars are not judged on it. Of a run on another `backend` than the
        offer's nothing is held for or against the offer: what you assert on it is shown and decides nothing.

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
        on = mine if backend is None else provisioned(backend, mine.base, mine.isolation)
        usable(self._case.candidate, on)
        with Interrupts(holds_on=True) as interrupts:
            interrupts.arm()
            result = self._measured(on, chosen, own=own)
            interrupts.arm()  # for Ctrl-C that has come since the last answer: what was measured is kept
        return result

    def _measured(self, on: Provisioned, chosen: Scenario, *, own: bool) -> Result:
        """Run, score and keep."""
        mine, runner = self._backend, self._runner
        try:
            instead = runner.instead(on)  # before it is closed
            if on is not mine:  # the fixture has looked at its own
                refuse_unfit(on.describe(), self._slice.inputs)
            self._begin(on, chosen)
            if not own and self._references:
                executions = runner.compared(self._marked, self._references)
                execution = executions.pop(self._case.candidate.name)
                return self._added(execution, declared=True, references=executions)
            with runner.alone_on(on.device):
                if not own and chosen.stopping != "fixed":
                    launches, energy = runner.staged(on, chosen), None
                else:
                    launches, energy = runner.launches(on, chosen)
        finally:
            if on is not mine:
                on.close()
                mine.troubles += on.troubles
        self._slice.check_unchanged()
        made = runner.execution(chosen, launches, energy, instead=instead)
        return self._added(made, declared=not own)

    @declaring
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
        raises nothing: its capacity is not measurable. A search that ends before its end keeps its runs.
        """
        knobs = {"start": start, "most": most, "short": short, "confirm": confirm}
        knobs |= {"tolerance": tolerance, "margin": margin, "runs": runs, "launches": launches}
        judged = bars_of(bars, self._case.bars)
        if not judged:
            raise DeclarationError("a search takes bars, as in `find_capacity({'latency.p95': '80 ms'})`")
        asked = ladder(self.scenario, knobs)

        def confirmed(scenario: Scenario) -> Result:
            scenario = served(self._case.candidate, scenario)
            launched = self._runner.launches(usable(self._case.candidate, self._backend), scenario)
            return self._added(self._runner.execution(scenario, *launched), declared=False)

        sweep = Sweep(self._case, self._runner.short, self.scenario, judged, "rate")
        self._begin(self._backend, self.scenario)
        with self._runner.alone_on(self._backend.device), self._keeping(sweep, "search"):
            found = find(self._case, sweep, self.scenario, asked, confirmed)
        self._slice.check_unchanged()
        self._keep(sweep, found.result, found.rate, found.sentence)
        return found

    @declaring
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
        sweep = Sweep(self._case, self._runner.short, self.scenario, bars_of(bars, self._case.bars), by)
        self._begin(self._backend, self.scenario)
        with self._runner.alone_on(self._backend.device), self._keeping(sweep, "sweep"):
            for load in loads:
                sweep.probe(load, length, "sweep")
        self._slice.check_unchanged()
        result = self._case.add(sweep.executions.pop(), declared=False)
        self._keep(sweep, result, None, f"{len(loads)} runs of {length} each")
        return tuple(sweep.points)

    @declaring
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

    @declaring
    def find_slice(
        self, result: Result, features: Features | None = None, **asked: Unpack[Asked]
    ) -> FoundSlice:
        """Search a run for the slice on which the candidate is worst: see `worst_slice.Asked`.

        `features`: name -> function of an input that gives a number or a text; strata are one by themselves.
        """
        if result.execution.instead is not None:
            raise DeclarationError(
                "`find_slice` searches a run of the offer, and this one ran on another backend"
            )
        return found_slice(self._case, result.execution, features or {}, asked)

    def _chosen(self, scenario: Scenario | str | None, arguments: dict[str, Any]) -> Scenario:
        if isinstance(scenario, str):
            return served(self._case.candidate, Scenario.declare(scenario, self._folder, **arguments))
        for name in arguments:
            if scenario is None and nearest(name, _OF_RUN):
                raise DeclarationError(f"`procure.run(...)`: {unknown('argument', name, _OF_RUN)}")
        if arguments:
            listed = ", ".join(sorted(arguments))
            raise DeclarationError(f"`procure.run({listed}=...)` needs the scenario's name first")
        return scenario or self.scenario

    @contextmanager
    def _keeping(self, sweep: Sweep, called: str) -> Iterator[None]:
        """Keep the runs of a search or sweep that Ctrl-C or an error ends, and say that it did."""
        try:
            with Interrupts(holds_on=True) as interrupts:
                interrupts.arm()
                yield
                interrupts.arm()
        except (KeyboardInterrupt, ProcureError) as error:
            if sweep.executions:
                why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"ended by an error, {error}"
                ran = f"{len(sweep.points)} run{'s' * (len(sweep.points) > 1)}"
                self._keep(sweep, None, None, f"the {called} was {why}; it is kept as far as it came, {ran}")
            raise

    def _keep(self, sweep: Sweep, result: Result | None, found: float | None, sentence: str) -> None:
        """Keep the curve, and its short runs, with the run that ended it."""
        if result is None:  # nothing was confirmed: the last short run stands for the search
            result = self._case.add(sweep.executions.pop(), declared=False)
        result.sweep = sweep.record(found, sentence)
        result.probes = tuple(each for each in sweep.executions if each is not result.execution)

    def _begin(self, on: Provisioned, scenario: Scenario) -> None:
        """See that somebody is there and may be asked, then write the run into the ledger, if there is one.

        In this order: an offer that nobody serves, or that turns its buyer away, is not measured, so that is
        no run. Raises `ProvisionError`.
        """
        self._runner.reach(on, scenario)
        if self._hold is not None:
            self._case.policy = self._hold.begin(self._case.policy)

    def _added(
        self, execution: Execution, *, declared: bool, references: Mapping[str, Execution] | None = None
    ) -> Result:
        """Keep a run. That it is complete stands in the ledger before its test sees what came of it."""
        if self._hold is not None:
            self._case.policy = self._hold.measured(self._case.policy, execution.requests)
        return self._case.add(execution, declared=declared, references=references)
