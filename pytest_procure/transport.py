"""How a record travels: as plain data on the test's report, also from a worker of pytest-xdist.

A value that is no plain data kills a worker where it is sent, far from its cause; so it is checked here.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from .errors import ProcureError
from .evidence.keeping import Keeper
from .evidence.record import ResultRecord
from .properties import properties
from .trials import Trial

_ATTRIBUTE = "_procure"


@dataclass(frozen=True, slots=True)
class Payload:
    """What a requirement sends: its result, what the backend discloses, which items were answered right."""

    result: ResultRecord
    disclosed: dict[str, Any]
    right: dict[str, Any] | None = None


def attach(report: pytest.TestReport, trial: Trial, keeper: Keeper | None) -> None:
    """Put the trial's record on the report that ends it: that of the call, or of a set-up that failed.

    With a `keeper` its case file is written as well.
    """
    if report.when == "setup" and not report.passed:
        trial.blocked(why(report))
    elif report.when != "call" or trial.record is None:
        return
    assert trial.record is not None, "a trial that is over, or blocked, has a record"
    if hasattr(report, "wasxfail") and not report.passed and not trial.excuse():
        trial.remarked("marked xfail, which is no waiver")
    if report.failed and report.when == "call" and trial.ended_early:
        untold = [line for line in trial.told() if line.strip() not in report.longreprtext]
        if untold:
            report.sections.append(("procure", "\n".join(untold)))
    keep(trial, keeper)
    sent = {"result": trial.record, "disclosed": trial.disclosed, "right": trial.right}
    plain = json.dumps(sent, allow_nan=False)
    setattr(report, _ATTRIBUTE, json.loads(plain))


def describe(item: pytest.Item, trial: Trial) -> None:
    """Give the test case the properties of its record, once there is one, for every later report on it."""
    if trial.record is not None and not any(name.startswith("procure.") for name, _ in item.user_properties):
        item.user_properties += properties(trial.record)


def keep(trial: Trial, keeper: Keeper | None) -> None:
    """Write the case file, where files are kept; what cannot be written has not been tested."""
    if keeper is None:
        return
    try:
        keeper.case(trial.file())
    except ProcureError as error:
        trial.blocked(str(error))
        with suppress(ProcureError):
            keeper.case(trial.file())


def payload(report: pytest.TestReport) -> Payload | None:
    """Read what a report carries."""
    carried = getattr(report, _ATTRIBUTE, None)
    return None if carried is None else Payload(carried["result"], carried["disclosed"], carried["right"])


def why(report: pytest.TestReport) -> str:
    """Give the one line of a set-up that failed or was skipped."""
    if isinstance(report.longrepr, tuple):  # skipped: (path, line, reason)
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    said = str(crash.message if crash is not None else report.longrepr).strip()
    return (said.splitlines() or ["set-up failed"])[0].removeprefix("Failed: ").removeprefix("procure: ")
