"""Reading what an author writes: which arguments a scenario takes, and what they can mean."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from pytest_procure.errors import DeclarationError, unknown
from pytest_procure.units import Quantity, duration

from .lengths import FASTEST, MAX_QUERIES
from .loadgen import LoadGen
from .traces import Trace
from .traffic import ARRIVALS

#: LoadGen's own settings, read where `rng="loadgen"` asks for its random numbers.
_LOADGEN = frozenset(LoadGen.__dataclass_fields__)
_RNG = {"rng", *_LOADGEN}
_COMMON = {"timeout", "drain", "warmup", "seed", "wall_limit", "repeat_share"}
_SERVED = {"max_batch", "max_wait", "workers"}
_GAPS = {"arrivals", "burstiness"}
_OWN: dict[str, set[str]] = {
    "offline": {"count", "max_batch", "workers", "launches", "stopping", *_RNG},
    "single_stream": {"count", "duration", "launches", "stopping", "cut", *_RNG},
    "multi_stream": {"count", "duration", "samples_per_query", "launches", "cut", *_RNG},
    "closed_loop": {"count", "duration", "concurrency", "think_time", "launches", "cut", *_SERVED},
    "server": {"qps", "count", "duration", "cut", *_GAPS, *_SERVED, *_RNG},
    "burst": {"base", "peak", "period", "duty", "count", "duration", "cut", *_GAPS, *_SERVED},
    "ramp": {"start", "end", "steps", "duration", "cut", *_GAPS, *_SERVED},
    "replay": {"trace", "column", "unit", "speed", "count", "duration", "cut", *_SERVED},
    "sessions": {
        "starts",
        "turns",
        "think_time",
        "conversations",
        "history",
        "count",
        "duration",
        "cut",
        *_SERVED,
    },
}
_TURN = "it sends one query at a time, the next when the last is answered"
_WHY = {
    "offline": "it sends everything at once and ends when all is answered",
    "single_stream": _TURN,
    "multi_stream": _TURN,
    "closed_loop": "its users wait for their answers before they ask again",
    "server": "its rate is declared and each query is one sample",
    "burst": "its rate jumps from a base to a peak and back",
    "ramp": "its rate goes from `start` to `end` in its duration",
    "replay": "a trace says when its queries arrive",
    "sessions": "its sessions begin at a declared rate and ask turn after turn",
}
#: argument -> the least and the most that can be meant
_WHOLE = {
    "count": (1, MAX_QUERIES),
    "max_batch": (1, 100_000),
    "workers": (1, 1_000),
    "samples_per_query": (1, 100_000),
    "launches": (1, 1_000),
    "warmup": (0, 100_000),
    "cut": (0, MAX_QUERIES),
    "seed": (0, 2**64 - 1),
    "concurrency": (1, 100_000),
    "turns": (1, 10_000),
    "steps": (2, 10_000),
    "qsl_rng_seed": (0, 2**64 - 1),
    "sample_index_rng_seed": (0, 2**64 - 1),
    "schedule_rng_seed": (0, 2**64 - 1),
    "performance_sample_count": (1, MAX_QUERIES),
    "min_query_count": (1, MAX_QUERIES),
}
_TIMES = {"duration", "max_wait", "timeout", "drain", "wall_limit", "period", "think_time"}
_FLAGS = {"sample_concatenate_permutation", "conversations", "history"}
#: Counts or times, as their author likes.
_EITHER = {"warmup", "cut"}
_MAY_BE_ZERO = {"max_wait", "drain", "think_time", "warmup", "cut"}
_WORDS = {
    "stopping": ("fixed", "curtailed", "anytime"),
    "arrivals": ARRIVALS,
    "rng": ("pcg64", "loadgen"),
}
#: argument -> bounds, whether the lower one may be meant, what it is, and an example
_NUMBERS = {
    "duty": (0.0, 1.0, False, "the share of a period that is peak, between 0 and 1", "0.2"),
    "repeat_share": (0.0, 1.0, True, "a share of queries, 0 or more and below 1", "0.3"),
    # Below, 97 gaps in 100 or more are shorter than the ns in which times are told, at any rate.
    "burstiness": (0.001, 1e6, True, "the shape of gamma gaps, 0.001 or more (1 is Poisson)", "0.5"),
    "speed": (1e-6, 1e6, False, "how many times faster the trace comes", "2"),
}


def canonical(name: object) -> str:
    """Read a scenario's name in our spelling or MLPerf's: `single_stream`, `SingleStream`."""
    folded = {key.replace("_", ""): key for key in _OWN}
    if not isinstance(name, str):
        raise DeclarationError(f"scenario `{name!r}` is no name; expected one of {', '.join(sorted(_OWN))}")
    key = re.sub(r"[\s_-]", "", name).lower()
    if key not in folded:
        raise DeclarationError(unknown("scenario", name, _OWN))
    return folded[key]


def taken(name: str) -> list[str]:
    """List the arguments that a scenario takes, sorted."""
    return sorted(_COMMON | _OWN[name])


def read_all(name: str, arguments: Mapping[str, object], folder: Path) -> dict[str, Any]:
    """Check all arguments and give them by field. Relative paths start from `folder`."""
    read = {key: read_one(name, key, value) for key, value in arguments.items()}
    if "arrivals" in read and read["arrivals"] != "gamma" and "burstiness" in read:
        _refuse(name, "burstiness", "is for `arrivals='gamma'`")
    if "burstiness" in read:
        read["arrivals"] = "gamma"
    _read_loadgen(name, read)
    _read_trace(name, read, folder)
    if read.get("peak") is not None and read["peak"] <= read.get("base", 0.0):
        raise DeclarationError(
            f"scenario `{name}`: `peak={read['peak']:g}` is no peak over `base={read['base']:g}`"
        )
    if read.get("conversations") and read.get("repeat_share"):
        _refuse(name, "repeat_share", "has no place where sessions ask the samples of a cluster in turn")
    if read.get("stopping", "fixed") != "fixed":
        for key in ("cut", "repeat_share", "loadgen"):
            if read.get(key):
                _refuse(name, key.replace("loadgen", "rng"), "and `stopping=` exclude each other")
    return read


def read_one(name: str, key: str, value: object) -> Any:
    """Check one argument and give it in the type of its field."""
    known = _COMMON | _OWN[name]
    if key not in known:
        if any(key in own for own in _OWN.values()):
            raise DeclarationError(
                f"argument `{key}` does not belong to scenario `{name}`: {_WHY[name]}; "
                f"it takes: {', '.join(sorted(known))}"
            )
        raise DeclarationError(f"scenario `{name}`: " + unknown("argument", key, known))
    if key in _EITHER and not isinstance(value, Integral):
        return _time(name, key, value)
    if key in _WHOLE:
        return _whole(name, key, value)
    if key in _TIMES:
        return _time(name, key, value)
    if key in _WORDS:
        if value not in _WORDS[key]:
            raise DeclarationError(f"scenario `{name}`: {unknown(key, str(value), _WORDS[key])}")
        return value
    if key in _FLAGS and not isinstance(value, bool):
        raise DeclarationError(f"scenario `{name}`: `{key}={value!r}`; expected True or False")
    if key in _FLAGS or key in {"trace", "column", "unit"}:
        return value
    return _number(name, key, value)


def _whole(name: str, key: str, value: object) -> int:
    least, most = _WHOLE[key]
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)  # numpy's whole numbers too
        if least <= number <= most:
            return number
    either = ", or a time as in '5 s'" if key in _EITHER else ""
    raise DeclarationError(
        f"scenario `{name}`: `{key}={value!r}`; expected a whole number from {least} to {most:,}{either}"
    )


def _number(name: str, key: str, value: object) -> float:
    """Read a rate, or one of the numbers with bounds of its own."""
    least, most, closed, what, example = _NUMBERS.get(
        key, (0.0, math.inf, key == "base", "requests a second, above 0", "40")
    )
    if key == "base":
        what = "requests a second, 0 or more"
    if key == "starts":
        what = "sessions that begin a second, above 0"
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if key not in _NUMBERS and FASTEST < number < math.inf:
            raise DeclarationError(
                f"scenario `{name}`: `{key}={value!r}` is faster than times in whole ns can tell; expected "
                f"{FASTEST:,.0f} a second at most"
            )
        if least < number < most or (closed and number == least):
            return number
    raise DeclarationError(f"scenario `{name}`: `{key}={value!r}`; expected {what}, as in `{key}={example}`")


def _time(name: str, key: str, value: object) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, (Quantity, str, int, float, Decimal)):
        example = "5 s" if key in _EITHER else "60 s"
        raise DeclarationError(
            f"scenario `{name}`: `{key}={value!r}`; expected a time, as in `{key}='{example}'`"
        )
    read = duration(value, what=key)
    if read.ns < 0 or (read.ns == 0 and key not in _MAY_BE_ZERO):
        least = "0 s or more" if key in _MAY_BE_ZERO else "more than 0 s"
        raise DeclarationError(f"scenario `{name}`: `{key}='{read}'`; expected {least}")
    return read


def _read_loadgen(name: str, read: dict[str, Any]) -> None:
    """Gather LoadGen's settings. Its three seeds are the scenario's where they are not given."""
    asked = {key: read.pop(key) for key in sorted(_LOADGEN & read.keys())}
    if read.pop("rng", "pcg64") != "loadgen":
        if asked:
            _refuse(name, min(asked), "is LoadGen's; add `rng='loadgen'`")
        return
    if read.get("repeat_share"):
        _refuse(name, "repeat_share", "has no place in LoadGen's own order")
    if read.get("arrivals", "poisson") != "poisson":
        _refuse(name, "arrivals", "can be 'poisson' only in LoadGen's own schedule")
    if "min_query_count" in asked and "count" in read:
        _refuse(name, "min_query_count", "and `count` say the same; keep one")
    if name != "offline" and read.get("count") is not None:
        asked["min_query_count"] = read["count"]
    seeds = dict.fromkeys(("qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"), read.get("seed", 0))
    read["loadgen"] = LoadGen(**{**seeds, **asked})


def _read_trace(name: str, read: dict[str, Any], folder: Path) -> None:
    column, unit = read.pop("column", ""), read.pop("unit", "s")
    if "trace" not in read:
        if name == "replay" and (column or unit != "s"):
            raise DeclarationError("scenario `replay` has no trace; expected `trace='monday.jsonl'`")
        return
    trace = read["trace"]
    if isinstance(trace, Trace):
        return
    if not isinstance(trace, (str, Path)) or not isinstance(column, str) or not isinstance(unit, str):
        raise DeclarationError(
            f"scenario `replay`: `trace={trace!r}`; expected a file's name, as in `trace='monday.jsonl'`"
        )
    try:
        read["trace"] = Trace.read(folder / trace, column=column, unit=unit)
    except DeclarationError as error:
        raise DeclarationError(f"scenario `replay`: {error}") from None


def _refuse(name: str, key: str, why: str) -> None:
    raise DeclarationError(f"scenario `{name}`: `{key}` {why}")
