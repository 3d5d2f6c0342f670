"""The rules on comparing and quoting published results: data with sources, and how one is applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Action = Literal["refuse", "disclose"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in our own words. `refuse`: print no comparison. `disclose`: only with the disclosure."""

    id: str
    action: Action
    when: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule at work: which one, what it does here, and what in the data called for it.

    A refusal's reason never holds a figure of the results it refuses.
    """

    rule: str
    action: Action
    reason: str

    def __str__(self) -> str:
        return f"{self.action} [{self.rule}]: {self.reason}"


@cache
def rules() -> Mapping[str, Rule]:
    """Load the rules once, by id."""
    text = resources.files("pytest_procure.mlperf").joinpath("data/rules.json").read_text("utf-8")
    return {entry["id"]: Rule(**entry) for entry in json.loads(text)["rules"]}


def apply(rule: str, reason: str, *, action: Action | None = None) -> Applied:
    """Apply a rule for a reason; a named difference may turn its refusal into a disclosure."""
    return Applied(rule, action or rules()[rule].action, reason)
