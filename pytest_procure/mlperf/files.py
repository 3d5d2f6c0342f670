"""Opening what other people publish: compressed, marked with a BOM, cut short, or not what its name says."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .records import Finding

#: Larger than any published file by far; a bigger one is refused instead of filling the memory.
LIMIT = 256 * 1024 * 1024

Report = Callable[[Finding], None]


def read_text(path: Path, shown: str, report: Report) -> str | None:
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
                    data = unpacked.read(LIMIT + 1)
            else:
                data = stream.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        report(Finding("unreadable", shown, "", "", f"it cannot be read to its end ({error})"))
        return None
    if len(data) > LIMIT:
        report(Finding("too-large", shown, "", "", f"it holds more than {LIMIT // 1024**2} MiB"))
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
    text = read_text(path, shown, report)
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
