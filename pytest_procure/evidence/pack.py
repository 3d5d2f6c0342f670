"""The evidence folder: made ready before the session, written at its end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pytest_procure.errors import EvidenceError

from .record import FORMAT, Record, dumps

#: What a report of ours consists of. Nothing else is ever removed.
_OURS = ("report.html", "verdict.json")


def prepare(folder: Path) -> None:
    """Make the folder, and clear an earlier report of ours out of it.

    Raises `EvidenceError` when the path is something else: a file, or a folder with anything but a report.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise EvidenceError(f"`--procure-out {folder}` is a file; expected a folder, new or of ours")
        if folder.is_dir() and any(folder.iterdir()):
            _clear(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvidenceError(f"the report folder {folder} cannot be made: {error.strerror}") from error


def _clear(folder: Path) -> None:
    if not _is_report(folder):
        raise EvidenceError(
            f"`--procure-out {folder}` holds something that is no earlier report; name another folder"
        )
    for name in _OURS:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "runs", ignore_errors=True)


def _is_report(folder: Path) -> bool:
    """A report of ours, or what a killed session left of one: request logs alone."""
    names = {entry.name for entry in folder.iterdir()}
    if not names <= {*_OURS, "runs"}:
        return False
    try:
        record = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return names == {"runs"}
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("format") == FORMAT


def write(folder: Path, record: Record, html: str) -> None:
    """Write `verdict.json` and `report.html`. Raises `EvidenceError` when they cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "verdict.json").write_text(dumps(record), encoding="utf-8")
        (folder / "report.html").write_text(html, encoding="utf-8")
    except OSError as error:
        raise EvidenceError(f"the report in {folder} cannot be written: {error.strerror}") from error
