"""The most that a candidate sustains: bracket, bisect with short runs, and one fresh run that counts.

    start ──► bracket: twice the rate while the bars are met, half of it while they are not
          ──► bisect between the highest rate that met them and the lowest that did not
          ──► confirm: a longer run with a seed of its own, on fresh loads, a margin below what was found

Short runs choose the rate and decide nothing: that one of several looks good is not the buyer's risk. The
confirming run is chosen by none of its own numbers, so its decision is as good as that of any other run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from .calling import declaring
from .candidates import HourlyPrice
from .cases import Case
from .errors import DeclarationError
from .evidence.record import SweepPoint
from .measured import Measured
from .metrics import Measurement, unmeasurable
from .metrics.measurement import Confirmed, Exact
from .metrics.metric import CAPACITY, COST
from .metrics.throughput import MINIMUM_LAUNCHES
from .result import Result
from .scenarios import Scenario, rate
from .sweeping import Role, Sweep, at_rate, exact, rate_of
from .units import Quantity, duration

#: Drives the run that counts, and gives its result, which the case keeps.
Confirm = Callable[[Scenario], Result]

#: Beyond it no driver of one machine is punctual.
_MOST_RATE = 1e6


@dataclass(frozen=True, slots=True)
class Ladder:
    """What a search asks for, checked; see `Procure.find_capacity`."""

    start: float
    most: float
    short: Quantity
    confirm: Quantity
    tolerance: float
    margin: float
    runs: int
    launches: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a search found.

    `capacity` compares by the decision rule. `result` is the confirming run, None where no rate met the bars.
    `curve` holds the points of all runs, in the order in which they were made.
    """

    capacity: Measured
    result: Result | None
    curve: tuple[SweepPoint, ...]
    sentence: str
    rate: float | None  # requests a second that the confirming run showed
    _case: Case

    @declaring
    def cost_per_request(self, *, mean: Quantity | str | float) -> Measured:
        """Give the cost of a request where `mean` requests a second arrive on average, over all hours.

        Utilisation is mean over sustainable rate; beyond 1 it takes as many units as carry the mean. Raises
        `DeclarationError` where the price is not by the hour.
        """
        price = self._case.candidate.price
        if not isinstance(price, HourlyPrice):
            raise DeclarationError(
                f"candidate `{self._case.candidate.name}` has no price by the hour, so its cost does not "
                "hang on what it sustains"
            )
        wanted = Decimal(repr(rate_of(mean, "mean")))
        if self.rate is None:
            return Measured(unmeasurable(COST, self.sentence), self._case)
        units = math.ceil(wanted / exact(self.rate))
        used = wanted / (units * exact(self.rate))
        cost = units * price.amount / (3600 * wanted)
        each = "1 unit" if units == 1 else f"{units} units"
        label = f"{each} of {exact(self.rate)} requests/s, as confirmed, {float(used):.0%} utilised"
        estimate = Quantity(cost, price.currency)
        return Measured(Measurement(COST, estimate, 1, "price", Exact(cost, label)), self._case)


def ladder(scenario: Scenario, asked: dict[str, Any]) -> Ladder:
    """Check what a search is asked for. Raises `DeclarationError`."""
    for name in ("tolerance", "margin"):
        share = asked[name]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            raise DeclarationError(f"`{name}={share!r}`; expected a share, 0 or more and below 1")
    for name in ("runs", "launches"):
        number = asked[name]
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1000:
            raise DeclarationError(f"`{name}={number!r}`; expected a whole number from 1 to 1,000")
    start, most = asked["start"], asked["most"]
    first = rate(scenario) if start is None else rate_of(start, "start")
    last = _MOST_RATE if most is None else rate_of(most, "most")
    if first is None:
        raise DeclarationError(
            "a search for capacity begins at the marked scenario's rate, and it has none; expected `start=`, "
            "as in `start=10` requests a second"
        )
    if first > last:
        raise DeclarationError(f"`most={most!r}` lies below the start of the search, {first:g} requests/s")
    return Ladder(
        first,
        last,
        _length(asked["short"], "short"),
        _length(asked["confirm"], "confirm"),
        asked["tolerance"],
        asked["margin"],
        asked["runs"],
        asked["launches"],
    )


def _length(value: Any, name: str) -> Quantity:
    try:
        time = duration(value, what=name)
    except TypeError as error:
        raise DeclarationError(f"`{name}={value!r}`: {error}") from None
    if time.ns <= 0:
        raise DeclarationError(f"`{name}='{time}'`; expected more than 0 s")
    return time


def climb(meets: Callable[[float, Role], bool], asked: Ladder) -> tuple[float | None, float | None]:
    """Find between which rates the bars cease to be met, in `asked.runs` runs or fewer.

    Gives the highest rate that met them and the lowest that did not; None where there was none.
    """
    low: float | None = None
    high: float | None = None
    wanted = asked.start
    for _ in range(asked.runs):
        if meets(wanted, "bracket" if low is None or high is None else "bisect"):
            low = wanted
        else:
            high = wanted
        if low is None:
            wanted /= 2
        elif high is None:
            if low >= asked.most:
                break
            wanted = min(low * 2, asked.most)
        else:
            if high <= low * (1 + asked.tolerance):
                break
            wanted = math.sqrt(low * high)
    return low, high


def find(case: Case, sweep: Sweep, scenario: Scenario, asked: Ladder, confirm: Confirm) -> Capacity:
    """Search, and confirm what was found in a run of its own."""
    low, high = climb(lambda wanted, role: sweep.probe(wanted, asked.short, role), asked)
    if low is None:
        why = f"no rate met the bars: the lowest tried was {high:.6g} requests/s{_late(sweep)}"
        return Capacity(
            Measured(unmeasurable(CAPACITY, why), case), None, tuple(sweep.points), why, None, case
        )
    wanted = float(exact(low if high is None else low * (1 - asked.margin)))
    each = Quantity(asked.confirm.number / asked.launches, asked.confirm.unit)
    result = confirm(replace(at_rate(scenario, wanted, each, sweep.number), launches=asked.launches))
    reason = case.confirm(result, sweep.bars)
    sweep.put(result.execution, wanted, "confirm")
    confirmed = f"{exact(wanted)} requests/s, in {asked.launches} launch{'es' * (asked.launches > 1)}"
    sentence = (
        f"a fresh run did not show the bars at {confirmed}: {reason}"
        if reason
        else f"a fresh run showed the bars at {confirmed}"
    )
    if high is None:
        sentence += f"; higher rates than {low:.6g} were not tried"
    sentence += _late(sweep)
    estimate = None if reason else Quantity(exact(wanted), "1/s")
    basis = Confirmed(exact(wanted), asked.launches, MINIMUM_LAUNCHES, sentence if reason else "")
    measured = Measurement(
        CAPACITY, estimate, asked.launches, "launches", basis, seconds=result.execution.seconds
    )
    return Capacity(
        Measured(measured, case),
        result,
        tuple(sweep.points),
        sentence,
        None if reason else wanted,
        case,
    )


def _late(sweep: Sweep) -> str:
    """Say where the harness may have hidden a higher rate."""
    late = sum(point["late"] and not point["ok"] for point in sweep.points)
    if not late:
        return ""
    return f"; the measuring machine was late in {late} of the runs that failed, so there may be more"
