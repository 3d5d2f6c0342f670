"""Where results come together: on the process that reports, whether or not workers did the measuring."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

import pytest

from ._keys import session_key, session_of
from .errors import ProcureError

#: A session that ended with these says itself what is wrong, and no requirement was looked at.
_NOTHING_TO_SAY = (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)

#: Key under which a worker of pytest-xdist tells that candidates are declared.
OFFERED = "procure_offered"
_UNTESTED = (
    "procure: candidates are declared, and no requirement was tested: no test of this run takes the "
    "`procure` fixture"
)


class Receiver:
    """Collects what test reports carry, concludes at the session's end, and says so on the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: set[str] = set()
        self._broken: set[str] = set()  # failed otherwise than by a bar
        self._crashed: set[str] = set()  # a worker process died in them
        self._offered = False  # as workers tell
        self._ended = ""  # by which word of a test
        self._skipped: set[str] = set()  # files skipped as a whole, with all the requirements in them
        self._register = Path(tempfile.gettempdir()) / f"procure-register-{uuid.uuid4().hex}.json"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where to write what it expects."""
        node.workerinput["procure_register"] = str(self._register)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Clear an earlier report away, now that nothing stands in the way of a new one."""
        if self._config.getoption("procure_report") and not self._config.option.collectonly:
            from .evidence.pack import prepare  # noqa: PLC0415 - only with the flag

            try:
                ours = session_of(self._config)
                prepare(ours.report_folder())
                ours.begin()
            except ProcureError as error:
                raise pytest.UsageError(f"procure: {error}") from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in a record, and every failure, ours or not."""
        carried = None
        if hasattr(report, "_procure"):
            from .transport import payload  # noqa: PLC0415 - only requirements get here

            carried = payload(report)
        if carried is not None:
            session_of(self._config).gate.receive(carried.result, carried.disclosed, carried.right)
        if str(report.when) == "???":  # pytest-xdist's word for a test in which a worker died
            self._crashed.add(report.nodeid)
        if report.failed:
            self._failed.add(report.nodeid)
            if carried is None or carried.result["problem"]:
                self._broken.add(report.nodeid)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Learn that a test has ended the session."""
        if isinstance(excinfo.value, pytest.exit.Exception):
            self._ended = f"pytest.exit: {excinfo.value.msg}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take in what could not even be collected."""
        if report.failed:
            self._failed.add(report.nodeid)
            self._broken.add(report.nodeid)
        elif report.skipped:
            self._skipped.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Conclude: verdicts, report, exit status."""
        if self._register.exists():
            session_of(self._config).read_register(self._register)
        ours = self._config.stash.get(session_key, None)
        if ours is not None and ours.problems and exitstatus not in _NOTHING_TO_SAY:
            ours.lines = [f"ERROR: {problem}" for problem in ours.problems]
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if ours is None or self._config.option.collectonly or exitstatus in _NOTHING_TO_SAY:
            return
        root = self._config.rootpath
        ours.gate.unread |= {file for file in self._skipped if ours.suite.holds(root / file)}
        ours.gate.failed |= self._failed
        ours.gate.crashed |= self._crashed
        ours.gate.stopped = str(session.shouldfail or session.shouldstop or self._ended)
        ours.gate.left_out = _left_out(self._config)
        ours.gate.not_bars |= self._broken
        from .ending import finish  # noqa: PLC0415 - nothing is reported before a session's end

        session.exitstatus = finish(ours, int(exitstatus))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker of pytest-xdist whether conftests that only it has read declare candidates."""
        self._offered = self._offered or getattr(node, "workeroutput", {}).get(OFFERED, False)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Say what was decided, and why the session ends with its status."""
        ours = self._config.stash.get(session_key, None)
        if ours is None and exitstatus not in _NOTHING_TO_SAY and not self._config.option.collectonly:
            self._say_untested(terminalreporter)
        if ours is None or not ours.lines:
            return
        from .ending import place  # noqa: PLC0415 - only with something to say
        from .report.terminal import markup  # noqa: PLC0415 - the same

        terminalreporter.section("procurement verdict", sep="=")
        for line in ours.lines:
            terminalreporter.write_line(line, **markup(line))
        if there := place(ours):
            terminalreporter.write_line(there)

    def _say_untested(self, reporter: pytest.TerminalReporter) -> None:
        """Say that nothing was measured, where candidates are declared: green tests are no answer."""
        if self._offered or offered(self._config):
            reporter.write_line(_UNTESTED, yellow=True)


def offered(config: pytest.Config) -> bool:
    """Whether a conftest or plugin that was read declares candidates."""
    return bool(config.hook.pytest_procure_candidates.get_hookimpls())


def _left_out(config: pytest.Config) -> str:
    """Say what on the command line leaves tests out while they are collected."""
    option = config.option
    if any("::" in str(argument) for argument in config.args):
        return "the command names other tests"
    ignored = [*(getattr(option, "ignore", None) or ()), *(getattr(option, "ignore_glob", None) or ())]
    if ignored:
        return f"the command ignores {', '.join(map(str, ignored))}"
    if getattr(option, "lf", False) or getattr(option, "stepwise", False):
        return "the command runs what failed last"
    if config.args_source is config.ArgsSource.ARGS:
        return f"the command names {', '.join(map(str, config.args))}"
    return ""
