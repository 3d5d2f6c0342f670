"""The findings as CSV."""

import csv
import io

import hostile
import sample

from pytest_procure.report.table import COLUMNS, findings_csv


def rows(record):
    return list(csv.DictReader(io.StringIO(findings_csv(record))))


def test_every_finding_has_its_row(everything):
    wanted = sum(len(r["findings"]) for q in everything["requirements"] for r in q["results"])
    found = rows(everything)
    assert len(found) == wanted
    assert tuple(found[0]) == COLUMNS


def test_a_row_has_the_numbers_plain(demo):
    first = rows(demo)[0]
    assert (first["measured"], first["low"], first["high"], first["unit"]) == ("0.991", "0.983", "0.996", "")
    assert (first["bar"], first["sense"], first["n"], first["verdict"]) == (
        "0.95",
        "at least",
        "797",
        "accept",
    )
    assert (first["candidate"], first["candidate_verdict"]) == (sample.A, "accept")
    assert first["evidence_class"] == "measured on our task"


def test_what_decides_nothing_says_so(demo):
    struck = [row["metric"] for row in rows(demo) if row["decides"] == "no"]
    assert struck == ["latency.p95", "cost_per_request"]


def test_what_was_not_measured_is_empty_and_no_zero(everything):
    (none,) = [row for row in rows(everything) if row["metric"] == "cost_per_request" and not row["measured"]]
    assert (none["low"], none["high"], none["unit"]) == ("", "", "")


def test_a_name_that_a_spreadsheet_would_run_is_text(demo):
    demo["requirements"][0]["question"] = '=HYPERLINK("http://example.com")'
    demo["requirements"][0]["results"][0]["candidate"] = "@SUM(1)"
    first = rows(demo)[0]
    assert first["question"].startswith("'=")
    assert first["candidate"].startswith("'@")


def test_hostile_text_stays_in_its_cell():
    record = hostile.record(hostile.TEXT)
    found = rows(record)
    assert len(found) == sum(len(r["findings"]) for q in record["requirements"] for r in q["results"])
    assert not any("\x00" in cell or "\u202e" in cell for row in found for cell in row.values())
    findings_csv(record).encode("utf-8")
