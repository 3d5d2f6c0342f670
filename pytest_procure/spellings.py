"""Units as people write them who do not know how we do: which of ours they mean, and which there are."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from .currencies import CURRENCIES, nearest_currency

#: unit of ours -> what else it is called, in small letters
_CALLED = {
    "ns": ("nsec", "nanos", "nanosecond", "nanoseconds"),
    "us": ("usec", "micros", "microsecond", "microseconds"),
    "ms": ("msec", "msecs", "milli", "millis", "millisec", "millisecond", "milliseconds"),
    "s": ("secs", "second", "seconds", "sek", "sekunde", "sekunden"),
    "min": ("mins", "minute", "minutes", "minuten"),
    "h": ("hr", "hrs", "hour", "hours", "std", "stunde", "stunden"),
    "%": ("pct", "percent", "per cent", "prozent"),
    "points": ("pp", "point", "percentage points"),
    "1/s": ("hz", "per second", "a second", "queries/s"),
    "requests/s": ("rps", "request/s", "reqs/s", "requests/sec", "requests per second"),
    "tokens/s": ("tps", "tok/s", "token/s", "tokens/sec", "tokens per second"),
    "W": ("watt", "watts"),
    "J": ("joule", "joules"),
    "B": ("byte", "bytes"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes", "gig", "gigs"),
    "USD": ("$", "us$", "dollar", "dollars"),
    "EUR": ("€", "euro", "euros"),
    "GBP": ("£", "pound", "pounds"),
}
_MEANT = {spelling: unit for unit, spellings in _CALLED.items() for spelling in spellings}
_OTHER_MU = "μs"  # reads like the one that is listed
_MONEY = ("USD", "EUR")
#: dimension -> how it is called where its units are listed
_LISTED = {"duration": "time", "number": "a share", "difference": "a difference of shares"}


def nearest(unit: str, known: Mapping[str, str]) -> str:
    """Give the unit of ours that is meant; nothing where none is near. `known`: unit -> dimension."""
    folded = unit.casefold().rstrip(".")
    if folded in _MEANT:
        return _MEANT[folded]
    by_folded = {name.casefold(): name for name in (*known, *_MONEY) if name}
    if folded in by_folded or unit.upper() in CURRENCIES:
        return by_folded.get(folded, unit.upper())
    if unit.isupper() and (currency := nearest_currency(unit)):
        return currency
    near = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else ""


def listed(known: Mapping[str, str], dimension: str = "") -> str:
    """List the units of one dimension, or of all: `time: ns, us, ms, s, min, h`."""
    groups: dict[str, list[str]] = {}
    for unit, kind in known.items():
        if unit and unit != _OTHER_MU:
            groups.setdefault(kind, []).append(unit)
    groups["money"] = [*_MONEY, "any other code of ISO 4217"]
    asked = {"money" if dimension.startswith("money") else dimension} & set(groups) or set(groups)
    return "; ".join(
        f"{_LISTED.get(kind, kind)}: {', '.join(units)}" for kind, units in groups.items() if kind in asked
    )
