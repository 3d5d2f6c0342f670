"""The session file: what a session knew beside its tests, and the record that follows from both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_procure.concluding import FURTHER_RUNS, hold_back
from pytest_procure.decision import Policy
from pytest_procure.disclosure import notes_of
from pytest_procure.gate import Award, Expected, Gate
from pytest_procure.wording import decision_rule

from .pairs import paired
from .record import FORMAT, VERSION, PublishedRecord, Record, RequirementRecord, ResultRecord
from .sealed import SealedPart

SESSION_FORMAT = "pytest-procure/session"
#: What the suite's settings state, by the name that it has in the record.
STATED = ("title", "decision", "measured_by", "measured_for", "valid_until")


@dataclass(frozen=True, slots=True)
class GatePart:
    """What the gate saw, but for the results: those follow from the case files. Order is kept in lists."""

    award: Award
    expected: tuple[Expected, ...]
    candidates: tuple[tuple[str, dict[str, Any]], ...]  # name, what the offer states
    published: tuple[tuple[str, PublishedRecord], ...]
    disclosed: dict[str, dict[str, Any]]
    rerun: dict[str, int]
    deselected: set[str]
    failed: set[str]
    not_bars: set[str]
    unread: set[str]
    absent: set[str]
    crashed: set[str]
    received: set[str]  # tests whose results came in: one may be lost on its way
    stopped: str
    left_out: str

    @classmethod
    def of(cls, gate: Gate) -> GatePart:
        """Write a gate down."""
        return cls(
            gate.award,
            tuple(gate.expected.values()),
            tuple(gate.candidates.items()),
            tuple(gate.published.items()),
            received=set(gate.results),
            **{name: getattr(gate, name) for name in _KEPT},
        )

    def gate(self, results: Iterable[ResultRecord]) -> Gate:
        """Make the gate again, with these results."""
        made = Gate(self.award, **{name: getattr(self, name) for name in _KEPT})
        made.expect(self.expected, dict(self.candidates))
        made.published.update(dict(self.published))
        by_test: dict[str, ResultRecord] = {}
        for result in results:
            if result["test"] in self.received:
                by_test.setdefault(result["test"], result)
        places = {expected.test: place for place, expected in enumerate(self.expected)}
        # In the order of the tests, whichever process or file they come from.
        for test in sorted(by_test, key=lambda test: (places.get(test, len(places)), test)):
            made.results[test] = by_test[test]
        return made


_KEPT = (
    "disclosed",
    "rerun",
    "deselected",
    "failed",
    "not_bars",
    "unread",
    "absent",
    "crashed",
    "stopped",
    "left_out",
)


@dataclass(frozen=True, slots=True)
class SessionFile:
    """Who measured for whom and when; what the gate saw; and how pytest ended."""

    format: Literal["pytest-procure/session"]
    version: Literal[1]
    title: str
    decision: str
    measured_by: str
    measured_for: str
    valid_until: str  # ISO 8601 date; "" if the suite does not say
    started: str  # ISO 8601, UTC
    finished: str
    plugin_version: str
    command: str
    policy: Policy
    status: int  # pytest's own exit status
    gate: GatePart
    sealed: SealedPart
    notes: tuple[str, ...]


def _largest_risk(requirements: Iterable[RequirementRecord]) -> float | None:
    """Give the largest consumer's risk that a bar was decided at; None where none decided."""
    findings = (f for q in requirements for result in q["results"] for f in result["findings"])
    return max((round(1.0 - f["confidence"], 6) for f in findings if not f["observed_only"]), default=None)


def record_of(
    file: SessionFile,
    results: Iterable[ResultRecord],
    environment: dict[str, Any],
    *,
    right: Mapping[str, dict[str, Any]],
) -> Record:
    """Conclude: the record follows from the session file, the tests' results and the environment alone.

    right: test -> how its marked run answered each item, as `answered_right` gives them.
    """
    gate = file.gate.gate(results)
    sealed = hold_back(file.sealed, gate)
    known = {test: told for test, told in right.items() if test in gate.results}
    requirements, candidates, outcome = gate.conclude(file.status)
    runs = [run for q in requirements for result in q["results"] for run in result["runs"]]
    slices = {run["slice"]["digest"]: run["slice"] for run in runs}
    record: Record = {
        "format": FORMAT,
        "version": VERSION,
        "title": file.title,
        "decision": file.decision,
        "measured_by": file.measured_by,
        "measured_for": file.measured_for,
        "started": file.started,
        "finished": file.finished,
        "plugin_version": file.plugin_version,
        "command": file.command,
        "consumer_risk": file.policy.consumer_risk,
        "rejection_risk": file.policy.rejection_risk,
        "rule": decision_rule(file.policy, _largest_risk(requirements))
        + [FURTHER_RUNS] * bool(file.sealed.spec),
        "outcome": outcome,
        "candidates": candidates,
        "requirements": requirements,
        "datasets": list(slices.values()),
        "published": list(gate.published.values()),
        "environment": environment,
        "notes": [*file.notes, *notes_of(candidates)],
        "valid_until": file.valid_until,
        "paired": paired(
            requirements, known, confidence=file.policy.confidence, least=file.policy.min_clusters
        ),
    }
    record.update(sealed)  # type: ignore[typeddict-item] # keys of it, and no others
    return record
