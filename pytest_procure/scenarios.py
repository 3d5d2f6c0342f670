"""Scenarios: when queries arrive, and under which conditions they are served.

offline        everything is there at the start
single_stream  closed loop: one query at a time, the next when the last is answered
multi_stream   closed loop: the same with N samples a query
server         open loop: Poisson arrivals at a declared rate, whether or not the candidate keeps up

The names are MLPerf's where MLPerf has one. Everything here is pure: parameters and a seed give the same
schedule and the same sample order, to the byte, in every process.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DeclarationError, unknown
from .units import Quantity, duration, ms, seconds

#: Most queries of one run: columns and their copies take about 120 bytes a query, so 1.2 GB.
MAX_QUERIES = 10_000_000
#: Most samples of a closed loop that runs for a duration, because its log is preallocated.
MAX_SAMPLES_BY_DURATION = 1_000_000

_TITLES = {
    "offline": "Offline",
    "single_stream": "SingleStream",
    "multi_stream": "MultiStream",
    "server": "Server",
}
_COMMON = {"count", "timeout", "drain", "warmup", "seed", "wall_limit"}
_OWN = {
    "offline": {"max_batch", "workers", "launches", "stopping"},
    "single_stream": {"duration", "launches", "stopping"},
    "multi_stream": {"duration", "samples_per_query", "launches"},
    "server": {"qps", "duration", "max_batch", "max_wait", "workers"},
}
_WHY = {
    "offline": "it sends everything at once and ends when all is answered",
    "single_stream": "it sends one query at a time, the next when the last is answered",
    "multi_stream": "it sends one query at a time, the next when the last is answered",
    "server": "its rate is declared and each query is one sample",
}
#: argument -> the least and the most that can be meant
_WHOLE = {
    "count": (1, MAX_QUERIES),
    "max_batch": (1, 100_000),
    "workers": (1, 1_000),
    "samples_per_query": (1, 100_000),
    "launches": (1, 1_000),
    "warmup": (0, 100_000),
    "seed": (0, 2**64 - 1),
}
_TIMES = {"duration", "max_wait", "timeout", "drain", "wall_limit"}
_STOPPING = ("fixed", "curtailed", "anytime")
_MAY_BE_ZERO = {"max_wait", "drain"}
#: What a run may take beyond its traffic when no `wall_limit` is declared: loading inputs and warming up.
_SLACK = seconds(60)
#: Beyond a week of traffic the author has most likely mistaken a unit.
_LONGEST = seconds(7 * 24 * 3600)
_NO_WAIT, _PATIENCE, _WALL_LIMIT = ms(0), seconds(10), Quantity.of(10, "min")

_ARRIVALS, _ORDER = 1, 2  # random streams of one seed: arrivals do not depend on the sample order


@dataclass(frozen=True, slots=True)
class Scenario:
    """Traffic and run conditions of one test. `declare` checks them; the constructor does not.

    qps                server: requests a second, on average
    duration, count    how long, or how many queries; at most one of the two
    max_batch          most queries that one call of the backend serves
    max_wait           how long the oldest query of a batch waits for others to join it
    workers            threads that call the backend side by side
    samples_per_query  multi_stream: N
    timeout            a query's deadline, from its scheduled time (offline: from its start)
    drain              how long to wait for answers after the last scheduled time; closed loops and offline:
                       after the last completion
    warmup             calls before the run that are not logged
    stopping           single_stream, offline: "fixed", "curtailed" or "anytime", as `stopping` says
    launches           offline throughput: how often the candidate is loaded anew; the driver runs one
    wall_limit         hard limit of a whole run, warm-up included
    """

    name: str
    qps: float | None = None
    duration: Quantity | None = None
    count: int | None = None
    max_batch: int = 1
    max_wait: Quantity = _NO_WAIT
    workers: int = 1
    samples_per_query: int = 1
    timeout: Quantity = _PATIENCE
    drain: Quantity = _PATIENCE
    warmup: int = 10
    seed: int = 0
    launches: int = 1
    stopping: str = "fixed"
    wall_limit: Quantity = _WALL_LIMIT

    @classmethod
    def declare(cls, name: str, **arguments: object) -> Scenario:
        """Read what an author writes, as in `declare("server", qps=40, duration="60 s", max_batch=8)`.

        Raises `DeclarationError` in one sentence for anything that cannot be meant.
        """
        name = _canonical(name)
        read = {key: _read(name, key, value) for key, value in arguments.items()}
        if name == "multi_stream":
            read.setdefault("samples_per_query", 8)
        # A longer deadline would mean nothing if the run ended before it.
        if "timeout" in read and "drain" not in read:
            read["drain"] = max(read["timeout"], seconds(10))
        scenario = cls(name, **read)
        _check_length(scenario)
        return scenario._with_wall_limit(declared="wall_limit" in read)

    def _with_wall_limit(self, *, declared: bool) -> Scenario:
        """Stretch a default wall limit over long traffic; refuse a declared one that cuts it off."""
        span = _span(self)
        if not declared:
            least = Quantity.of((span + self.drain.base + _SLACK.base).to_integral_value(), "s")
            return replace(self, wall_limit=max(self.wall_limit, least))
        if self.wall_limit.base < span:
            raise DeclarationError(
                f"scenario `{self.name}`: `wall_limit='{self.wall_limit}'` ends the run before "
                f"its traffic of {span.normalize():f} s is over; expected more, or no `wall_limit`"
            )
        return self

    @property
    def is_closed_loop(self) -> bool:
        """Whether the next query waits for the answer to the last, so that slowness thins the traffic."""
        return self.name in {"single_stream", "multi_stream"}

    @property
    def rate_is_declared(self) -> bool:
        """Whether the rate of queries is a condition and no result."""
        return self.name == "server"

    @property
    def allows_latency(self) -> bool:
        """Whether a latency bar means anything: not where all queries wait for each other."""
        return self.name != "offline"

    @property
    def allows_throughput(self) -> bool:
        """Whether a throughput bar means anything: not where the rate is declared."""
        return not self.rate_is_declared

    @property
    def label(self) -> str:
        """The scenario as a sentence for the report."""
        return f"{_TITLES[self.name]}{_traffic(self)}"

    def conditions(self) -> dict[str, Any]:
        """Give every condition that belongs to the scenario as plain JSON data, for disclosure."""
        told: dict[str, Any] = {
            "scenario": self.name,
            "label": self.label,
            "closed_loop": self.is_closed_loop,
        }
        for key in sorted(_COMMON | _OWN[self.name]):
            value = getattr(self, key)
            told[key] = str(value) if isinstance(value, Quantity) else value
        told["sample_order"] = "every item equally often, a fresh permutation each pass (PCG64)"
        if self.rate_is_declared:
            told["arrivals"] = "Poisson: exponential gaps in whole ns (PCG64), fixed before the run"
        return told

    def replace_batch(self, max_batch: int | None, max_wait: Quantity | None = None) -> Scenario:
        """Put a candidate's own batch policy in place of the declared one.

        A closed loop has one query in flight and forms no batches, so it stays as it is.
        """
        if self.is_closed_loop:
            return self
        policy = {} if max_batch is None else {"max_batch": _read(self.name, "max_batch", max_batch)}
        if max_wait is not None and self.rate_is_declared:
            policy["max_wait"] = _read(self.name, "max_wait", max_wait)
        return replace(self, **policy)


def queries(scenario: Scenario, items: int) -> int:
    """Count the queries of a run over a slice of `items` samples; every one gets a row in the log.

    Closed loops that run for a duration get the number of rows to preallocate: they send fewer.
    """
    if scenario.count is not None:
        return scenario.count
    if scenario.qps is not None and scenario.duration is not None:
        return math.floor(Decimal(str(scenario.qps)) * scenario.duration.base)
    if scenario.duration is not None:
        return max(1, MAX_SAMPLES_BY_DURATION // scenario.samples_per_query)
    return -(-items // scenario.samples_per_query)


def arrivals(scenario: Scenario, n: int) -> NDArray[np.int64]:
    """Schedule n queries: `(n,)` int64 ns from the first, ascending, the first at 0.

    Server: a Poisson process of rate `qps`. Offline: all 0. Gaps are exponential variates rounded down to
    whole ns, so offsets are sums of integers, and a longer schedule starts with the shorter one.
    """
    offsets = np.zeros(n, dtype=np.int64)
    if scenario.qps is not None and n > 1:
        gaps = _generator(scenario.seed, _ARRIVALS).standard_exponential(n - 1) * (1e9 / scenario.qps)
        np.cumsum(gaps.astype(np.int64), out=offsets[1:])
    return offsets


def sample_order(items: int, total: int, seed: int) -> NDArray[np.int64]:
    """Choose which sample each query asks: `(total,)` int64 in [0, items).

    Every pass over the slice is a fresh permutation, so after any number of queries no sample has been asked
    twice more often than another. A longer order starts with the shorter one.
    """
    passes = -(-total // items)
    table = np.tile(np.arange(items, dtype=np.int64), (passes, 1))
    order: NDArray[np.int64] = _generator(seed, _ORDER).permuted(table, axis=1).reshape(-1)[:total]
    return order


def _generator(seed: int, stream: int) -> np.random.Generator:
    # Named outright: `default_rng` may change its engine in a later numpy.
    return np.random.Generator(np.random.PCG64([seed, stream]))


def _canonical(name: object) -> str:
    """Read a scenario's name in our spelling or MLPerf's: `single_stream`, `SingleStream`."""
    folded = {key.replace("_", ""): key for key in _OWN}
    if not isinstance(name, str):
        raise DeclarationError(f"scenario `{name!r}` is no name; expected one of {', '.join(sorted(_OWN))}")
    key = re.sub(r"[\s_-]", "", name).lower()
    if key not in folded:
        raise DeclarationError(unknown("scenario", name, _OWN))
    return folded[key]


def _read(name: str, key: str, value: object) -> Any:
    """Check one argument and give it in the type of its field."""
    known = _COMMON | _OWN[name]
    if key not in known:
        if any(key in own for own in _OWN.values()):
            raise DeclarationError(
                f"argument `{key}` does not belong to scenario `{name}`: {_WHY[name]}; "
                f"it takes: {', '.join(sorted(known))}"
            )
        raise DeclarationError(f"scenario `{name}`: " + unknown("argument", key, known))
    if key in _WHOLE:
        return _whole(name, key, value)
    if key == "stopping":
        if value not in _STOPPING:
            raise DeclarationError(f"scenario `{name}`: {unknown('stopping', str(value), _STOPPING)}")
        return value
    if key in _TIMES:
        return _time(name, key, value)
    return _rate(name, key, value)


def _whole(name: str, key: str, value: object) -> int:
    least, most = _WHOLE[key]
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)  # numpy's whole numbers too
        if least <= number <= most:
            return number
    raise DeclarationError(
        f"scenario `{name}`: `{key}={value!r}`; expected a whole number from {least} to {most:,}"
    )


def _rate(name: str, key: str, value: object) -> float:
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < math.inf:
            return number
    raise DeclarationError(
        f"scenario `{name}`: `{key}={value!r}`; expected requests a second, above 0, as in `{key}=40`"
    )


def _time(name: str, key: str, value: object) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, (Quantity, str, int, float, Decimal)):
        raise DeclarationError(f"scenario `{name}`: `{key}={value!r}`; expected a time, as in `{key}='60 s'`")
    read = duration(value, what=key)
    if read.ns < 0 or (read.ns == 0 and key not in _MAY_BE_ZERO):
        least = "0 s or more" if key in _MAY_BE_ZERO else "more than 0 s"
        raise DeclarationError(f"scenario `{name}`: `{key}='{read}'`; expected {least}")
    return read


def _span(scenario: Scenario) -> Decimal:
    """Give the seconds that the declared traffic takes; 0 where the candidate decides."""
    if scenario.qps is not None and scenario.count is not None:
        return scenario.count / Decimal(str(scenario.qps))
    return scenario.duration.base if scenario.duration else Decimal(0)


def _check_length(scenario: Scenario) -> None:
    """Refuse traffic with two lengths, with none where one is needed, or with too few or too many queries."""
    name = scenario.name
    if scenario.duration is not None and scenario.count is not None:
        raise DeclarationError(f"scenario `{name}` has both `duration` and `count`; expected one of the two")
    if _span(scenario) > _LONGEST.base:
        raise DeclarationError(
            f"scenario `{name}`: traffic of {_span(scenario):.0f} s; expected a week at most"
        )
    samples = (scenario.count or 0) * scenario.samples_per_query
    if samples > MAX_QUERIES:
        raise DeclarationError(
            f"scenario `{name}` asks {samples:,} samples; expected {MAX_QUERIES:,} at most"
        )
    if not scenario.rate_is_declared:
        return
    if scenario.qps is None:
        raise DeclarationError("scenario `server` has no rate; expected for example `qps=40`")
    if scenario.duration is None and scenario.count is None:
        raise DeclarationError(
            "scenario `server` has no end; expected for example `duration='60 s'` or `count=2400`"
        )
    n = queries(scenario, 1)
    if not 1 <= n <= MAX_QUERIES:
        raise DeclarationError(
            f"scenario `server`: `qps={scenario.qps:g}` for {scenario.duration} makes {n:,} queries; "
            f"expected 1 to {MAX_QUERIES:,}"
        )


def _traffic(scenario: Scenario) -> str:
    """What follows a scenario's title in its label."""
    n = scenario.samples_per_query
    parts = []
    if scenario.rate_is_declared:
        parts.append(f": {Quantity.of(scenario.qps or 0)} requests/s on average, Poisson arrivals")
    elif scenario.is_closed_loop:
        query = "one request" if n == 1 else f"one query of {n} samples"
        parts.append(f" (closed loop): {query} at a time, the next when the last is answered")
    else:
        parts.append(": all requests at once")
    if scenario.duration is not None:
        parts.append(f"for {scenario.duration}")
        if scenario.is_closed_loop:
            parts.append(f"at most {queries(scenario, 1):,} queries")
    if scenario.count is not None:
        parts.append(f"{scenario.count:,} {'requests' if n == 1 else 'queries'}")
    if not scenario.is_closed_loop:
        parts.append(f"at most {scenario.max_batch} a batch" if scenario.max_batch > 1 else "no batching")
        if scenario.max_wait.ns:
            parts.append(f"a batch waits at most {scenario.max_wait}")
        if scenario.workers > 1:
            parts.append(f"{scenario.workers} workers")
    if scenario.launches > 1:
        parts.append(f"{scenario.launches} launches")
    return ", ".join(parts)
