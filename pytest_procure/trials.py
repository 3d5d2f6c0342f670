"""A trial: one test item as a requirement on one candidate, from its declaration to its record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .asserts import after, raised_by
from .bars import Bar
from .cases import Case
from .decision import Policy
from .errors import ProcureError
from .evidence.findings import finding_record
from .evidence.record import FindingRecord, ResultRecord, RunRecord
from .evidence.runs import run_record
from .scenarios import Scenario
from .verdict import Verdict


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the register knows of a test before it runs."""

    id: str
    question: str
    test: str
    candidate: str
    scenario: Scenario
    bars: tuple[Bar, ...]


@dataclass(slots=True)
class Trial:
    """What became of a requirement: `case` while it is tested, `record` when it is over."""

    requirement: Requirement
    policy: Policy
    case: Case | None = None
    problem: str = ""
    ended_early: bool = False
    disclosed: dict[str, Any] = field(default_factory=dict)  # what the backend says of itself
    not_reached: list[tuple[str, str]] = field(default_factory=list)
    record: ResultRecord | None = None

    def failed(self, error: BaseException, function: Callable[..., Any] | None) -> None:
        """Keep why the test ended early. A failed bar is a finding, not a problem."""
        self.ended_early = True
        line = _line(error, function)
        if function is not None and line is not None:
            self.not_reached = after(function, line)
        if not (isinstance(error, AssertionError) and self._asserted_badly(error)):
            said = str(error).strip().splitlines()
            own = isinstance(error, ProcureError)
            self.problem = (said[0] if own else f"{type(error).__name__}: {said[0]}") if said else repr(error)

    def conclude(self, folder: Path | None) -> None:
        """Judge and write down. With a folder, request logs are kept there."""
        try:
            self.record = self._concluded(folder)
        except ProcureError as error:  # a value that fits no bar, a log that cannot be written
            self.blocked(str(error))

    def blocked(self, problem: str) -> None:
        """Write down that nothing can be said, and why."""
        self.problem = problem
        self.record = self._untested(problem)

    def failure(self) -> str:
        """Give the message a test fails with that ran to its end; nothing where the requirement is met."""
        if self.record is None or Verdict(self.record["verdict"]).passes:
            return ""
        return "\n".join([f"procure: {self.requirement.candidate}: {self.record['verdict']}", *self.told()])

    def told(self) -> list[str]:
        """List what was found, a line a finding, with what would decide the undecided."""
        assert self.record is not None, "the test is over"
        lines = [f"  {self.record['problem']}"] if self.record["problem"] else []
        for finding in self.record["findings"]:
            lines.append(f"  {finding['verdict']}: {finding['sentence']}")
            if finding["hint"]:
                lines.append(f"    {finding['hint']}")
        for run in self.record["runs"]:
            if run["failures"]:
                counted = ", ".join(f"{n:,} {kind}" for kind, n in run["failures"].items())
                why = f": {run['error_texts'][0]}" if run["error_texts"] else ""
                lines.append(f"  failed of {run['requests']:,} requests: {counted}{why}")
        return lines + [f"  not reached: {text}" for text, _ in self.not_reached]

    def _concluded(self, folder: Path | None) -> ResultRecord:
        case = self.case
        if case is None or not (case.results or case.findings()):
            return self._untested(self.problem or "the test never ran its scenario")
        verdict, findings = case.conclude()
        problem = self.problem
        if problem and verdict is Verdict.ACCEPT:
            verdict = Verdict.INCONCLUSIVE
        if not problem and verdict is Verdict.NOT_TESTED:
            problem = "the marked scenario never ran" if case.bars else "nothing was held against a bar"
        records = [finding_record(finding, case.policy) for finding in findings]
        runs = [run for number in range(len(case.results)) for run in self._runs(case, number, folder)]
        deciding = [
            record["sentence"]
            for finding, record in zip(findings, records, strict=True)
            if finding.verdict is verdict and not (finding.struck or finding.observed_only)
        ]
        stopped = [run["stopped"] for run in runs if run["stopped"]]
        said = [problem] if problem else deciding or stopped
        return self._written(verdict, said[0] if said else "", problem, records, runs)

    def _untested(self, problem: str) -> ResultRecord:
        return self._written(Verdict.NOT_TESTED, f"not tested: {problem}", problem, [], [])

    def _asserted_badly(self, error: AssertionError) -> bool:
        """Whether the assert that failed is one that holds a measured value against a bar."""
        where = raised_by(error)
        return self.case is not None and any(
            finding.bar.where == where and not finding.decision.accept and not finding.observed_only
            for finding in self.case.findings()
            if finding.bar.source == "asserted"
        )

    def _runs(self, case: Case, number: int, folder: Path | None) -> list[RunRecord]:
        """Write down a run, and those of the candidates that it was compared with."""
        result, declared = case.results[number]
        name = f"{self.requirement.test}.{number + 1}"
        executions = {name: result.execution}
        executions |= {f"{name}.{other}": execution for other, execution in result.references.items()}
        return [
            run_record(execution, file, declared=declared, faults=case.faults(result), folder=folder)
            for file, execution in executions.items()
        ]

    def _written(
        self,
        verdict: Verdict,
        sentence: str,
        problem: str,
        findings: list[FindingRecord],
        runs: list[RunRecord],
    ) -> ResultRecord:
        return {
            "candidate": self.requirement.candidate,
            "test": self.requirement.test,
            "verdict": verdict.value,
            "sentence": sentence,
            "problem": problem,
            "findings": findings,
            "not_reached": [{"text": text, "where": where} for text, where in self.not_reached],
            "runs": runs,
        }


def _line(error: BaseException, function: Callable[..., Any] | None) -> int | None:
    """Find the line of the test function that the error passed through."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
