"""How verdicts, amounts and counts are worded, in the report and in the terminal alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from pytest_procure.evidence.record import Amount, FindingRecord, VerdictWord
from pytest_procure.units import Quantity, readable

#: Shown where the suite does not say.
NOT_STATED = "not stated"
#: The only class of evidence that can carry a verdict on performance.
MEASURED = "measured on our task"

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


class Verdict(NamedTuple):
    """A verdict as people read it: never by colour alone."""

    candidate: str  # of an offer
    result: str  # of a bar or a requirement
    glyph: str  # its shape in plain text; each differs in outline or filling
    style: str  # name of its colour and icon


VERDICTS: dict[VerdictWord, Verdict] = {
    "accept": Verdict("Accepted", "met", "●", "accept"),
    "reject": Verdict("Not accepted", "not met", "■", "reject"),
    "inconclusive": Verdict("Not decided", "not decided", "◐", "inconclusive"),
    "not tested": Verdict("Not tested", "not tested", "○", "not-tested"),
    "waived": Verdict("Waived", "waived", "◇", "waived"),
    "invalid": Verdict("No valid measurement", "invalid", "▲", "invalid"),
}


def percent(share: float) -> str:
    """Write a share of 1 as a percentage, as findings are written.

    >>> percent(0.8557), percent(0.9999), percent(1)
    ('85.6 %', '99.99 %', '100 %')
    """
    return readable(Quantity.of(share), share=True)


def milliseconds(value: float) -> str:
    """Write a time given in ms in the unit that suits its size.

    >>> milliseconds(0.0264), milliseconds(80), milliseconds(12_345)
    ('26.4 us', '80 ms', '12.3 s')
    """
    return readable(Quantity.of(value, "ms"))


def plain(value: float) -> str:
    """Write a number without a unit."""
    return readable(Quantity.of(value))


def seconds(value: float) -> str:
    """Write a time given in seconds in the unit that suits its size."""
    return readable(Quantity.of(value, "s"))


def singular(plural: str) -> str:
    """Give the singular of a counted noun: "requests", "queries", "launches"."""
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    return plural[:-2] if plural.endswith(("ches", "shes", "sses")) else plural.removesuffix("s")


def count(n: int, plural: str) -> str:
    """Count things.

    >>> count(1, "launches"), count(1200, "requests")
    ('1 launch', '1,200 requests')
    """
    return f"{n:,} {singular(plural) if n == 1 else plural}"


def upper_first(text: str) -> str:
    """Begin a line: the first letter large, the others as they are."""
    return text[:1].upper() + text[1:]


def unbroken(text: str) -> str:
    """Keep percent signs on the line of their number."""
    return text.replace(" %", "\u00a0%")


def listing(items: Sequence[str]) -> str:
    """Join words as a sentence does: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def likely_range(low: Amount | None, high: Amount | None) -> str:
    """Write the ends of a likely range; an end that does not exist is left out."""
    if low is not None and high is not None:
        return f"{low['text']} to {high['text']}"
    if low is not None:
        return f"{low['text']} or more"
    return f"{high['text']} or less" if high is not None else "none"


def asked(finding: FindingRecord) -> str:
    """Say what was asked: "at least 95 %"."""
    return f"{finding['sense']} {finding['bar']['text']}"


def measured(finding: FindingRecord) -> str:
    """Say what was measured: "85.6 %", or that nothing could be."""
    estimate = finding["estimate"]
    return "not measurable" if estimate is None else estimate["text"]


def evidence(finding: FindingRecord) -> str:
    """Say what was counted: "797 samples". A declared price is no sample of anything."""
    return "declared price" if finding["n_unit"] == "price" else count(finding["n"], finding["n_unit"])


def evidence_class(finding: FindingRecord) -> str:
    """Say what a number rests on: a measurement on the buyer's task, or what the offer itself states."""
    return finding.get("evidence_class", "term of the offer" if finding["n_unit"] == "price" else MEASURED)


def rests_on(finding: FindingRecord) -> str:
    """Say what a finding rests on: class, number, and what of it counts, where that is not the same.

    For example "797 samples, which count as 638 (design effect 1.25)".
    """
    kind = evidence_class(finding)
    told = "" if kind in {MEASURED, evidence(finding)} else f"{kind}; "
    told += evidence(finding)
    if finding["design_effect"] != 1 or finding["n_effective"] != finding["n"]:
        effect = f"(design effect {plain(finding['design_effect'])})"
        told += f", which count as {plain(finding['n_effective'])} {effect}"
    return told


def numbers(finding: FindingRecord) -> str:
    """Say what was measured and asked, in half a sentence.

    For example "85.6 % (likely range 83.4 % to 87.6 %); asked: at least 95 %".
    """
    has_range = finding["low"] is not None or finding["high"] is not None
    likely = f" (likely range {likely_range(finding['low'], finding['high'])})" if has_range else ""
    return f"{measured(finding)}{likely}; asked: {asked(finding)}"


def day(moment: str) -> str:
    """Write the day of an ISO 8601 time, without a locale: "30 November 2026"."""
    try:
        read = date.fromisoformat(moment[:10])
    except ValueError:
        return moment
    return f"{read.day} {_MONTHS[read.month - 1]} {read.year}"
