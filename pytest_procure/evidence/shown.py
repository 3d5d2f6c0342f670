"""What a record holds of a run to be drawn and looked at: it decides nothing."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class TimelineRecord(TypedDict):
    """A run in equal steps of time; the columns have one value a step. Times are seconds from its begin."""

    step: float
    warmup: float  # how long the candidate was warmed up before; 0 where that was not measured
    launches: list[float]  # when each launch began; the pauses between them are left out
    due: list[int]  # requests by their scheduled time
    answered: list[int]  # good answers by their completion
    failed: list[int]  # requests that failed, by their scheduled time
    half_ms: list[float | None]  # p50 of the requests due in a step; None: that many were not answered
    slow_ms: list[float | None]  # p95; both [] where all requests are due at once
    stalls: list[list[float]]  # [from, how long]: something was due, and nothing was answered


class StageRecord(TypedDict):
    """One stage of a pipeline: the part of a request's time that it took."""

    name: str
    mean_ms: float  # over the good answers of the run; the stages of a run add up to its mean latency
    p95_ms: float
    reached: NotRequired[int]  # samples that came to the stage; missing for `waiting`, which is no stage
    failed: NotRequired[int]  # of these, or unknown: what a request that was never answered did is not known
    score: NotRequired[float]  # mean of what the stage gave, where the dataset labels it
    cost: NotRequired[str]  # of one sample, in words, where the stage is priced


class FailureRecord(TypedDict):
    """A sample that was answered badly. What was asked and answered is left out where it is withheld."""

    item: int  # of the slice, from 0
    stratum: str  # "" where no groups are declared
    picked: Literal["worst", "random"]
    score: float  # mean over its answers
    asked: int  # how often
    answered: NotRequired[str]
    expected: NotRequired[str]
    image: NotRequired[str]  # PNG in base64, 32 pixels a side at most
    text: NotRequired[str]  # of a sample that is plain data


class GalleryRecord(TypedDict):
    """The failure gallery of a run."""

    scorer: str
    failures: int  # items that failed
    of: int  # items that were asked
    withheld: bool  # the dataset keeps its samples to itself
    shown: list[FailureRecord]


class PairRecord(TypedDict):
    """Two candidates on the same items: the difference of their mean scores. Context: it decides nothing."""

    requirement: str  # its id
    scorer: str
    candidate: str
    other: str
    difference: float  # candidate less other
    low: float  # likely range, each end one-sided at `confidence`: Newcombe's method 10, or by Student's t
    high: float
    confidence: float
    n: int  # items that both were asked
    only_candidate: int  # items that only the candidate got right, or that it did better on
    only_other: int
