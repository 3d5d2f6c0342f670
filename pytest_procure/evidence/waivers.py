"""Waivers: who lets a requirement pass that is not met, why, and until when.

A waiver counts when it is sealed and has not expired. It lets pass what was measured and found not met or not
decided; what was not tested, or could not be measured, it leaves as it is.
"""

from __future__ import annotations

from datetime import date

from .record import WaiverRecord
from .spec import SealedWaiver, Spec


def is_over(expires: str, day: str) -> bool:
    """Whether something that holds through `expires` no longer does on `day`: ISO 8601 dates; "" never ends.

    What is no date has ended: nobody can tell until when it was meant to hold.
    """
    if not expires:
        return False
    try:
        return date.fromisoformat(day[:10]) > date.fromisoformat(expires)
    except ValueError:
        return True


def waivers(spec: Spec, day: str) -> list[WaiverRecord]:
    """List the sealed waivers, and which of them have expired on `day`."""
    return [
        waiver_record(requirement, waiver, "expired" if is_over(waiver["expires"], day) else "in force")
        for requirement, sealed in spec["requirements"].items()
        for waiver in sealed["waivers"]
    ]


def waiver_record(requirement: str, waiver: SealedWaiver, state: str) -> WaiverRecord:
    """Write a waiver down with its state."""
    return {"requirement": requirement, **waiver, "state": state}  # type: ignore[typeddict-item] # one of its words


def in_force(known: list[WaiverRecord], requirement: str, candidate: str) -> WaiverRecord | None:
    """Find the waiver that lets a requirement pass on a candidate."""
    return next(
        (
            waiver
            for waiver in known
            if waiver["state"] == "in force"
            and waiver["requirement"] == requirement
            and waiver["candidate"] in {"", candidate}
        ),
        None,
    )


def words(waiver: WaiverRecord) -> str:
    """Say who waived what, why and until when, for the verdict sentence."""
    return (
        f"{waiver['requirement']} by {waiver['owner']} until {waiver['expires']} (reason: {waiver['reason']})"
    )
