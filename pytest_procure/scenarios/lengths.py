"""How long traffic is: in queries, in seconds, and how many of these there are a second."""

from __future__ import annotations

import math
from decimal import Decimal

from pytest_procure.errors import DeclarationError
from pytest_procure.units import Quantity, seconds

from .profiles import expected_by, profile_of
from .traces import Trace
from .traffic import Traffic

#: Most queries of one run: columns and their copies take about 100 bytes a query, so 1 GB.
MAX_QUERIES = 10_000_000
#: Most samples of a closed loop that runs for a duration, because its log is preallocated.
MAX_SAMPLES_BY_DURATION = 1_000_000
#: Most arrivals a second that can be declared: times are whole ns, of which a gap should have a hundred.
FASTEST = 1e7
#: Beyond a week of traffic the author has most likely mistaken a unit.
_LONGEST = seconds(7 * 24 * 3600)

_NO_RATE = {
    "server": ("qps", "qps=40"),
    "burst": ("base, peak and period", "base=10, peak=50, period='10 s', duty=0.2"),
    "ramp": ("start and end", "start=10, end=100, duration='60 s'"),
    "sessions": ("starts and turns", "starts=2, turns=5, think_time='4 s'"),
    "replay": ("trace", "trace='monday.jsonl'"),
}


def queries(traffic: Traffic, items: int) -> int:
    """Count the queries of a run over a slice of `items` samples; every one gets a row in the log.

    Closed loops that run for a duration get the number of rows to preallocate: they send fewer.
    """
    known = _known(traffic, items)
    if known is not None:
        return known
    if traffic.duration is not None:
        return max(1, MAX_SAMPLES_BY_DURATION // traffic.samples_per_query)
    return -(-items // traffic.samples_per_query)


def _known(traffic: Traffic, items: int) -> int | None:
    """Count the queries that are declared; None where the duration or the slice of a loop decides."""
    if traffic.starts is not None:
        return sessions(traffic) * traffic.turns
    if traffic.trace is not None:
        return traffic.trace.count(traffic.count, traffic.duration, traffic.speed)
    if traffic.loadgen is not None:
        return traffic.loadgen.queries(traffic.name, items, traffic.qps, traffic.duration, traffic.count)
    if traffic.count is None and traffic.rate_is_declared and traffic.duration is not None:
        return math.floor(_expected(traffic, traffic.duration))
    return traffic.count


def sessions(traffic: Traffic) -> int:
    """Count the sessions that begin."""
    if traffic.count is not None:
        return traffic.count
    assert traffic.starts is not None, "only sessions begin"
    assert traffic.duration is not None, "a declared rate has an end"
    return math.floor(Decimal(str(traffic.starts)) * traffic.duration.base)


def begun(traffic: Traffic) -> int:
    """Count the arrivals at a declared rate: of sessions their beginnings."""
    return sessions(traffic) if traffic.starts is not None else queries(traffic, 1)


def rate(traffic: Traffic) -> float | None:
    """Give the declared rate: queries a second, on average; None where the candidate sets the pace.

    A burst's is that of whole periods, a ramp's that of its duration, a trace's that of its gaps.
    """
    if traffic.starts is not None:
        return traffic.starts * traffic.turns
    if traffic.trace is not None:
        return traffic.trace.rate(queries(traffic, 1), traffic.speed)
    over = traffic.period if traffic.name == "burst" else traffic.duration
    profile = profile_of(traffic)
    if profile is not None and over is not None:
        return expected_by(profile, float(over.base)) / float(over.base)
    return traffic.qps


def is_steady(traffic: Traffic) -> bool:
    """Whether a third of the traffic is as heavy as any other, so that a backlog that grows means overload.

    A burst counts from nine periods on: three a third.
    """
    if traffic.period is not None:
        return span(traffic) >= 9 * traffic.period.base
    return traffic.name not in {"ramp", "replay"}


def span(traffic: Traffic) -> Decimal:
    """Give the seconds that the declared traffic takes; 0 where the candidate decides."""
    if traffic.trace is not None:
        return Decimal(repr(traffic.trace.seconds(queries(traffic, 1), traffic.speed)))
    pauses = traffic.think_time.base * (traffic.turns - 1)
    often = rate(traffic) if traffic.starts is None else traffic.starts
    if often is not None and traffic.count is not None:
        return traffic.count / Decimal(str(often)) + pauses
    return traffic.duration.base + pauses if traffic.duration else Decimal(0)


def check_length(traffic: Traffic) -> None:
    """Refuse traffic with two lengths, with none where one is needed, or with too few or too many queries."""
    name = traffic.name
    if traffic.duration is not None and traffic.count is not None:
        raise DeclarationError(f"scenario `{name}` has both `duration` and `count`; expected one of the two")
    _check_rate(traffic)
    if traffic.trace is not None and traffic.count is not None and traffic.count > len(traffic.trace):
        raise DeclarationError(
            f"scenario `{name}`: `count={traffic.count}`, but trace `{traffic.trace.file}` holds "
            f"{len(traffic.trace):,} arrival(s); expected so many at most, or no `count`"
        )
    if span(traffic) > _LONGEST.base:
        raise DeclarationError(
            f"scenario `{name}`: traffic of {span(traffic):.0f} s; expected a week at most"
        )
    samples = (traffic.count or 0) * traffic.samples_per_query * traffic.turns
    if samples > MAX_QUERIES:
        raise DeclarationError(
            f"scenario `{name}` asks {samples:,} samples; expected {MAX_QUERIES:,} at most"
        )
    if not traffic.rate_is_declared:
        return
    n = _foreseen(traffic)
    if not 1 <= n <= MAX_QUERIES:
        asked = f"`qps={traffic.qps:g}`" if traffic.qps is not None else "its rate"
        raise DeclarationError(
            f"scenario `{name}`: {asked} for {traffic.duration} makes {n:,} queries; "
            f"expected 1 to {MAX_QUERIES:,}"
        )
    _check_cut(traffic, n)


def _check_rate(traffic: Traffic) -> None:
    name = traffic.name
    if not traffic.rate_is_declared:
        return
    if rate(traffic) is None and traffic.trace is None:
        if name == "ramp" and traffic.start is not None and traffic.end is not None:
            raise DeclarationError("scenario `ramp` has no end; expected for example `duration='60 s'`")
        missing, example = _NO_RATE[name]
        what = "rate" if name == "server" else missing
        raise DeclarationError(f"scenario `{name}` has no {what}; expected for example `{example}`")
    if traffic.trace is not None:
        _check_speed(traffic, traffic.trace)
    if traffic.trace is None and traffic.duration is None and traffic.count is None:
        raise DeclarationError(
            f"scenario `{name}` has no end; expected for example `duration='60 s'` or `count=2400`"
        )


def _check_speed(traffic: Traffic, trace: Trace) -> None:
    """Refuse a speed at which a trace comes faster than other traffic may; as it was recorded it may come."""
    recorded = trace.rate(queries(traffic, 1), 1.0)
    if recorded is not None and traffic.speed > 1.0 and recorded * traffic.speed > FASTEST:
        raise DeclarationError(
            f"scenario `replay`: at `speed={traffic.speed:g}`, trace `{trace.file}` of {recorded:,.6g} "
            "arrivals a second is faster than times in whole ns can tell; expected "
            f"{max(FASTEST / recorded, 1.0):g} at most"
        )


def _check_cut(traffic: Traffic, n: int) -> None:
    """Refuse a cut that leaves nothing to measure."""
    cut = traffic.cut
    whole = isinstance(cut, Quantity) and cut.base >= span(traffic) > 0
    if whole or (isinstance(cut, int) and cut >= n):
        raise DeclarationError(
            f"scenario `{traffic.name}`: `cut='{cut}'` is all of its traffic, {n:,} queries in "
            f"{span(traffic).normalize():f} s; expected less"
        )


def _foreseen(traffic: Traffic) -> int:
    """Count queries without drawing a schedule, which may be one of far too many."""
    if traffic.loadgen is None:
        return queries(traffic, 1)
    assert traffic.qps is not None, "the rate has been checked"
    expected = 0 if traffic.duration is None else traffic.qps * float(traffic.duration.base)
    return max(traffic.count or 0, math.ceil(expected), 1)


def _expected(traffic: Traffic, time: Quantity) -> Decimal:
    profile = profile_of(traffic)
    if profile is not None:
        return Decimal(expected_by(profile, float(time.base)))
    return Decimal(str(traffic.qps)) * time.base
