"""Arrival schedules: parameters and a seed to int64 ns.

A process of unit rate (Poisson, gamma or constant gaps) is stretched by the declared rate. Where the rate
changes over time, arrival number x comes when x are expected to have come: the inverse of the cumulative
rate, which makes a Poisson process of that rate out of one of unit rate (time rescaling; Cinlar, Introduction
to Stochastic Processes, 1975, section 4.7).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .profiles import Profile, profile_of
from .randomness import ARRIVALS, generator
from .traffic import Traffic

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


def arrivals(traffic: Traffic, n: int) -> Int64:
    """Schedule n arrivals: `(n,)` int64 ns from the first, ascending, the first at 0.

    Sessions: when each begins. Offline and closed loops: all 0. Gaps are rounded down to whole ns, so offsets
    are sums of integers, and a longer schedule starts with the shorter one.
    """
    if traffic.trace is not None:
        return traffic.trace.arrivals(n, traffic.speed)
    if traffic.loadgen is not None and traffic.qps is not None:
        return traffic.loadgen.schedule(traffic.qps, n)
    profile = profile_of(traffic)
    if profile is not None:
        return _at_changing_rate(traffic, profile, n)
    rate = traffic.qps or traffic.starts
    offsets = np.zeros(n, dtype=np.int64)
    if rate is None or n < 2:
        return offsets
    if traffic.arrivals == "constant":
        return (np.arange(n) * (1e9 / rate)).astype(np.int64)
    np.cumsum((_unit_gaps(traffic, n) * (1e9 / rate)).astype(np.int64), out=offsets[1:])
    return offsets


def _at_changing_rate(traffic: Traffic, profile: Profile, n: int) -> Int64:
    expected = np.zeros(n)
    if n > 1:
        np.cumsum(_unit_gaps(traffic, n), out=expected[1:])
    when = profile.when(expected)
    offsets: Int64 = ((when - when[:1]) * 1e9).astype(np.int64)
    return np.maximum.accumulate(offsets)


def _unit_gaps(traffic: Traffic, n: int) -> Float64:
    """`(n - 1,)` gaps of mean 1."""
    if traffic.arrivals == "constant":
        return np.ones(n - 1)
    random = generator(traffic.seed, ARRIVALS)
    if traffic.arrivals == "gamma":
        gaps: Float64 = random.standard_gamma(traffic.burstiness, n - 1) / traffic.burstiness
        return gaps
    return random.standard_exponential(n - 1)
