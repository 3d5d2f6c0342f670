"""Things to know: what happened on the way, gathered by where it happened."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pytest_procure.evidence.record import Record, RequirementRecord, ResultRecord, RunRecord

from . import sealed, words

#: Events of one place that are told outright, and folded; a noisy machine makes dozens.
_OUTRIGHT, _FOLDED = 4, 6
#: Of the seal everything is told outright: what stands there may keep an offer out.
_SEAL, _MACHINE = "Seal and ledger", "The measuring machine"
#: In which order kinds of failures are told.
_KINDS = "error timeout lost empty"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Events(NamedTuple):
    """What happened in one place that a reader should know: the first few, and the rest."""

    where: str
    told: list[str]
    more: list[str]


def events(record: Record) -> list[Events]:
    """Gather what a reader should know by where it happened, each told once."""
    found: dict[str, dict[str, None]] = {}
    for where, what in _happened(record):
        found.setdefault(where, {})[what] = None
    return [_events(where, list(told)) for where, told in found.items()]


def _events(where: str, told: list[str]) -> Events:
    outright = len(told) if where == _SEAL else _OUTRIGHT
    rest = told[outright:]
    folded, left = rest[:_FOLDED], len(rest[_FOLDED:])
    return Events(where, told[:outright], folded + [f"And {left:,} more, in verdict.json."] * bool(left))


def _happened(record: Record) -> Iterator[tuple[str, str]]:
    """Tell the notes on the whole, then what happened on the way, run by run."""
    yield from (("All tests", note) for note in record["notes"])
    yield from ((_SEAL, told) for told in sealed.sentences(record))
    yield from ((_MACHINE, told) for told in _machine(record))
    yield from ((c["name"], c["notes"]) for c in record["candidates"] if c["notes"])
    for requirement, result in _results(record):
        where = f"{result['candidate']}, {requirement['question'] or requirement['id']}"
        if result["verdict"] == "waived":
            yield where, f"Waived: {result['sentence']}"
        for run in result["runs"]:
            yield from ((where, told) for told in _of_run(run))
        runs = result["runs"]
        yield from (
            (where, told) for told in merged(f"The harness: {f}" for run in runs for f in run["faults"])
        )
        yield from (
            (where, told) for told in merged(f"The candidate: {n}" for run in runs for n in run["notes"])
        )


def _of_run(run: RunRecord) -> Iterator[str]:
    if (instead := run.get("instead")) is not None:
        named = (instead.get(key) for key in ("function", "model", "runtime"))
        what = next((f" ({each})" for each in named if isinstance(each, str)), "")
        yield f"A run on another backend than the offer's{what}, which decides nothing of the offer"
    if run["stopped"]:
        yield f"The run ended early: {run['stopped']}"
    if run["failures"]:
        failures = run["failures"]
        told = words.listing([f"{failures[kind]:,} {kind}" for kind in sorted(failures, key=_KINDS.find)])
        failed = sum(failures.values())
        asked = words.count(run["requests"], "requests")
        yield f"Of {asked}, {failed:,} failed and count as failures: {told}"


def merged(told: Iterable[str]) -> list[str]:
    """Tell sentences that differ in their numbers alone as one, each number as the range that was seen.

    >>> merged(["waited 25% (allowed: 5%)", "stopped", "waited 46% (allowed: 5%)"])
    ['waited 25 to 46% (allowed: 5%) (2 times)', 'stopped']
    """
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    for each in told:
        alike.setdefault(tuple(_NUMBER.split(each)), []).append(_NUMBER.findall(each))
    return [_range(between, seen) for between, seen in alike.items()]


def _range(between: tuple[str, ...], seen: list[list[str]]) -> str:
    spans = [_span(each) for each in zip(*seen, strict=True)]
    said = "".join(itertools.chain.from_iterable(zip(between, [*spans, ""], strict=True)))
    return said if len(seen) == 1 else f"{said} ({len(seen):,} times)"


def _span(numbers: Iterable[str]) -> str:
    rising = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
    return rising[0] if len(rising) == 1 else f"{rising[0]} to {rising[-1]}"


def _machine(record: Record) -> Iterator[str]:
    """Tell of all runs at once: whether the harness was at fault, what else ran, whether clocks were held."""
    runs = [run for _, result in _results(record) for run in result["runs"] if run["audit"]]
    if not runs:
        return
    faulty = sum(bool(run["faults"]) for run in runs)
    audited = f"The harness audited itself in {words.count(len(runs), 'runs')}"
    yield f"{audited}; in {f'{faulty:,}' if faulty else 'none'} of them it found a fault of its own"
    others = [
        share for run in runs if isinstance(share := run["audit"].get("foreign_cpu_share"), (int, float))
    ]
    if others:
        yield f"Noise: other programs used up to {words.percent(max(others))} of the processors in a run"
    yield _throttling(runs)


def _throttling(runs: list[RunRecord]) -> str:
    """Tell what slowed the clocks of GPUs down, as far as their driver was asked."""
    seen: list[dict[str, Any]] = [gpu for run in runs for gpu in run["audit"].get("gpus", [])]
    if not seen:
        return "Throttling was not looked at: no run named a GPU whose driver tells of it"
    worst: dict[str, float] = {}
    for gpu in seen:
        for reason, share in gpu.get("slowed", {}).items():
            worst[reason] = max(worst.get(reason, 0.0), float(share))
    if not worst:
        return "Throttling: no look at a GPU found its clocks held down"
    told = [f"{reason} in up to {words.percent(share)} of looks" for reason, share in worst.items()]
    return f"Throttling: the clocks of a GPU were held down by {words.listing(told)}"


def _results(record: Record) -> Iterator[tuple[RequirementRecord, ResultRecord]]:
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            yield requirement, result
