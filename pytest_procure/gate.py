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
from .evidence.waivers import words as waived_words

Award = Literal["all", "any"]

#: pytest's own statuses for a session that did not end as sessions end: they are kept.
_BROKEN = {2: "the session was interrupted", 3: "pytest failed inside", 4: "pytest was used wrongly"}
#: What ended a session before its last test, by its status; the second is that of a killed one.
_CUT_OFF = {2: "interrupted", 137: "killed"}
_PASSES = {"accept", "waived"}
#: What decides an offer, the worst first.
_ORDER: tuple[VerdictWord, ...] = ("reject", "invalid", "not tested", "inconclusive", "waived", "accept")
_SCREENED = "a short screening found nothing against it"


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
    right: dict[str, dict[str, Any]] = field(default_factory=dict)  # by test: items answered right
    rerun: dict[str, int] = field(default_factory=dict)
    deselected: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)  # tests that failed or erred in any phase, ours or foreign
    not_bars: set[str] = field(default_factory=set)  # those that failed otherwise than by their bars
    unread: set[str] = field(default_factory=set)  # files of the suite that were skipped as a whole
    notes: list[str] = field(default_factory=list)
    published: dict[str, PublishedRecord] = field(default_factory=dict)  # context, by what it stands beside
    screen: bool = False  # a screening accepts nothing
    held_back: dict[str, list[str]] = field(default_factory=dict)  # by test: what keeps it from acceptance
    absent: set[str] = field(default_factory=set)  # tests that are sealed, and were not collected
    crashed: set[str] = field(default_factory=set)  # tests in which a worker process died
    stopped: str = ""  # why the session stopped before its last test
    left_out: str = ""  # what on the command line leaves tests out, in words
    faults: list[str] = field(default_factory=list)  # what is amiss with the evidence itself

    def expect(self, expected: Iterable[Expected], candidates: dict[str, dict[str, Any]]) -> None:
        """Register requirements and the offers they are asked of."""
        for each in expected:
            self.expected.setdefault(each.test, each)
        for name, stated in candidates.items():
            self.candidates.setdefault(name, stated)

    def receive(
        self, result: ResultRecord, disclosed: dict[str, Any], right: dict[str, Any] | None = None
    ) -> None:
        """Take a result. Of several on one test the first decides; later ones are counted and shown."""
        test = result["test"]
        if disclosed:
            self.disclosed.setdefault(result["candidate"], disclosed)
        if test in self.results:
            self.rerun[test] = self.rerun.get(test, 1) + 1
            return
        self.results[test] = result
        if right is not None:
            self.right[test] = right

    def judged(self) -> list[str]:
        """Name the offers that anything was asked of."""
        asked = {each.candidate for each in self.expected.values()}
        return [name for name in self.candidates if name in asked]

    def conclude(self, status: int) -> tuple[list[RequirementRecord], list[CandidateRecord], Outcome]:
        """Join everything into requirements, candidates and the outcome; `status` is pytest's own."""
        requirements = self._requirements(_CUT_OFF.get(status, ""))
        candidates = self._judged(requirements)
        accepted = [c for c in candidates if c["verdict"] in _PASSES]
        enough = bool(accepted) and (self.award == "any" or len(accepted) == len(candidates))
        exit_status, reasons = self._exit(status, enough=enough, candidates=candidates)
        return (
            requirements,
            candidates,
            {
                "accepted": enough and exit_status == 0 and not self.screen,
                "award": self.award,
                "sentence": self._sentence(candidates),
                "exit_status": exit_status,
                "reasons": reasons,
            },
        )

    def _requirements(self, cut_off: str) -> list[RequirementRecord]:
        found: dict[str, RequirementRecord] = {}
        for test, each in self.expected.items():
            requirement = found.setdefault(
                each.id, {"id": each.id, "question": each.question, "scenario": each.scenario, "results": []}
            )
            requirement["results"].append(
                self._counted(self.results.get(test) or self._missing(each, cut_off))
            )
        return list(found.values())

    def _counted(self, result: ResultRecord) -> ResultRecord:
        """Give a result as it counts: nothing is accepted that is held back, nor by a screening."""
        reasons = self.held_back.get(result["test"])
        if result["verdict"] in _PASSES and reasons:
            return {
                **result,
                "verdict": "inconclusive",
                "sentence": reasons[0],
                "problem": "; ".join(reasons),
            }
        if self.screen and result["verdict"] in _PASSES:
            return {**result, "verdict": "inconclusive", "sentence": _SCREENED}
        return result

    def _why_missing(self, test: str, cut_off: str) -> str:
        """Say why a requirement has no result, as far as it is known."""
        file = test.partition("::")[0]
        why = self.left_out or "no such test was collected"
        known = {
            "it was deselected": test in self.deselected,
            "the process that ran it died": test in self.crashed,
            "its file could not be collected": file in self.failed,
            "its file was skipped": file in self.unread,
            f"it is sealed, and was left out of this run; {why}": test in self.absent,
            f"it never ran: the session stopped before it ({self.stopped})": bool(self.stopped),
            f"it never ran: the session was {cut_off} before it": bool(cut_off),
        }
        unknown = "it never ran: the session stopped before it, it was deselected, or its process died"
        return next((said for said, holds in known.items() if holds), unknown)

    def _missing(self, each: Expected, cut_off: str) -> ResultRecord:
        problem = self._why_missing(each.test, cut_off)
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
                    else _meets(results),
                }
            )
        return judged

    def _exit(
        self, status: int, *, enough: bool, candidates: Sequence[CandidateRecord]
    ) -> tuple[int, list[str]]:
        if status in _BROKEN:
            return status, [_BROKEN[status]]
        lost = [c for c in candidates if c["verdict"] not in _PASSES]
        if self.screen:
            lost = [c for c in candidates if c["verdict"] in {"reject", "invalid"}]
            enough = not lost
        reasons = [] if enough else [f"{c['name']}: {self._stands(c)}" for c in lost]
        reasons += self.faults
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

    def _sentence(self, candidates: Sequence[CandidateRecord]) -> str:
        """Say of each offer what became of it."""
        if not candidates:
            return "Nothing was tested."
        said = "; ".join(f"{c['name']} is {self._stands(c)}" for c in candidates) + "."
        return f"Screening only, which accepts nothing: {said}" if self.screen else said

    def _stands(self, candidate: CandidateRecord) -> str:
        """Say how an offer stands, and by whose leave, or what keeps it out although its bars are met."""
        verdict, name = candidate["verdict"], candidate["name"]
        if verdict == "waived":
            waived = [r["waiver"] for r in self.results.values() if r["candidate"] == name and "waiver" in r]
            return f"{_STANDS[verdict]}: {', '.join(map(waived_words, waived))}"
        if verdict == "inconclusive" and candidate["sentence"] == _SCREENED:
            return "not turned down"
        held_back = {reasons[0] for reasons in self.held_back.values()}
        if verdict == "inconclusive" and candidate["sentence"] in held_back:
            return f"not accepted, because the run is not as sealed ({candidate['sentence']})"
        return _STANDS[verdict]


def _rank(result: ResultRecord) -> int:
    return _ORDER.index(result["verdict"])


def _meets(results: Sequence[ResultRecord]) -> str:
    waived = [result["sentence"] for result in results if result["verdict"] == "waived"]
    met = len(results) - len(waived)
    told = f"meets all that was asked ({len(results)} requirement{'s' * (len(results) > 1)})"
    if not waived:
        return told
    return f"meets {met} of {len(results)} requirements; {'; '.join(waived)}"


_STANDS: dict[VerdictWord, str] = {
    "accept": "accepted",
    "waived": "accepted with a waiver",
    "reject": "not accepted",
    "inconclusive": "not accepted, because it is not decided",
    "not tested": "not accepted, because it is not fully tested",
    "invalid": "not accepted, because its measurement is invalid",
}
