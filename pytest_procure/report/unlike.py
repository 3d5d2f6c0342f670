"""Where an offer is not what it declares, for the first screen: what was bought is not what was measured."""

from __future__ import annotations

from pytest_procure.disclosure import answered_by
from pytest_procure.evidence.record import CandidateRecord, Record


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
