"""Opening what other people publish: compressed, marked with a BOM, cut short, or not what its name says."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .records import Finding

#: Larger than any published file by far; a bigger one is refused instead of filling the memory. Tables and
#: descriptions in JSON or CSV take many times their size once they are parsed, logs do not.
LIMIT = 64 * 1024 * 1024
PARSED_LIMIT = 16 * 1024 * 1024
#: The most findings that one file is listed with; the others are counted.
MOST_FINDINGS = 5_000
#: The longest text that a cell of a published table is believed to hold; real ones stay below 400.
LONGEST_CELL = 4_096

Report = Callable[[Finding], None]


class Ledger:
    """Findings in the order they were made, so many a file and no more."""

    def __init__(self) -> None:
        """Start empty."""
        self._findings: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def __call__(self, finding: Finding) -> None:
        """Take a finding, or count it where its file has too many."""
        self._counts[finding.file] += 1
        if self._counts[finding.file] <= MOST_FINDINGS or finding.code == "too-many":
            self._findings.append(finding)

    def close(self) -> tuple[Finding, ...]:
        """Return all findings, and one for each file that had more."""
        more = {file: count - MOST_FINDINGS for file, count in self._counts.items() if count > MOST_FINDINGS}
        return (
            *self._findings,
            *(
                Finding("too-many", file, "", "", f"{count:,} more findings are not listed")
                for file, count in more.items()
            ),
        )


def read_text(path: Path, shown: str, report: Report, *, limit: int = LIMIT) -> str | None:
    """Return a file's text without BOM, unpacked if it is gzip; report and return None if that fails."""
    try:
        if not path.is_file():
            report(Finding("unreadable", shown, "", "", "it is no regular file"))
            return None
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            if packed:
                with gzip.open(stream) as unpacked:
                    data = unpacked.read(limit + 1)
            else:
                data = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        report(Finding("unreadable", shown, "", "", f"it cannot be read to its end ({error})"))
        return None
    if len(data) > limit:
        report(Finding("too-large", shown, "", "", f"it holds more than {limit // 1024**2} MiB"))
        return None
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        report(
            Finding(
                "encoding", shown, f"byte {error.start}", "", f"it is not {encoding.removesuffix('-sig')}"
            )
        )
        return None


def read_json(path: Path, shown: str, report: Report) -> Any:
    """Return a JSON document, or None after a report. A key given twice with two values is reported."""
    text = read_text(path, shown, report, limit=PARSED_LIMIT)
    return None if text is None else parse_json(text, shown, report)


def parse_json(text: str, shown: str, report: Report) -> Any:
    """Parse JSON; NaN and Infinity come through as floats, for the caller to refuse at their key."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: dict[str, Any] = {}
            for key, value in pairs:
                if key in seen and seen[key] != value:
                    report(Finding("contradiction", shown, "", key, "this key stands twice with two values"))
                    made[key] = None
                seen[key] = value
        return made

    try:
        return json.loads(text, object_pairs_hook=members)
    except RecursionError:
        report(Finding("broken", shown, "", "", "it nests too deeply for any published table"))
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}" if line else ""
        report(
            Finding("broken", shown, where, "", f"it is no complete JSON ({getattr(error, 'msg', error)})")
        )
    return None
