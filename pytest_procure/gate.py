"""The gate: what was expected of a session against what came in, the verdicts, and the exit status.

It fails closed. A requirement without a result is not tested, and an offer with one such is not accepted,
whatever else passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .evidence.record import (
    CandidateRecord,
    Outcome,
    PublishedRecord,
    RequirementRecord,
    ResultRecord,
    VerdictWord,
)

Award = Literal["all", "any"]

#: pytest's own statuses for a session that did not end as sessions end: they are kept.
_BROKEN = {2: "the session was interrupted", 3: "pytest failed inside", 4: "pytest was used wrongly"}
_PASSES = {"accept", "waived"}
_WORST: tuple[VerdictWord, ...] = ("reject", "invalid", "not tested", "inconclusive")


@dataclass(frozen=True, slots=True)
class Expected:
    """A requirement on a candidate, known from collection."""

    id: str
    question: str
    scenario: str
    test: str
    candidate: str


@dataclass(slots=True)
class Gate:
    """Collects expectations, results and foreign failures, and concludes."""

    award: Award = "all"
    expected: dict[str, Expected] = field(default_factory=dict)  # by test
    candidates: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name: what the offer states
    results: dict[str, ResultRecord] = field(default_factory=dict)  # by test; the first run decides
    disclosed: dict[str, dict[str, Any]] = field(default_factory=dict)  # by candidate: what its backend says
    rerun: dict[str, int] = field(default_factory=dict)
    deselected: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)  # tests that failed or erred in any phase, ours or foreign
    not_bars: set[str] = field(default_factory=set)  # those that failed otherwise than by their bars
    unread: set[str] = field(default_factory=set)  # files of the suite that were skipped as a whole
    notes: list[str] = field(default_factory=list)
    published: dict[str, PublishedRecord] = field(default_factory=dict)  # context, by what it stands beside

    def expect(self, expected: Iterable[Expected], candidates: dict[str, dict[str, Any]]) -> None:
        """Register requirements and the offers they are asked of."""
        for each in expected:
            self.expected.setdefault(each.test, each)
        for name, stated in candidates.items():
            self.candidates.setdefault(name, stated)

    def receive(self, result: ResultRecord, disclosed: dict[str, Any]) -> None:
        """Take a result. Of several on one test the first decides; later ones are counted and shown."""
        test = result["test"]
        if disclosed:
            self.disclosed.setdefault(result["candidate"], disclosed)
        if test in self.results:
            self.rerun[test] = self.rerun.get(test, 1) + 1
        else:
            self.results[test] = result

    def conclude(self, status: int) -> tuple[list[RequirementRecord], list[CandidateRecord], Outcome]:
        """Join everything into requirements, candidates and the outcome; `status` is pytest's own."""
        requirements = self._requirements()
        candidates = self._judged(requirements)
        accepted = [c for c in candidates if c["verdict"] in _PASSES]
        enough = bool(accepted) and (self.award == "any" or len(accepted) == len(candidates))
        exit_status, reasons = self._exit(status, enough=enough, candidates=candidates)
        return (
            requirements,
            candidates,
            {
                "accepted": enough and exit_status == 0,
                "award": self.award,
                "sentence": _sentence(candidates),
                "exit_status": exit_status,
                "reasons": reasons,
            },
        )

    def _requirements(self) -> list[RequirementRecord]:
        found: dict[str, RequirementRecord] = {}
        for test, each in self.expected.items():
            requirement = found.setdefault(
                each.id, {"id": each.id, "question": each.question, "scenario": each.scenario, "results": []}
            )
            requirement["results"].append(self.results.get(test) or self._missing(each))
        return list(found.values())

    def _missing(self, each: Expected) -> ResultRecord:
        problem = (
            "it was deselected"
            if each.test in self.deselected
            else "it never ran: the session stopped before it, it was deselected, or its process died"
        )
        return {
            "candidate": each.candidate,
            "test": each.test,
            "verdict": "not tested",
            "sentence": f"Not tested: {problem}",
            "problem": problem,
            "findings": [],
            "not_reached": [],
            "runs": [],
        }

    def _judged(self, requirements: Sequence[RequirementRecord]) -> list[CandidateRecord]:
        judged: list[CandidateRecord] = []
        for name, stated in self.candidates.items():
            results = [r for q in requirements for r in q["results"] if r["candidate"] == name]
            if not results:
                continue
            deciding = min(results, key=_rank)
            judged.append(
                {
                    "name": name,
                    "vendor": stated["vendor"],
                    "precision": stated["precision"],
                    "hardware": stated["hardware"],
                    "price": stated["price"] or {},
                    "backend": self.disclosed.get(name, {}),
                    "notes": stated["notes"],
                    "verdict": deciding["verdict"],
                    "sentence": deciding["sentence"]
                    if deciding["verdict"] not in _PASSES
                    else f"meets all that was asked ({len(results)} requirement{'s' * (len(results) > 1)})",
                }
            )
        return judged

    def _exit(
        self, status: int, *, enough: bool, candidates: Sequence[CandidateRecord]
    ) -> tuple[int, list[str]]:
        if status in _BROKEN:
            return status, [_BROKEN[status]]
        lost = [c for c in candidates if c["verdict"] not in _PASSES]
        reasons = [] if enough else [f"{c['name']}: {_STANDS[c['verdict']]}" for c in lost]
        if not candidates:
            reasons.append("no requirement was found")
        awarded = {c["name"] for c in candidates if c["verdict"] in _PASSES}
        others = sorted(test for test in self.failed if not self._told(test, awarded))
        if others:
            shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
            reasons.append(f"{len(others)} failed otherwise than by a bar: {shown}")
        reasons += [f"{file} was skipped, with whatever it requires" for file in sorted(self.unread)]
        if status not in {0, 1} or (status == 1 and not self.failed):
            reasons.append(f"pytest's own status is {status}")
        return (max(1, status) if reasons else 0), reasons

    def _told(self, test: str, awarded: set[str]) -> bool:
        """Whether a failure is a bar's, and so already told by the verdict on a candidate not awarded."""
        each = self.expected.get(test)
        return each is not None and test not in self.not_bars and each.candidate not in awarded


def _rank(result: ResultRecord) -> int:
    return _WORST.index(result["verdict"]) if result["verdict"] in _WORST else len(_WORST)


_STANDS: dict[VerdictWord, str] = {
    "accept": "accepted",
    "waived": "accepted with a waiver",
    "reject": "not accepted",
    "inconclusive": "not accepted, because it is not decided",
    "not tested": "not accepted, because it is not fully tested",
    "invalid": "not accepted, because its measurement is invalid",
}


def _sentence(candidates: Sequence[CandidateRecord]) -> str:
    """Say of each offer what became of it."""
    if not candidates:
        return "Nothing was tested."
    return "; ".join(f"{c['name']} is {_STANDS[c['verdict']]}" for c in candidates) + "."
