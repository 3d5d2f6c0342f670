"""What every test stands on: a small heap, signals as a terminal sets them, and a scripted NVIDIA driver.

The driver's library is a stand-in; the real `pynvml` loads it by its name.
"""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # where only the tests of a GPU or of a server are run
    pass
else:
    # A machine that stands still makes any example slow, and the drawing of it.
    settings.register_profile("procure", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("procure")

SOURCE = Path(__file__).parent / "telemetry" / "nvml.c"
#: Runs what it is given, a line each, where the stand-in is found; a process a test would take longer.
ASKED = """
import contextlib, io, json, os, sys, traceback
from pytest_procure.telemetry import driver
for line in sys.stdin:
    code, environment = json.loads(line)
    os.environ.clear()
    os.environ.update(environment)
    driver._library.cache_clear()
    said, wrong = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(said):
            exec(code, {})
    except BaseException:
        wrong = traceback.format_exc()
    print(json.dumps([said.getvalue(), wrong]), flush=True)
"""


def pytest_configure():
    # A script's background job ignores Ctrl-C, and so would every program that a test starts and interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


#: Walks all that is frozen, 40 ms of it, and each run asks whether that is anything at all.
FROZEN = gc.get_freeze_count


@pytest.fixture(autouse=True)
def _what_is_there_stays(monkeypatch):
    """Each run that is measured collects garbage first: a quarter of a second where all tests are held.

    What was there before a test is left out of it, and is never let in again.
    """
    gc.collect()
    gc.freeze()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)


@pytest.fixture
def thawed(monkeypatch):
    """Nothing is frozen, as in a buyer's session; what a test looks at is the driver's own doing."""
    gc.unfreeze()
    monkeypatch.setattr(gc, "get_freeze_count", FROZEN)
    yield
    gc.freeze()


@dataclass
class Driver:
    """A driver of scripted answers. `environment`: of a process that finds it; `asked` is one."""

    script: Path
    environment: dict[str, str]
    asked: Any

    def says(self, text: str) -> None:
        """Script what it answers from now on; `nvml.c` tells how."""
        lines = [line.strip() for line in text.strip().splitlines()]
        written = self.script.with_suffix(".new")
        written.write_text("\n".join(lines) + "\n", encoding="utf-8")
        written.replace(self.script)  # at once: it may be reading

    def run(self, code: str) -> str:
        """Run Python where this driver is found, and give what it prints."""
        self.asked.stdin.write(json.dumps([code, {**os.environ, **self.environment}]) + "\n")
        self.asked.stdin.flush()
        said, wrong = json.loads(self.asked.stdout.readline())
        assert not wrong, wrong
        return said


@pytest.fixture(scope="session")
def driver_library(tmp_path_factory):
    """The folder of a `libnvidia-ml.so.1` that was compiled a moment ago."""
    pytest.importorskip("pynvml")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.fail(
            "these tests compile a stand-in for NVIDIA's library; install a C compiler", pytrace=False
        )
    library = tmp_path_factory.mktemp("driver") / "libnvidia-ml.so.1"
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert made.returncode == 0, made.stderr
    return library.parent


@pytest.fixture(scope="session")
def _asked(driver_library):
    """A process that finds the stand-in."""
    with subprocess.Popen(
        [sys.executable, "-c", ASKED],
        env=os.environ | {"LD_LIBRARY_PATH": str(driver_library)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def driver(driver_library, tmp_path, _asked):
    """A scripted driver with one quiet GPU."""
    script = tmp_path / "driver-script"
    environment = {"LD_LIBRARY_PATH": str(driver_library), "STAND_IN_SCRIPT": str(script)}
    found = Driver(script, environment, _asked)
    found.says(QUIET)
    return found


#: One GPU that answers everything, with nobody else on it.
QUIET = """
    driver 580.65
    cuda 13010
    gpus 1
    0.name NVIDIA_H200
    0.uuid GPU-1234
    0.vbios 96.00.A1
    0.pci 00000000:17:00.0
    0.memory 20000000000
    0.memory_total 150000000000
    0.power_limit 700000
    0.power_limit_default 700000
    0.clock 1980
    0.clock_most 2100
    0.clock_memory 3200
    0.clock_memory_most 3201
    0.persistence 1
    0.ecc 1
    0.mig 0
    0.use 80
    0.temperature 61
    0.reasons 0
    0.energy 1000
    0.power 300000
    0.processes self
    0.desktop none
"""
