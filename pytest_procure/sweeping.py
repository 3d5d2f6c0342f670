"""Short runs at one load after the other: the points of a latency-throughput curve.

They are shown, and decide nothing: a lucky one among several is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from .bars import Bar, declare_bar
from .cases import Case
from .errors import DeclarationError
from .evidence.record import SweepPoint, SweepRecord
from .metrics import Execution, metric
from .result import Result
from .scenarios import Scenario, rate
from .units import Quantity, quantity, seconds

Role = Literal["sweep", "bracket", "bisect", "confirm"]
By = Literal["rate", "concurrency"]
#: Drives a scenario as often as it says in `launches`, and gives what that left behind.
Drive = Callable[[Scenario], Execution]

#: A short run holds this many requests at least, however low its rate.
_LEAST_REQUESTS = 20
#: Seeds of short runs stay apart from those of the runs around them.
_FRESH = 1_000_003


class Sweep:
    """Short runs on one candidate: what they left behind, and where they lie on the curve."""

    def __init__(self, case: Case, drive: Drive, scenario: Scenario, bars: Sequence[Bar], by: By) -> None:
        self._case = case
        self._drive = drive
        self._scenario = scenario
        self._by: By = by
        self.bars = tuple(bars)
        self.points: list[SweepPoint] = []
        self.executions: list[Execution] = []

    def probe(self, offered: float, length: Quantity, role: Role) -> bool:
        """Make one short run at a load; True where its point values meet every bar."""
        make = at_rate if self._by == "rate" else at_concurrency
        return self.put(self._drive(make(self._scenario, offered, length, self.number)), offered, role)

    def put(self, execution: Execution, offered: float, role: Role) -> bool:
        """Put a run on the curve; True where its point values meet every bar."""
        self.executions.append(execution)
        self.points.append(_point(self._case, execution, self.bars, offered, role))
        return self.points[-1]["ok"]

    @property
    def number(self) -> int:
        """Of the next run, from 1."""
        return len(self.points) + 1

    def record(self, found: float | None, sentence: str) -> SweepRecord:
        """Write the curve as plain data."""
        told = [f"{bar.metric.title} {bar.sense} {bar.limit}" for bar in self.bars]
        points = list(self.points)
        return {"by": self._by, "points": points, "bars": told, "found": found, "sentence": sentence}


def bars_of(asked: object, declared: Sequence[Bar]) -> tuple[Bar, ...]:
    """Read bars for runs of one's own: `{"latency.p95": "80 ms"}`, or None for those that the marks declare.

    A value may be a mapping of what `bar` takes: `{"goodput": {"at_least": 0.9, "latency": "80 ms"}}`. Raises
    `DeclarationError` for what cannot be meant, or says nothing of a run at a declared load.
    """
    if asked is not None and not (isinstance(asked, dict) and asked):
        raise DeclarationError(
            f"`bars={asked!r}`; expected for example `{{'latency.p95': '80 ms', 'error_rate': 0.01}}`"
        )
    found = tuple(declared) if asked is None else tuple(_bar(name, value) for name, value in asked.items())
    for bar in found:
        if bar.against is not None or bar.metric.kind in {"throughput", "cost", "energy", "own"}:
            raise DeclarationError(f"bar `{bar.metric.name}` says nothing of one run at a declared load")
    return found


def rate_of(value: Any, name: str) -> float:
    """Read requests a second: a number, or a quantity with that unit. Raises `DeclarationError`."""
    try:
        read = quantity(value)
    except (DeclarationError, TypeError):
        read = Quantity.of(0)
    if isinstance(value, bool) or read.dimension not in {"number", "rate"} or read.base <= 0:
        raise DeclarationError(f"`{name}={value!r}`; expected requests a second, above 0, as in `{name}=40`")
    return float(read.base)


def loads_of(rates: Sequence[Any], concurrency: Sequence[Any]) -> tuple[list[float], By]:
    """Read the loads of a sweep, in their order, and what they are. Raises `DeclarationError`."""
    asked, users_asked = (
        _listed(rates, "rates", [10, 20, 40]),
        _listed(concurrency, "concurrency", [1, 4, 16]),
    )
    if bool(asked) == bool(users_asked):
        raise DeclarationError("a sweep takes `rates=[10, 20, 40]` or `concurrency=[1, 4, 16]`")
    if asked:
        return [rate_of(each, "rates") for each in asked], "rate"
    for users in users_asked:
        if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= 100_000:
            raise DeclarationError(f"`concurrency={users!r}`; expected whole numbers from 1 to 100,000")
    return [float(users) for users in users_asked], "concurrency"


def _listed(value: Any, name: str, example: list[int]) -> list[Any]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise DeclarationError(f"`{name}={value!r}`; expected a list, as in `{name}={example}`")
    return list(value)


def at_rate(scenario: Scenario, wanted: float, length: Quantity, number: int) -> Scenario:
    """Give the scenario's traffic at another mean rate, for `length` or 20 requests, with a seed of its own.

    Bursts keep their shape, traces and sessions come faster; without a declared rate it is Poisson arrivals.
    Raises `DeclarationError` for a ramp, which has no one rate.
    """
    span = max(length, Quantity.of(round(_LEAST_REQUESTS / wanted, 6), "s"))
    plain = _fresh(scenario, span, number)
    declared = rate(scenario)
    factor = 1.0 if declared is None else wanted / declared
    if scenario.name == "ramp":
        raise DeclarationError("a ramp has no one rate to search or sweep; mark another scenario")
    if scenario.base is not None and scenario.peak is not None and scenario.period is not None:
        base, peak = scenario.base * factor, scenario.peak * factor
        return _timed(replace(plain, base=base, peak=peak, duration=max(span, scenario.period)))
    if scenario.trace is not None:
        return _timed(replace(plain, speed=scenario.speed * factor))
    if scenario.starts is not None:
        return _timed(replace(plain, starts=scenario.starts * factor))
    return _timed(replace(plain, name="server", qps=wanted, concurrency=1, samples_per_query=1))


def at_concurrency(scenario: Scenario, users: float, length: Quantity, number: int) -> Scenario:
    """Give a closed loop with so many users, for `length`."""
    plain = _fresh(scenario, length, number)
    if scenario.name != "closed_loop":
        plain = replace(plain, name="closed_loop", qps=None, samples_per_query=1)
    return _timed(replace(plain, concurrency=round(users)))


def _fresh(scenario: Scenario, length: Quantity, number: int) -> Scenario:
    seed = (scenario.seed + number * _FRESH) % 2**64
    # LoadGen's arrivals hang on its own seed, which would be the same in every run.
    return replace(
        scenario,
        count=None,
        duration=length,
        cut=0,
        stopping="fixed",
        launches=1,
        loadgen=None,
        seed=seed,
    )


def _timed(scenario: Scenario) -> Scenario:
    """Allow twice the time that the traffic takes: a candidate that is asked too much needs longer."""
    assert scenario.duration is not None, "short runs go by time"
    needed = 2 * scenario.duration.base + scenario.drain.base + 60
    return replace(scenario, wall_limit=max(scenario.wall_limit, seconds(math.ceil(needed))))


def _bar(name: Any, value: Any) -> Bar:
    if isinstance(value, dict):
        return declare_bar(name, **value)
    better = metric(name).better
    if not better:
        raise DeclarationError(
            f"bar `{name}`: say which way, as in `{{'{name}': {{'at_least': {value!r}}}}}`"
        )
    return declare_bar(name, **{"at_most" if better == "low" else "at_least": value})


def _point(case: Case, execution: Execution, bars: Sequence[Bar], offered: float, role: Role) -> SweepPoint:
    result = Result(execution, case)
    answered = sum(int(log.ok.sum()) * log.samples_per_query for log in execution.logs)
    return {
        "offered": round(offered, 6),
        "achieved": round(answered / execution.seconds, 6) if execution.seconds else 0.0,
        "p50": _milliseconds(result, "latency.p50"),
        "p95": _milliseconds(result, "latency.p95"),
        "p99": _milliseconds(result, "latency.p99"),
        "ok": case.meets(result, bars),
        "role": role,
        "requests": execution.requests,
        "failed": int(execution.failed.sum()),
        "seconds": round(execution.seconds, 6),
        "late": bool(case.faults(result, bars)),
    }


def _milliseconds(result: Result, name: str) -> float | None:
    measured = result.measurement(metric(name))
    if measured.estimate is None or measured.censored:
        return None
    return float(round(measured.estimate.to("ms"), 6))


def exact(rate_: float) -> Decimal:
    """Write a rate as people read it: to a millionth of a request a second."""
    return Decimal(f"{rate_:.6f}".rstrip("0").rstrip("."))
