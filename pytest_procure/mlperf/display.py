"""Tables and notes for the terminal, as JSON, or as CSV. Published names are hostile until printed here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_procure.cli import printable

Cell = str | int | float | None
#: Wider cells are cut in the terminal, except in the last column; JSON and CSV keep all of them whole.
WIDEST = 64


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by column name, all with the same columns, under a title that says what they are.

    `header` names the columns of a table that may have no row.
    """

    title: str
    rows: Sequence[Mapping[str, Cell]]
    header: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.rows[0] if self.rows else self.header)


@dataclass(slots=True)
class Page:
    """What a command has to say: a headline, tables, and notes under them.

    `data` is for machines, in CSV and JSON: numbers as numbers, their unit in a column of its own.
    """

    headline: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: Table = field(default_factory=lambda: Table("", []))

    def text(self) -> str:
        """Return the page for a terminal."""
        parts = [printable(self.headline)]
        parts += [_text(table) for table in self.tables if table.rows]
        parts += ["\n".join(f"- {printable(note)}" for note in self.notes)] if self.notes else []
        return "\n\n".join(parts) + "\n"

    def json(self) -> str:
        """Return the page as one JSON object in ASCII."""
        tables = [{"title": table.title, "rows": [dict(row) for row in table.rows]} for table in self.tables]
        content = {
            "headline": self.headline,
            "tables": tables,
            "notes": self.notes,
            "data": [dict(row) for row in self.data.rows],
        }
        return json.dumps(content, indent=1) + "\n"

    def csv(self) -> str:
        """Return the data as CSV; text that a spreadsheet would run as a formula is quoted."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.data.columns)
        writer.writerows([_inert(cell) for cell in row.values()] for row in self.data.rows)
        return stream.getvalue()


def _text(table: Table) -> str:
    last = table.columns[-1]
    cells = [
        [_shown(cell, None if name == last else WIDEST) for name, cell in row.items()] for row in table.rows
    ]
    columns = table.columns
    widths = [max(len(row[at]) for row in [columns, *cells]) for at in range(len(columns))]
    lines = [printable(table.title)] if table.title else []
    ruler = ["-" * min(width, WIDEST) for width in widths]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [columns, ruler, *cells]
    ]
    return "\n".join(lines)


def _shown(cell: Cell, widest: int | None = None) -> str:
    text = printable("" if cell is None else str(cell))
    return text if widest is None or len(text) <= widest else text[: widest - 1] + "…"


def _inert(cell: Cell) -> str:
    text = _shown(cell)
    return (
        f"'{text}" if text.startswith(("=", "+", "-", "@")) and not isinstance(cell, (int, float)) else text
    )
