"""`procure report DIR`: make the report anew from a pack's `verdict.json`, without running anything.

Exit status 0: the files were written. 2: the folder holds no record that can be read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from pytest_procure.cli import Parser, printable
from pytest_procure.errors import EvidenceError, unwritten
from pytest_procure.evidence.manifest import MANIFEST
from pytest_procure.evidence.record import FORMAT, VERSION, Record
from pytest_procure.evidence.schema import problems

from .outputs import outputs
from .pdf import pdf

_RECORD = "verdict.json"


def main(arguments: Sequence[str]) -> int:
    """Write the files that a record gives, and say which."""
    options = _parser().parse_args(arguments)
    record = read(options.folder)
    files = {name: text.encode("utf-8") for name, text in outputs(record).items()}
    if options.pdf:
        files["report.pdf"] = pdf(record)
    target = options.out or options.folder
    _leave_finished(target, files)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (target / name).write_bytes(data)
    except OSError as error:
        raise unwritten("the report", error, target) from error
    for name in files:
        sys.stdout.write(printable(str(target / name)) + "\n")
    return 0


def _leave_finished(target: Path, files: Mapping[str, bytes]) -> None:
    """Raise `EvidenceError` where the files would change a finished pack, which then would not verify."""
    if not (target / MANIFEST).exists():
        return
    for name, data in files.items():
        path = target / name
        if not path.is_file() or path.read_bytes() != data:
            raise EvidenceError(
                f"{path} is not that file in the finished pack {target}, and a changed pack does not verify; "
                "write to another folder with `--out`"
            )


def read(folder: Path) -> Record:
    """Read the record of a pack.

    Raises `EvidenceError`, in one line, for a folder without one, a file that is no record, and a format that
    this version does not know.
    """
    file = folder / _RECORD
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EvidenceError(
            f"{folder} holds no {_RECORD}; expected a folder that `pytest --procure-report` wrote"
        ) from None
    except OSError as error:
        raise EvidenceError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{file} is no JSON: {type(error).__name__}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise EvidenceError(f"{file} is no record of ours; expected `format` to be `{FORMAT}`")
    version = data.get("version")
    if version != VERSION:
        raise EvidenceError(
            f"{file} has format version {version}; this pytest-procure reads {VERSION}: use the one that "
            f"wrote it, {data.get('plugin_version', 'not stated')}"
        )
    if found := problems(data):
        raise EvidenceError(f"{file} is no complete record: {'; '.join(found)}")
    return cast("Record", data)


def _parser() -> Parser:
    parser = Parser(
        prog="procure report",
        description="Make report.html, summary.md and findings.csv anew from verdict.json. Nothing is run.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="what `pytest --procure-report` wrote")
    parser.add_argument("--out", metavar="DIR", type=Path, help="write to this folder instead")
    parser.add_argument("--pdf", action="store_true", help="write report.pdf too (extra [pdf])")
    return parser
