"""Do arrivals come as the scenario declares? Their rate, shape and independence, from their times alone.

Rate and shape are not enough: a generator that uses every gap ten times over has the right rate, the right
spread and the right distribution, and sends ten queries in a row close together. Its gaps follow each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pytest_procure.scenarios import Profile, Scenario, profile_of

from .limits import Limits
from .log import Int64

Floats = NDArray[np.float64]

#: With fewer gaps the tests see nothing, and their limits are not what they are meant to be.
_FEWEST = 50
#: Shape and independence are looked at in this many stretches of this many gaps, spread over the run.
_STRETCHES, _STRETCH = 10, 5_000
#: What rounding takes off a count, in its last digits: of the schedule, and of what is expected.
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Law:
    """How arrivals are distributed.

    `expected` gives how many are expected up to each time in ns, `(n,)` to `(n,)`, rising. Measured in it
    (the time-rescaling theorem), gaps are independent draws of a gamma distribution with mean 1 and this
    `shape`: 1 is Poisson, less is burstier, and infinity says that all gaps are equal.
    """

    expected: Callable[[Int64], Floats]
    shape: float = 1.0

    @classmethod
    def steady(cls, rate: float, shape: float = 1.0) -> Law:
        """Give the law of `rate` arrivals a second, the same all the time."""
        return cls(partial(_at_rate, rate), shape)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What the times of one run show. Gaps are measured in those that are expected: their mean is 1."""

    gaps: int
    rate: float  # of what is declared
    spread: float  # of the gaps: standard deviation over mean
    declared_spread: float
    distance: float | None  # Kolmogorov and Smirnov's, from the declared distribution; None: all gaps equal
    correlation: float | None  # of each gap with the next, as ranks of the declared distribution
    irregular: tuple[str, ...]  # what is not as declared, in words


def law_of(scenario: Scenario) -> Law | None:
    """Give the law of a scenario's arrivals; None where its times are set by answers, or by nothing."""
    shape = {"poisson": 1.0, "gamma": scenario.burstiness, "constant": math.inf}[scenario.arrivals]
    profile = profile_of(scenario)
    if profile is not None:
        return Law(partial(_by_profile, profile), shape)
    if scenario.name == "server" and scenario.qps is not None:
        return Law.steady(scenario.qps, shape)
    return None


def arrivals_of(times: Int64, law: Law, limits: Limits) -> Arrivals | None:
    """Hold the times of arrivals against their law: `(n,)` int64 ns, ascending. None for fewer than 51.

    Three tests share the chance of a false alarm (Bonferroni). Rate: the sum of gamma gaps is gamma. Shape:
    Kolmogorov and Smirnov against the declared distribution. Independence: the lag-1 correlation of the gaps'
    probability integral transforms, which heavy tails cannot upset. What they find counts if it is large too.
    """
    gaps = len(times) - 1
    if gaps < _FEWEST:
        return None
    each = limits.arrival_false_alarm / 3
    ends = law.expected(times[[0, -1]])
    rate = gaps / max(float(ends[1] - ends[0]), 1e-9)  # all at once is a rate as well
    looked_at, least, most = _stretches(times, law)
    mean = float(looked_at.mean())
    spread = float(looked_at.std()) / mean if mean else 0.0  # all at once: the rate tells
    told = [_of_rate(gaps, rate, law.shape, each)] if abs(rate - 1) > limits.arrival_rate else []
    distance = correlation = None
    if math.isinf(law.shape):
        told.append(f"the gaps vary by {spread:.1%} of a gap" if spread > limits.arrival_spread else "")
    else:
        low, high = _ranks(least, law.shape), _ranks(most, law.shape)
        unsure = float((high - low).mean())
        distance, correlation = _distance(low, high), _correlation((low + high) / 2)
        if distance > limits.arrival_distance:
            told.append(_of_shape(len(low), distance, each))
        if abs(correlation) > limits.arrival_correlation + unsure:
            told.append(_of_order(len(low), correlation, unsure, each))
    return Arrivals(
        gaps=gaps,
        rate=rate,
        spread=spread,
        declared_spread=0.0 if math.isinf(law.shape) else law.shape**-0.5,
        distance=distance,
        correlation=correlation,
        irregular=tuple(sentence for sentence in told if sentence),
    )


def _at_rate(rate: float, times: Int64) -> Floats:
    return np.multiply(times, rate / 1e9, dtype=np.float64)


def _by_profile(profile: Profile, times: Int64) -> Floats:
    return profile.expected(times.astype(np.float64) * 1e-9)


def _stretches(times: Int64, law: Law) -> tuple[Floats, Floats, Floats]:
    """Measure gaps in those that are expected: `(m,)` as they are, at least, and at most.

    All of them, or those of ten stretches of a long run. Times are whole ns, so a gap may be a ns less or
    more than it looks, and counts have so many digits; half the gaps of very bursty laws are shorter.
    """
    starts = [0]
    if len(times) > _STRETCHES * _STRETCH:
        starts = np.linspace(0, len(times) - _STRETCH - 1, _STRETCHES).astype(np.int64).tolist()
    found, least, most = [], [], []
    for start in starts:
        part = times[start : start + _STRETCH + 1] if len(starts) > 1 else times
        at, and_a_ns = law.expected(part), law.expected(part + 1)
        blur = _DIGITS * np.spacing(np.abs(at).max())
        found.append(at[1:] - at[:-1])
        least.append(np.maximum(at[1:] - and_a_ns[:-1] - blur, 0.0))
        most.append(and_a_ns[1:] - at[:-1] + blur)
    return np.concatenate(found), np.concatenate(least), np.concatenate(most)


def _ranks(gaps: Floats, shape: float) -> Floats:
    """Give the probability of a smaller gap, for each: uniform if the law holds."""
    from scipy import special  # noqa: PLC0415 - heavy, and only runs with a law need it

    ranks: Floats = special.gammainc(shape, shape * gaps)
    return ranks


def _of_rate(gaps: int, rate: float, shape: float, risk: float) -> str:
    from scipy import special  # noqa: PLC0415 - as above

    if not math.isinf(shape):
        total, long = shape * gaps / rate, shape * gaps
        if 2 * min(special.gammainc(long, total), special.gammaincc(long, total)) > risk:
            return ""
    return f"arrivals come at {rate:.3g} times the declared rate"


def _distance(low: Floats, high: Floats) -> float:
    """Give the largest distance of the gaps' distribution function from the law's that is certain.

    Each rank lies between `low` and `high`, so the gaps' function lies between those of the two.
    """
    n = len(low)
    counts = np.arange(n + 1) / n
    return float(max((counts[1:] - np.sort(high)).max(), (np.sort(low) - counts[:-1]).max(), 0.0))


def _of_shape(n: int, distance: float, risk: float) -> str:
    from scipy import special  # noqa: PLC0415 - as above

    # Stephens (1970): with this the limiting distribution serves from five values on.
    scaled = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if special.kolmogorov(scaled) > risk:
        return ""
    return f"the gaps between arrivals are not distributed as declared (distance {distance:.2f})"


def _correlation(ranks: Floats) -> float:
    """Correlate each with the next, around the mean and by the variance that the law gives them."""
    centred = ranks - 0.5
    return float(12 * (centred[:-1] * centred[1:]).mean())


def _of_order(n: int, correlation: float, unsure: float, risk: float) -> str:
    """Judge the order; ranks that rounding leaves `unsure` by so much may follow each other by about that."""
    from scipy import special  # noqa: PLC0415 - as above

    limit = -float(special.ndtri(risk / 2)) / math.sqrt(n - 1)
    if abs(correlation) <= limit + unsure:
        return ""
    return f"gaps between arrivals follow each other (lag-1 correlation {correlation:.2f})"
