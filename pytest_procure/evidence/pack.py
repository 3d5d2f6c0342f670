"""The evidence folder: made ready before the session, written at its end.

runs/NAME.npy          rows of a run                       (logs)
outputs/NAME.jsonl     what a candidate answered, as text  (outputs), and
        NAME-judge.jsonl   what a judge said of each answer    (opinions)
slices/DIGEST.npy      digests of the items of a slice     (keeping)
cases/NAME.json        what a test judged                  (parts)
session.json           what the session knew beside        (session_file)
spec.json              what was sealed, and                (spec)
ledger.jsonl           every run of it, where it was       (ledger)
environment.json       the machine and its software
verdict.json           the record, which follows from all of the above
report.html            the record as a page,
summary.md             as a page of text,
findings.csv           as a table, a finding a row, and
report.pdf             as a document, where that was asked for
ro-crate-metadata.json what is in the folder, for catalogues
manifest.json          every file with its digest
attestations/          what was signed, and by whom
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pytest_procure.errors import EvidenceError, unwritten

from .crate import crate
from .keeping import CASES, OUTPUTS, RUNS, SLICES, case_file
from .manifest import MANIFEST, manifest
from .plain import dumps, to_plain
from .record import FORMAT, Record
from .session_file import SESSION_FORMAT, SessionFile
from .whole import replace

SESSION, ENVIRONMENT, VERDICT, REPORT = "session.json", "environment.json", "verdict.json", "report.html"
SPEC, LEDGER = "spec.json", "ledger.jsonl"
SUMMARY, TABLE, PDF = "summary.md", "findings.csv", "report.pdf"
CRATE, ATTESTATIONS = "ro-crate-metadata.json", "attestations"

_READABLE = 0o644

#: What a report of ours consists of. Nothing else is ever removed.
_FILES = (REPORT, SUMMARY, TABLE, PDF, VERDICT, SESSION, SPEC, LEDGER, ENVIRONMENT, CRATE, MANIFEST)
_FOLDERS = {
    RUNS: re.compile(r".*\.[0-9a-f]{8}[-a-z0-9]*\.([0-9]+\.|wire\.|tokens\.)?(npy|part)", re.DOTALL),
    OUTPUTS: re.compile(r".*\.[0-9a-f]{8}[-a-z0-9]*\.jsonl", re.DOTALL),
    CASES: re.compile(r".*\.[0-9a-f]{8}[-a-z0-9]*\.json", re.DOTALL),
    SLICES: re.compile(r"[0-9a-f]{16}\.npy"),
    ATTESTATIONS: re.compile(r"[a-z0-9-]+\.(dsse\.json|pub)"),
}


def check(folder: Path) -> None:
    """Raise `EvidenceError` when the path is a file, or a folder with anything but a report of ours."""
    try:
        if folder.exists() and not folder.is_dir():
            raise EvidenceError(f"`--procure-out {folder}` is a file; expected a folder, new or of ours")
        if folder.is_dir() and any(folder.iterdir()) and not _is_report(folder):
            raise EvidenceError(
                f"`--procure-out {folder}` holds something that is no earlier report; name another folder"
            )
        if (folder / ATTESTATIONS).is_dir():
            raise EvidenceError(
                f"`--procure-out {folder}` holds a signed pack, which is not overwritten; move it away, or "
                "name another folder"
            )
    except OSError as error:
        raise EvidenceError(f"the report folder {folder} cannot be read: {error.strerror}") from error


def prepare(folder: Path) -> None:
    """Make the folder, and clear an earlier report of ours out of it. Raises as `check` does."""
    check(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        for name in _FOLDERS:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
    except OSError as error:
        raise unwritten(f"the report folder {folder.name}", error, folder.parent) from error


def _is_report(folder: Path) -> bool:
    """A report of ours, or what a killed session left of one: files of its tests alone."""
    names = {entry.name for entry in folder.iterdir()}
    if not names <= {*_FILES, *_FOLDERS}:
        return False
    for name in names & _FOLDERS.keys():  # many a training tool keeps its work in a folder named `runs`
        inside = folder / name
        if inside.is_symlink() or not inside.is_dir():
            return False
        if not all(_FOLDERS[name].fullmatch(each.name) and each.is_file() for each in inside.iterdir()):
            return False
    if VERDICT in names:
        return _is_ours(folder / VERDICT, FORMAT)
    left = {*_FOLDERS, SESSION, SPEC, LEDGER, ENVIRONMENT}
    return names <= left and (SESSION not in names or _is_ours(folder / SESSION, SESSION_FORMAT))


def _is_ours(path: Path, form: str) -> bool:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("format") == form


def write(folder: Path, session: SessionFile, record: Record, files: Mapping[str, bytes]) -> None:
    """Write what a session ends with, the files made from its record, and the manifest.

    Raises `EvidenceError` when something cannot be written, or when what tests have written is not there
    any more; then nothing stays of what was made from the record, for half a report would be read as one.
    """
    try:
        _check_kept(folder, session, record)
        folder.mkdir(parents=True, exist_ok=True)
        replace(folder / SESSION, dumps(to_plain(session)).encode(), _READABLE)
        put(folder / ENVIRONMENT, dumps(record["environment"]))
        for name in {SPEC, LEDGER} - files.keys():  # as they were when the session began
            (folder / name).unlink(missing_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        put(folder / VERDICT, dumps(record))
        put(folder / CRATE, crate(folder, record))
        # Last: where it stands, all of the pack does.
        put(folder / MANIFEST, manifest(folder))
    except (EvidenceError, OSError) as error:
        _withdraw(folder)
        if isinstance(error, OSError):
            raise unwritten("the report", error, folder) from error
        raise


def is_finished(folder: Path) -> bool:
    """Whether all of a pack is there; not where nobody may look."""
    try:
        return (folder / MANIFEST).is_file()
    except OSError:
        return False


def _check_kept(folder: Path, session: SessionFile, record: Record) -> None:
    """Raise `EvidenceError` where a file is gone that a test has written: it follows from them."""
    runs = [run for each in record["requirements"] for result in each["results"] for run in result["runs"]]
    logs = [name for run in runs for name in (run.get("log"), run.get("cut_log")) if name]
    wanted = [*logs, *map(case_file, session.gate.received)]
    gone = sorted(name for name in wanted if not (folder / name).is_file())
    if gone:
        raise EvidenceError(
            f"{len(gone)} file(s) that the tests wrote are not in {folder}, such as {gone[0]}: the disk "
            "was full, or something removed them meanwhile; the report was not written; run again"
        )


def _withdraw(folder: Path) -> None:
    for name in (REPORT, SUMMARY, TABLE, PDF, VERDICT, CRATE, MANIFEST):
        with suppress(OSError):
            (folder / name).unlink()


def put(path: Path, text: str) -> None:
    """Write a text file with the line ends that it has here. Raises `OSError`."""
    path.write_text(text, encoding="utf-8", newline="\n")
