"""The finding that says most about why a verdict is what it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_procure.errors import DeclarationError
from pytest_procure.units import Quantity

from .record import FindingRecord

#: Of requests without an answer: they count as wrong answers as well, and may be all that is wrong.
_UNANSWERED = {"errors": "low", "condition": "high"}


def headline(findings: Iterable[FindingRecord]) -> FindingRecord | None:
    """Pick the most telling of findings with one verdict; None of none.

    Where its process ended, the rest are consequences. Then what lies past its bar comes before what could
    not be measured, and that before what lies on the good side. Among those quality comes first, unless it
    is only missed because requests failed or were not answered: then that is the reason.
    """
    found = list(findings)
    ranked = sorted(found, key=lambda each: (not _is_end(each), _state(each), _rank(each, found)))
    return ranked[0] if ranked else None


def _is_end(finding: FindingRecord) -> bool:
    return finding["metric"].startswith("alive")


def _state(finding: FindingRecord) -> int:
    if finding["estimate"] is None:
        return 1
    return 0 if _is_past(finding) else 2


def _is_past(finding: FindingRecord) -> bool:
    """Whether the point value lies on the bad side of the bar."""
    estimate, bar = finding["estimate"], finding["bar"]
    if estimate is None:
        return False
    try:
        point, limit = (Quantity.of(each["number"], each["unit"]) for each in (estimate, bar))
        return point < limit if finding["sense"] == "at least" else limit < point
    except (DeclarationError, TypeError):  # a record that was made by hand may hold any units
        return False


def _rank(finding: FindingRecord, found: Sequence[FindingRecord]) -> int:
    if finding["kind"] == "quality":
        return 3 if _is_consequence(finding, found) else 0
    if finding["kind"] in _UNANSWERED and _is_past(finding):
        return 1 if finding["kind"] == "errors" else 2
    return 4


def _is_consequence(quality: FindingRecord, found: Sequence[FindingRecord]) -> bool:
    """Whether a score that is missed would be met by the requests that were answered alone."""
    estimate = quality["estimate"]
    if estimate is None or estimate["unit"] != quality["bar"]["unit"] or not _is_past(quality):
        return False
    answered = min((_answered(each) for each in found if _is_past(each)), default=1.0)
    return answered < 1.0 and estimate["number"] >= quality["bar"]["number"] * answered


def _answered(finding: FindingRecord) -> float:
    """The share of requests that were answered, as a finding on failures or on the declared rate tells it."""
    better, estimate = _UNANSWERED.get(finding["kind"]), finding["estimate"]
    if better is None or estimate is None or _is_end(finding):
        return 1.0
    return estimate["number"] if better == "high" else 1.0 - estimate["number"]
