"""What a session states of itself, as its session file holds it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from . import __version__
from .evidence.session_file import STATED, GatePart, SessionFile
from .redaction import redacted

if TYPE_CHECKING:
    from .session import Session


def session_file(session: Session, status: int) -> SessionFile:
    """Write down what a session knows by now beside its tests; `status` is pytest's own."""
    config, gate = session.config, session.gate
    stated = {key: redacted(str(config.getini(f"procure_{key}"))) for key in STATED}
    return SessionFile(
        format="pytest-procure/session",
        version=1,
        **stated,
        started=session.started,
        finished=now(),
        plugin_version=__version__,
        command=redacted(" ".join(["pytest", *map(str, config.invocation_params.args)])),
        policy=session.policy(max(session.declared, len(gate.judged()))),
        status=status,
        gate=GatePart.of(gate),
        sealed=session.held.part(),
        notes=tuple(_notes(session)),
    )


def now() -> str:
    """Give the time: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _notes(session: Session) -> list[str]:
    gate, workers = session.gate, session.config.getoption("numprocesses", None)
    notes = list(gate.notes)
    if workers:
        notes.append(f"The tests were spread over {workers} worker process(es) by pytest-xdist.")
    notes += [
        f"{test} ran {times} times; the first run decides." for test, times in sorted(gate.rerun.items())
    ]
    if any("::" in str(argument) for argument in session.config.invocation_params.args):
        notes.append("The command names single tests; what it leaves out of the suite was not looked at.")
    if foreign := sorted(gate.failed - set(gate.expected)):
        notes.append(f"Tests that are no requirements failed: {', '.join(foreign)}.")
    return notes
