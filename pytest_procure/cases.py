"""A case: one requirement being tested on one candidate. It keeps the runs and comparisons, and concludes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from . import wording
from .asserts import Role
from .bars import Bar, Sense
from .candidates import Candidate
from .decision import Policy
from .driver.log import Status
from .errors import DeclarationError
from .hinting import hint
from .looks import HeldTo, looks
from .measured import Measured, Operator
from .metrics import Execution, Measurement, Metric, metric, unmeasurable
from .metrics.measurement import Exact, Interval
from .metrics.metric import ALIVE, SUSTAINED
from .redaction import redacted
from .result import Result
from .sustaining import sustained
from .units import Number, Quantity, quantity
from .verdict import Finding, Verdict, find, judge, policy_of

_OPPOSITE: dict[Sense, Sense] = {"at least": "at most", "at most": "at least"}
_NATURAL: dict[Literal["low", "high"], Sense] = {"low": "at most", "high": "at least"}


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One comparison that the test made: everything that its finding follows from.

    `strict`: the bar itself is left out, as by `<`. `observed_only`: it is shown and decides nothing.
    `looks`: runs of the same test that are not held to the bar.
    """

    bar: Bar
    measurement: Measurement
    strict: bool
    observed_only: bool
    looks: int = 0

    def finding(self, policy: Policy) -> Finding:
        """Hold the measurement against the bar."""
        policy = policy.after(self.looks)
        finding = find(self.bar, self.measurement, policy, observed_only=self.observed_only)
        finding = replace(finding, looks=self.looks)
        exact = isinstance(self.measurement.basis, Exact)
        if self.strict and exact and self.measurement.estimate == self.bar.limit:
            why = "the assert leaves out the bar itself"  # a sampled value never lies on it
            decision = replace(finding.decision, accept=False, reject_p=0.0, blocked=why)
            return replace(finding, decision=decision)
        return finding


@dataclass(frozen=True, slots=True, eq=False)
class Confirmation:
    """Bars of a search, held against the run that confirms what it found."""

    result: Result
    bars: tuple[Bar, ...]


class Case:
    """Records what a test measures and compares, for one candidate.

    `bars` are the declared ones; they are judged on each run of the marked scenario when the test is over.
    `sealed`: the test is held to a seal.
    """

    def __init__(
        self, candidate: Candidate, bars: Sequence[Bar], policy: Policy, *, sealed: bool = False
    ) -> None:
        self.candidate = candidate
        self.bars = tuple(bars)
        self.policy = policy
        self.sealed = sealed
        self.results: list[tuple[Result, bool]] = []  # (result, of the marked scenario)
        self.compared: list[Compared | Confirmation] = []
        self.own: dict[str, Measurement] = {}
        self._asserted: list[tuple[Compared | None, Finding]] = []  # None: the findings of a search

    def add(
        self,
        execution: Execution,
        *,
        declared: bool,
        references: Mapping[str, Execution] | None = None,
    ) -> Result:
        """Keep a run, with those of the candidates that it was interleaved with."""
        result = Result(execution, self, references)
        self.results.append((result, declared))
        return result

    def measure(  # noqa: PLR0913 - a value with all that is told of it
        self,
        name: str,
        value: Quantity | Number,
        unit: str,
        interval: tuple[Number, Number] | None,
        *,
        n: int = 1,
        n_unit: str = "values",
    ) -> Measured:
        """Keep a value that the test measured itself, as `own.NAME`.

        `interval`: its likely range in the same unit; without one the value counts as exact. `n`, `n_unit`:
        of how many of what it is made.
        Raises `DeclarationError` for a name, value or range that cannot be meant.
        """
        what = self._new(name)
        own = value if isinstance(value, Quantity) else quantity(value, unit)
        basis: Exact | Interval = Exact(own.number, "as the test measured it")
        if interval is not None:
            low, high = (Quantity.of(end, own.unit).number for end in interval)
            if not low <= own.number <= high:
                raise DeclarationError(f"`{name}`: {own} lies outside its own range, {low} to {high}")
            basis = Interval(own.number, low, high)
        self.own[name] = Measurement(what, own, n, n_unit, basis)
        return Measured(self.own[name], self)

    def leave_unmeasured(self, name: str, reason: str) -> Measured:
        """Keep that nothing can be said of `own.NAME`. Raises `DeclarationError` as `measure` does."""
        self.own[name] = unmeasurable(self._new(name), reason)
        return Measured(self.own[name], self)

    def compare(
        self, measured: Measurement, operator: Operator, limit: Quantity, stands: Role | None
    ) -> bool:
        """Decide one comparison by the decision rule, and keep it as a finding.

        Nothing undecided is ever accepted: where the assert holds if the comparison does *not*, it is the
        opposite that has to be shown. Outside an assert, and where an assert makes something else of a
        comparison (`(a < b) is False`), the metric's better direction says which way accepts. A comparison
        outside an assert, one in an arm of an `or`, and one of a run on another backend than the offer's, is
        shown and decides nothing.
        """
        sense: Sense = "at most" if operator in {"<", "<="} else "at least"
        better = measured.metric.better
        towards_worse = bool(better) and _NATURAL[better] != sense  # type: ignore[index]
        flipped = stands.negated if stands and not stands.unclear else towards_worse
        shown = f"{measured.metric.name} {operator} {limit}, outside an assert"
        bar = Bar(
            measured.metric,
            _OPPOSITE[sense] if flipped else sense,
            limit,
            source="asserted",
            text=redacted(stands.text) if stands else shown,
            where=stands.where if stands else "",
        )
        # What asks for the worse, or for what every offer shows, is no bar.
        idle = bool(better) and bar.sense != _NATURAL[better]  # type: ignore[index]
        idle = idle or (measured.metric.shares and not 0 < limit.base < 1)
        shown_only = stands is None or stands.optional or idle
        strict = (operator in {"<", ">"}) != flipped
        return self.keep(Compared(bar, measured, strict, shown_only)).decision.accept != flipped

    def keep(self, compared: Compared) -> Finding:
        """Decide a comparison, and keep it with its finding."""
        held = self._held_to(compared)
        if held is not None and held.result.execution.instead is not None:
            compared = replace(compared, observed_only=True)
        finding = compared.finding(self.policy)
        self.compared.append(compared)
        self._asserted.append((compared, finding))
        return finding

    def explain(self, measured: Measurement) -> list[str]:
        """Say in words how the last comparison of a measurement was decided."""
        compared = [f for _, f in self._asserted if f.measurement is measured]
        if not compared:
            return []
        _, (finding,) = judge(compared[-1:], self.policy)
        policy = policy_of(finding.bar, self.policy)
        told = (
            wording.sentence(finding),
            hint(finding, policy, sealed=self.sealed),
            wording.rule(finding, policy),
        )
        return [line for line in told if line]

    def findings(self) -> list[Finding]:
        """All findings, in the order in which the test states them; their verdicts are still open."""
        found: list[Finding] = []
        for result, declared in self._own_runs():
            if declared and result.execution.scenario.rate_is_declared:
                found.append(self._sustained(result))
            found += self._endings(result)
            found += [self._held(bar, result) for bar in self.bars if declared]
        return found + [
            finding if compared is None else self._after_looks(compared, finding)
            for compared, finding in self._asserted
        ]

    def _own_runs(self) -> list[tuple[Result, bool]]:
        """List the runs of the offer itself: of another backend nothing is held for or against it."""
        return [each for each in self.results if each[0].execution.instead is None]

    def _after_looks(self, compared: Compared, finding: Finding) -> Finding:
        """Judge what was asserted of one run by all that could have been picked in its place."""
        asserted = None if finding.observed_only else self._held_to(compared)
        if asserted is None:
            return finding
        held = [
            HeldTo(result, bar, bar.limits)
            for result, is_held in self.results
            if is_held
            for bar in self.bars
        ]
        decides = (each for each, _ in self._asserted if each is not None and not each.observed_only)
        held += [each for each in map(self._held_to, decides) if each is not None]
        confirmed = {id(each.result) for each in self.compared if isinstance(each, Confirmation)}
        # A sweep gives points, on which nothing is asserted, and no run to pick.
        runs = [run for run, _ in self._own_runs() if run.sweep is None or id(run) in confirmed]
        seen = looks(asserted, held, runs)
        return replace(compared, looks=seen).finding(self.policy) if seen else finding

    def _held_to(self, compared: Compared) -> HeldTo | None:
        """Find the run that a comparison is of; None for a value that is of none."""
        for result, _ in self.results:
            of_run, limits = result.holds(compared.measurement)
            if of_run:
                return HeldTo(result, compared.bar, limits)
        return None

    def _new(self, name: str) -> Metric:
        """Give the metric of a value that is to be kept: one of each name. Raises `DeclarationError`."""
        if name in self.own:
            raise DeclarationError(
                f"`{name}` was measured before in this test, and its first value stands; give another value "
                "another name"
            )
        return _own(name)

    def conclude(self) -> tuple[Verdict, tuple[Finding, ...]]:
        """Judge all findings together. Without a run of the marked scenario nothing was tested."""
        late, late_failures = self._lateness()
        verdict, findings = judge(
            self.findings(),
            self.policy,
            late=late,
            late_failures=late_failures,
            may_flatter=any(
                run.audit.may_flatter for result, _ in self._own_runs() for run in result.execution.launches
            ),
        )
        untested = bool(self.bars) and not any(declared for _, declared in self.results)
        if untested:
            return Verdict.NOT_TESTED, findings
        return verdict, findings

    def settled(self, execution: Execution) -> bool:
        """Whether a run that goes on has settled every declared bar already."""
        result = Result(execution, self)
        _, findings = judge((self._held(bar, result) for bar in self.bars), self.policy)
        return all(finding.verdict in {Verdict.ACCEPT, Verdict.REJECT} for finding in findings)

    def meets(self, result: Result, bars: Sequence[Bar]) -> bool:
        """Whether a run's point values meet bars, and it kept up with its rate. That decides nothing."""
        if result.execution.scenario.rate_is_declared and not self._sustained(result).decision.accept:
            return False
        for bar in bars:
            measured = self._measured(bar, result)
            if measured.estimate is None:
                return False
            short = (
                measured.estimate < bar.limit if bar.sense == "at least" else measured.estimate > bar.limit
            )
            if short or measured.censored:
                return False
        return True

    def confirm(self, result: Result, bars: Sequence[Bar]) -> str:
        """Judge bars of a search on the run that confirms it; nothing, or why it does not.

        The findings are shown beside the capacity; it is the capacity that decides.
        """
        earlier = sum(isinstance(each, Confirmation) for each in self.compared)
        policy = self.policy.after(earlier)  # of several searches the best may be picked
        found = [self._sustained(result), *(self._held(bar, result, policy) for bar in bars)]
        self.compared.append(Confirmation(result, tuple(bars)))
        found = [replace(finding, observed_only=True, looks=earlier) for finding in found]
        self._asserted += [(None, finding) for finding in found]
        missed = [finding for finding in found if not finding.decision.accept]
        return wording.sentence(missed[0]) if missed else ""

    def faults(self, result: Result, more: Sequence[Bar] = ()) -> tuple[str, ...]:
        """Give the harness's own faults in a run, by the tightest latency bar of the case, and of `more`."""
        bars = [*self.bars, *more, *(finding.bar for _, finding in self._asserted)]
        limits = [bar.limit.ns for bar in bars if bar.limit.dimension == "duration"]
        limits += [bar.limits.latency.ns for bar in bars if bar.limits and bar.limits.latency]
        tightest = min(limits, default=None)
        executions = (result.execution, *result.references.values())
        launches = [run for execution in executions for run in execution.launches]
        return tuple(dict.fromkeys(fault for run in launches for fault in run.audit.faults(tightest)))

    def _lateness(self) -> tuple[bool, bool]:
        late = late_failures = False
        for result, _ in self._own_runs():
            if self.faults(result):
                late = True
                ended = set(result.execution.status.tolist())
                # What was lost with its process, no lateness has lost.
                missing = {Status.TIMEOUT} if _unexplained(result) else {Status.TIMEOUT, Status.LOST}
                late_failures = late_failures or bool(ended & missing)
        return late, late_failures

    def _held(self, bar: Bar, result: Result, policy: Policy | None = None) -> Finding:
        return find(bar, self._measured(bar, result), policy or self.policy)

    def _measured(self, bar: Bar, result: Result) -> Measurement:
        if bar.metric.kind == "own":
            measured = self.own.get(bar.metric.name) or result.measurement(bar.metric)
        elif bar.against is not None:
            measured = result.comparison(bar.measured or bar.metric, bar.against)
        elif bar.limits is not None:
            measured = result.joint(bar.limits)
        else:
            measured = result.measurement(bar.metric)
        if measured.estimate is not None and measured.estimate.dimension != bar.limit.dimension:
            raise DeclarationError(
                f"bar `{bar.metric.name}` is {bar.limit}, and the measured value is in "
                f"{measured.estimate.unit or 'plain numbers'}"
            )
        return measured

    def _endings(self, result: Result) -> list[Finding]:
        """Hold against the candidate that its process ended; nothing where it lived, or runs in this one.

        Whoever kills a process from outside may be anybody, so that says nothing against the candidate; nor
        is it accepted, because a process can do it to itself.
        """
        launches = result.execution.launches
        endings = [ending for run in launches for ending in run.endings]
        if not endings:
            return []
        lived = sum(not run.endings for run in launches)
        share = Quantity.of(round(lived / len(launches), 12))
        named = " and ".join(dict.fromkeys(ending.name for ending in endings))
        what = replace(ALIVE, name=f"alive ({named})", title=f"runs of its process without {named}")
        measured = Measurement(
            what, share, len(launches), "runs", Exact(share.number, "counted, not sampled")
        )
        bar = Bar(what, "at least", Quantity(Decimal(1)), source="condition", text="its process lives on")
        finding = find(bar, measured, self.policy)
        said = "; ".join(dict.fromkeys(ending.sentence for ending in endings))
        decision = replace(finding.decision, blocked=said)
        if not any(ending.by_candidate for ending in endings):
            decision = replace(decision, reject_p=1.0)
        return [replace(finding, decision=decision, certain=_unexplained(result))]

    def _sustained(self, result: Result) -> Finding:
        return sustained(result.execution, result.measurement(SUSTAINED), self.policy)


def _own(name: str) -> Metric:
    """Give the metric of a value that the test measured itself. Raises `DeclarationError`."""
    what = metric(name)
    if what.kind != "own":
        raise DeclarationError(f"`{name}` is measured by the run itself; name your own value `own.NAME`")
    return what


def _unexplained(result: Result) -> bool:
    """Whether a process ended in a way that no want of processor time explains."""
    endings = [ending for run in result.execution.launches for ending in run.endings]
    return any(not ending.may_be_late for ending in endings)
