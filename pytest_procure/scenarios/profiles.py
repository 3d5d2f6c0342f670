"""Rates that change over time: how many arrivals are expected by a time, and when a number is expected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .traffic import Traffic

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """A rate that goes evenly from `start` to `end` (both above 0) in `seconds`, and stays there."""

    start: float
    end: float
    seconds: float

    def expected(self, t: Float64) -> Float64:
        """Count the arrivals expected by each of `t` seconds."""
        slope = (self.end - self.start) / self.seconds
        # Exactly `whole` at the end: beyond it the rate may be next to nothing.
        inside = self.start * t + slope * t * t / 2
        return np.where(t < self.seconds, inside, self._whole + self.end * (t - self.seconds))

    def when(self, expected: Float64) -> Float64:
        """Give the seconds by which so many are expected."""
        slope = (self.end - self.start) / self.seconds
        inside = np.minimum(expected, self._whole)
        # The root of a quadratic in the form that loses no digits where the slope is small.
        root = np.sqrt(np.maximum(self.start**2 + 2 * slope * inside, 0.0))
        seconds: Float64 = 2 * inside / (self.start + root) + (expected - inside) / self.end
        return seconds

    @property
    def _whole(self) -> float:
        return (self.start + self.end) / 2 * self.seconds


@dataclass(frozen=True, slots=True)
class Steps:
    """Constant rates, `(seconds, rate)` one after the other; then again from the first, or the last stays."""

    parts: tuple[tuple[float, float], ...]
    repeats: bool

    def expected(self, t: Float64) -> Float64:
        """Count the arrivals expected by each of `t` seconds."""
        ends, counts = self._corners()
        rounds = np.floor(t / ends[-1]) if self.repeats else np.zeros_like(t)
        rest = t - rounds * ends[-1]
        inside = np.minimum(rest, ends[-1])
        told: Float64 = rounds * counts[-1] + np.interp(inside, ends, counts)
        told += (rest - inside) * self.parts[-1][1]
        return told

    def when(self, expected: Float64) -> Float64:
        """Give the seconds by which so many are expected."""
        ends, counts = self._corners()
        if self.repeats:
            rounds = np.floor(expected / counts[-1])
            seconds: Float64 = rounds * ends[-1] + np.interp(expected - rounds * counts[-1], counts, ends)
            return seconds
        beyond: Float64 = np.maximum(expected - counts[-1], 0.0) / self.parts[-1][1]
        return np.interp(expected, counts, ends) + beyond

    def _corners(self) -> tuple[Float64, Float64]:
        """Ends of the parts in seconds, and the arrivals expected by then; both begin with 0."""
        lengths = np.array([0.0, *(seconds for seconds, _ in self.parts)])
        rates = np.array([0.0, *(rate for _, rate in self.parts)])
        return np.cumsum(lengths), np.cumsum(lengths * rates)


Profile = Line | Steps


def expected_by(profile: Profile, seconds: float) -> float:
    """Count the arrivals expected by one time."""
    return float(profile.expected(np.array([seconds]))[0])


def profile_of(traffic: Traffic) -> Profile | None:
    """Give the rate over time; None where it does not change.

    A burst's peak lies in the middle of its period, so that a run begins and ends calm.
    """
    if traffic.base is not None and traffic.peak is not None and traffic.period is not None:
        period = float(traffic.period.base)
        calm = period * (1.0 - traffic.duty) / 2
        parts = ((calm, traffic.base), (period * traffic.duty, traffic.peak), (calm, traffic.base))
        return Steps(parts, repeats=True)
    if traffic.start is None or traffic.end is None or traffic.duration is None:
        return None
    seconds = float(traffic.duration.base)
    if traffic.steps is None:
        return Line(traffic.start, traffic.end, seconds)
    rates = np.linspace(traffic.start, traffic.end, traffic.steps).tolist()
    return Steps(tuple((seconds / traffic.steps, rate) for rate in rates), repeats=False)
