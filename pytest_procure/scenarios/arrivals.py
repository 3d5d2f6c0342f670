"""Arrival schedules: parameters and a seed to int64 ns.

A process of unit rate (Poisson, gamma or constant gaps) is stretched by the declared rate. Where the rate
changes over time, arrival number x comes when x are expected to have come: the inverse of the cumulative
rate, which makes a Poisson process of that rate out of one of unit rate (time rescaling; Cinlar, Introduction
to Stochastic Processes, 1975, section 4.7). A duration holds the arrivals that are expected in it, no more
and no fewer: they scatter over it, and none comes after it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .lengths import begun
from .profiles import Profile, profile_of
from .randomness import ARRIVALS, generator
from .traffic import Traffic

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


def arrivals(traffic: Traffic, n: int) -> Int64:
    """Schedule n arrivals: `(n,)` int64 ns from the beginning of the traffic, ascending.

    The first comes at 0, or, where the declared rate is 0 then, as soon as it is not. Sessions: when each
    begins. Offline and closed loops: all 0. Traffic of a duration lies within it (but LoadGen's own, whose
    last query comes after it). Gaps are rounded down to whole ns, so offsets are sums of integers, and a
    longer schedule starts with the shorter one.
    """
    if traffic.trace is not None:
        return traffic.trace.arrivals(n, traffic.speed)
    if traffic.loadgen is not None and traffic.qps is not None:
        return traffic.loadgen.schedule(traffic.qps, n)
    rate, profile = traffic.qps or traffic.starts, profile_of(traffic)
    if not n or (rate is None and profile is None):
        return np.zeros(n, dtype=np.int64)
    within = None if traffic.duration is None else begun(traffic)
    if profile is not None:
        offsets = _at_changing_rate(traffic, profile, n, within)
    else:
        offsets = _at_steady_rate(traffic, rate or 1.0, n, within)
    if traffic.duration is not None and within is not None:
        # What comes at its very end, after a gap of no length or by an error of rounding, is still within.
        np.minimum(offsets[:within], traffic.duration.ns - 1, out=offsets[:within])
    return offsets


def _at_steady_rate(traffic: Traffic, rate: float, n: int, within: int | None) -> Int64:
    if traffic.arrivals == "constant":
        return (np.arange(n) * (1e9 / rate)).astype(np.int64)
    offsets = np.zeros(n, dtype=np.int64)
    np.cumsum((_unit_gaps(traffic, n, within) * (1e9 / rate)).astype(np.int64), out=offsets[1:])
    return offsets


def _at_changing_rate(traffic: Traffic, profile: Profile, n: int, within: int | None) -> Int64:
    expected = np.zeros(n)
    np.cumsum(_unit_gaps(traffic, n, within), out=expected[1:])
    if within is not None:  # by an error of rounding, beyond the end, where the rate may be next to nothing
        np.minimum(expected[:within], within, out=expected[:within])
    offsets: Int64 = (profile.when(expected) * 1e9).astype(np.int64)
    return np.maximum.accumulate(offsets)


def _unit_gaps(traffic: Traffic, n: int, within: int | None) -> Float64:
    """`(n - 1,)` gaps of mean 1; the first `within` of them, the last leading to the end, take exactly that.

    Gaps of a Poisson or gamma process over their own sum are distributed as those of a process of which it
    is known how many arrive in that time (Devroye, Non-Uniform Random Variate Generation, 1986, chapter V).
    """
    if traffic.arrivals == "constant":
        return np.ones(n - 1)
    random = generator(traffic.seed, ARRIVALS)
    drawn = n - 1 if within is None else max(n - 1, within)
    gaps: Float64 = (
        random.standard_gamma(traffic.burstiness, drawn) / traffic.burstiness
        if traffic.arrivals == "gamma"
        else random.standard_exponential(drawn)
    )
    if within is not None and (taken := gaps[:within].sum()):
        gaps *= within / taken
    return gaps[: n - 1]
