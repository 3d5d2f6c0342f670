"""The hooks: a table of contents. Each calls plain code, which is imported when a suite first uses us."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from . import misnamed
from ._keys import session_key, session_of, trial_key
from .driver.thresholds import THRESHOLDS
from .errors import ProcureError
from .fixtures import (  # the plugin's module is where pytest looks for fixtures
    _procure_offer,
    _procure_slice,
    backend,
    candidate,
    dataset,
    dataset_slice,
    gpu,
    procure,
)
from .receiver import OFFERED, Receiver, offered

__all__ = [
    "_procure_offer",
    "_procure_slice",
    "backend",
    "candidate",
    "dataset",
    "dataset_slice",
    "gpu",
    "procure",
]

_MARKS = (
    "scenario(name, **conditions): the traffic, as in scenario('server', qps=40) (pytest-procure)",
    "dataset_slice(name, n=, seed=, stratify=, where=): the part of the buyer's data (pytest-procure)",
    "mlperf_context(round=, benchmark=, scenario=, system=): a published score (pytest-procure)",
    "bar(metric, at_least= | at_most=, design=): what the offer has to show (pytest-procure)",
    "requirement(owner=, risk=): who answers for it, and what goes wrong if it is not met (pytest-procure)",
    "waiver(owner=, reason=, expires=, candidate=): who lets it pass, once it is sealed (pytest-procure)",
)
_INI = {
    "title": "what is being bought, for the report's head",
    "decision": "the decision that the report is for",
    "measured_by": "who measures",
    "measured_for": "who decides",
    "valid_until": "the last day on which the report may be relied on, as in 2027-06-30",
    "consumer_risk": "the chance to accept an offer that is exactly at a bar (0.05)",
    "producer_risk": "the chance to turn down an offer at its design value, for plans (0.1)",
    "mlperf_results": "file or folder of published MLPerf results, for mlperf_context marks that name none",
    "isolation": "where candidates run that do not say: none (this process) or process (one of their own)",
    "owner": "who answers for requirements whose mark `requirement` does not say",
    "expires": "the last day on which a seal holds, as in 2027-06-30",
    "keep_outputs": "keep what candidates answered in the report folder: yes, or no for digests alone (yes)",
    "redact": "a regular expression: what of the answers is never kept",
    "min_clusters": "fewer clusters of samples give no verdict (20)",
}


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that suites implement."""
    misnamed.declare(pluginmanager)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    """Keep a hook that is spelt nearly like ours from ending the session before we can say so."""
    misnamed.spare(manager)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare flags and ini keys."""
    group = parser.getgroup("procure", "acceptance tests for ML inference")
    group.addoption("--procure-report", action="store_true", help="write report.html and verdict.json")
    group.addoption(
        "--procure-out", metavar="DIR", default="procure-report", help="where to (procure-report)"
    )
    group.addoption("--procure-pdf", action="store_true", help="with --procure-report: write report.pdf too")
    group.addoption("--procure-candidate", metavar="NAME", action="append", help="test this candidate only")
    group.addoption(
        "--procure-award",
        choices=("all", "any"),
        default="all",
        help="exit 0 when all candidates meet their bars (all), or at least one does (any)",
    )
    group.addoption(
        "--procure-plan", action="store_true", help="run nothing; say how many requests each bar needs"
    )
    group.addoption(
        "--procure-pilot", metavar="N", type=int, help="with --procure-plan: run N requests first, not judged"
    )
    group.addoption(
        "--procure-seal",
        action="store_true",
        help="run nothing; write procure-spec.json, which later runs keep to",
    )
    group.addoption(
        "--procure-screen",
        action="store_true",
        help="run short, accept nothing, fail only what is turned down",
    )
    group.addoption(
        "--procure-deviation",
        metavar="'ID: reason; approver'",
        action="append",
        help="declare in what the run is not as sealed; ID is a requirement, candidate, file or `suite`",
    )
    group.addoption(
        "--procure-rerun", metavar="REASON", help="why requirements that were measured before are run again"
    )
    group.addoption(
        "--procure-ledger-head",
        metavar="DIGEST",
        help="an entry of the ledger, kept elsewhere, that it must hold",
    )
    for key, text in _INI.items():
        parser.addini(f"procure_{key}", text, default="")
    for threshold in THRESHOLDS.values():
        parser.addini(f"procure_{threshold.key}", threshold.text, default="")
    parser.addini("procure_require_seal", "accept nothing that was not sealed", type="bool", default=False)
    parser.addini("procure_retest", "what else asks for a new run, a line each", type="linelist", default=[])


@pytest.hookimpl(tryfirst=True)  # before the suite's conftest is read, which may need its settings
def pytest_load_initial_conftests(early_config: pytest.Config, args: Sequence[str]) -> None:
    """Refuse a command of which pytest took a value of ours for a path of tests."""
    known = early_config.known_args_namespace
    if any(argument.startswith("--procure-") for argument in args) and not known.inifilename:
        from .rooted import refuse_lost_settings  # noqa: PLC0415 - only with options of ours

        refuse_lost_settings(
            early_config.invocation_params.dir, args, known.file_or_dir, early_config.inipath
        )


def pytest_configure(config: pytest.Config) -> None:
    """Register marks, and where results come together; with `--procure-report` see that it may be written."""
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    misnamed.refuse(config.pluginmanager)
    thresholds = (threshold.key for threshold in THRESHOLDS.values())
    misnamed.refuse_keys(config, [*_INI, *thresholds, "require_seal", "retest"])
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist: it measures, and its controller reports
    if config.getoption("procure_plan") or config.getoption("procure_pilot") is not None:
        from .planner import Planner  # noqa: PLC0415 - only with the flag

        config.pluginmanager.register(Planner(config), "procure-planner")
        return
    if config.getoption("procure_seal"):
        from .sealer import Sealer  # noqa: PLC0415 - only with the flag

        config.pluginmanager.register(Sealer(config), "procure-sealer")
        return
    config.pluginmanager.register(Receiver(config), "procure-receiver")
    if config.getini("procure_require_seal") and not config.option.collectonly:
        session_of(config)  # what is required is asked for, whichever tests the command names
    if config.getoption("procure_deviation"):
        _check_deviations(config)
    if config.getoption("procure_pdf"):
        _check_pdf(config)
    if config.getoption("procure_report") and not config.option.collectonly:
        from .evidence.pack import check  # noqa: PLC0415 - only with the flag

        try:
            check(session_of(config).report_folder())
        except ProcureError as error:
            raise pytest.UsageError(f"procure: {error}") from None


def _check_deviations(config: pytest.Config) -> None:
    """Refuse what declares no deviation, in one line: during collection it would be an error of a file."""
    from .held import deviation  # noqa: PLC0415 - only with the flag

    for told in config.getoption("procure_deviation") or ():
        deviation(told)


def _check_pdf(config: pytest.Config) -> None:
    """Refuse a PDF that could not be written, before an hour of measuring rather than after."""
    if not config.getoption("procure_report"):
        raise pytest.UsageError("procure: `--procure-pdf` is for a report; add `--procure-report`")
    from .report.pdf import weasyprint  # noqa: PLC0415 - only with the flag

    try:
        weasyprint()
    except ProcureError as error:
        raise pytest.UsageError(f"procure: {error}") from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise tests that use our fixtures over the candidates of their conftest."""
    if "_procure_offer" in metafunc.fixturenames or "_procure_slice" in metafunc.fixturenames:
        session_of(metafunc.config).parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)  # before `-k` and its like: a deselected requirement is still a requirement
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check marks and register requirements; the conftests of folders below were read by now."""
    output = getattr(config, "workeroutput", None)  # of a worker of pytest-xdist
    if output is not None:
        output[OFFERED] = offered(config)
    problems = misnamed.problems(config.pluginmanager)
    needed = bool(problems)
    if not needed and offered(config):
        from .usage import misplaced  # noqa: PLC0415 - only suites that declare offers pay

        needed = any(map(misplaced, items))
    session = session_of(config) if needed else config.stash.get(session_key, None)
    if session is not None:
        session.problems[:0] = problems
        session.register(items)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Keep which requirements somebody chose not to test."""
    for item in items:
        if session := item.config.stash.get(session_key, None):
            session.deselected(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge a requirement when its test is over."""
    trial = item.stash.get(trial_key, None)
    nothing_judged = item.config.getoption("procure_plan") or item.config.getoption("procure_seal")
    if trial is None or nothing_judged:
        return (yield)
    from .driver.interrupts import Interrupts  # noqa: PLC0415 - only requirements get here

    session = session_of(item.config)
    keep = None if session.keeper is None else session.keeper.run
    with Interrupts() as interrupts:
        interrupts.arm()
        try:
            result = yield
        except BaseException as error:
            interrupts.hold()
            trial.failed(error, getattr(item, "obj", None))
            trial.conclude(keep)
            if interrupts.pressed or isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
                session.interrupted(trial, interrupts)  # no report follows that would carry the record
                raise
            if isinstance(error, ProcureError):
                said = f"procure: {trial.place(error, getattr(item, 'obj', None))}{error}"
                raise pytest.fail.Exception(said, pytrace=False) from None
            if excuse := trial.excuse():
                pytest.xfail(excuse)
            raise
        interrupts.hold()
        trial.conclude(keep)
        if interrupts.pressed:
            session.interrupted(trial, interrupts)
            raise KeyboardInterrupt
    if failure := trial.failure():
        pytest.fail(failure, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send a requirement's record along with its test's report, and as properties of the test case."""
    trial = item.stash.get(trial_key, None)
    if trial is None:
        return (yield)
    from .transport import attach, describe  # noqa: PLC0415 - only requirements get here

    describe(item, trial)
    report = yield
    attach(report, trial, session_of(item.config).keeper)
    return report


def pytest_assertrepr_compare(config: pytest.Config, left: object, right: object) -> list[str] | None:
    """Say in words why a comparison with a measured value did not hold."""
    if session_key not in config.stash:
        return None
    from .measured import Measured  # noqa: PLC0415 - a session without requirements never gets here

    measured = left if isinstance(left, Measured) else right
    return measured.explain() or None if isinstance(measured, Measured) else None
