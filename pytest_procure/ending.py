"""The end of a session: its record, its report, its exit status, and what the terminal says of them.

It fails closed: where evidence cannot be written, nothing is accepted, and what is on the disk stays.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import outputs
from .errors import ProcureError, unwritten
from .evidence.pack import REPORT, is_finished
from .evidence.partial import settle
from .evidence.session_file import record_of
from .report.terminal import lines
from .stated import session_file
from .telemetry.environment import environment

if TYPE_CHECKING:
    from .evidence.record import Record
    from .evidence.session_file import SessionFile
    from .session import Session

_UNWRITTEN = "Nothing is accepted, because the evidence could not be written."


def finish(session: Session, status: int) -> int:
    """Conclude, write what was asked for, and give the exit status; `status` is pytest's own."""
    session.held.expect_all(session.gate, session.config.getoption("procure_candidate"))
    fault = _settled(session)
    file = session_file(session, status)
    found = environment(session.config.rootpath)
    record = record_of(file, session.gate.results.values(), found, right=session.gate.right)
    outcome = record["outcome"]
    if fault := fault or _written(session, file, record):
        outcome["exit_status"] = outcome["exit_status"] or 1
        outcome["reasons"].append(fault)
    if session.folder is not None and not is_finished(session.folder):
        outcome["accepted"], outcome["sentence"] = False, _UNWRITTEN
    session.lines = lines(record, width=_width(session))
    return outcome["exit_status"]


def place(session: Session) -> str:
    """Say where the report is or, where it could not be written, what there is instead."""
    if session.folder is None or session.problems:
        return ""
    if is_finished(session.folder):
        return f"report: {session.folder / REPORT}"
    return (
        f"no report: what was written before is kept in {session.folder}; `procure recover {session.folder}` "
        "makes a partial pack of it"
    )


def _settled(session: Session) -> str:
    """Turn what was cut off into rows; nothing, or why they cannot be written."""
    if session.keeper is None:
        return ""
    try:
        session.gate.notes += [each.said for each in settle(session.keeper.folder)]
    except ProcureError as error:
        return str(error)
    except OSError as error:
        return str(unwritten("a partial run", error, session.keeper.folder))
    return ""


def _written(session: Session, file: SessionFile, record: Record) -> str:
    """Write the report where one was asked for; nothing, or why it cannot be written."""
    if session.folder is None:
        return ""
    with_pdf = bool(session.config.getoption("procure_pdf"))
    try:
        outputs.write(session.folder, file, record, session.held.files, with_pdf=with_pdf, environ=os.environ)
    except ProcureError as error:
        return str(error)
    return ""


def _width(session: Session) -> int:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    return int(getattr(getattr(reporter, "_tw", None), "fullwidth", 100))
