"""What a session leaves behind: the files of its report, and the summary that a CI service shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .errors import unwritten
from .evidence import pack
from .evidence.record import Record
from .evidence.session_file import SessionFile

#: Where GitHub Actions takes a job's summary from; unset elsewhere.
_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def write(  # noqa: PLR0913 - what a session knows, and how it was asked
    folder: Path,
    session: SessionFile,
    record: Record,
    sealed: Mapping[str, bytes],
    *,
    with_pdf: bool,
    environ: Mapping[str, str],
) -> None:
    """Finish the pack in the folder with the report's files; append the summary to that of a GitHub step.

    `sealed`: the sealed specification and the ledger as they stand, by name.
    Raises `EvidenceError` when something cannot be made or written.
    """
    from .report.outputs import outputs  # noqa: PLC0415 - a session without a report never loads a template

    files = {name: text.encode("utf-8") for name, text in outputs(record).items()}
    if with_pdf:
        from .report.pdf import pdf  # noqa: PLC0415 - an extra

        files["report.pdf"] = pdf(record)
    pack.write(folder, session, record, files | dict(sealed))
    if step := environ.get(_STEP_SUMMARY):
        try:
            with Path(step).open("ab") as summary:
                summary.write(files["summary.md"] + b"\n")
        except OSError as error:
            raise unwritten(f"the summary of {_STEP_SUMMARY}", error, Path(step)) from error
