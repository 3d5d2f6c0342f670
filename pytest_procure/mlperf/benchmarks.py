"""Facts on MLPerf's benchmarks from package data, with sources and dates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from pytest_procure.errors import unknown

from .errors import MlperfError
from .score import UNITS


@dataclass(frozen=True, slots=True)
class Target:
    """A quality bar of a benchmark: at least `low`, at most `high`, either may be None."""

    metric: str
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark in one round. `facts` is the record as it stands in the package data."""

    round: str
    model: str
    family: str
    task: str
    dataset: str
    suites: Mapping[str, tuple[str, ...]]
    sources: tuple[str, ...]
    facts: Mapping[str, Any]

    def unit(self, scenario: str) -> str:
        """Return the label of the true unit, or nothing where the scenario has no metric here."""
        metric = self.facts["metric"].get(scenario)
        return str(metric["true_unit"]) if metric else ""

    def log_field(self, scenario: str) -> str:
        """Return the log field that the published number is taken from, or nothing."""
        metric = self.facts["metric"].get(scenario)
        return str(metric["log_field"]) if metric else ""

    def limits(self, scenario: str) -> dict[str, float]:
        """Return the latency limits in ms, by `latency`, `ttft` and `tpot`; empty where there is none."""
        limit = self.facts["latency_constraints"].get(scenario) or {}
        return {name: limit[f"{name}_ms"] for name in ("latency", "ttft", "tpot") if f"{name}_ms" in limit}

    def percentile(self, scenario: str) -> float | None:
        """Return the percentile that the limits hold for."""
        limit = self.facts["latency_constraints"].get(scenario)
        return limit["percentile"] if limit else None

    def targets(self, scenario: str) -> tuple[Target, ...]:
        """Return the quality bars; one whose direction the sources dispute is left out, as unknown."""
        quality = self.facts["quality"]
        bars = quality.get(scenario, []) if isinstance(quality, dict) else quality
        disputed = {
            word
            for entry in self.facts.get("sources_disagree", ())
            if entry["field"].startswith("direction of ")
            for word in entry["field"].split()[2:]
        }
        return tuple(
            Target(bar["metric"], bar["min"], bar["max"])
            for bar in bars
            if not any(bar["metric"].endswith(word) for word in disputed)
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts, indexed. Made once by `facts()`."""

    data: Mapping[str, Any]
    records: Mapping[tuple[str, str], Benchmark]
    words: Mapping[str, str]  # a data type as somebody wrote it, in lower case -> its normal name

    def find(self, round_: str, model: str) -> Benchmark | None:
        """Return the record of a benchmark in a round, or None where there are no facts on it."""
        return self.records.get((round_, model))

    def benchmark(self, round_: str, model: str) -> Benchmark:
        """Return the record of a benchmark in a round; raise `MlperfError` with the nearest valid name."""
        found = self.find(round_, self.canonical(model))
        if found is not None:
            return found
        rounds = sorted({name for name, _ in self.records})
        if round_ not in rounds:
            raise MlperfError(unknown("round", round_, rounds))
        raise MlperfError(unknown("benchmark", model, [name for at, name in self.records if at == round_]))

    def canonical(self, model: str) -> str:
        """Return the benchmark's own name for a name that published tables give it."""
        return str(self.data["aliases"].get(model, model))

    def group(self, suite: str, model: str, round_: str) -> tuple[str, ...]:
        """Return the rounds whose results MLCommons treats as comparable with this one; empty if none."""
        compatibility = self.data["compatibility"]
        number = round_.removeprefix("v")
        for name, models in compatibility["names"].items():
            if model in models:
                for rounds in compatibility["groups"].get(suite, {}).get(name, ()):
                    if number in rounds:
                        return tuple(rounds)
        return ()

    def same_group(self, suite: str, model: str, first: str, second: str) -> bool:
        """Whether one compatibility group holds both rounds for this benchmark and suite."""
        return second.removeprefix("v") in self.group(suite, model, first)

    def precisions(self, declared: str) -> tuple[str, ...]:
        """Return the normal names of the data types in a declaration, each once; empty if it names none."""
        kinds: list[str] = []
        for word in re.findall(r"[A-Za-z][A-Za-z0-9_]*", declared):
            kind = self.words.get(word.lower())
            if kind and kind not in kinds:
                kinds.append(kind)
        return tuple(kinds)

    def noise(self, round_: str) -> float:
        """Return the median spread between submitters of one chip as a share; 0.06 by default."""
        return float(self.data["noise"].get(round_, self.data["noise"]["v5.1"]))

    def speculative(self, round_: str, model: str) -> bool:
        """Whether Interactive may use speculative decoding here while Server may not."""
        since = self.data["speculative_decoding"].get(model)
        return bool(since) and release(round_) >= release(since)


@cache
def facts() -> Facts:
    """Load the package data once."""
    text = resources.files("pytest_procure.mlperf").joinpath("data/benchmarks.json").read_text("utf-8")
    data = json.loads(text)
    records = {}
    for entry in data["benchmarks"]:
        records[entry["round"], entry["model"]] = Benchmark(
            round=entry["round"],
            model=entry["model"],
            family=entry["family"],
            task=entry["task"],
            dataset=entry["dataset"],
            suites={
                suite: tuple(named["required"]) + tuple(named["optional"])
                for suite, named in entry["scenarios"].items()
            },
            sources=tuple(data["sources"][index] for index in entry["sources"]),
            facts=entry,
        )
    words = {
        word.lower(): kind
        for kind, spellings in data["precision"].items()
        if kind != "unlabelled"
        for word in spellings
    }
    return Facts(data, records, words)


def release(round_: str) -> tuple[int, ...]:
    """Return a round as numbers that sort: `v5.1` is (5, 1); no round at all sorts first."""
    return tuple(int(part) for part in re.findall(r"\d{1,4}", round_)[:2])


def family(model: str) -> str:
    """Return a benchmark's name without its quality variant: `llama2-70b-99.9` is `llama2-70b`."""
    return re.sub(r"-(95|99|99\.9)$", "", model)


def true_unit(label: str) -> str:
    """Return the short form of a published unit label; an unknown label stays as it is."""
    return UNITS.get(label, label)
