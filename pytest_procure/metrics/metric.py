"""The metrics a bar may be put on, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pytest_procure.errors import DeclarationError, unknown

Kind = Literal[
    "quality", "latency", "goodput", "throughput", "errors", "cost", "energy", "memory", "condition", "own"
]

_PERCENTILE = re.compile(r"(latency|ttft|itl|tpot)\.p(\d{1,2}(?:\.\d+)?)")
_STAGE = re.compile(r"stage\.(\w[\w-]*)\.(.+)")
_NAMED = re.compile(r"(quality|corpus|own)\.(\w[\w.-]*)")
_COMMON = (
    "latency.p50",
    "latency.p90",
    "latency.p95",
    "latency.p99",
    "latency.p99.9",
    "ttft.p95",
    "itl.p95",
    "tpot.p95",
)
#: What one of many is called: the slowest 5 in 100 of these.
_OF = {
    "latency": "requests",
    "ttft": "times to the first token",
    "itl": "gaps between tokens",
    "tpot": "requests by time per output token",
}


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
        match = _PERCENTILE.fullmatch(self.of_stage or self.name)
        assert match is not None, f"{self.name} is no percentile"
        return Decimal(match[2]) / 100

    @property
    def family(self) -> str:
        """What a percentile is of: `latency`, `ttft`, `itl`, `tpot`."""
        return self.name.partition(".")[0]

    @property
    def stage(self) -> str:
        """The stage of a pipeline that it is about; empty for the whole."""
        match = _STAGE.fullmatch(self.name)
        return match[1] if match else ""

    @property
    def of_stage(self) -> str:
        """What is measured of the stage: `latency.p95`, `error_rate`, `quality`, `cost_per_request`."""
        match = _STAGE.fullmatch(self.name)
        return match[2] if match else ""

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
CAPACITY = Metric("capacity", "requests a second sustained within the bars", "throughput", "rate", "high")
TOKENS = Metric("tokens_per_second", "output tokens a second", "throughput", "token rate", "high")
COST = Metric("cost_per_request", "cost per request", "cost", "money", "low")
COST_PER_CORRECT = Metric("cost_per_correct", "cost per right answer", "cost", "money", "low")
COST_PER_ACCEPTED = Metric("cost_per_accepted", "cost per accepted answer", "cost", "money", "low")
ENERGY = Metric("energy_per_request", "energy per request", "energy", "energy", "low")
GPU_MEMORY = Metric("gpu_memory_peak", "GPU memory in use at its peak", "memory", "size", "low")
GOODPUT = Metric("goodput", "requests within all limits at once", "goodput", "number", "high")
SUSTAINED = Metric(
    "sustained_rate",
    "requests scheduled at the declared rate that came back, good or failed",
    "condition",
    "number",
    "high",
)
ALIVE = Metric("alive", "runs that its process lived through", "condition", "number", "high")

_FIXED = {
    metric.name: metric
    for metric in (
        ACCURACY,
        ERROR_RATE,
        THROUGHPUT,
        TOKENS,
        COST,
        COST_PER_CORRECT,
        COST_PER_ACCEPTED,
        ENERGY,
        GPU_MEMORY,
        GOODPUT,
    )
}

#: metric of ours -> what else it is called
_CALLED = {
    "accuracy": ("correct", "correctness", "top1", "acc"),
    "cost_per_request": ("cost", "price", "cost_per_query", "cost_per_call"),
    "energy_per_request": ("energy", "joules"),
    "error_rate": ("errors", "failures", "failure_rate", "availability", "success_rate"),
    "gpu_memory_peak": ("memory", "vram", "gpu_memory", "peak_memory"),
    "latency.p95": ("latency", "p95", "latency_p95", "p95_latency", "response_time"),
    "latency.p99": ("p99", "latency_p99", "p99_latency"),
    "latency.p50": ("p50", "median", "latency_p50", "latency.median", "latency.mean", "mean_latency"),
    "throughput": ("qps", "rps", "samples_per_second", "requests_per_second"),
    "tokens_per_second": ("tps", "tokens", "token_rate"),
    "ttft.p95": ("ttft", "time_to_first_token"),
    "itl.p95": ("itl", "inter_token_latency"),
    "tpot.p95": ("tpot", "time_per_output_token"),
    "corpus.macro_f1": ("f1", "macro_f1", "f1_score"),
    "corpus.wer": ("wer",),
    "corpus.bleu": ("bleu",),
    "quality.exact_match": ("exact_match", "em"),
    "quality.rouge_l": ("rouge_l", "rouge"),
    "quality.SCORER": ("quality", "score"),
}
_MEANT = {called: name for name, every in _CALLED.items() for called in every}


def metric(name: str) -> Metric:
    """Find a metric by name; `DeclarationError` with the nearest valid name if there is none."""
    if not isinstance(name, str):
        raise DeclarationError(f"a metric is named by a text such as `latency.p95`, not by {name!r}")
    if name in _FIXED:
        return _FIXED[name]
    if (match := _PERCENTILE.fullmatch(name)) and float(match[2]) > 0:
        return Metric(name, _tail(Decimal(match[2]), _OF[match[1]]), "latency", "duration", "low")
    if match := _STAGE.fullmatch(name):
        return _of_stage(name, match[1], match[2])
    if match := _NAMED.fullmatch(name):
        if match[1] == "corpus":
            return Metric(name, match[2].replace("_", " "), "quality", "number", "")
        if match[1] == "quality":
            return Metric(name, f"score {match[2].replace('_', ' ')}", "quality", "number", "high")
        return Metric(name, match[2], "own", "", "")
    open_names = ("quality.SCORER", "corpus.NAME", "own.NAME", "stage.NAME.latency.p95")
    said = unknown("metric", name, [*_FIXED, *_COMMON, *open_names])
    if meant := _MEANT.get(name.casefold().replace("-", "_").replace(" ", "_")):
        known = said.partition(" Known: ")[2]
        said = f"unknown metric `{name}`; did you mean `{meant}`? Known: {known}"
    raise DeclarationError(said)


def _of_stage(name: str, stage: str, what: str) -> Metric:
    if what == "quality":
        return Metric(name, f"stage {stage}: score", "quality", "number", "high")
    if what in {ERROR_RATE.name, COST.name} or _PERCENTILE.fullmatch(what):
        whole = metric(what)
        return Metric(name, f"stage {stage}: {whole.title}", whole.kind, whole.dimension, whole.better)
    known = (*_COMMON, ERROR_RATE.name, COST.name, "quality")
    raise DeclarationError(unknown(f"metric of stage `{stage}`", what, known))


def _tail(percent: Decimal, of_what: str) -> str:
    """Words for a percentile: p95 is about the slowest 5 in 100 requests."""
    rest, of = 100 - percent, 100
    while rest != rest.to_integral_value():
        rest, of = rest * 10, of * 10
    if percent == 50:
        return f"slower half of the {of_what} (p50)"
    return f"slowest {int(rest):,} in {of:,} {of_what} (p{percent})"
