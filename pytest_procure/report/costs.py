"""What the candidates cost, and where a verdict on cost would turn."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import NamedTuple

from pytest_procure.evidence.record import CandidateRecord, FindingRecord, Record
from pytest_procure.units import Quantity, readable

from . import words


class Cost(NamedTuple):
    """A cost bar on one candidate."""

    candidate: str
    finding: FindingRecord
    million: str  # the cost of a million requests; "" if nothing was measured
    turns: str  # where the verdict would turn; "" where the record does not tell


def costs(record: Record) -> dict[str, list[Cost]]:
    """List the cost findings of each requirement that has some, by its question."""
    offers = {candidate["name"]: candidate for candidate in record["candidates"]}
    found: dict[str, list[Cost]] = {}
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            for finding in result["findings"]:
                if finding["kind"] == "cost" and not finding["observed_only"]:
                    turns = _turns(finding, offers.get(result["candidate"]))
                    cost = Cost(result["candidate"], finding, _million(finding), turns)
                    found.setdefault(requirement["question"] or requirement["id"], []).append(cost)
    return found


def _million(finding: FindingRecord) -> str:
    cost = finding["estimate"]
    if cost is None:
        return ""
    return readable(Quantity.of(_exact(cost["number"]) * 1_000_000, cost["unit"]))


def _turns(finding: FindingRecord, candidate: CandidateRecord | None) -> str:
    """Say at which utilisation an hourly price would turn the verdict: cost falls as utilisation rises."""
    cost, bar = finding["estimate"], finding["bar"]
    if candidate is None or cost is None or cost["unit"] != bar["unit"] or bar["number"] <= 0:
        return ""
    try:
        utilisation = Decimal(str(candidate["price"].get("utilisation", "")))
    except InvalidOperation:
        return ""
    # An offer is accepted on the upper end of its likely range, where there is one.
    upper = finding["high"]
    decides = cost if upper is None else upper
    turning = utilisation * _exact(decides["number"]) / _exact(bar["number"])
    if turning > 1:
        return "would miss this bar even at 100 % utilisation"
    at = readable(Quantity(turning), share=True, rounding=ROUND_CEILING)
    declared = words.percent(float(utilisation))
    if decides["number"] <= bar["number"]:
        return f"holds down to {at} utilisation; declared: {declared}"
    return f"would hold from {at} utilisation on; declared: {declared}"


def _exact(number: float) -> Decimal:
    return Decimal(repr(number))
