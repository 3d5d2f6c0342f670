"""Keeps processors from sleeping while something else is measured.

A virtual machine's processor that has nothing to do is given back to its host, and comes back when it pleases
the host: what sleeps 2 ms wakes up to some ms late, and then finds its caches cold. That is the machine's
doing, and hides what a driver adds. A program of the lowest class (SCHED_IDLE) on each processor keeps it
awake, and gives way at once to whatever else wants to run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("awake", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """Keep all processors that this process may use awake."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", _SPIN, str(cpu)], stdout=subprocess.PIPE)  # noqa: S603 - own
        for cpu in sorted(os.sched_getaffinity(0))
    ]
    try:
        for each in spinning:
            assert each.stdout is not None
            each.stdout.readline()
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()
            assert each.stdout is not None
            each.stdout.close()
