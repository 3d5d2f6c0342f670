"""The metrics a bar may be put on, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pytest_procure.errors import DeclarationError, unknown

Kind = Literal["quality", "latency", "goodput", "throughput", "errors", "cost", "energy", "condition", "own"]

_PERCENTILE = re.compile(r"latency\.p(\d{1,2}(?:\.\d+)?)")
_NAMED = re.compile(r"(quality|corpus|own)\.(\w[\w.-]*)")
_COMMON = ("latency.p50", "latency.p90", "latency.p95", "latency.p99", "latency.p99.9")


@dataclass(frozen=True, slots=True)
class Metric:
    """A name, what it means in plain words, and which direction is better."""

    name: str
    title: str
    kind: Kind
    dimension: str  # of a bar on it: duration, number, rate, money; "" for an author's own
    better: Literal["low", "high", ""]  # "" where only the author knows

    @property
    def q(self) -> Decimal:
        """The percentile of a latency metric as a share: 0.95."""
        match = _PERCENTILE.fullmatch(self.name)
        assert match is not None, f"{self.name} is no percentile"
        return Decimal(match[1]) / 100

    @property
    def shares(self) -> bool:
        """Whether a bar on it is a share of samples or requests, between 0 and 1."""
        return self.kind in {"quality", "errors", "goodput"} and not self.of_corpus

    @property
    def of_corpus(self) -> bool:
        """Whether it is one number of all answers, on a scale of its own."""
        return self.name.startswith("corpus.")

    @property
    def timed(self) -> bool:
        """Whether a harness that was late can have made it worse."""
        return self.kind in {"latency", "goodput", "throughput", "energy", "condition"}


ACCURACY = Metric("accuracy", "answers right", "quality", "number", "high")
ERROR_RATE = Metric("error_rate", "requests failed", "errors", "number", "low")
THROUGHPUT = Metric("throughput", "samples a second", "throughput", "rate", "high")
COST = Metric("cost_per_request", "cost per request", "cost", "money", "low")
COST_PER_CORRECT = Metric("cost_per_correct", "cost per right answer", "cost", "money", "low")
COST_PER_ACCEPTED = Metric("cost_per_accepted", "cost per accepted answer", "cost", "money", "low")
ENERGY = Metric("energy_per_request", "energy per request", "energy", "energy", "low")
GOODPUT = Metric("goodput", "requests within all limits at once", "goodput", "number", "high")
SUSTAINED = Metric("sustained_rate", "requests answered at the declared rate", "condition", "number", "high")

_FIXED = {
    metric.name: metric
    for metric in (
        ACCURACY,
        ERROR_RATE,
        THROUGHPUT,
        COST,
        COST_PER_CORRECT,
        COST_PER_ACCEPTED,
        ENERGY,
        GOODPUT,
    )
}


def metric(name: str) -> Metric:
    """Find a metric by name; `DeclarationError` with the nearest valid name if there is none."""
    if not isinstance(name, str):
        raise DeclarationError(f"a metric is named by a text such as `latency.p95`, not by {name!r}")
    if name in _FIXED:
        return _FIXED[name]
    if (match := _PERCENTILE.fullmatch(name)) and float(match[1]) > 0:
        return Metric(name, _tail(Decimal(match[1])), "latency", "duration", "low")
    if match := _NAMED.fullmatch(name):
        if match[1] == "corpus":
            return Metric(name, match[2].replace("_", " "), "quality", "number", "")
        if match[1] == "quality":
            return Metric(name, f"score {match[2]}", "quality", "number", "high")
        return Metric(name, match[2], "own", "", "")
    open_names = ("quality.SCORER", "corpus.NAME", "own.NAME")
    raise DeclarationError(unknown("metric", name, [*_FIXED, *_COMMON, *open_names]))


def _tail(percent: Decimal) -> str:
    """Words for a percentile: p95 is about the slowest 5 in 100 requests."""
    rest, of = 100 - percent, 100
    while rest != rest.to_integral_value():
        rest, of = rest * 10, of * 10
    if percent == 50:
        return "slower half of the requests (p50)"
    return f"slowest {int(rest):,} in {of:,} requests (p{percent})"
