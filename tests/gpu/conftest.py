"""Tests that take an NVIDIA GPU: `make test-gpu`. Without one the session ends in a sentence, not green.

Nor does it end green where one of them was skipped: what it would show is not shown then.
"""

import pytest

from pytest_procure.telemetry.nvml import gpus


def pytest_collection_finish(session):
    if not any(item.get_closest_marker("gpu") for item in session.items):
        return
    _, reason = gpus()
    if reason:
        pytest.exit(f"these tests take an NVIDIA GPU, and there is none: {reason}", returncode=1)


_SKIPPED = pytest.StashKey[list[str]]()


def pytest_configure(config):
    config.stash[_SKIPPED] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.skipped and item.get_closest_marker("gpu"):
        item.config.stash[_SKIPPED].append(item.name)
    return report


def pytest_sessionfinish(session):
    if session.config.stash[_SKIPPED] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    if skipped := config.stash[_SKIPPED]:
        terminalreporter.write_line(
            f"skipped, so that what they would show is not shown: {', '.join(skipped)}; where that is known, "
            "leave them out by name, as in make test-gpu GPU_ARGS=\"-k 'not tensorrt'\"",
            red=True,
        )


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    assert found.cuda.is_available(), "torch sees no GPU: it is a build for processors, or for another driver"
    return found


@pytest.fixture(scope="module")
def onnxruntime():
    return pytest.importorskip("onnxruntime")
