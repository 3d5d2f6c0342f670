"""A trial: one test item as a requirement on one candidate, from its declaration to its record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .asserts import after, raised_by
from .candidates import Candidate
from .cases import Case
from .datasets import DatasetSlice
from .decision import Policy
from .disclosure import deviations, put_in_place
from .driver.limits import Limits
from .driver.readings import usable_cpus
from .errors import ProcureError
from .evidence.case_files import NOTHING, case_parts
from .evidence.findings import finding_record
from .evidence.headline import headline
from .evidence.keeping import Kept
from .evidence.pairs import answered_right
from .evidence.parts import CaseFile, HeldPart, Requirement
from .evidence.record import FindingRecord, ResultRecord, RunRecord
from .evidence.runs import run_record
from .evidence.waivers import words as waived_words
from .holds import Hold
from .metrics import Execution
from .redaction import redacted
from .verdict import Verdict

#: Keeps the rows of an execution under a name.
Keep = Callable[[Execution, str], Kept]


@dataclass(slots=True)
class Trial:
    """What became of a requirement: `case` while it is tested, `record` when it is over."""

    requirement: Requirement
    policy: Policy
    limits: Limits = field(default_factory=Limits)  # of the harness's audit
    hold: Hold | None = None  # to a seal
    screen: bool = False
    case: Case | None = None
    chosen: DatasetSlice | None = None  # what its fixtures brought
    problem: str = ""
    remark: str = ""  # said when there was no problem, after the judging
    ended_early: bool = False
    disclosed: dict[str, Any] = field(default_factory=dict)  # what the backend says of itself
    not_reached: list[tuple[str, str]] = field(default_factory=list)
    record: ResultRecord | None = None
    right: dict[str, Any] | None = None  # which items the marked run answered right, to pair candidates
    held: HeldPart | None = None  # what seal and ledger said of it, when it was over
    kept: dict[int, Kept] = field(default_factory=dict)  # by id of the execution, which the case holds

    def look(self, chosen: DatasetSlice, disclosed: dict[str, Any]) -> DatasetSlice:
        """Take in what the fixtures bring, before it is used; a seal is held against it.

        Gives the samples as they are to be recorded: of a sealed suite, by salted digests.
        """
        self.chosen, self.disclosed = chosen, disclosed
        if self.hold is not None:
            self.chosen = self.hold.look(chosen, disclosed)
        return self.chosen

    def failed(self, error: BaseException, function: Callable[..., Any] | None) -> None:
        """Keep why the test ended early. A failed bar is a finding, not a problem."""
        self.ended_early = True
        line = _line(error, function)
        if function is not None and line is not None:
            self.not_reached = [(redacted(text), where) for text, where in after(function, line)]
        if not (isinstance(error, AssertionError) and self._asserted_badly(error)):
            said = str(error).strip().splitlines()
            own = isinstance(error, ProcureError)
            told = (said[0] if own else f"{type(error).__name__}: {said[0]}") if said else repr(error)
            self.problem = redacted("interrupted" if isinstance(error, KeyboardInterrupt) else told)

    def place(self, error: BaseException, function: Callable[..., Any] | None) -> str:
        """Give the line of the test that an error came from, as "test_x.py:12: "; nothing where none did."""
        line = _line(error, function)
        file = self.requirement.test.partition("::")[0].rpartition("/")[2]
        return f"{file}:{line}: " if line is not None else ""

    def disclose(self, candidate: Candidate, told: Mapping[str, Any], *, replaced: bool = False) -> None:
        """Keep what the backend says of itself, and where the offer is not what it declares.

        `replaced`: the suite's `backend` fixture gave another than the candidate declares.
        """
        batch, processors = self.requirement.scenario.max_batch, usable_cpus()
        found = deviations(candidate, told, max_batch=batch, processors=processors)
        if replaced:
            found.insert(0, put_in_place(candidate, told))
        # A backend's own words under these keys would be taken for ours.
        self.disclosed = {key: value for key, value in told.items() if key not in {"deviations", "invalid"}}
        if found:
            self.disclosed["deviations"] = [each.sentence for each in found]
            self.disclosed["invalid"] = "; ".join(each.sentence for each in found if each.invalidates)

    @property
    def invalid(self) -> str:
        """Why nothing is said of the offer: it is not what it declares. Nothing where it is."""
        return str(self.disclosed.get("invalid", ""))

    def conclude(self, keeper: Keep | None) -> None:
        """Judge and write down; `keeper` keeps the rows of each run under a name."""
        try:
            self._settle_hold()
            self.record = self._concluded(keeper)
            if self.hold is not None:
                self.hold.end(self.record["verdict"], self._logs())
        except ProcureError as error:  # a value that fits no bar, a log that cannot be written
            self.blocked(str(error))

    def _logs(self) -> dict[str, str]:
        """Give the digest of each file of rows that is kept, so that no other run's stand for this one's."""
        return {path: digest for kept in self.kept.values() for path, digest in kept.digests().items()}

    def remarked(self, remark: str) -> None:
        """Add what the record has to say where there was no problem."""
        assert self.record is not None, "the trial is over"
        self.remark = remark
        self.record["problem"] = self.record["problem"] or remark

    def blocked(self, problem: str) -> None:
        """Write down that nothing can be said, and why."""
        self.problem = problem
        self._settle_hold()
        self.record = self._untested(problem)

    def _settle_hold(self) -> None:
        """Take over what seal and ledger say by now."""
        if self.hold is not None:
            self.held = HeldPart(self.hold.differences, self.hold.record(), self.hold.waiver)

    def failure(self) -> str:
        """Give the message a test fails with that ran to its end; nothing where the requirement is met."""
        if self.record is None or Verdict(self.record["verdict"]).passes or self.excuse():
            return ""
        return "\n".join([f"procure: {self.requirement.candidate}: {self.record['verdict']}", *self.told()])

    def excuse(self) -> str:
        """Say why a bar that is not met fails no test: it is waived, or a screening left it open."""
        if self.record is None or self.record["problem"]:
            return ""
        if self.record["verdict"] == "waived":
            return self.record["sentence"]
        open_one = self.record["verdict"] in {"accept", "inconclusive"}
        return "a screening decides nothing" if self.screen and open_one else ""

    def told(self) -> list[str]:
        """List what was found, a line a finding, with what would decide the undecided."""
        assert self.record is not None, "the test is over"
        lines = [f"  {self.record['problem']}"] if self.record["problem"] else []
        for finding in self.record["findings"]:
            lines.append(f"  {finding['verdict']}: {finding['sentence']}")
            # A longer run does not make bars count again that answers which are not good enough set aside.
            if finding["hint"] and not (finding["struck"] and self.record["verdict"] == "reject"):
                lines.append(f"    {finding['hint']}")
        for run in self.record["runs"]:
            if run["failures"]:
                counted = ", ".join(f"{n:,} {kind}" for kind, n in run["failures"].items())
                why = f": {'; '.join(run['error_texts'][:3])}" if run["error_texts"] else ""
                lines.append(f"  failed of {run['requests']:,} requests: {counted}{why}")
        return lines + [f"  not reached: {text}" for text, _ in self.not_reached]

    def file(self) -> CaseFile:
        """Write the trial as a case file. Raises `EvidenceError` for what none can hold."""
        assert self.record is not None, "the trial is over"
        tested = bool(self.record["findings"] or self.record["runs"])
        parts = case_parts(self.case, lambda run: self.kept[id(run)]) if tested and self.case else NOTHING
        return CaseFile(
            format="pytest-procure/case",
            version=1,
            asked=self.requirement,
            policy=self.case.policy if self.case else self.policy,
            tested=tested,
            problem=self.problem if tested else self.record["problem"],
            remark=self.remark,
            held=self.held,
            not_reached=tuple(self.not_reached),
            disclosed=self.disclosed,
            **parts,
        )

    def _concluded(self, keep: Keep | None) -> ResultRecord:
        case = self.case
        if case is None or not (case.results or case.findings()):
            return self._untested(
                self.problem or "the test never ran its scenario; call `procure.run()` in it"
            )
        verdict, findings = case.conclude()
        problem = self.problem
        if problem and verdict is Verdict.ACCEPT:
            verdict = Verdict.INCONCLUSIVE
        if not problem and verdict is Verdict.NOT_TESTED:
            problem = "the marked scenario never ran" if case.bars else "nothing was held against a bar"
        records = [finding_record(finding, case.policy, sealed=case.sealed) for finding in findings]
        if self.invalid:
            verdict, problem = Verdict.INVALID, f"not the offer as declared: {self.invalid}"
            records = [_void(record) for record in records]
        runs = [run for number in range(len(case.results)) for run in self._runs(case, number, keep)]
        marked = [result.execution for result, declared in case.results if declared]
        self.right = answered_right(marked[0]) if marked else None
        deciding = headline(
            record
            for record in records
            if record["verdict"] == verdict.value and not (record["struck"] or record["observed_only"])
        )
        stopped = [run["stopped"] for run in runs if run["stopped"]]
        said = [problem] if problem else [deciding["sentence"]] if deciding else stopped
        written = self._written(verdict, said[0] if said else "", problem, records, runs)
        waiver = None if self.held is None else self.held.waiver
        if waiver is not None and not problem and verdict in {Verdict.REJECT, Verdict.INCONCLUSIVE}:
            written["waiver"] = waiver
            written["verdict"] = Verdict.WAIVED.value
            written["sentence"] = f"waived: {waived_words(waiver)}; {written['sentence']}"
        return written

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

    def _runs(self, case: Case, number: int, keep: Keep | None) -> list[RunRecord]:
        """Write down a run, and those of the candidates that it was compared with."""
        result, declared = case.results[number]
        name = f"{self.requirement.test}.{number + 1}"
        executions = {name: result.execution}
        executions |= {f"{name}.{other}": execution for other, execution in result.references.items()}
        executions |= {f"{name}.probe-{place}": probe for place, probe in enumerate(result.probes, start=1)}
        if keep is not None:
            self.kept |= {id(execution): keep(execution, file) for file, execution in executions.items()}
        probes = {id(probe) for probe in result.probes}
        records = []
        for execution in executions.values():
            probed = id(execution) in probes
            faults = () if probed else case.faults(result)
            kept = self.kept.get(id(execution))
            records.append(run_record(execution, declared=declared and not probed, faults=faults, kept=kept))
            if probed:
                records[-1]["probe"] = True
        if result.sweep is not None:
            records[0]["sweep"] = result.sweep
        return records

    def _written(
        self,
        verdict: Verdict,
        sentence: str,
        problem: str,
        findings: list[FindingRecord],
        runs: list[RunRecord],
    ) -> ResultRecord:
        written: ResultRecord = {
            "candidate": self.requirement.candidate,
            "test": self.requirement.test,
            "verdict": verdict.value,
            "sentence": sentence,
            "problem": problem,
            "findings": findings,
            "not_reached": [{"text": text, "where": where} for text, where in self.not_reached],
            "runs": runs,
        }
        if self.held is not None:
            written["differences"] = self.held.differences
            if self.held.series is not None:
                written["series"] = self.held.series
        return written


def _void(record: FindingRecord) -> FindingRecord:
    """A finding on something else than was offered."""
    said = f"{record['sentence']}; says nothing, because the offer is not what it declares"
    return {**record, "verdict": Verdict.INVALID.value, "sentence": said, "hint": ""}


def _line(error: BaseException, function: Callable[..., Any] | None) -> int | None:
    """Find the line of the test function that the error passed through."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
