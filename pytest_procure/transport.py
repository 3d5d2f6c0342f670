"""How a record travels: as plain data on the test's report, also from a worker of pytest-xdist.

A value that is no plain data kills a worker where it is sent, far from its cause; so it is checked here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from .evidence.record import ResultRecord
from .trials import Trial

_ATTRIBUTE = "_procure"


@dataclass(frozen=True, slots=True)
class Payload:
    """What a requirement sends: its result, and what the candidate's backend discloses."""

    result: ResultRecord
    disclosed: dict[str, Any]


def attach(report: pytest.TestReport, trial: Trial) -> None:
    """Put the trial's record on the report that ends it: that of the call, or of a set-up that failed."""
    if report.when == "setup" and not report.passed:
        trial.blocked(_why(report))
    elif report.when != "call" or trial.record is None:
        return
    assert trial.record is not None, "a trial that is over, or blocked, has a record"
    if hasattr(report, "wasxfail") and not report.passed:
        trial.record["problem"] = trial.record["problem"] or "marked xfail, which is no waiver"
    if report.failed and report.when == "call" and trial.ended_early:
        report.sections.append(("procure", "\n".join(trial.told())))
    plain = json.dumps({"result": trial.record, "disclosed": trial.disclosed}, allow_nan=False)
    setattr(report, _ATTRIBUTE, json.loads(plain))


def payload(report: pytest.TestReport) -> Payload | None:
    """Read what a report carries."""
    carried = getattr(report, _ATTRIBUTE, None)
    return None if carried is None else Payload(carried["result"], carried["disclosed"])


def _why(report: pytest.TestReport) -> str:
    """Give the one line of a set-up that failed or was skipped."""
    if isinstance(report.longrepr, tuple):  # skipped: (path, line, reason)
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    said = str(crash.message if crash is not None else report.longrepr).strip()
    return (said.splitlines() or ["set-up failed"])[0].removeprefix("Failed: ").removeprefix("procure: ")
