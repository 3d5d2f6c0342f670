"""A real kill for want of memory, by the kernel, in a control group of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 400_000_000
PROGRAM = """
import os, sys
open(sys.argv[1], "w").write(str(os.getpid()))
from pathlib import Path
import isolated_offers as offers
from test_isolated_endings import Numbers
from pytest_procure.backends.function import Function
from pytest_procure.driver.pull import drive
from pytest_procure.isolation.hosted import Hosted
from pytest_procure.scenarios import Scenario

hosted = Hosted(Function(offers.At(4, offers.leaks))).load(Path())
scenario = Scenario.declare("single_stream", warmup=0, timeout="60 s", drain="60 s")
run = drive(hosted, Numbers(9), scenario)
(ending,) = run.endings
print(ending.kind, ending.by_candidate, run.log.status.tolist(), run.hung)
print(drive(hosted, Numbers(9), Scenario.declare("single_stream", count=2, warmup=0)).log.status.tolist())
print(ending.sentence)
hosted.close()
"""


def own_group():
    """Find our control group that limits memory, of either version; None where there is none."""
    for line in Path("/proc/self/cgroup").read_text("ascii").splitlines():
        _, controllers, name = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path(f"/sys/fs/cgroup/memory{name}"), "memory.limit_in_bytes"
        group = Path(f"/sys/fs/cgroup{name}")
        if not controllers and (group / "memory.max").exists():
            return group, "memory.max"
    return None


@pytest.fixture
def group():
    """Make a control group inside of ours with little memory, and take it away again."""
    found = own_group() if sys.platform == "linux" else None
    if found is None:
        pytest.skip("no control group that limits memory")
    outer, limit = found
    inner = outer / f"procure-{os.getpid()}"
    try:
        inner.mkdir()
    except OSError as error:
        pytest.skip(f"a control group cannot be made here: {error.strerror}")
    try:
        try:
            (inner / limit).write_text(str(LIMIT), "ascii")
            for swap in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
                if (inner / swap).exists():
                    (inner / swap).write_text(str(LIMIT if "memsw" in swap else 0), "ascii")
        except OSError as error:
            pytest.skip(f"a control group cannot be limited here: {error.strerror}")
        yield inner
    finally:
        with contextlib.suppress(OSError):
            inner.rmdir()


def test_a_kill_by_the_kernel_for_want_of_memory_is_named_and_the_session_goes_on(group, request):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(group / "cgroup.procs")],
        cwd=request.path.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    first, again, sentence = done.stdout.strip().splitlines() or (done.stderr, "", "")
    assert first == "out of memory True [1, 1, 1, 2, 0, 0, 0, 0, 0] False", done.stderr
    assert again == "[1, 1]"
    assert sentence.startswith("its process was killed (SIGKILL) while the kernel killed for want of memory")
