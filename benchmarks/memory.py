"""How much memory a scheduled request takes, from the schedule to the audit, at the worst moment.

    python benchmarks/memory.py [REQUESTS]

Runs a server scenario with a backend that answers at once, and prints by how much the peak of the resident
memory grew (with the answers, a reference to a small number each) and how long it took.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

from own_side import Numbers, Offer, declare

from pytest_procure.driver.pull import drive

_ANSWER = (1,)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB


def answer(_: Any) -> tuple[int, ...]:
    """Answer a query."""
    return _ANSWER


def main(requests: int = 10_000_000) -> None:
    """Run, and print."""
    drive(Offer(answer), Numbers(), declare("server", qps=1e6, count=100))  # what is imported when first used
    before, begun = _peak_bytes(), time.perf_counter()
    run = drive(Offer(answer), Numbers(), declare("server", qps=1e6, count=requests, drain="60 s"))
    grown, taken = _peak_bytes() - before, time.perf_counter() - begun
    print(f"{requests:,} requests: {grown / requests:.1f} bytes each at the peak of resident memory")
    print(f"{taken:.1f} s in all, {run.log.window_ns / 1e9:.1f} s of them the measured window")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
