"""The finding that decides over a candidate: what a reader wants to know first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_procure.evidence.headline import headline
from pytest_procure.evidence.record import (
    CandidateRecord,
    FindingRecord,
    Record,
    RequirementRecord,
    ResultRecord,
    RunRecord,
    VerdictWord,
)

#: A candidate's verdict comes from the first of these that it met with.
_GRAVEST: tuple[VerdictWord, ...] = ("reject", "invalid", "not tested", "inconclusive", "waived", "accept")


class Deciding(NamedTuple):
    """Where a candidate's verdict was decided."""

    requirement: RequirementRecord
    result: ResultRecord
    finding: FindingRecord | None  # None: nothing was measured, `result["problem"]` says why


def declared_run(runs: Sequence[RunRecord]) -> RunRecord | None:
    """Pick the run of the marked scenario; without one, the first."""
    return next((run for run in runs if run["declared"]), runs[0] if runs else None)


def counted(result: ResultRecord) -> list[FindingRecord]:
    """List the findings of a result that can decide: neither struck out nor only observed."""
    return [f for f in result["findings"] if not (f["struck"] or f["observed_only"])]


def finding_of(result: ResultRecord) -> FindingRecord | None:
    """Pick the finding that says most about why a result is what it is."""
    return headline(f for f in counted(result) if f["verdict"] == result["verdict"])


def deciding(record: Record, candidate: CandidateRecord) -> Deciding | None:
    """Find what decided over a candidate; None if no requirement was put to it."""
    own = list(_results(record, candidate["name"]))
    for verdict in (candidate["verdict"], *_GRAVEST):
        found = [Deciding(q, r, finding_of(r)) for q, r in own if r["verdict"] == verdict]
        if found:
            best = headline(d.finding for d in found if d.finding is not None)
            return next((d for d in found if best is not None and d.finding is best), found[0])
    return None


def cards(record: Record) -> list[tuple[CandidateRecord, Deciding | None]]:
    """Pair each candidate with its deciding finding.

    A candidate that was accepted is shown by the bar that turned another one down, so that the two numbers
    stand side by side.
    """
    decided = [(candidate, deciding(record, candidate)) for candidate in record["candidates"]]
    turned_down = (d for c, d in decided if d and d.finding and c["verdict"] in {"reject", "inconclusive"})
    focus = next(turned_down, None)
    if focus is None:
        return decided
    return [(c, (_same_bar(record, c, focus) or d) if c["verdict"] == "accept" else d) for c, d in decided]


def _same_bar(record: Record, candidate: CandidateRecord, focus: Deciding) -> Deciding | None:
    for requirement, result in _results(record, candidate["name"]):
        if requirement["id"] == focus.requirement["id"]:
            for finding in counted(result):
                if bar_key(finding) == bar_key(focus.finding):
                    return Deciding(requirement, result, finding)
    return None


def bar_key(finding: FindingRecord | None) -> tuple[str, str, str, str]:
    """Tell bars apart within a requirement, across candidates."""
    if finding is None:
        return ("", "", "", "")
    return (finding["metric"], finding["sense"], finding["bar"]["text"], finding["source"])


def _results(record: Record, candidate: str) -> Iterator[tuple[RequirementRecord, ResultRecord]]:
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            if result["candidate"] == candidate:
                yield requirement, result
