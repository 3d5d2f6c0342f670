"""The record: everything a report says, as plain JSON data (`verdict.json`).

    Record
    ├── outcome            the decision in words, and the exit status with its reasons
    ├── candidates         what was offered, each with its verdict
    ├── requirements       one committee question each
    │   └── results        one a candidate: verdict, findings, run
    │       ├── findings   bar + measurement + verdict
    │       └── runs       scenario, slice, latency curve, audit
    └── environment, rule  how it was measured and decided

Numbers are finite floats, ints or strings; nothing is null where a number was measured, and nothing is 0
where none was. The same record renders to the same bytes.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NotRequired, TypedDict

FORMAT = "pytest-procure/verdict"
VERSION = 1  # 1: first format

VerdictWord = Literal["accept", "reject", "inconclusive", "not tested", "waived", "invalid"]


class Amount(TypedDict):
    """A number with its unit, and as people read it."""

    number: float
    unit: str
    text: str


class FindingRecord(TypedDict):
    """A bar, what was measured against it, and the verdict."""

    metric: str  # accuracy, latency.p95, cost_per_request ...
    title: str  # in plain words: "slowest 5 in 100 requests"
    kind: Literal[
        "quality", "latency", "goodput", "throughput", "errors", "cost", "energy", "condition", "own"
    ]
    sense: Literal["at least", "at most"]
    bar: Amount
    estimate: Amount | None  # None: not measurable, `sentence` says why
    low: Amount | None  # likely range; None: there is no interval, `sentence` says why
    high: Amount | None
    n: int
    n_unit: str  # "samples", "requests", "launches"
    n_effective: float
    design_effect: float
    confidence: float  # of each end of the range, one-sided
    verdict: VerdictWord
    sentence: str  # what was found, in words
    rule: str  # the decision rule that was applied, in words
    hint: str  # what would decide it, if undecided
    source: Literal["declared", "asserted", "condition"]
    text: str  # the assert or the mark as written
    where: str  # file:line
    struck: bool  # shown, but decides nothing: the quality bars are not met
    observed_only: bool  # compared outside an assert, or in an arm of `or`: decides nothing


class RunRecord(TypedDict):
    """One execution of a scenario on a candidate over a slice."""

    candidate: str  # who ran; in a comparison the reference's run stands beside the candidate's
    label: str  # the scenario in words
    conditions: dict[str, Any]
    declared: bool  # the marked scenario, not one with explicit arguments
    requests: int
    ok: int
    failures: dict[str, int]  # "error", "timeout", "lost", "empty" -> count, where above 0
    error_texts: list[str]  # a few of what the backend raised
    seconds: float
    latency_ms: dict[str, float]  # "p50", "p90", "p95", "p99", "max", those below the failures; {} offline
    curve: list[list[float]]  # [share of requests, ms], rising, up to the share that was answered; [] offline
    slice: dict[str, Any]  # name, version, licence, rule, n, of, strata, digest, caveats
    scores: dict[str, float]  # scorer -> mean
    strata: list[dict[str, Any]]  # {"stratum", "n", "share"} of the first scorer
    audit: dict[str, Any]
    faults: list[str]  # the harness's own
    notes: list[str]  # the candidate's: backlog, queries unsent
    stopped: str  # why it ended early; "" for a complete run
    log: NotRequired[str]  # file of the request log, relative to the report
    log_sha256: NotRequired[str]


class ResultRecord(TypedDict):
    """A requirement on one candidate."""

    candidate: str
    test: str  # node id
    verdict: VerdictWord
    sentence: str
    problem: str  # why nothing could be said; "" otherwise
    findings: list[FindingRecord]
    not_reached: list[dict[str, str]]  # asserts after the one that failed: {"text", "where"}
    runs: list[RunRecord]


class RequirementRecord(TypedDict):
    """One committee question."""

    id: str  # node id without the candidate
    question: str
    scenario: str
    results: list[ResultRecord]


class CandidateRecord(TypedDict):
    """One offer and what became of it."""

    name: str
    vendor: str
    precision: str
    hardware: str
    price: dict[str, Any]  # {} if none; "label" in words, "currency", ...
    backend: dict[str, Any]  # runtime, provider, model digest, ... as disclosed
    notes: str
    verdict: VerdictWord
    sentence: str


class PublishedRecord(TypedDict):
    """A published MLPerf score beside a requirement or an offer: context, never evidence."""

    about: str  # what it stands beside
    score: str  # number and unit, as published
    citation: str  # in the form that MLCommons asks for
    footnote: str
    evidence_class: str  # "public reference"
    rows: list[dict[str, str]]  # {"aspect", "published", "ours", "verdict": same | differs | unknown}
    transfers: str  # the sentence on what carries over
    can: list[str]  # what may be read from the score
    cannot: list[str]


class Outcome(TypedDict):
    """The decision."""

    accepted: bool
    award: Literal["all", "any"]
    sentence: str  # for the committee
    exit_status: int
    reasons: list[str]  # why the exit status is what it is


class Record(TypedDict):
    """The whole of `verdict.json`."""

    format: str
    version: int
    title: str  # "" where the suite does not say; shown as missing
    decision: str
    measured_by: str
    measured_for: str
    started: str  # ISO 8601, UTC
    finished: str
    plugin_version: str
    command: str
    consumer_risk: float
    rejection_risk: float
    rule: list[str]  # the decision rule, a sentence each
    outcome: Outcome
    candidates: list[CandidateRecord]
    requirements: list[RequirementRecord]
    datasets: list[dict[str, Any]]  # describe() of each slice used, once
    published: list[PublishedRecord]  # public benchmarks as context
    environment: dict[str, Any]
    notes: list[str]  # things to know: workers, deselections, foreign failures


def dumps(record: Record) -> str:
    """Write a record as JSON: sorted keys, no NaN, one trailing newline. The same record, the same bytes."""
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"
