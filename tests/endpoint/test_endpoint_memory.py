"""What a request to an endpoint takes beside tokens and answers, so that ten million fit into a gigabyte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_procure.driver.endpoint.crew import Crew

PROGRAM = Path(__file__).with_name("memory_of_a_run.py")
# Columns as small as a test's then go back to the system when they are freed, as those of a long run do.
REQUESTS = "800000"  # what a run takes whatever its length no longer counts
ENVIRONMENT = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}


@pytest.mark.parametrize(("scenario", "processes"), [("server", 1), ("closed_loop", 2), ("multi_stream", 1)])
def test_a_request_takes_at_most_a_hundred_bytes_at_the_worst_moment(scenario, processes):
    command = [sys.executable, str(PROGRAM), scenario, REQUESTS, str(processes)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 83 < float(done.stdout) <= 100  # the columns alone take 83


def test_a_load_process_that_has_not_reported_when_waiting_is_over_writes_no_more():
    crew = Crew([{}], [])
    try:
        process = crew.workers[0].process
        os.kill(process.pid, signal.SIGSTOP)
        crew.stop(lambda: False)
        assert process.poll() == -signal.SIGKILL
        assert crew.gone() == [f"it ended with status {-signal.SIGKILL}"]
    finally:
        crew.close()
