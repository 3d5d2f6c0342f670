"""The evidence folder: made ready before the session, written at its end."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pytest_procure.errors import EvidenceError

from .record import FORMAT, Record, dumps

#: How `evidence.runs` names a log: it ends with eight digits of a digest.
_LOG = re.compile(r".*\.[0-9a-f]{8}\.csv\.gz", re.DOTALL)
#: What a report of ours consists of. Nothing else is ever removed.
_OURS = ("report.html", "verdict.json")


def check(folder: Path) -> None:
    """Raise `EvidenceError` when the path is a file, or a folder with anything but a report of ours."""
    try:
        if folder.exists() and not folder.is_dir():
            raise EvidenceError(f"`--procure-out {folder}` is a file; expected a folder, new or of ours")
        if folder.is_dir() and any(folder.iterdir()) and not _is_report(folder):
            raise EvidenceError(
                f"`--procure-out {folder}` holds something that is no earlier report; name another folder"
            )
    except OSError as error:
        raise EvidenceError(f"the report folder {folder} cannot be read: {error.strerror}") from error


def prepare(folder: Path) -> None:
    """Make the folder, and clear an earlier report of ours out of it. Raises as `check` does."""
    check(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _OURS:
            (folder / name).unlink(missing_ok=True)
        for log in _logs(folder):
            log.unlink()
    except OSError as error:
        raise EvidenceError(f"the report folder {folder} cannot be made: {error.strerror}") from error


def _is_report(folder: Path) -> bool:
    """A report of ours, or what a killed session left of one: request logs alone."""
    names = {entry.name for entry in folder.iterdir()}
    if not names <= {*_OURS, "runs"}:
        return False
    if (folder / "runs").is_symlink() or not all(
        log.is_file() and _LOG.fullmatch(log.name) for log in _logs(folder)
    ):
        return False  # many a training tool keeps its work in a folder named `runs`
    try:
        record = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return names == {"runs"}
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("format") == FORMAT


def _logs(folder: Path) -> list[Path]:
    runs = folder / "runs"
    return list(runs.iterdir()) if runs.exists() else []


def write(folder: Path, record: Record, html: str) -> None:
    """Write `verdict.json` and `report.html`. Raises `EvidenceError` when they cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.html").write_text(html, encoding="utf-8")
        # Last: where it stands, all of the report does.
        (folder / "verdict.json").write_text(dumps(record), encoding="utf-8")
    except OSError as error:
        raise EvidenceError(f"the report in {folder} cannot be written: {error.strerror}") from error
