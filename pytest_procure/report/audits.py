"""What the harness saw of itself, candidates side by side: a fact a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_procure.driver.limits import Limits
from pytest_procure.driver.thresholds import THRESHOLDS
from pytest_procure.evidence.record import RequirementRecord

from . import words
from .deciding import declared_run
from .facts import facts
from .plots import Table
from .visible import shorten

_SIDE_BY_SIDE = 5
#: What a row is left out for, where it is so for all: the page is read by people.
_NOTHING = {"0", "none", "no", words.NOT_STATED}


def audits(requirement: RequirementRecord) -> list[Table]:
    """Lay out the audits of a requirement's marked runs, five candidates a table."""
    found: list[tuple[str, dict[str, str]]] = []
    for result in requirement["results"]:
        run = declared_run(result["runs"])
        if run is not None and run["audit"]:
            # What is allowed stands in docs and in `verdict.json`, but for what the suite set otherwise.
            seen = {key: value for key, value in run["audit"].items() if key != "limits"}
            told = {fact.name: fact.value for fact in facts(seen)}
            found.append((result["candidate"], told | _set_otherwise(run["audit"].get("limits"))))
    tables = []
    for first in range(0, len(found), _SIDE_BY_SIDE):
        side = found[first : first + _SIDE_BY_SIDE]
        names = dict.fromkeys(name for _, told in side for name in told)
        rows = [
            [words.upper_first(name), *values]
            for name in names
            if not {*(values := [told.get(name, words.NOT_STATED) for _, told in side])} <= _NOTHING
        ]
        head = ["Seen", *(shorten(candidate, 40) for candidate, _ in side)]
        tables.append(Table("What the harness saw of itself", head, rows))
    return tables


def _set_otherwise(limits: Any) -> dict[str, str]:
    """Give the thresholds that are not the usual ones, each with the usual one."""
    told = limits if isinstance(limits, Mapping) else {}
    usual = Limits()
    found: dict[str, str] = {}
    for name, threshold in THRESHOLDS.items():
        if name in told and told[name] != getattr(usual, name):
            own = replace(usual, **{name: told[name]}).told()[threshold.key]
            found[f"set by the suite: {threshold.key} (usually {usual.told()[threshold.key]})"] = own
    return found
