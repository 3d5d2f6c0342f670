"""The pytest side of `--procure-plan`: no test runs. A pilot sets a test's fixtures up, not its body."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from . import stopping
from ._keys import session_key, trial_key
from .asserts import after
from .checks import check_labels
from .datasets import Dataset
from .errors import ProcureError
from .evidence.parts import Requirement
from .metrics import Execution
from .planning import Plan, Sample, pilot_of, plan
from .procure import Procure
from .settings import producer_risk
from .suite import Offer, SliceAsked

#: A session that ended with one of these was looked at; others say themselves what is wrong.
_LOOKED_AT = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}


class Planner:
    """Takes the place of the run: plans each requirement on each candidate, and says so on the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        _check(config)
        self._config = config
        self._pilot: int | None = config.getoption("procure_pilot")
        self._producer_risk = producer_risk(config)
        self._plans: list[Plan] = []
        self._lines: list[str] = []
        self._ran: Execution | str = ""  # the pilot of one test, or why there is none

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Plan, and leave nothing to be run. Where nothing would run, pytest says why."""
        options = self._config.option
        if options.collectonly or (session.testsfailed and not options.continue_on_collection_errors):
            return None
        items = [item for item in session.items if trial_key in item.stash]
        for item, following in zip(items, [*items[1:], None], strict=False):
            execution = None if self._pilot is None else self._piloted(item, following)
            self._plans.append(self._planned(item, execution))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Run the pilot in place of the test's body."""
        procure = pyfuncitem.funcargs.get("procure")
        if not isinstance(procure, Procure):
            self._ran = "it takes no `procure` of the plugin's own"
            return True
        assert self._pilot is not None, "without a number of requests there is no pilot"
        scenario = procure.scenario.shortened(self._pilot)
        try:
            self._ran = procure.run(scenario).execution
        except ProcureError as error:
            self._ran = str(error)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End with 1 where a plan cannot decide."""
        if self._config.option.collectonly or exitstatus not in _LOOKED_AT:
            return
        if not self._plans or not all(each.decides for each in self._plans):
            session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
        from .report.plan import lines  # noqa: PLC0415 - nothing is reported before a session's end

        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        width = getattr(getattr(reporter, "_tw", None), "fullwidth", 100)
        self._lines = lines(self._plans, int(session.exitstatus), width=int(width), why=self._why_none())

    def _why_none(self) -> str:
        """Say why no test stands for a requirement, where none does."""
        ours = self._config.stash.get(session_key, None)
        if ours is None:
            return "no test takes the `procure` fixture"
        if ours.gate.deselected:
            return "the command deselects those that there are"
        return "no test that takes our fixtures takes `procure`"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is planned."""
        if self._lines:
            from .report.plan import markup  # noqa: PLC0415 - only with something to say

            terminalreporter.section("procurement plan", sep="=")
            for line in self._lines:
                terminalreporter.write_line(line, **markup(line))

    def _piloted(self, item: pytest.Item, following: pytest.Item | None) -> Execution | str:
        """Set a test's fixtures up and run the pilot; nothing of it is reported, so nothing is judged."""
        self._ran = ""
        runtestprotocol(item, log=False, nextitem=following)
        trial = item.stash[trial_key]
        if trial.hold is not None:  # a pilot is a look at the data: it stands in the ledger of a sealed suite
            trial.hold.end("not judged")
        return self._ran or trial.problem or "its fixtures could not be set up"

    def _planned(self, item: pytest.Item, ran: Execution | str | None) -> Plan:
        trial = item.stash[trial_key]
        requirement, execution = trial.requirement, ran if isinstance(ran, Execution) else None
        given: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        offer = given.get("_procure_offer")
        problem = f"no pilot: {ran}" if isinstance(ran, str) else ""
        try:
            sample = _sample(given.get("_procure_slice"), requirement, execution)
        except ProcureError as error:
            sample, problem, requirement = Sample(None), str(error), replace(requirement, bars=())
        planned = plan(
            requirement,
            offer.candidate if isinstance(offer, Offer) else None,
            sample,
            trial.policy,
            producer_risk=self._producer_risk,
            pilot=None if execution is None else pilot_of(execution, requirement.bars, trial.policy),
        )
        asserts = after(item.obj, 0) if isinstance(item, pytest.Function) else []
        return replace(planned, asserts=len(asserts), problem=problem)


def _sample(asked: object, requirement: Requirement, execution: Execution | None) -> Sample:
    """Tell how many samples a slice has. The dataset is made only where nothing else says so."""
    rule = asked.rule if isinstance(asked, SliceAsked) else {}
    chosen = None if execution is None else execution.slice
    if chosen is None and isinstance(asked, SliceAsked):
        source = asked.source
        if "n" in rule and source.made is None and not isinstance(source.given, Dataset):
            return Sample(rule["n"], marked=True)
        chosen = asked.choose(source.dataset())
    if chosen is None:
        return Sample(None)
    check_labels(chosen.dataset, requirement.bars)
    stopping.check(requirement.bars, chosen, requirement.scenario)
    clusters = min((len(np.unique(labels)) for labels in chosen.groupings), default=None)
    return Sample(len(chosen), clusters, marked="n" in rule, most=chosen.most)


def _check(config: pytest.Config) -> None:
    """Refuse what cannot be planned. Raises `UsageError`."""
    pilot = config.getoption("procure_pilot")
    said = ""
    if not config.getoption("procure_plan"):
        said = "`--procure-pilot` runs a pilot for a plan; add `--procure-plan`"
    elif config.getoption("procure_report"):
        said = (
            "`--procure-plan` measures nothing, so `--procure-report` has nothing to report; give one of them"
        )
    elif pilot is not None and pilot < 1:
        said = f"`--procure-pilot {pilot}`; expected a number of requests, as in `--procure-pilot 1000`"
    elif getattr(config.option, "dist", "no") != "no":
        said = "`--procure-plan` is made in one process; leave `-n` out, or add `-n 0`"
    if said:
        raise pytest.UsageError(f"procure: {said}")
