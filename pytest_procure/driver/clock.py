"""The clock that queries are sent and stamped by."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass

#: Sleep in slices of this, so that a worker notices the end of the run.
_SLICE_NS = 50_000_000
_PR_SET_TIMERSLACK = 29
_LEAST_MARGIN_NS, _MOST_MARGIN_NS = 100_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Clock:
    """Monotonic time in ns, and how long before a due time to stop sleeping and spin.

    Sleeping alone wakes about 0.1 ms late; spinning is punctual, but uses up the processor share that a busy
    machine then withholds when the query is due. So the last part only is spun.
    """

    now: Callable[[], int] = time.perf_counter_ns
    sleep: Callable[[float], None] = time.sleep
    margin_ns: int = 300_000

    def until(self, due: int, stop: list[str], *, spin: bool = True) -> int:
        """Wait until `due` and give the time; return early when `stop` is no longer empty."""
        margin = self.margin_ns if spin else 0
        left = due - self.now()
        while left > margin:
            self.sleep(min(left - margin, _SLICE_NS) * 1e-9)
            if stop:
                return self.now()
            left = due - self.now()
        now = self.now
        stamp = now()
        while stamp < due:
            stamp = now()
        return stamp


def sharpen() -> None:
    """Let this thread wake when it asked to: Linux would group its timers with others, up to 50 us later."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    except (AttributeError, OSError, TypeError):
        return  # no such call: the margin is calibrated on what sleeping takes here


def calibrated() -> Clock:
    """Make a clock whose margin is twice what nine in ten sleeps overshoot on this machine, now."""
    asked = 200_000
    overshoots = []
    for _ in range(20):
        before = time.perf_counter_ns()
        time.sleep(asked * 1e-9)
        overshoots.append(time.perf_counter_ns() - before - asked)
    margin = 2 * sorted(overshoots)[17]
    return Clock(margin_ns=max(_LEAST_MARGIN_NS, min(margin, _MOST_MARGIN_NS)))
