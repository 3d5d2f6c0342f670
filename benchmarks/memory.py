"""How much memory a scheduled request takes, from the schedule to the audit, at the worst moment.

    python benchmarks/memory.py [REQUESTS]
    python benchmarks/memory.py endpoint [REQUESTS]

The first runs a server scenario with a backend that answers at once, and prints by how much the resident
memory had grown at its peak (with the answers, a reference to a small number each) and how long it took. The
second does the same with the endpoint driver against the mock endpoint, streams of two tokens on 64
connections: this process, in which the shared columns count, without the answers and 8 bytes a token, and
beside it what the load process takes of its own, also in a run of half the requests.

Freed columns of a short run stay with the allocator, and count as if they were used; those of a long run,
above 32 MB each, go back. `MALLOC_MMAP_THRESHOLD_=65536` in the environment lets short ones go back too.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from endpoint import HERE, Mock, Text
from own_side import Numbers, Offer, declare

from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint.drive import drive as drive_endpoint
from pytest_procure.driver.pull import Run, drive
from pytest_procure.scenarios import Scenario

_ANSWER = (1,)
_CONNECTIONS, _TOKENS = 64, 2


def _bytes(what: str, process: int | str = "self") -> int:
    """Read the memory of a process: `VmRSS` now, `VmHWM` at the most, `RssAnon` its own now."""
    told = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(told.partition(f"{what}:")[2].split()[0]) * 1024 if f"{what}:" in told else 0


def _allocated(thing: object) -> int:
    """Count what an object takes: Python's allocator deals in 16 bytes."""
    return -(-sys.getsizeof(thing) // 16) * 16


def answer(_: Any) -> tuple[int, ...]:
    """Answer a query."""
    return _ANSWER


def in_process(requests: int = 10_000_000) -> None:
    """Run the pull driver, and print."""
    drive(Offer(answer), Numbers(), declare("server", qps=1e6, count=100))  # what is imported when first used
    before, begun = _bytes("VmRSS"), time.perf_counter()
    run = drive(Offer(answer), Numbers(), declare("server", qps=1e6, count=requests, drain="60 s"))
    grown, taken = _bytes("VmHWM") - before, time.perf_counter() - begun
    print(f"{requests:,} requests: {grown / requests:.1f} bytes each at the peak of resident memory")
    print(f"{taken:.1f} s in all, {run.log.window_ns / 1e9:.1f} s of them the measured window")


class Children(threading.Thread):
    """Looks now and then at the memory that processes started from here, but for one, have of their own."""

    def __init__(self, but: int) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._but = str(but)
        self._over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        own = Path("/proc/self/task")
        while not self._over.wait(0.05):
            for each in {name for task in own.iterdir() for name in (task / "children").read_text().split()}:
                if each != self._but:
                    try:
                        self.most = max(self.most, _bytes("RssAnon", each))
                    except OSError:
                        continue

    def end(self) -> int:
        """Give the most that one of them had."""
        self._over.set()
        self.join()
        return self.most


def endpoint(requests: int = 300_000) -> None:
    """Run the endpoint driver, and print."""
    mock = Mock()
    url = f"http://127.0.0.1:{mock.port}/v1"
    mock.behave(tokens=_TOKENS)
    offered = OpenAIEndpoint(url, model="mock", connections=_CONNECTIONS).load(HERE)

    def ask(count: int) -> tuple[Run, int]:
        children = Children(mock.process.pid)
        children.start()
        run = drive_endpoint(offered, Text(), Scenario.declare("offline", count=count, warmup=0))
        return run, children.end()

    try:
        _, half = ask(requests // 2)  # and what is imported when first used
        before = _bytes("VmRSS")
        run, own = ask(requests)
        grown, log = _bytes("VmHWM") - before, run.log
    finally:
        mock.process.terminate()
    assert log.wire is not None
    assert log.ok.all(), log.errors
    tokens = 8 * len(log.wire.token_times)
    answers = sum(8 + _allocated(each) for each in log.answers)
    each = (grown - tokens - answers) / requests
    print(f"{requests:,} requests: {each:.1f} bytes each at the peak of this process's resident memory,")
    print(f"beside {tokens / requests:.1f} bytes of token times and {answers / requests:.1f} of answers")
    print(
        f"the load process had at most {own / 2**20:.0f} MiB of its own, {half / 2**20:.0f} with half of "
        "the requests: most of it are answers that wait to be read"
    )


if __name__ == "__main__":
    which = sys.argv[1:2] == ["endpoint"]
    (endpoint if which else in_process)(*map(int, sys.argv[1 + which :]))
