"""What a session knew of seal and ledger when it ended, but for what follows from its results."""

from __future__ import annotations

from dataclasses import dataclass

from .record import DeviationRecord, DifferenceRecord, LedgerRun, WaiverRecord


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """The ledger as it was read at the end."""

    file: str  # without its folder
    entries: int
    head: str  # SHA-256 of the last entry
    anchored: bool  # whether a head kept elsewhere was given, and found
    runs: list[LedgerRun]
    seals: list[tuple[str, str]]  # digest of a spec, and when it was sealed, the oldest first
    lost: bool  # whether this machine sealed or ran here before, and the head that it kept is gone


@dataclass(frozen=True, slots=True)
class SealedPart:
    """What was fixed before the run, what was declared about it, and what of it was amiss."""

    screen: bool
    required: bool  # ini key `procure_require_seal`
    file: str  # of the spec, without its folder; "" if there is none, like all that follows from it
    spec: str  # SHA-256 of its canonical JSON
    sealed: str  # when, by the ledger: ISO 8601, UTC
    expires: str  # ISO 8601 date
    retest: list[str]
    general: list[str]  # what keeps every offer from acceptance, whatever it measures
    differences: list[DifferenceRecord]  # of what was declared; those of the runs stand in the case files
    deviations: list[DeviationRecord]
    waivers: list[WaiverRecord]
    ledger: LedgerPart | None
    fault: str  # what is amiss with the ledger


UNSEALED = SealedPart(
    screen=False,
    required=False,
    file="",
    spec="",
    sealed="",
    expires="",
    retest=[],
    general=[],
    differences=[],
    deviations=[],
    waivers=[],
    ledger=None,
    fault="",
)
