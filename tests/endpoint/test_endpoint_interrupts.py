from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WHILE_REPORTS_ARE_COLLECTED = """
import signal, sys
from pathlib import Path
sys.path[:0] = [HERE]
from mock_process import Texts
from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint import drive as module
from pytest_procure.scenarios import Scenario

class Crew(module.Crew):
    def stop(self, keep_on):
        for worker in self.workers[:STUCK]:  # it says nothing
            worker.said.pop("done", None)
            worker.read = lambda: True
        for _ in range(PRESSED):
            signal.raise_signal(signal.SIGINT)
        return super().stop(keep_on)

module.Crew, module._GRACE_NS, module._HURRIED_NS = Crew, GRACE, 1
run = module.drive(
    OpenAIEndpoint(URL, model="m", load_processes=2).load(Path()),
    Texts(5),
    Scenario.declare("server", qps=200, count=20, warmup=0),
)
ended = (run.log.completed >= 0).sum()
print(run.interrupted, run.log.stopped, len(run.log), ended, len(run.audit.lost_processes))
"""


@pytest.mark.parametrize(
    ("pressed", "stuck", "expected"),
    [(1, 0, "True interrupted 20 20 0"), (2, 2, "True interrupted 20 20 2")],
    ids=["once", "twice, while load processes do not report"],
)
def test_ctrl_c_while_reports_are_collected_keeps_the_log_and_marks_it(mock, pressed, stuck, expected):
    script = WHILE_REPORTS_ARE_COLLECTED
    for name, value in {
        "HERE": repr(str(Path(__file__).parent)),
        "URL": repr(mock.url),
        "PRESSED": pressed,
        "STUCK": stuck,
        "GRACE": 3_600_000_000_000,
    }.items():
        script = script.replace(name, str(value))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == expected, done.stderr
