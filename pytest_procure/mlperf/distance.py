"""How far MLPerf's reference task is from the buyer's, row by row, and what of a score transfers."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal

from .benchmarks import facts
from .records import Result
from .rules import Applied, apply

#: Kinds of traffic, by what MLPerf and a suite's own scenarios say of them; the first that fits counts.
_TRAFFIC = {
    "closed loop": re.compile(r"closed.?loop|next (?:query )?when the (?:previous|last)", re.IGNORECASE),
    "open loop at a rate": re.compile(r"open.?loop|poisson|requests/s|queries/s", re.IGNORECASE),
    "all at once": re.compile(r"at once|all (?:samples|requests|queries) in one", re.IGNORECASE),
}
Verdict = Literal["same", "differs", "unknown"]


@dataclass(frozen=True, slots=True)
class Task:
    """The buyer's task, as far as it is stated; what is empty counts as unknown.

    `pipeline` is `single model` or what is around it (retrieval, tools, post-processing). `latency` is the
    bound in words, such as `p95 <= 80 ms`.
    """

    dataset: str = ""
    quality: str = ""
    scenario: str = ""
    traffic: str = ""
    precision: str = ""
    stack: str = ""
    batch: str = ""
    pipeline: str = ""
    latency: str = ""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of everything that can be stated."""
        return tuple(one.name for one in fields(cls))


@dataclass(frozen=True, slots=True)
class Row:
    """One aspect of the task: what MLPerf's is, what ours is."""

    aspect: str
    published: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Distance:
    """The rows, the sentence on what transfers, and the rule that forbids any forecast."""

    rows: tuple[Row, ...]
    sentence: str
    refused: Applied


def distance(published: Result, task: Task) -> Distance:
    """Say row by row where the published result's task is the buyer's, differs, or is not known."""
    record = facts().find(published.round, published.benchmark)
    semantics = facts().data["scenario_semantics"].get(published.scenario, {})
    batch = published.run.user_conf if published.run else {}
    theirs = {
        "dataset": record.dataset if record else "",
        "quality": _quality(published),
        "scenario": published.scenario,
        "traffic": str(semantics.get("arrival", "")),
        "precision": "+".join(published.precision.kinds),
        "stack": published.software,
        "batch": "; ".join(
            f"{key} = {value}" for key, value in batch.items() if "batch" in key or "coalesce" in key
        ),
        "pipeline": "compound" if published.benchmark.startswith("e2e-") else "single model",
        "latency": _limits(published),
    }
    ours = {name: str(getattr(task, name)) for name in Task.names()}
    rows = tuple(
        Row(name, theirs[name], ours[name], _verdict(name, theirs[name], ours[name])) for name in ours
    )
    return Distance(
        rows,
        _sentence(rows, published),
        apply(
            "transfer",
            "no latency, throughput, quality or cost of your task is predicted from this score: fixed data, "
            "fixed output caps, no caching across queries, a stack tuned for this one task",
        ),
    )


def _quality(published: Result) -> str:
    record = facts().find(published.round, published.benchmark)
    bars = record.targets(published.scenario) if record else ()
    return ", ".join(
        f"{bar.metric}"
        + (f" >= {bar.low:g}" if bar.low is not None else "")
        + (f" <= {bar.high:g}" if bar.high is not None else "")
        for bar in bars
    )


def _limits(published: Result) -> str:
    record = facts().find(published.round, published.benchmark)
    if record is None:
        return ""
    limits = record.limits(published.scenario)
    if not limits:
        return "none"
    percentile = record.percentile(published.scenario) or 99
    names = {"latency": "latency", "ttft": "first token", "tpot": "each further token"}
    return ", ".join(f"p{percentile:g} {names[name]} <= {value:g} ms" for name, value in limits.items())


def _verdict(aspect: str, theirs: str, ours: str) -> Verdict:
    if not theirs or not ours:
        return "unknown"
    if _words(theirs) == _words(ours):
        return "same"
    if aspect == "scenario":
        return "same" if _letters(theirs) == _letters(ours) else "differs"
    if aspect == "traffic":
        kinds = traffic_kind(theirs), traffic_kind(ours)
        if "" in kinds:
            return "unknown"
        return "same" if kinds[0] == kinds[1] else "differs"
    return "differs"


def _words(text: str) -> list[str]:
    return text.casefold().split()


def _letters(name: str) -> str:
    """Return what the spellings of a scenario's name share: `single_stream` and `SingleStream`."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def traffic_kind(sentence: str) -> str:
    """Return which kind of traffic a sentence describes, or nothing where it does not say."""
    return next((kind for kind, said in _TRAFFIC.items() if said.search(sentence)), "")


def _sentence(rows: tuple[Row, ...], published: Result) -> str:
    differs = [row.aspect for row in rows if row.verdict == "differs"]
    unknown = [row.aspect for row in rows if row.verdict == "unknown"]
    parts = [f"{published.name} shows what this hardware-plus-software pair does on MLPerf's task"]
    if differs:
        parts.append(f"yours differs in {_listed(differs)}")
    if unknown:
        parts.append(f"nothing is known about {_listed(unknown)}")
    if not differs and not unknown:
        parts.append("yours is stated in the same words, which does not make data, prompts or load the same")
    return (
        "; ".join(parts)
        + ". What transfers is a direction for the shortlist; the figures have to be measured on your task."
    )


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
