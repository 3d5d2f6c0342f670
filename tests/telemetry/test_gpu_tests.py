"""The tests that take a GPU end green only where all of them ran."""

from pathlib import Path

import pytest

from pytest_procure.telemetry import nvml

CONFTEST = (Path(__file__).parents[1] / "gpu" / "conftest.py").read_text("utf-8")
TESTS = """
import pytest

@pytest.mark.gpu
def test_runs(): pass

@pytest.mark.gpu
def test_lacks(): pytest.skip("no TensorRT")

def test_of_no_gpu(): pytest.skip("something else")
"""


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs the tests where the driver tells of a GPU, or of none."""
    pytester.makeini("[pytest]\nmarkers = gpu: takes one")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)

    def run(*arguments, reason=""):
        monkeypatch.setattr(nvml, "gpus", lambda: ([], reason))
        return pytester.runpytest_inprocess("-p", "no:xdist", *arguments)

    return run


def test_a_test_that_was_skipped_is_told_and_is_not_green(session):
    ran = session()
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.stdout.fnmatch_lines("skipped, so that what they would show is not shown: test_lacks; *")


def test_one_that_was_left_out_by_name_is_green(session):
    assert session("-k", "not lacks").ret == pytest.ExitCode.OK
    assert session("-m", "not gpu").ret == pytest.ExitCode.OK


def test_without_a_gpu_nothing_is_green(session):
    ran = session(reason="there is no driver")
    assert ran.ret == 1
    assert "there is no driver" in ran.stdout.str() + ran.stderr.str()
