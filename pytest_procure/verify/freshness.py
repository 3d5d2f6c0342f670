"""Whether evidence that holds still speaks of what is on offer: expired, superseded, drifted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_procure.errors import DeclarationError
from pytest_procure.evidence.record import CandidateRecord, Record

from .comparing import specification
from .verification import Verification, differences, verify

#: What of a machine has changed when results may have.
_DRIVER = ("driver", "cuda", "name")


@dataclass(frozen=True, slots=True)
class Stale:
    """A reason why evidence no longer speaks of the offer."""

    state: Literal["expired", "superseded", "drifted"]
    said: str


def stale(found: Verification, *, against: Path | None, on: str) -> list[Stale]:
    """Say what is stale. `against`: a later pack; `on`: ISO date by which expiry is judged, today if empty.

    Raises `DeclarationError` for a date that is none, `EvidenceError` for a later pack that does not hold.
    """
    day = _day(on)
    if found.record is None:
        return []
    told = list(_expired(found.record, day))
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


def _superseded(old: Record, new: Record) -> Iterator[Stale]:
    if new["started"] <= old["started"]:
        return
    changed = [place for place, _ in differences(specification(old), specification(new), "$")]
    if changed:
        shown = ", ".join(changed[:3])
        yield Stale("superseded", f"the later pack of {new['started'][:10]} asks for something else: {shown}")


def _drifted(old: Record, new: Record) -> Iterator[Stale]:
    """Compare what stands behind each offer: its model and runtime, its price, the device's driver."""
    later = {each["name"]: each for each in new["candidates"]}
    for candidate in old["candidates"]:
        name = candidate["name"]
        if name not in later:
            yield Stale("superseded", f"`{name}` is no longer on offer")
            continue
        for what, was, now in _behind(candidate, later[name]):
            for place, said in differences(was, now, what):
                yield Stale(
                    "drifted", f"`{name}`: {place}: was {said.replace(', and the rows give', ', is now')}"
                )
    was, now = _drivers(old), _drivers(new)
    if was != now:
        yield Stale("drifted", f"the GPU or its driver: was {was or 'none'}, is now {now or 'none'}")


def _behind(old: CandidateRecord, new: CandidateRecord) -> Iterator[tuple[str, Any, Any]]:
    yield "backend", old["backend"], new["backend"]
    yield "price", old["price"], new["price"]


def _drivers(record: Record) -> list[dict[str, Any]]:
    found = record["environment"].get("gpus") or []
    return [{key: gpu.get(key) for key in _DRIVER} for gpu in found if isinstance(gpu, Mapping)]
