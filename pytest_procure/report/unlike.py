"""Where an offer is not what it declares, told wherever the verdict is: what is bought was not measured."""

from __future__ import annotations

from pytest_procure.deviation import answered_by
from pytest_procure.evidence.record import CandidateRecord, Record

from .visible import shorten


def unlike(record: Record, candidate: CandidateRecord) -> list[str]:
    """Give each deviation of an offer once; nothing of one whose verdict is made of them already."""
    if candidate["verdict"] == "invalid":
        return []
    runs = [
        run
        for requirement in record["requirements"]
        for result in requirement["results"]
        if result["candidate"] == candidate["name"]
        for run in result["runs"]
    ]
    answered = (answered_by(run["conditions"]) for run in runs)
    found = [*candidate["backend"].get("deviations", ()), *(each.sentence for each in answered if each)]
    return list(dict.fromkeys(map(str, found)))


def not_as_declared(record: Record) -> list[str]:
    """Give a sentence for each deviation of each offer."""
    return [
        f"{shorten(candidate['name'], 40)} is not as declared: {told}"
        for candidate in record["candidates"]
        for told in unlike(record, candidate)
    ]
