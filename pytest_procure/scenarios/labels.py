"""A scenario as a sentence for the report, and its conditions as plain data."""

from __future__ import annotations

from typing import Any

from pytest_procure.units import Quantity

from .arguments import taken
from .lengths import queries
from .traffic import Traffic

_TITLES = {
    "offline": "Offline",
    "single_stream": "SingleStream",
    "multi_stream": "MultiStream",
    "closed_loop": "Closed loop",
    "server": "Server",
    "burst": "Burst",
    "ramp": "Ramp",
    "replay": "Replay",
    "sessions": "Sessions",
}
#: What a turn of a session tells the candidate of those before it.
_CARRIED = {
    True: "the questions before it in its session, and the answers that the candidate gave; a turn that "
    "failed is left out with its question",
    False: "nothing but what its sample holds",
}
_PASSES = "every item equally often, a fresh permutation each pass (PCG64)"


def label(traffic: Traffic) -> str:
    """Say what the traffic is; a closed loop says so."""
    parts = [_TITLES[traffic.name] + _HOW[traffic.name](traffic)]
    n = traffic.samples_per_query
    if traffic.duration is not None:
        parts.append(f"for {traffic.duration}")
        if traffic.is_closed_loop:
            parts.append(f"at most {queries(traffic, 1):,} queries")
    if traffic.count is not None:
        what = "sessions" if traffic.name == "sessions" else "requests" if n == 1 else "queries"
        parts.append(f"{traffic.count:,} {what}")
    if not traffic.is_in_turn:
        parts += _served(traffic)
    if traffic.cut:
        first = str(traffic.cut) if isinstance(traffic.cut, Quantity) else f"{traffic.cut:,} requests"
        parts.append(f"the first {first} not counted")
    if traffic.repeat_share:
        parts.append(f"{traffic.repeat_share:.4g} of the requests ask again what was asked before")
    if traffic.loadgen is not None:
        parts.append("random numbers as MLPerf LoadGen draws them")
    if traffic.launches > 1:
        parts.append(f"{traffic.launches} launches")
    return ", ".join(parts)


def conditions(traffic: Traffic) -> dict[str, Any]:
    """Give every condition that belongs to the scenario as plain JSON data, for disclosure."""
    told: dict[str, Any] = {
        "scenario": traffic.name,
        "label": label(traffic),
        "closed_loop": traffic.is_closed_loop,
    }
    for key in taken(traffic.name):
        if key in Traffic.__dataclass_fields__:
            value = getattr(traffic, key)
            told[key] = str(value) if isinstance(value, Quantity) else value
    told["sample_order"] = _order(traffic)
    if traffic.starts is not None:
        told["carried"] = _CARRIED[traffic.history]
    if traffic.rate_is_declared:
        told["arrivals"] = _arrivals(traffic)
    if traffic.trace is not None:
        told["trace"] = traffic.trace.describe()
    if traffic.loadgen is not None:
        told["loadgen"] = traffic.loadgen.describe()
    return told


def _served(traffic: Traffic) -> list[str]:
    told = [f"at most {traffic.max_batch} a batch" if traffic.max_batch > 1 else "no batching"]
    if traffic.max_wait.ns:
        told.append(f"a batch waits at most {traffic.max_wait}")
    if traffic.workers > 1:
        told.append(f"{traffic.workers} workers")
    return told


def _number(value: float | None) -> str:
    return str(Quantity.of(value or 0))


def _gaps(traffic: Traffic) -> str:
    """Name the arrival process."""
    if traffic.arrivals == "constant":
        return "evenly spaced arrivals"
    if traffic.arrivals == "gamma":
        kind = "burstier" if traffic.burstiness < 1 else "steadier" if traffic.burstiness > 1 else "as"
        than = "Poisson" if kind == "as" else "than Poisson"
        return f"gamma arrivals of shape {_number(traffic.burstiness)} ({kind} {than})"
    return "Poisson arrivals"


def _offline(_: Traffic) -> str:
    return ": all requests at once"


def _in_turn(traffic: Traffic) -> str:
    n = traffic.samples_per_query
    query = "one request" if n == 1 else f"one query of {n} samples"
    return f" (closed loop): {query} at a time, the next when the last is answered"


def _closed_loop(traffic: Traffic) -> str:
    users = "1 user" if traffic.concurrency == 1 else f"{traffic.concurrency:,} users"
    pause = f"{traffic.think_time} after" if traffic.think_time.ns else "with"
    return f": {users}, each with one request at a time, the next {pause} the answer to the last"


def _server(traffic: Traffic) -> str:
    return f": {_number(traffic.qps)} requests/s on average, {_gaps(traffic)}"


def _burst(traffic: Traffic) -> str:
    share = _number(round(traffic.duty * 100, 6))
    return (
        f": {_number(traffic.base)} requests/s, {_number(traffic.peak)} during {share} % of every "
        f"{traffic.period}, {_gaps(traffic)}"
    )


def _ramp(traffic: Traffic) -> str:
    steps = "" if traffic.steps is None else f" in {traffic.steps} steps"
    return f": from {_number(traffic.start)} to {_number(traffic.end)} requests/s{steps}, {_gaps(traffic)}"


def _replay(traffic: Traffic) -> str:
    assert traffic.trace is not None, "a replay has a trace"
    speed = "" if traffic.speed == 1 else f" at {_number(traffic.speed)} times its speed"
    return f": the arrivals of {traffic.trace.file}{speed}, {queries(traffic, 1):,} requests"


def _sessions(traffic: Traffic) -> str:
    talk = " about one cluster" if traffic.conversations else ""
    said = "with the questions and answers before it" if traffic.history else "as its sample stands"
    return (
        f" (partly a closed loop): {_number(traffic.starts)} sessions/s begin on average, Poisson arrivals, "
        f"each of {traffic.turns} turns{talk}, the next {traffic.think_time} after the answer to the last, "
        f"each sent {said}"
    )


_HOW = {
    "offline": _offline,
    "single_stream": _in_turn,
    "multi_stream": _in_turn,
    "closed_loop": _closed_loop,
    "server": _server,
    "burst": _burst,
    "ramp": _ramp,
    "replay": _replay,
    "sessions": _sessions,
}


def _order(traffic: Traffic) -> str:
    """Say which sample each query asks."""
    if traffic.loadgen is not None:
        if traffic.loadgen.sample_concatenate_permutation:
            return "every loaded item equally often, as LoadGen shuffles them (mt19937)"
        if traffic.name == "offline":
            return "the loaded items again and again, as LoadGen shuffles them (mt19937)"
        return "drawn with replacement from the loaded items, as LoadGen does (mt19937)"
    if traffic.conversations:
        return (
            "each session the samples of one cluster, in the dataset's order; clusters equally often (PCG64)"
        )
    if traffic.repeat_share:
        return f"{_PASSES}; a share of {traffic.repeat_share:g} asks again what was asked before, at random"
    return _PASSES


def _arrivals(traffic: Traffic) -> str:
    """Say how the schedule is made."""
    if traffic.trace is not None:
        return "as recorded, in whole ns, fixed before the run"
    if traffic.loadgen is not None:
        return "Poisson: exponential gaps in whole ns, as LoadGen draws them (mt19937), fixed before the run"
    drawn = {
        "poisson": "Poisson: exponential gaps in whole ns (PCG64)",
        "gamma": "gamma gaps in whole ns (PCG64)",
        "constant": "equal gaps in whole ns",
    }[traffic.arrivals]
    if traffic.duration is not None and traffic.arrivals != "constant":
        drawn += ", over their sum, so that as many as are expected lie within the duration"
    if traffic.name == "sessions":
        return f"{drawn} between the beginnings of sessions, fixed before the run; later turns follow answers"
    if traffic.name in {"burst", "ramp"}:
        drawn += ", stretched by the declared rate"
    return f"{drawn}, fixed before the run"
