"""What a published round says, as typed records: a result, where it came from, what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .score import Score, Undecided

#: summary: a row of the table MLCommons publishes; copy: a row republished by somebody else;
#: unofficial: a row of a round of test runs that nobody reviewed; log: one that no published row stands for.
Origin = Literal["summary", "copy", "unofficial", "log"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reader of the data has to know, at the place where it stands.

    A `fault` contradicts, breaks or misleads; without it the finding is a note.
    """

    code: str
    file: str
    where: str
    key: str
    message: str
    fault: bool = True

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.where, self.key) if part)
        return f"{place}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class Precision:
    """The weight data types as the submitter declared them: free text that nobody checks.

    `kinds` are the normal names found in it, empty when it is unlabelled. `doubt` says why this declaration
    is known to mislead, or is empty.
    """

    declared: str
    kinds: tuple[str, ...] = ()
    doubt: str = ""

    def __str__(self) -> str:
        return "+".join(self.kinds) if self.kinds else f"unlabelled ({self.declared or 'empty'})"


@dataclass(frozen=True, slots=True)
class Count:
    """How many accelerators a system has: nodes times accelerators per node, and what else is stated.

    `stated` is another number, found in `where`. One that stands beside the chip's name is `preferred`,
    because partly filled nodes make the product wrong; one in a system's name is only reported.
    """

    declared: int | None
    stated: int | None = None
    where: str = ""
    preferred: bool = False

    @property
    def best(self) -> int | None:
        """The number to divide by."""
        return self.stated if self.preferred or self.declared is None else self.declared

    @property
    def conflict(self) -> str:
        """Say how the two numbers differ, or nothing."""
        if self.stated is None or self.stated == self.declared:
            return ""
        product = "unknown" if self.declared is None else str(self.declared)
        return f"nodes x accelerators per node is {product}, the {self.where} says {self.stated}"


@dataclass(frozen=True, slots=True)
class Power:
    """Measured system power of a power submission: Watts, or millijoules a stream."""

    number: float
    unit: str


@dataclass(frozen=True, slots=True)
class Log:
    """What one `mlperf_log_summary.txt` says.

    `values` are the figures of the result and statistics blocks, by lower-case label; latencies are in ns.
    `early` maps a percentile to its early-stopping estimate in ns. `parameters` are those the run used.
    """

    file: str
    scenario: str
    mode: str
    validity: str
    values: Mapping[str, float]
    early: Mapping[float, float]
    parameters: Mapping[str, float]

    @property
    def fault(self) -> str:
        """Say why this log is no result, or nothing."""
        if not self.mode and not self.validity:
            return "it holds no result block: it is the stub of an accuracy run or a truncated log"
        if self.mode != "PerformanceOnly":
            return f"its mode is `{self.mode or 'missing'}`, not PerformanceOnly"
        if self.validity != "VALID":
            return f"its result line says `{self.validity or 'nothing'}`, not VALID"
        return ""


@dataclass(frozen=True, slots=True)
class System:
    """A system description; `fields` holds it as filed, each value as text."""

    file: str
    round: str
    division: str
    submitter: str
    platform: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """One run directory of a results checkout: performance log, accuracy, declared precision, user.conf.

    `key` is `division/submitter/results/system/model/scenario` in lower case: what a row's Location names.
    `detail` holds the `result_*` figures of `mlperf_log_detail.txt`. `accuracy` is by the label of the
    script.
    """

    key: str
    round: str
    division: str
    submitter: str
    platform: str
    model: str
    scenario: str
    log: Log | None = None
    detail: Mapping[str, float | str] = field(default_factory=dict)
    accuracy: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, str] = field(default_factory=dict)
    user_conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result(Undecided):
    """One row of a published table, or a log that no row stands for.

    `score` is in the true unit of the benchmark's metric, None where no usable number stands; `label` is the
    unit as published, and `label_fault` says why it contradicts the metric, or is empty.
    """

    round: str
    id: str
    submitter: str
    division: str
    suites: tuple[str, ...]
    availability: str
    platform: str
    system: str
    benchmark: str
    model: str
    scenario: str
    score: Score | None
    label: str
    label_fault: str
    accuracy: Mapping[str, float]
    nodes: int | None
    per_node: int | None
    count: Count
    accelerator: str
    processor: str
    software: str
    notes: str
    precision: Precision
    power: Power | None
    power_submission: bool
    inferred: bool
    location: str
    file: str
    where: str
    origin: Origin = "summary"
    run: Run | None = None

    def described(self) -> str:
        """Name the result."""
        return self.name

    @property
    def name(self) -> str:
        """Name the result as a selector does: `5.1-0069/llama2-70b-99.9/Server`."""
        system = self.id or f"{self.submitter}:{self.platform}"
        return f"{system}/{self.benchmark}/{self.scenario}"

    def is_of(self, system: str) -> bool:
        """Whether a name means this result's system: its ID, its platform, or `SUBMITTER:PLATFORM`."""
        return system in {self.id, self.platform, f"{self.submitter}:{self.platform}"} - {""}

    @property
    def system_key(self) -> tuple[str, ...]:
        """What one system's rows of one benchmark have in common."""
        return (self.round, self.id, self.submitter, self.platform, self.benchmark, self.model)

    @property
    def swapped_model(self) -> bool:
        """Whether an Open result swapped the benchmark's model for another."""
        return self.model != self.benchmark

    @property
    def chips(self) -> str:
        """Name accelerators and their count, or the processors of a system without any."""
        if not self.accelerator:
            return f"no accelerator ({self.processor or 'processor not named'})"
        return f"{self.count.best if self.count.best is not None else '?'}x {self.accelerator}"


@dataclass(frozen=True, slots=True)
class ForeignResult:
    """A number not made under MLPerf's rules: the buyer's own run, a vendor's slide, an Endpoints point."""

    name: str
    kind: Literal["own run", "vendor claim", "endpoints"] = "own run"
