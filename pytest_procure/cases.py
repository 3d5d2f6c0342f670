"""A case: one requirement being tested on one candidate. It keeps the runs and comparisons, and concludes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from . import wording
from .asserts import Role
from .bars import Bar, Sense
from .candidates import Candidate
from .datasets import Dataset, DatasetSlice
from .decision import Policy
from .driver.log import Status
from .errors import DataError, DeclarationError, unknown
from .measured import Measured, Operator
from .metrics import Execution, Measurement, metric
from .metrics.cost import SCORERS
from .metrics.failures import SUSTAINED_SHARE
from .metrics.measurement import Exact, Interval
from .metrics.metric import SUSTAINED
from .result import Result
from .units import Number, Quantity, quantity
from .verdict import Finding, Verdict, find, judge, policy_of

_OPPOSITE: dict[Sense, Sense] = {"at least": "at most", "at most": "at least"}
_NATURAL: dict[Literal["low", "high"], Sense] = {"low": "at most", "high": "at least"}


class Case:
    """Records what a test measures and compares, for one candidate.

    `bars` are the declared ones; they are judged on each run of the marked scenario when the test is over.
    """

    def __init__(self, candidate: Candidate, bars: Sequence[Bar], policy: Policy) -> None:
        self.candidate = candidate
        self.bars = tuple(bars)
        self.policy = policy
        self.results: list[tuple[Result, bool]] = []  # (result, of the marked scenario)
        self._asserted: list[Finding] = []
        self._own: dict[str, Measurement] = {}

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

    def measure(
        self, name: str, value: Quantity | Number, unit: str, interval: tuple[Number, Number] | None
    ) -> Measured:
        """Keep a value that the test measured itself, as `own.NAME`.

        `interval`: its likely range in the same unit; without one the value counts as exact.
        Raises `DeclarationError` for a name, value or range that cannot be meant.
        """
        what = metric(name)
        if what.kind != "own":
            raise DeclarationError(f"`{name}` is measured by the run itself; name your own value `own.NAME`")
        own = value if isinstance(value, Quantity) else quantity(value, unit)
        basis: Exact | Interval = Exact(own.number, "as the test measured it")
        if interval is not None:
            low, high = (Quantity.of(end, own.unit).number for end in interval)
            if not low <= own.number <= high:
                raise DeclarationError(f"`{name}`: {own} lies outside its own range, {low} to {high}")
            basis = Interval(own.number, low, high)
        self._own[name] = Measurement(what, own, 1, "values", basis)
        return Measured(self._own[name], self)

    def compare(
        self, measured: Measurement, operator: Operator, limit: Quantity, stands: Role | None
    ) -> bool:
        """Decide one comparison by the decision rule, and keep it as a finding.

        Nothing undecided is ever accepted: where the assert holds if the comparison does *not*, it is the
        opposite that has to be shown. Outside an assert the metric's better direction says which way
        accepts; such a comparison, and one in an arm of an `or`, is shown and decides nothing.
        """
        sense: Sense = "at most" if operator in {"<", "<="} else "at least"
        better = measured.metric.better
        flipped = stands.negated if stands else bool(better) and _NATURAL[better] != sense  # type: ignore[index]
        bar = Bar(
            measured.metric,
            _OPPOSITE[sense] if flipped else sense,
            limit,
            source="asserted",
            text=stands.text if stands else f"{measured.metric.name} {operator} {limit}, outside an assert",
            where=stands.where if stands else "",
        )
        # What asks for the worse, or for what every offer shows, is no bar.
        idle = bool(better) and bar.sense != _NATURAL[better]  # type: ignore[index]
        idle = idle or (measured.metric.shares and not 0 < limit.base < 1)
        shown_only = stands is None or stands.optional or idle
        finding = find(bar, measured, self.policy, observed_only=shown_only)
        strict = (operator in {"<", ">"}) != flipped
        if strict and isinstance(measured.basis, Exact) and measured.estimate == limit:
            why = "the assert leaves out the bar itself"  # a sampled value never lies on it
            decision = replace(finding.decision, accept=False, reject_p=0.0, blocked=why)
            finding = replace(finding, decision=decision)
        self._asserted.append(finding)
        return finding.decision.accept != flipped

    def explain(self, measured: Measurement) -> list[str]:
        """Say in words how the last comparison of a measurement was decided."""
        compared = [f for f in self._asserted if f.measurement is measured]
        if not compared:
            return []
        _, (finding,) = judge(compared[-1:], self.policy)
        told = (
            wording.sentence(finding),
            wording.hint(finding, policy_of(finding.bar, self.policy)),
            wording.rule(finding, policy_of(finding.bar, self.policy)),
        )
        return [line for line in told if line]

    def findings(self) -> list[Finding]:
        """All findings, in the order in which the test states them; their verdicts are still open."""
        found: list[Finding] = []
        for result, declared in self.results:
            if declared and result.execution.scenario.rate_is_declared:
                found.append(self._sustained(result))
            found += [self._held(bar, result) for bar in self.bars if declared]
        return found + self._asserted

    def conclude(self) -> tuple[Verdict, tuple[Finding, ...]]:
        """Judge all findings together. Without a run of the marked scenario nothing was tested."""
        late, late_failures = self._lateness()
        verdict, findings = judge(
            self.findings(),
            self.policy,
            late=late,
            late_failures=late_failures,
            clock_stepped=any(
                run.audit.clock_stepped for result, _ in self.results for run in result.execution.launches
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

    def faults(self, result: Result) -> tuple[str, ...]:
        """Give the harness's own faults in a run, by the tightest latency bar of the case."""
        bars = [*self.bars, *(finding.bar for finding in self._asserted)]
        limits = [bar.limit.ns for bar in bars if bar.limit.dimension == "duration"]
        limits += [bar.limits.latency.ns for bar in bars if bar.limits and bar.limits.latency]
        tightest = min(limits, default=None)
        executions = (result.execution, *result.references.values())
        launches = [run for execution in executions for run in execution.launches]
        return tuple(dict.fromkeys(fault for run in launches for fault in run.audit.faults(tightest)))

    def _lateness(self) -> tuple[bool, bool]:
        late = late_failures = False
        for result, _ in self.results:
            if self.faults(result):
                late = True
                ended = set(result.execution.status.tolist())
                late_failures = late_failures or bool(ended & {Status.TIMEOUT, Status.LOST})
        return late, late_failures

    def _held(self, bar: Bar, result: Result) -> Finding:
        if bar.metric.kind == "own":
            own: Mapping[str, Measurement] = self._own
            measured = own.get(bar.metric.name) or result.measurement(bar.metric)
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
        return find(bar, measured, self.policy)

    def _sustained(self, result: Result) -> Finding:
        limit = Quantity(Decimal(str(SUSTAINED_SHARE)))
        scenario = result.execution.scenario
        bar = Bar(SUSTAINED, "at least", limit, source="condition", text=scenario.label)
        finding = find(bar, result.measurement(SUSTAINED), self.policy)
        audits = [run.audit for run in result.execution.launches]
        if finding.decision.accept and any(audit.backlog_grew for audit in audits):
            # Answered in the end, but slower than asked: a longer run would have shown it.
            why = "the backlog grew all the while"
            return replace(
                finding, decision=replace(finding.decision, accept=False, reject_p=1.0, blocked=why)
            )
        # With all the time that other programs took from it given back, would it have kept up?
        taken = max((audit.run_delay_share or 0.0 for audit in audits), default=0.0)
        answered = finding.measurement.estimate
        hopeless = answered is not None and float(answered.number) < SUSTAINED_SHARE * (1.0 - min(taken, 1.0))
        return replace(finding, certain=hopeless)


def check_slice(chosen: object) -> None:
    """Raise `DataError` where a suite's own `dataset_slice` fixture gives something else."""
    if not isinstance(chosen, DatasetSlice):
        raise DataError(
            f"the `dataset_slice` fixture gave {type(chosen).__name__}; expected a slice, as `Dataset.slice` "
            "makes one"
        )
    chosen.check_unchanged()  # the digest is of what it is now, before a candidate has it in hand


def check_labels(dataset: Dataset, bars: Sequence[Bar]) -> None:
    """Check before the run that every quality bar can be scored. Raises `DataError`."""
    for bar in bars:
        what = bar.measured or bar.metric
        wanted = bar.limits.correct if bar.limits else SCORERS.get(what.name, "")
        wanted = what.name if what.kind == "quality" else wanted
        if not wanted:
            continue
        if dataset.references is None and not what.of_corpus:
            raise DataError(
                f"bar `{bar.metric.name}`: dataset `{dataset.name}` has no references to score against; "
                "give it `references=`, or drop the bar"
            )
        known = [*dataset.scorers, *(f"corpus.{name}" for name in dataset.corpus)]
        if wanted not in known:
            raise DataError(f"dataset `{dataset.name}`: {unknown('scorer', wanted, known)}")
