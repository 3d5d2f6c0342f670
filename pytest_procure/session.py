"""The state of a pytest session that uses the plugin: what it declares, what it expects, what came in.

Under pytest-xdist a worker keeps its own; results travel on test reports, and what is expected in one file
that the controller names (the register), because a worker that dies takes everything else with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ._keys import trial_key
from .checks import check_labels
from .decision import Policy
from .errors import DeclarationError, ProcureError, nearest, unknown
from .evidence.partial import KILLED
from .evidence.parts import Requirement
from .exits import stand_guard
from .gate import Expected, Gate
from .held import Held
from .kept import keeper
from .marks import (
    Declared,
    check_names,
    declared,
    priced,
    published_of,
    question_of,
    references_of,
    requirement_id,
    slice_rule,
    task_of,
)
from .settings import policy_alone
from .stated import now, session_file
from .suite import Offer, SliceAsked, Source, Suite, day_problems
from .telemetry.nvml import gpus
from .thresholds import limits
from .transport import keep
from .trials import Trial
from .usage import is_requirement, misplaced, overridden

if TYPE_CHECKING:
    from .candidates import Candidate
    from .datasets import Dataset
    from .driver.interrupts import Interrupts
    from .mlperf.distance import Task
    from .mlperf.reference import PublishedScore

#: Usage errors shown at once; the rest come after these are mended.
_SHOWN_PROBLEMS = 10
_NO_CANDIDATE = (
    "there is no candidate; return some from `pytest_procure_candidates` in the conftest beside the test"
)
#: How an offer is named that comes from a suite's own `candidate` fixture.
_OWN_CANDIDATE = "the suite's own candidate"


class Session:
    """Declarations, expectations and results of one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.suite = Suite(config)
        self.held = Held(config)
        self.gate = Gate(award="any" if config.getoption("procure_award") == "any" else "all")
        self._own_source = Source("the suite's own", _own_dataset)
        self.problems: list[str] = []
        self._asked: dict[str, list[str]] = {}  # candidates, by test as it stands in its file
        self.declared = 1  # candidates on offer to one test, whether or not the command selects them
        self.started = now()
        self.lines: list[str] = []  # for the terminal
        worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.worker_count = 1 if worker_input is None else int(worker_input.get("workercount", 1))
        self.register_file: str | None = None if worker_input is None else worker_input["procure_register"]
        self.folder = self.report_folder() if config.getoption("procure_report") else None
        looking = config.getoption("procure_plan") or config.getoption("procure_seal")  # nothing is evidence
        self.keeper = None if self.folder is None or looking else keeper(config, self.folder)
        stand_guard(config)

    def report_folder(self) -> Path:
        """Give the folder of `--procure-out`, seen from where pytest was called."""
        return self.config.invocation_params.dir / str(self.config.getoption("procure_out"))

    # -- declare ------------------------------------------------------------------------------------------

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Give a test its offers and its slice. What is wrong is kept, and raised when all is collected."""
        if "_procure_offer" in metafunc.fixturenames:
            offers = self._asked_of(metafunc, self._offers(metafunc))
            names = [offer.candidate.name for offer in offers]
            self._asked[metafunc.definition.nodeid] = names
            metafunc.parametrize("_procure_offer", offers, indirect=True, scope="session", ids=names)
        if "_procure_slice" in metafunc.fixturenames:
            asked = []
            try:
                name, rule = slice_rule(metafunc.definition)
                asked = [self.suite.asked(self._source(metafunc.definition, name), rule)]
            except ProcureError as error:
                self._problem(metafunc.definition, error)
            hidden = [pytest.HIDDEN_PARAM] * len(asked)
            metafunc.parametrize("_procure_slice", asked, indirect=True, scope="session", ids=hidden)

    def _source(self, node: Any, name: str | None) -> Source:
        """Find the dataset that a test names; a suite with its own `dataset` fixture need not declare any."""
        try:
            return self.suite.source(node.ihook, name)
        except DeclarationError:
            if name is not None or not overridden(node, "dataset"):
                raise
            return self._own_source

    def _offers(self, metafunc: pytest.Metafunc) -> list[Offer]:
        try:
            offers = self.suite.offers(metafunc.definition.ihook)
        except Exception as error:  # noqa: BLE001 - the suite's own hook may raise anything
            said = f"`pytest_procure_candidates` raised {type(error).__name__}: {error}"
            self._problem(
                metafunc.definition, error if isinstance(error, ProcureError) else ProcureError(said)
            )
            return []
        if not offers:
            self._problem(metafunc.definition, ProcureError(_NO_CANDIDATE))
        return offers

    def _asked_of(self, metafunc: pytest.Metafunc, offers: list[Offer]) -> list[Offer]:
        """Leave out those that the test compares others with: against itself nobody shows anything."""
        references = references_of(metafunc.definition)
        try:
            for name in references if offers else ():
                self.suite.offer(metafunc.definition.ihook, name)
        except ProcureError as error:
            self._problem(metafunc.definition, DeclarationError(f"mark `bar`: {error}"))
            return []
        asked = [offer for offer in offers if offer.candidate.name not in references]
        if offers and not asked:
            said = "there is nobody to compare with: the only candidate is the one compared against"
            self._problem(metafunc.definition, DeclarationError(said))
        return asked

    def _problem(self, node: Any, error: Exception) -> None:
        said = str(error)
        test = node.nodeid.partition("[")[0]
        self.problems.append(said if test in said else f"{test}: {said}")

    def register(self, items: list[pytest.Item]) -> None:
        """Check the marks of all requirements and write the register. Raises `UsageError`, a line a mistake.

        Items of candidates that `--procure-candidate` does not name are taken out.
        """
        selected = self.config.getoption("procure_candidate")
        known = self.suite.candidates()
        self.problems += day_problems("valid_until", self.config.getini("procure_valid_until"))
        self.problems += [
            f"--procure-candidate: {unknown('candidate', name, known)}"
            for name in selected or ()
            if name not in known and known
        ]
        unselected = []
        for item in items:
            offer = _offer(item)
            if selected and offer is not None and offer.candidate.name not in selected:
                unselected.append(item)
            elif not is_requirement(item):
                self._misplaced(item)
            else:
                self._declare(item, offer, selected)
        self._expect_the_others(selected)
        self.held.compare(policy_alone(self.config), self.gate.award)
        self.problems += self.held.problems
        if self.gate.expected and self.worker_count > (devices := max(1, len(gpus()[0]))):
            self.problems.append(
                f"{self.worker_count} worker processes would measure on {devices} device(s) at once, and "
                f"slow each other; run with `-n {devices}`, or without pytest-xdist"
            )
        if self.gate.expected and sys.flags.optimize:
            self.problems.append(
                "Python was started with `-O` (or PYTHONOPTIMIZE), which leaves out every assert: no bar in "
                "a test would be looked at; run without it"
            )
        if self.problems:
            self._refuse(items)
        if unselected:
            items[:] = [item for item in items if item not in unselected]
            self.config.hook.pytest_deselected(items=unselected)
        self._write_register()

    def _expect_the_others(self, selected: Sequence[str] | None) -> None:
        """Expect each requirement of every offer, also where the command names the test of one alone."""
        known = {(each.id, each.candidate) for each in self.gate.expected.values()}
        for each in list(self.gate.expected.values()):
            for name in self._asked.get(each.test.partition("[")[0], ()):
                if (each.id, name) in known or (selected and name not in selected):
                    continue
                known.add((each.id, name))
                test = each.test.replace(f"[{each.candidate}", f"[{name}")
                if test in self.gate.expected:  # pytest writes other names than ASCII in a way of its own
                    test = f"{each.test} of {name}"
                self.gate.expect([replace(each, test=test, candidate=name)], {})
                self.gate.deselected.add(test)

    def _misplaced(self, item: pytest.Item) -> None:
        """Refuse our marks on a test below our candidates that does not use `procure`."""
        used = misplaced(item)
        if used and self.suite.declares(item.ihook):
            near = [each for each in getattr(item, "fixturenames", ()) if nearest(each, ["procure"])]
            said = f"mark `{used}`: the test does not ask for `procure`, so nothing would be measured"
            if near:
                said = f"mark `{used}`: unknown fixture `{near[0]}`; did you mean `procure`?"
            self._problem(item, DeclarationError(said))

    def _refuse(self, items: list[pytest.Item]) -> None:
        """Raise the mistakes; a worker, which cannot, sends them to the controller and collects nothing."""
        told = [f"procure: {problem}" for problem in dict.fromkeys(self.problems)][:_SHOWN_PROBLEMS]
        if self.register_file is None:
            raise pytest.UsageError(*told)
        self._register({"problems": told})
        items.clear()

    def _declare(self, item: pytest.Item, offer: Offer | None, selected: Sequence[str] | None) -> None:
        try:
            check_names(item)
            marks = declared(item)
            self._slice_of_parameters(item)
            offers = [] if offer is None else self.suite.offers(item.ihook)
            offered = [o.candidate for o in offers if not selected or o.candidate.name in selected]
            priced(marks.bars, offered, item)
            self._check_data(item, marks)
            for about, score, base in self._published(item, offers):
                key = f"{about}: {score}"
                if key not in self.gate.published:
                    self.gate.published[key] = score.record(base, self._task(item, marks, offered), about)
        except ProcureError as error:
            self._problem(item, error)
            return
        name = offer.candidate.name if offer else _OWN_CANDIDATE
        requirement = Requirement(
            id=requirement_id(item, name),
            question=question_of(item),
            test=item.nodeid,
            candidate=name,
            scenario=marks.scenario,
            bars=marks.bars,
        )
        stated = {o.candidate.name: o.candidate.describe() for o in offers if o.candidate in offered}
        stated = stated or {name: _unstated(name)}
        try:
            self.held.declare(item, requirement, stated)
        except ProcureError as error:
            self._problem(item, error)
            return
        self.declared = max(self.declared, len(offers))
        item.stash[trial_key] = Trial(
            requirement,
            self.policy(len(offers) or 1),
            limits=limits(self.config),
            hold=self.held.hold(requirement, stated[name]),
            screen=self.held.screen,
        )
        expected = Expected(requirement.id, requirement.question, marks.scenario.label, item.nodeid, name)
        self.gate.expect([expected], stated)

    def _check_data(self, item: pytest.Item, marks: Declared) -> None:
        """See that a dataset which is there has what marks ask of it; of others only the run knows."""
        callspec = getattr(item, "callspec", None)
        asked = None if callspec is None else callspec.params.get("_procure_slice")
        if not isinstance(asked, SliceAsked) or asked.source.known is None:
            return
        if any(overridden(item, fixture) for fixture in ("dataset", "dataset_slice")):
            return
        check_labels(asked.source.known, marks.bars)
        if not callable(asked.rule.get("where")):  # a condition of the suite's own may take its time
            asked.choose(asked.source.known)

    def _slice_of_parameters(self, item: pytest.Item) -> None:
        """Take the slice that a parameter set's own mark asks for; tests are generated without it."""
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "_procure_slice" in parameters:
            name, rule = slice_rule(item)
            parameters["_procure_slice"] = self.suite.asked(self._source(item, name), rule)

    def _published(
        self, item: pytest.Item, offers: Sequence[Offer]
    ) -> list[tuple[str, PublishedScore, Path]]:
        """List the published scores that stand beside a requirement, and beside its candidates."""
        marked = [(question_of(item), score, item.path.parent) for score in published_of(item)]
        offered = [
            (offer.candidate.name, offer.candidate.published, offer.base)
            for offer in offers
            if offer.candidate.published is not None
        ]
        return [*marked, *offered]

    def _task(self, item: pytest.Item, marks: Declared, candidates: Sequence[Candidate]) -> Task:
        dataset = self._source(item, slice_rule(item)[0]).name
        return task_of(marks, dataset, candidates)

    def policy(self, candidates: int) -> Policy:
        """Give the decision rule's risks; under `--procure-award any` the candidates share the consumer's.

        candidates: all that are declared, since each may be tried, in this command or in another.
        """
        alone = policy_alone(self.config)
        sharing = self.held.sharing(candidates) if self.gate.award == "any" else 1
        return replace(alone, consumer_risk=alone.consumer_risk / sharing, candidates=sharing)

    def deselected(self, test: str) -> None:
        """Keep that somebody chose not to test a requirement; the controller of a worker is told."""
        self.gate.deselected.add(test)
        self._write_register()

    def _write_register(self) -> None:
        if self.register_file and self.gate.expected and not self.problems:
            told = {
                "expected": [asdict(each) for each in self.gate.expected.values()],
                "candidates": self.gate.candidates,
                "published": self.gate.published,
                "deselected": sorted(self.gate.deselected),
                "declared": self.declared,
                "held": self.held.told(),
            }
            self._register(told)

    def _register(self, told: dict[str, Any]) -> None:
        """Write the register whole; a worker that cannot leaves one that cannot be read, which is told."""
        assert self.register_file is not None, "only a worker has a register"
        with suppress(OSError):
            Path(self.register_file).write_text(json.dumps(told), encoding="utf-8")

    def read_register(self, path: Path) -> None:
        """On the controller: learn what the workers expect, or refuse. They all collect the same."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            path.unlink()
        except (OSError, ValueError):
            self.problems.append(
                f"procure: what the worker processes expect could not be written to {path.parent}; free some "
                "space there, or set TMPDIR to another folder"
            )
            return
        self.problems += told.get("problems", ())
        self.gate.expect((Expected(**each) for each in told.get("expected", ())), told.get("candidates", {}))
        self.gate.published.update(told.get("published", {}))
        self.gate.deselected |= set(told.get("deselected", ()))
        self.declared = max(self.declared, told.get("declared", 1))
        self.held.take(told.get("held", {}))

    def interrupted(self, trial: Trial, interrupts: Interrupts) -> None:
        """Keep what a test that Ctrl-C has ended had measured by then; a second one must not take it."""
        interrupts.stay()
        self.config.add_cleanup(interrupts.release)
        if trial.record is not None:
            keep(trial, self.keeper)
            self.gate.receive(trial.record, trial.disclosed, trial.right)

    # -- record -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Write down what is known before the first test. Raises `EvidenceError`."""
        if self.keeper is not None:
            self.keeper.begin(session_file(self, KILLED), self.held.files)


def _own_dataset() -> Dataset:
    """Stand in for a dataset that a suite's own fixture gives."""
    raise DeclarationError("the suite's own `dataset` fixture gives the data; nothing else is declared")


def _offer(item: pytest.Item) -> Offer | None:
    callspec = getattr(item, "callspec", None)
    offer = None if callspec is None else callspec.params.get("_procure_offer")
    return offer if isinstance(offer, Offer) else None


def _unstated(name: str) -> dict[str, Any]:
    return {"name": name, "vendor": "", "precision": "", "price": None, "hardware": "", "notes": ""}
