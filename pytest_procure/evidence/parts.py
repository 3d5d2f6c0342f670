"""The parts of a case file: what stands beside a run's rows, so that the run can be measured again.

CaseFile
├── results            a run each
│   ├── run            RunPart: who ran, under which conditions, over which slice
│   │   └── launches   LaunchPart: what the driver saw of each launch beside its rows
│   ├── references     the runs that were interleaved with it, by candidate
│   ├── probes         the short runs of the search that it ended
│   └── carried        measurements that do not follow from the rows
├── own                the same, of no run: what the test measured itself, and what a search found
├── compared           ComparedPart, ConfirmedPart: each comparison, and what was compared
└── held               HeldPart: what seal and ledger say of it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pytest_procure.bars import Bar
from pytest_procure.decision import Policy
from pytest_procure.driver.audit import Audit
from pytest_procure.driver.endpoint.audit import EndpointAudit
from pytest_procure.isolation.endings import Ending
from pytest_procure.metrics import Metric
from pytest_procure.metrics.goodput import Limits
from pytest_procure.metrics.measurement import Confirmed, Corpus, Exact, Interval, Unmeasurable
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

from .record import DifferenceRecord, SeriesRecord, SweepRecord, WaiverRecord
from .shown import GalleryRecord


@dataclass(frozen=True, slots=True)
class SlicePart:
    """A slice: `described` is what the report says of it, `items` how many samples it has."""

    described: dict[str, Any]
    dataset: str
    items: int
    clustered: bool
    strata: tuple[str, ...]
    corpus: tuple[str, ...]  # names of metrics of all answers together
    weights: dict[str, float] | None  # of the strata, in production


@dataclass(frozen=True, slots=True)
class LaunchPart:
    """One launch: how many queries and samples of the log are its own, and what the driver saw."""

    queries: int
    samples: int
    samples_per_query: int
    window_ns: int
    warmup_ns: int
    stopped: str
    hung: bool
    endings: tuple[Ending, ...]
    audit: EndpointAudit | Audit
    conditions: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StagePart:
    """A stage of a pipeline, and what it costs."""

    name: str
    price: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RunPart:
    """An execution, without its rows: those are in `log`, and for an endpoint in the files of `wires` too."""

    log: str  # file, relative to the pack
    sha256: str
    wires: dict[str, str]  # file, relative to the pack -> SHA-256; {} for no endpoint
    cut: tuple[str, str] | None  # file and SHA-256 of the rows that were sent and not measured
    candidate: str
    instead: dict[str, Any] | None  # what another backend disclosed that ran in place of the offer's
    price: dict[str, Any] | None
    stages: tuple[StagePart, ...]  # of a pipeline
    scenario: Scenario
    slice: SlicePart
    scorers: tuple[str, ...]
    launches: tuple[LaunchPart, ...]
    errors: tuple[str, ...]  # what the backend raised, as the rows number it
    energy: tuple[float, ...] | None
    blocks: bool
    gallery: GalleryRecord | None

    def digests(self) -> dict[str, str]:
        """Give the SHA-256 of each file of its rows, by its path in the pack."""
        return {self.log: self.sha256, **self.wires, **dict([self.cut] if self.cut else [])}


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """A measurement as it was made: what it was made of is not in the log."""

    metric: Metric
    estimate: Quantity | None
    n: int
    n_unit: str
    basis: Interval | Exact | Corpus | Confirmed | Unmeasurable
    seconds: float


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A run, with those that were interleaved with it."""

    declared: bool  # of the marked scenario
    run: RunPart
    references: tuple[tuple[str, RunPart], ...]  # candidate, run
    probes: tuple[RunPart, ...]
    sweep: SweepRecord | None
    carried: tuple[MeasuredPart, ...]  # of all answers together: the answers themselves are not in the log


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """A comparison: of which result, or of which of the test's own values, against which bar."""

    bar: Bar
    strict: bool
    observed_only: bool
    result: int | None  # place among the results; None for an own value
    own: int | None  # place among the own values
    limits: Limits | None  # of goodput


@dataclass(frozen=True, slots=True)
class ConfirmedPart:
    """The bars of a search, held against the run that confirms what it found."""

    confirmed: int  # place among the results
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class HeldPart:
    """What seal and ledger say of a requirement on a candidate, as its test ended."""

    differences: list[DifferenceRecord]
    series: SeriesRecord | None
    waiver: WaiverRecord | None


@dataclass(frozen=True, slots=True)
class Requirement:
    """What was asked of which offer, as it was known before the test ran."""

    id: str
    question: str
    test: str
    candidate: str
    scenario: Scenario
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A test, from what it asked to what was measured: everything that its verdict follows from."""

    format: Literal["pytest-procure/case"]
    version: Literal[1]
    asked: Requirement
    policy: Policy
    tested: bool  # False: nothing was run, and `problem` says why
    problem: str
    remark: str  # said after the judging, where there was no problem: `marked xfail`
    held: HeldPart | None
    results: tuple[ResultPart, ...]
    own: tuple[MeasuredPart, ...]  # of one name the last counts
    compared: tuple[ComparedPart | ConfirmedPart, ...]
    not_reached: tuple[tuple[str, str], ...]
    disclosed: dict[str, Any]
