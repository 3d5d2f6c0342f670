"""The record: everything a report says, as plain JSON data (`verdict.json`).

    Record
    ├── outcome            the decision in words, and the exit status with its reasons
    ├── candidates         what was offered, each with its verdict
    ├── requirements       one committee question each
    │   └── results        one a candidate: verdict, findings, run
    │       ├── findings   bar + measurement + verdict
    │       └── runs       scenario, slice, latency curve, audit; the curve of a sweep, and its short runs
    ├── seal               what was fixed before the run, and where the run differs from it
    ├── ledger             every run of the sealed suite, this one and those before
    └── environment, rule  how it was measured and decided

Numbers are finite floats, ints or strings; nothing is null where a number was measured, and nothing is 0
where none was. The same record renders to the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from . import plain
from .shown import GalleryRecord, PairRecord, StageRecord, TimelineRecord

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
        "quality",
        "latency",
        "goodput",
        "throughput",
        "errors",
        "cost",
        "energy",
        "memory",
        "condition",
        "own",
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
    observed_only: bool  # outside an assert, in an arm of `or`, of another backend: decides nothing
    looks: NotRequired[int]  # runs of the same test not held to it: each halves the risk; none where absent
    evidence_class: NotRequired[str]  # "measured on our task", or "term of the offer": a declared price
    characteristic: NotRequired[list[list[float]]]  # [true share, chance to accept], where a share decides


class SweepPoint(TypedDict):
    """One short run of a sweep or a search, or the run that confirms it: a point of the curve.

    Latencies are ms by nearest rank from the scheduled time, failures as infinitely slow: None where the
    percentile falls among the failures, so never 0.
    """

    offered: float  # requests a second, or requests in flight, as `by` says
    achieved: float  # good answers a second
    p50: float | None
    p95: float | None
    p99: float | None
    ok: bool  # the point values met every bar of the search; it decides nothing, the confirming run does
    role: Literal["sweep", "bracket", "bisect", "confirm"]
    requests: int
    failed: int
    seconds: float
    late: bool  # the harness was at fault, so a bar that this point missed tells nothing


class SweepRecord(TypedDict):
    """The latency-throughput curve that a search for capacity, or a sweep, has drawn."""

    by: Literal["rate", "concurrency"]  # what was swept: requests a second, or requests in flight
    points: list[SweepPoint]  # in the order in which they were run; sort by `offered` to draw
    bars: list[str]  # that `ok` was judged by, in words; [] for a sweep without bars
    found: float | None  # the offered value that the confirming run confirmed; None: nothing was confirmed
    sentence: str  # what was found, in words


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
    instead: NotRequired[dict[str, Any]]  # what another backend discloses that ran in place of the offer's
    sweep: NotRequired[SweepRecord]  # of the run that a search ended with, or the last run of a sweep
    probe: NotRequired[bool]  # True: a short run of a search or sweep, which is a point of `sweep` only
    timeline: NotRequired[TimelineRecord]
    stages: NotRequired[list[StageRecord]]  # of a pipeline, in order
    gallery: NotRequired[GalleryRecord]
    log: NotRequired[str]  # file of the request log, relative to the report
    log_sha256: NotRequired[str]
    cut_log: NotRequired[str]  # of the first part of the run, which was sent and not measured (`cut=`)
    cut_log_sha256: NotRequired[str]
    stream: NotRequired[dict[str, Any]]  # of an endpoint: token times, tokens, failures, attempts; else {}
    wire_sha256: NotRequired[dict[str, str]]  # file of what an endpoint's driver saw -> digest


class SeriesRecord(TypedDict):
    """Which run of a sealed requirement on one candidate digest this is."""

    run: int  # k: runs that began before it, and itself; neither screenings nor pilots
    of: int  # m: all that the ledger holds at the end
    aborted: int  # j of those m: begun, and not all of their requests answered
    candidate: str  # digest of what was offered; another one starts another series
    reason: str  # why it was run again, as declared; "" for a first run
    consumer_risk: float  # that this run is judged at
    ledger_id: str  # of its entries


class DifferenceRecord(TypedDict):
    """One thing in which a run is not what was sealed."""

    kind: Literal["changed", "added", "missing", "loosened", "not pre-registered"]
    id: str  # what `--procure-deviation` names: a requirement, a candidate, a dataset, a file, `suite`
    what: str  # the part of it, in words
    sealed: str  # "" where there was nothing
    ran: str
    sentence: str
    declarable: bool  # whether a declared deviation lets it pass; a loosened bar never does
    declared: bool
    candidate: str  # that it concerns; "" for all


class DeviationRecord(TypedDict):
    """A deviation from the sealed spec, as declared on the command line."""

    id: str
    reason: str
    approver: str
    used: bool  # whether the run differs there at all


class WaiverRecord(TypedDict):
    """Who lets a requirement pass that is not met, why and until when."""

    requirement: str
    candidate: str  # "" for every candidate
    owner: str
    reason: str
    expires: str  # ISO 8601 date, the last day on which it holds
    state: Literal["in force", "not needed", "expired", "not sealed"]


class SealRecord(TypedDict):
    """What was fixed before the run, and whether the run kept to it."""

    state: Literal["unsealed", "sealed", "deviating", "expired", "screen"]
    required: bool  # ini key `procure_require_seal`
    file: str  # of the spec, without its folder; "" if there is none
    spec: str  # SHA-256 of its canonical JSON; "" if there is none
    sealed: str  # when, by the ledger: ISO 8601, UTC; "" if there is none
    expires: str  # ISO 8601 date, "" if it does not say
    retest: list[str]  # what asks for a new run
    differences: list[DifferenceRecord]
    sentence: str


class LedgerRun(TypedDict):
    """One run as the ledger tells it."""

    id: str
    kind: Literal["run", "screen", "pilot"]
    requirement: str
    candidate: str
    candidate_digest: str
    model: str  # digest of what its backend disclosed of its model; "" where an entry does not say
    spec: str
    begun: str  # ISO 8601, UTC
    state: Literal["complete", "aborted"]  # aborted: begun, and ended before all requests were answered
    verdict: str  # as it was at its end; "" for one that did not come to its end
    as_sealed: bool  # whether it kept to its seal, but for deviations that were declared
    reason: str  # why it was run again, as declared
    here: bool  # whether it is a run of this session


class EarlierSeal(TypedDict):
    """A seal of another spec, under which something was asked before the one in force was sealed."""

    spec: str  # SHA-256 of its canonical JSON
    sealed: str  # ISO 8601, UTC
    runs: int  # that began under it
    looks: int  # screenings and pilots


class LedgerRecord(TypedDict):
    """The ledger at the end of the session."""

    file: str  # without its folder
    entries: int
    head: str  # SHA-256 of the last entry: whoever keeps it elsewhere can show that nothing was cut off
    anchored: bool  # whether a head kept elsewhere was given, and found
    runs: list[LedgerRun]
    earlier: list[EarlierSeal]
    sentence: str


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
    series: NotRequired[SeriesRecord]  # of a sealed requirement
    differences: NotRequired[list[DifferenceRecord]]  # of what ran from what was sealed
    waiver: NotRequired[WaiverRecord]  # the sealed one that lets it pass; its verdict is then `waived`


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

    accepted: bool  # never of a screening
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
    valid_until: NotRequired[str]  # ISO 8601 date, as the suite declares; the last day
    paired: NotRequired[list[PairRecord]]  # candidates side by side on the same items
    mode: NotRequired[Literal["acceptance", "screen"]]
    seal: NotRequired[SealRecord]
    ledger: NotRequired[LedgerRecord]  # where there is a seal
    deviations: NotRequired[list[DeviationRecord]]
    waivers: NotRequired[list[WaiverRecord]]


def dumps(record: Record) -> str:
    """Write a record as JSON: sorted keys, no NaN, one trailing newline. The same record, the same bytes."""
    return plain.dumps(record)
