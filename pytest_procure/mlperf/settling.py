"""Rows that belong together or contradict each other: power rows, duplicates, IDs claimed twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .files import Report
from .records import Finding, Result


def settle(results: list[Result], report: Report) -> list[Result]:
    """Join power rows to their performance rows; report rows that stand twice, alike or in contradiction."""
    first: dict[tuple[str, ...], int] = {}
    settled: list[Result] = []
    spoilt: set[int] = set()
    for result in results:
        key = _identity(result)
        at = first.get(key)
        if at is None:
            first[key] = len(settled)
            settled.append(result)
            continue
        other = settled[at]
        if result.score is None and result.power is not None and other.power is None:
            settled[at] = replace(other, power=result.power, power_submission=True)
        elif other.score is None and other.power is not None and result.power is None:
            settled[at] = replace(result, power=other.power, power_submission=True)
        elif result.score == other.score and result.power == other.power:
            message = f"it repeats {_place(other, result)}; counted once"
            report(Finding("duplicate", result.file, result.where, "", message))
        else:
            report(
                Finding(
                    "contradiction",
                    result.file,
                    result.where,
                    "Performance_Result",
                    f"it and {_place(other, result)} give two numbers for one result; neither is used",
                )
            )
            spoilt.add(at)
    for at in spoilt:
        settled[at] = replace(settled[at], score=None)
    for result in settled:
        if result.score is None and result.power is not None:
            report(
                Finding(
                    "lone-power",
                    result.file,
                    result.where,
                    "Power_Result",
                    "a power figure without the performance it was measured at",
                )
            )
    _check_ids(settled, report)
    return settled


def _place(result: Result, beside: Result) -> str:
    """Name the place of a row as seen from another one, with its file where that is another."""
    return result.where if result.file == beside.file else f"{result.file} {result.where}"


def _identity(result: Result) -> tuple[str, ...]:
    return (
        result.origin,
        result.round,
        result.id,
        result.submitter,
        result.platform,
        ",".join(result.suites),
        result.division,
        result.benchmark,
        result.model,
        result.scenario,
    )


def _check_ids(results: Iterable[Result], report: Report) -> None:
    owners: dict[tuple[str, str], Result] = {}
    for result in results:
        owner = owners.setdefault((result.origin, result.id), result) if result.id else result
        if owner.submitter != result.submitter:
            report(
                Finding(
                    "contradiction",
                    result.file,
                    result.where,
                    "ID",
                    f"{result.id} belongs to {owner.submitter} at {_place(owner, result)}",
                )
            )
