"""What the candidates cost, and where a verdict on cost would turn."""

from __future__ import annotations

from typing import NamedTuple

from pytest_procure.evidence.record import FindingRecord, Record
from pytest_procure.units import Quantity, readable

from .breakeven import exact, turns


class Cost(NamedTuple):
    """A cost bar on one candidate."""

    candidate: str
    finding: FindingRecord
    million: str  # the cost of a million requests; "" if nothing was measured
    turns: list[str]  # where the verdict would turn; [] where the record does not tell


def costs(record: Record) -> dict[str, list[Cost]]:
    """List the cost findings of each requirement that has some, by its question."""
    offers = {candidate["name"]: candidate for candidate in record["candidates"]}
    found: dict[str, list[Cost]] = {}
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            for finding in result["findings"]:
                if finding["kind"] == "cost" and not finding["observed_only"]:
                    turning = turns(finding, offers.get(result["candidate"]))
                    cost = Cost(result["candidate"], finding, _million(finding), turning)
                    found.setdefault(requirement["question"] or requirement["id"], []).append(cost)
    return found


def _million(finding: FindingRecord) -> str:
    cost = finding["estimate"]
    if cost is None:
        return ""
    return readable(Quantity.of(exact(cost["number"]) * 1_000_000, cost["unit"]))
