"""The pytest side of `--procure-seal`: sets each requirement's fixtures up, runs no test, writes the spec."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from ._keys import session_key, trial_key
from .errors import EvidenceError, ProcureError
from .evidence import ledger, spec
from .evidence.differences import candidate_differences, requirement_differences, suite_differences
from .evidence.private import FOLDER, Private, fingerprint
from .evidence.sealing import sealed_candidate, sealed_slice, slice_name
from .evidence.spec import SealedSlice, Spec
from .held import Held
from .trials import Trial


class Sealer:
    """Takes the place of the run: looks at what each requirement is given, and fixes it."""

    def __init__(self, config: pytest.Config) -> None:
        _check(config)
        self._config = config
        self._failed: list[str] = []
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Seal, and leave nothing to be run. Raises `UsageError` for what cannot be sealed."""
        options = self._config.option
        if options.collectonly or session.testsfailed:
            return None
        ours = self._config.stash.get(session_key, None)
        if ours is None:
            raise pytest.UsageError("procure: `--procure-seal`: the suite has no requirement to seal")
        if ours.gate.deselected:
            raise pytest.UsageError(
                "procure: `--procure-seal` seals the whole suite, and the command deselects "
                f"{min(ours.gate.deselected)}; leave `-k`, `-m` and `--deselect` out"
            )
        items = [item for item in session.items if trial_key in item.stash]
        try:
            private = Private(ours.held.folder)
            salt = private.make_salt()
            ran = ours.held.ran
            ran["salt"] = fingerprint(salt)
            for item, following in zip(items, [*items[1:], None], strict=True):
                self._look(item, following, ran, salt)
            self._write(ours.held, ran, len(items))
        except ProcureError as error:
            raise pytest.UsageError(f"procure: {error}") from None
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self) -> bool:
        """Leave every test's body alone."""
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep why a test's fixtures could not be set up."""
        report = yield
        if trial_key in item.stash and report.when in {"setup", "call"} and not report.passed:
            from .transport import why  # noqa: PLC0415 - only what cannot be sealed gets here

            self._failed.append(why(report))
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was sealed."""
        if self._lines:
            terminalreporter.section("procurement seal", sep="=")
            for line in self._lines:
                terminalreporter.write_line(line)

    def _look(self, item: pytest.Item, following: pytest.Item | None, ran: Spec, salt: bytes) -> None:
        """Set a test's fixtures up, and write down what they bring. Raises `ProcureError`."""
        self._failed.clear()
        runtestprotocol(item, log=False, nextitem=following)
        trial: Trial = item.stash[trial_key]
        if self._failed or trial.chosen is None:
            why = self._failed[0] if self._failed else "it does not ask for `procure`, which measures"
            raise ProcureError(f"{item.nodeid} cannot be sealed: {why}")
        requirement = trial.requirement
        suite = self._config.stash[session_key].held.folder
        name = _placed(sealed_slice(trial.chosen, salt, suite), ran)
        ran["requirements"][requirement.id]["offers"][requirement.candidate]["slice"] = name
        stated = ran["candidates"][requirement.candidate]["stated"]
        ran["candidates"][requirement.candidate] = sealed_candidate(stated, trial.disclosed)

    def _write(self, held: Held, ran: Spec, count: int) -> None:
        """Write spec and ledger, and say what was sealed, and what is other than it was."""
        before = _before(held)
        digest = spec.spec_digest(ran)
        asked, offered = len(ran["requirements"]), len(ran["candidates"])
        self._lines = [f"{asked} requirement(s) on {offered} candidate(s): {count} run(s)"]
        spec.write(held.folder, ran)
        chain = held.ledger.append("seal", lambda _: {"spec": digest}, new=True)
        if before is not None and spec.spec_digest(before) == digest:
            self._lines.append("nothing differs from what was sealed before")
        elif before is not None:
            self._lines += [f"other than before: {line}" for line in _since(before, ran)]
        self._lines += [
            f"spec: {held.folder / spec.NAME} ({digest[:12]})",
            f"ledger: {held.folder / ledger.NAME} ({len(chain.entries)} entries, head {chain.head})",
            f"commit both; keep {FOLDER}/salt safe and out of version control: without it no run can show",
            "that its items are the sealed ones",
        ]


def _placed(looked_at: SealedSlice, ran: Spec) -> str:
    """Give the name under which a slice stands in the spec; another one of that name gets a number."""
    name = first = slice_name(looked_at["about"])
    number = 1
    while ran["datasets"].setdefault(name, looked_at) != looked_at:
        number += 1
        name = f"{first} #{number}"
    return name


def _before(held: Held) -> Spec | None:
    """Give what was sealed before, where it can be read. Raises `EvidenceError` where the ledger cannot."""
    if held.ledger.path.exists():
        held.ledger.read()  # before anything is written: a spec that no entry tells of is no seal
    try:
        return spec.read(held.folder)
    except EvidenceError:
        return None


def _since(before: Spec, ran: Spec) -> list[str]:
    """Say what is other than it was sealed before."""
    found = list(suite_differences(before, ran))
    for name, candidate in ran["candidates"].items():
        found += candidate_differences(before, name, candidate["stated"])
    for subject, requirement in ran["requirements"].items():
        found += requirement_differences(before, subject, requirement)
    gone = sorted(set(before["requirements"]) - set(ran["requirements"]))
    told = [each["sentence"] for each in found] + [f"{subject}: is no longer there" for subject in gone]
    return told or ["items or loaded candidates; see the diff"]


def _check(config: pytest.Config) -> None:
    """Refuse what cannot be sealed. Raises `UsageError`."""
    options = ("procure_report", "procure_screen", "procure_candidate", "procure_deviation", "procure_rerun")
    clash = next((name for name in options if config.getoption(name)), None)
    said = ""
    if clash:
        flag = clash.replace("_", "-")
        said = f"`--procure-seal` seals the whole suite and measures nothing; leave `--{flag}` out"
    elif getattr(config.option, "dist", "no") != "no":
        said = "`--procure-seal` is made in one process; leave `-n` out, or add `-n 0`"
    elif any("::" in str(argument) for argument in config.args):
        said = "`--procure-seal` seals the whole suite, and the command names single tests; leave them out"
    if said:
        raise pytest.UsageError(f"procure: {said}")
