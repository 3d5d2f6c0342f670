"""Where a verdict on cost would turn: at which utilisation, price, volume; and who undercuts whom."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

from pytest_procure.evidence.record import CandidateRecord, FindingRecord
from pytest_procure.units import Quantity, readable

from . import words

_HOURS_A_DAY = 24


def turns(finding: FindingRecord, candidate: CandidateRecord | None) -> list[str]:
    """Say where the verdict on a cost would turn, everything else as declared or measured; [] where unknown.

    An offer is accepted on the upper end of its likely range, where there is one. A machine by the hour costs
    price / (3600 x rate x utilisation) a request: the bar divided into the price is the volume that pays.
    """
    cost, bar = finding["estimate"], finding["bar"]
    if candidate is None or cost is None or cost["unit"] != bar["unit"] or bar["number"] <= 0:
        return []
    if finding["sense"] != "at most":
        return []
    decides = exact((finding["high"] or cost)["number"])
    limit = exact(bar["number"])
    if decides <= 0:
        return []
    price = candidate["price"]
    found = [_utilisation(decides, limit, price.get("utilisation"))]
    found.append(_price(decides, limit, price))
    if price.get("model") == "hourly" and finding["metric"] == "cost_per_request":
        found.append(_volume(decides, limit, price.get("amount")))
    return [each for each in found if each]


def undercuts(candidates: Sequence[CandidateRecord]) -> list[str]:
    """Say from which volume on a machine by the hour undercuts an offer by the request, pair by pair."""
    found = []
    for one, other in itertools.permutations(candidates, 2):
        hour, each = one["price"], other["price"]
        if (hour.get("model"), each.get("model")) != ("hourly", "request"):
            continue
        an_hour, a_request = _number(hour.get("amount")), _number(each.get("amount"))
        if hour.get("currency") != each.get("currency") or not an_hour or not a_request:
            continue
        volume = int((an_hour / a_request).to_integral_value(ROUND_CEILING))
        found.append(
            f"{one['name']} by the hour costs less than {other['name']} by the request from {volume:,} "
            f"requests an hour on, if one machine serves that many"
        )
    return found


def _utilisation(decides: Decimal, limit: Decimal, declared: object) -> str:
    utilisation = _number(declared)
    if utilisation is None:
        return ""
    turning = utilisation * decides / limit
    if turning > 1:
        return "would miss this bar even at 100 % utilisation"
    at, now = (
        readable(Quantity(turning), share=True, rounding=ROUND_CEILING),
        words.percent(float(utilisation)),
    )
    if decides <= limit:
        return f"holds down to {at} utilisation; declared: {now}"
    return f"would hold from {at} utilisation on; declared: {now}"


def _price(decides: Decimal, limit: Decimal, declared: Mapping[str, Any]) -> str:
    price, currency = _number(declared.get("amount")), str(declared.get("currency", ""))
    if not declared:
        return ""
    if price is None:
        times = readable(Quantity(limit / decides), rounding=ROUND_FLOOR)
        return f"{'holds up' if decides <= limit else 'would hold down'} to {times} times its price"
    unit = " an hour" if declared.get("model") == "hourly" else " a request"
    at = readable(Quantity(price * limit / decides, currency), rounding=ROUND_FLOOR)
    now = readable(Quantity(price, currency))
    return (
        f"{'holds up' if decides <= limit else 'would hold down'} to a price of {at}{unit}; declared: {now}"
    )


def _volume(decides: Decimal, limit: Decimal, amount: object) -> str:
    price = _number(amount)
    if price is None:
        return ""
    turning = int((price / limit * _HOURS_A_DAY).to_integral_value(ROUND_CEILING))
    now = int((price / decides * _HOURS_A_DAY).to_integral_value())
    verb = "holds down to" if decides <= limit else "would hold from"
    return f"{verb} {turning:,} requests a day and machine; as declared: {now:,}"


def _number(value: object) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and number > 0 else None


def exact(number: float) -> Decimal:
    """Read a float by its shortest decimal form."""
    return Decimal(repr(number))
