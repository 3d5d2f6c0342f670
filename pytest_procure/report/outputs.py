"""Everything that is made from a record alone: the same record, the same bytes."""

from __future__ import annotations

from pytest_procure.evidence.record import Record

from .html import render
from .markdown import summary
from .table import findings_csv

#: The files of a pack that can be made anew from its `verdict.json`.
NAMES = ("report.html", "summary.md", "findings.csv")


def outputs(record: Record) -> dict[str, str]:
    """Give the text of each file by its name."""
    return dict(zip(NAMES, (render(record), summary(record), findings_csv(record)), strict=True))
