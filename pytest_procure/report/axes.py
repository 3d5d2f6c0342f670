"""Axes of a chart: from a value to a place on paper, with ticks at 1, 2 or 5 times a power of ten."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: From this ratio of end to start on, a linear axis would press most of the data against its left end.
_LOG_FROM = 40.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values from `low` to `high` on places from `start` to `end`, in the drawing's units."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Place a value; beyond an end of the axis, the end."""
        held = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(held / self.low) / math.log(self.high / self.low)
        else:
            part = (held - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Give about `wanted` round values on the axis, rising."""
        if self.log:
            return self._log_ticks(wanted)
        step = _step((self.high - self.low) / wanted)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [_rounded(i * step, step) for i in range(first, last + 1)]

    def _log_ticks(self, wanted: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        found = [float(f"{m}e{e}") for e in range(first, last + 1) for m in (1, 2, 5)]
        inside = [tick for tick in found if self.low <= tick <= self.high]
        tens = [tick for tick in inside if math.log10(tick) == round(math.log10(tick))]
        return tens if len(inside) > 2 * wanted and len(tens) > 1 else inside


def time_axis(lowest: float, highest: float, start: float, end: float) -> Axis:
    """Make an axis for times up to `highest`: from 0 on, or logarithmic where that is too wide."""
    if lowest > 0 and highest / lowest > _LOG_FROM:
        return Axis(lowest / 1.25, highest * 1.25, start, end, log=True)
    return Axis(0.0, highest * 1.06 or 1.0, start, end)


def value_axis(values: list[float], start: float, end: float, *, share: bool) -> Axis:
    """Make an axis that shows all `values` with room beside them; a share's axis ends at 0 and 1."""
    low, high = min(values), max(values)
    room = 0.12 * (high - low) or 0.1 * abs(high) or 0.1
    low, high = low - room, high + room
    if share:
        low, high = max(0.0, low), min(1.0, high)
    return Axis(low, high, start, end)


def _step(rough: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((m * power for m in (1, 2, 5) if m * power >= rough * 0.999), 10 * power)


def _rounded(value: float, step: float) -> float:
    # Multiples of a step leave dust behind its last digit: 3 * 0.1 is 0.30000000000000004.
    return round(value, -math.floor(math.log10(step)))
