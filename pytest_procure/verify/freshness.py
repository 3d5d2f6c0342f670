"""Whether evidence that holds still speaks of what is on offer: expired, superseded, drifted.

Each sealed trigger for a new run is told with what could be seen of it: it fires, it does not, it could not
be looked at without a later pack, or only people can tell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_procure.errors import DeclarationError
from pytest_procure.evidence.record import CandidateRecord, Record
from pytest_procure.evidence.triggers import ALWAYS, DATA, HARDWARE, MODEL, PRICES, SPEC, oldest_prices

from .comparing import specification
from .verification import Verification, differences, verify

#: What of a machine has changed when results may have.
_DRIVER = ("driver", "cuda", "name")
#: What of a specification is about the data; all else is the specification's own.
_DATA = ".slice"


@dataclass(frozen=True, slots=True)
class Stale:
    """A reason why evidence no longer speaks of the offer. `trigger`: the sealed one that it is, or ""."""

    state: Literal["expired", "superseded", "drifted"]
    said: str
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What asks for a new run, as it was sealed, and what is known of it on the day."""

    text: str
    state: Literal["fires", "does not fire", "not looked at", "for people to tell"]


def triggers(found: Verification, told: Sequence[Stale], *, against: Path | None) -> list[Trigger]:
    """Say of each sealed trigger what could be seen of it. `told`: what is stale; `against`: a later pack."""
    sealed: Any = None if found.record is None else found.record.get("seal")
    texts = sealed.get("retest", []) if isinstance(sealed, Mapping) else []
    return [_trigger(str(text), {each.trigger for each in told}, against) for text in texts]


def _trigger(text: str, fired: set[str], against: Path | None) -> Trigger:
    if text in fired:
        return Trigger(text, "fires")
    if oldest_prices(text) is not None:
        return Trigger(text, "does not fire")
    if text not in ALWAYS:
        return Trigger(text, "for people to tell")
    return Trigger(text, "not looked at" if against is None else "does not fire")


def stale(found: Verification, *, against: Path | None, on: str) -> list[Stale]:
    """Say what is stale. `against`: a later pack; `on`: ISO date by which expiry is judged, today if empty.

    Raises `DeclarationError` for a date that is none, `EvidenceError` for a later pack that does not hold.
    """
    day = _day(on)
    if found.record is None:
        return []
    told = [*_expired(found.record, day), *_old_prices(found.record, day)]
    if against is not None:
        later = verify(against)
        if later.record is None or not later.holds:
            wrong = "; ".join(map(str, later.mismatches[:3]))
            raise DeclarationError(f"`--against {against}` does not hold itself: {wrong}")
        told += _superseded(found.record, later.record)
        told += _drifted(found.record, later.record)
    return told


def _day(on: str) -> dt.date:
    if not on:
        return dt.datetime.now(dt.UTC).date()
    try:
        return dt.date.fromisoformat(on)
    except ValueError:
        raise DeclarationError(
            f"`--on {on}` is no date; expected year, month, day, as in 2026-11-30"
        ) from None


def _expired(record: Record, day: dt.date) -> Iterator[Stale]:
    """Read the expiry that was sealed, and the last day that the suite declares, where there are any."""
    sealed: Any = record.get("seal")
    expires = sealed.get("expires") if isinstance(sealed, Mapping) else None
    for what, until in (("sealed expiry", expires), ("last day as declared", record.get("valid_until"))):
        if not isinstance(until, str) or not until:
            continue
        try:
            last = dt.date.fromisoformat(until[:10])
        except ValueError:
            yield Stale("expired", f"the {what} `{until[:40]}` is no date, so nobody can rely on it")
            continue
        if day > last:
            yield Stale("expired", f"the evidence was good until {last}, and it is {day}; seal and run again")


def _old_prices(record: Record, day: dt.date) -> Iterator[Stale]:
    """Hold the dates of the price sheets against the sealed triggers on them."""
    sealed: Any = record.get("seal")
    texts = map(str, sealed.get("retest", [])) if isinstance(sealed, Mapping) else iter(())
    for text, most in ((text, oldest_prices(text)) for text in texts):
        for candidate in record["candidates"] if most is not None else ():
            if not candidate["price"]:
                continue
            dated = str(candidate["price"].get("date") or "")
            who = f"the price of `{candidate['name']}`"
            try:
                age = (day - dt.date.fromisoformat(dated)).days
            except ValueError:
                yield Stale("expired", f"{who} states no date, so its age is not known ({text})", text)
                continue
            if most is not None and age > most:
                yield Stale("expired", f"{who} is of {dated}, {age} days old ({text})", text)


def _superseded(old: Record, new: Record) -> Iterator[Stale]:
    """Say what a later pack asks for that is something else: of the data, and of the specification."""
    if new["started"] <= old["started"]:
        return
    changed = [place for place, _ in differences(specification(old), specification(new), "$")]
    versions = [".".join(record["plugin_version"].split(".")[:2]) for record in (old, new)]
    if versions[0] != versions[1]:
        changed.append(f"pytest-procure was {versions[0]}, is now {versions[1]}")
    of_data = [place for place in changed if _DATA in place]
    for trigger, places in ((DATA, of_data), (SPEC, [each for each in changed if each not in of_data])):
        if places:
            shown = ", ".join(places[:3])
            said = f"the later pack of {new['started'][:10]} asks for something else: {shown}"
            yield Stale("superseded", said, trigger)


def _drifted(old: Record, new: Record) -> Iterator[Stale]:
    """Compare what stands behind each offer: its model and runtime, its price, the device's driver."""
    later = {each["name"]: each for each in new["candidates"]}
    for candidate in old["candidates"]:
        name = candidate["name"]
        if name not in later:
            yield Stale("superseded", f"`{name}` is no longer on offer")
            continue
        for trigger, what, was, now in _behind(candidate, later[name]):
            for place, said in differences(was, now, what):
                told = f"`{name}`: {place}: was {said.replace(', and the rows give', ', is now')}"
                yield Stale("drifted", told, trigger)
    for what, was, now in (
        ("GPU or its driver", _drivers(old), _drivers(new)),
        ("processor", _processor(old), _processor(new)),
    ):
        if was != now:
            said = f"the {what}: was {was or 'none'}, is now {now or 'none'}"
            yield Stale("drifted", said, HARDWARE)


def _behind(old: CandidateRecord, new: CandidateRecord) -> Iterator[tuple[str, str, Any, Any]]:
    yield MODEL, "backend", old["backend"], new["backend"]
    yield MODEL, "precision", old["precision"], new["precision"]
    yield HARDWARE, "hardware", old["hardware"], new["hardware"]
    yield PRICES, "price", old["price"], new["price"]


def _processor(record: Record) -> str:
    told = record["environment"].get("cpu")
    return str(told.get("model") or "") if isinstance(told, Mapping) else ""


def _drivers(record: Record) -> list[dict[str, Any]]:
    found = record["environment"].get("gpus") or []
    return [{key: gpu.get(key) for key in _DRIVER} for gpu in found if isinstance(gpu, Mapping)]
