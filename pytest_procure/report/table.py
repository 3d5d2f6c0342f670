"""The findings as CSV, a row each, for whoever wants to sort and filter."""

from __future__ import annotations

import csv
import io

from pytest_procure.evidence.record import Amount, FindingRecord, Record, RequirementRecord, ResultRecord

from . import words
from .visible import one_line

COLUMNS = (
    "requirement", "question", "candidate", "candidate_verdict", "requirement_verdict", "metric", "title",
    "sense", "bar", "bar_unit", "measured", "low", "high", "unit", "n", "n_unit", "n_effective", "confidence",
    "verdict", "decides", "evidence_class", "sentence", "hint", "where",
)  # fmt: skip
#: A spreadsheet takes a text that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def findings_csv(record: Record) -> str:
    """Write every finding of a record: RFC 4180 with line feeds, plain numbers, nothing where there is none.

    `decides` is "no" where a finding is shown only. Text that a spreadsheet would run as a formula begins
    with an apostrophe.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    verdicts = {candidate["name"]: candidate["verdict"] for candidate in record["candidates"]}
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            for finding in result["findings"]:
                row = _row(requirement, result, finding, verdicts.get(result["candidate"], ""))
                writer.writerow([_cell(row[column]) for column in COLUMNS])
    return written.getvalue()


def _row(
    requirement: RequirementRecord, result: ResultRecord, finding: FindingRecord, candidate: str
) -> dict[str, str | float]:
    estimate = finding["estimate"]
    return {
        "requirement": requirement["id"],
        "question": requirement["question"],
        "candidate": result["candidate"],
        "candidate_verdict": candidate,
        "requirement_verdict": result["verdict"],
        "metric": finding["metric"],
        "title": finding["title"],
        "sense": finding["sense"],
        "bar": finding["bar"]["number"],
        "bar_unit": finding["bar"]["unit"],
        "measured": _number(estimate),
        "low": _number(finding["low"]),
        "high": _number(finding["high"]),
        "unit": "" if estimate is None else estimate["unit"],
        "n": finding["n"],
        "n_unit": finding["n_unit"],
        "n_effective": finding["n_effective"],
        "confidence": finding["confidence"],
        "verdict": finding["verdict"],
        "decides": "no" if finding["struck"] or finding["observed_only"] else "yes",
        "evidence_class": words.evidence_class(finding),
        "sentence": finding["sentence"],
        "hint": finding["hint"],
        "where": finding["where"],
    }


def _number(amount: Amount | None) -> str | float:
    return "" if amount is None else amount["number"]


def _cell(value: str | float) -> str:
    if not isinstance(value, str):
        return repr(value)
    text = one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
