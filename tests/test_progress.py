"""The line that shows how far a run is."""

import os
import pty
import re
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from pytest_procure.backends import device_lock
from pytest_procure.progress import Progress, progress, teller


class Terminal:
    """Keeps what is written on its last line."""

    def __init__(self):
        self.lines = []
        self._tw = SimpleNamespace(fullwidth=100)

    def ensure_newline(self):
        self.lines.append("newline")

    def rewrite(self, line, *, erase=False):
        self.lines.append(line)

    def flush(self):
        pass


@pytest.fixture
def watched():
    """A progress line on a clock that the test turns: `tell(seconds, begun, ...)`."""
    clock = [0.0]
    terminal = Terminal()
    line = Progress(terminal, nullcontext, "acme, server", now=lambda: clock[0])

    def tell(at, *look):
        clock[0] = at
        line(*look)
        return terminal.lines[-1] if terminal.lines else None

    tell.line, tell.terminal = line, terminal
    return tell


def test_a_line_tells_how_far_how_fast_how_slow_how_bad_and_how_long(watched):
    watched(0.0, 0, 2400)
    assert watched(10.0, 400, 2400, 3, 41_200_000) == (
        "acme, server: 400 of 2,400 requests, 40/s, p95 now 41.2 ms, 3 failed, 50 s left"
    )


def test_a_run_that_a_duration_ends_has_no_time_left_to_tell(watched):
    watched(0.0, 0, 0)
    assert watched(2.0, 100, 0) == "acme, server: 100 requests, 50/s"


def test_a_short_run_shows_nothing(watched):
    assert watched(0.9, 10, 20) is None
    watched.line.done()
    assert watched.terminal.lines == []


def test_the_rate_is_that_of_the_latest_looks(watched):
    for second in range(50):
        watched(float(second), second * 10, 10_000)
    for second in range(50, 100):
        shown = watched(float(second), 490 + (second - 49) * 100, 10_000)
    assert "100/s" in shown


def test_another_run_begins_its_rate_anew(watched):
    watched(0.0, 0, 100)
    watched(5.0, 100, 100)
    watched(6.0, 0, 100)
    assert "20/s" in watched(8.0, 40, 100)


def test_a_line_is_never_wider_than_the_terminal(watched):
    watched.terminal._tw.fullwidth = 40
    watched(0.0, 0, 10_000)
    assert len(watched(10.0, 400, 10_000, 3, 41_200_000)) == 39


def test_the_line_is_erased_when_the_run_is_over(watched):
    watched(0.0, 0, 10)
    watched(5.0, 5, 10)
    watched.line.done()
    assert watched.terminal.lines[-2:] == ["", ""]


@pytest.mark.parametrize(("tty", "verbose"), [(False, 0), (True, -1)], ids=["no terminal", "-q"])
def test_nobody_who_does_not_look_is_shown_a_line(tty, verbose):
    class Plugins:
        @staticmethod
        def get_plugin(name):
            terminal = Terminal()
            terminal.isatty = lambda: tty
            return terminal if name == "terminalreporter" else None

    class Config:
        pluginmanager = Plugins
        option = type("Option", (), {"verbose": verbose})

    assert progress(Config, "acme") is None


SUITE = {
    "conftest.py": """
        import time
        import numpy as np
        import pytest
        from pytest_procure import Candidate, Dataset

        def slowly(batch):
            time.sleep(0.02)
            return batch

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("acme", backend=slowly)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            numbers = np.arange(100)
            return {"numbers": Dataset.from_arrays("numbers", inputs=numbers, references=numbers)}
    """,
    "test_it.py": """
        import pytest

        @pytest.mark.scenario("single_stream", count=100, warmup=0)
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
    """,
}


@pytest.fixture
def in_a_terminal(tmp_path):
    """Run the suite with a terminal around it, and give what a person would have seen pass by."""
    for name, text in SUITE.items():
        (tmp_path / name).write_text(textwrap.dedent(text))

    def run(*flags):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:benchmark", *flags]
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
        with subprocess.Popen(
            command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, env=env
        ) as ran:
            os.close(theirs)
            seen = b""
            while chunk := _read(ours):
                seen += chunk
        os.close(ours)
        assert ran.returncode == 0, seen.decode()
        return seen.decode()

    return run


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed: the program is over
        return b""


def test_a_long_run_shows_its_line_under_capture_and_takes_it_away(in_a_terminal):
    seen = in_a_terminal()
    assert re.search(r"\racme, single_stream: \d+ of 100 requests, [\d.]+/s, p95 now [\d.]+ ms", seen)
    after = seen.rpartition("requests,")[2]
    assert "1 passed" in after


@pytest.mark.parametrize("flags", [["-q"], ["-n1"]], ids=["-q", "xdist"])
def test_quiet_sessions_and_workers_show_none(in_a_terminal, flags):
    assert "of 100 requests" not in in_a_terminal(*flags)


def test_a_session_that_waits_for_a_device_says_so_in_a_pipe_too(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # locks of our own
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name, text in SUITE.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ran:
        with device_lock("cpu", timeout=0):
            waits = next(line for line in ran.stdout if "waiting for" in line)
        rest = ran.stdout.read()
    assert waits == f"procure: waiting for device `cpu`, at most 600 s: process {os.getpid()} holds it\n"
    assert "1 passed" in rest
    assert "waiting for" not in rest


def test_a_worker_has_no_output_to_say_it_in():
    plugins = SimpleNamespace(get_plugin=lambda name: None)
    assert teller(SimpleNamespace(pluginmanager=plugins)) is None
