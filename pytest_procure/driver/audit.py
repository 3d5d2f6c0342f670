"""The harness's check on itself, and what it saw of the candidate on the way."""

from __future__ import annotations

import gc
import heapq
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.scenarios import Scenario

from .log import Int64, RequestLog

#: A harness that sends later than this while a worker is free would be seen in the latencies: 1 ms is above
#: what an idle machine shows (p99 15 us) and below what any bar in ms can hide ...
SEND_LAG_NS = 1_000_000
#: ... and for bars of more than 20 ms, one part in twenty of the bar does no harm to a verdict.
SEND_LAG_SHARE_OF_BAR = 0.05
#: Worker threads that wait this long for a processor run a candidate that is a twentieth slower than it is.
RUN_DELAY_SHARE = 0.05
#: With less than this used by other processes, the candidate's own threads are what the workers waited for.
FOREIGN_CPU_SHARE = 0.05
#: Both clocks are read within microseconds of each other, and slewing (NTP) moves both alike: more than this
#: is a step, or a machine that slept, and a sleep is missing from every latency it fell into.
CLOCK_STEP_NS = 1_000_000
#: A queue that grows steadily is five times longer in the last third than in the first, else as long.
BACKLOG_GROWTH = 3.0
#: Answered out of offered: below it the candidate did not carry the declared rate.
KEPT_UP = 0.999

#: Counters of `/proc/stat` tick in 10 ms, so that shares over less than this are noise.
_LEAST_WINDOW_NS = 500_000_000
_BUSY_FIELDS = (1, 2, 3, 6, 7, 8)  # user, nice, system, irq, softirq, steal


@dataclass(frozen=True, slots=True)
class Readings:
    """Counters of the machine at one moment."""

    monotonic_ns: int
    wall_minus_monotonic_ns: int
    own_cpu_ns: int
    busy_cpu_ns: int | None  # all processes, all processors
    gc_passes: int
    load_average: float | None

    @classmethod
    def take(cls) -> Readings:
        """Read them now."""
        return cls(
            monotonic_ns=time.perf_counter_ns(),
            wall_minus_monotonic_ns=_wall_minus_monotonic(),
            own_cpu_ns=time.process_time_ns(),
            busy_cpu_ns=_busy_cpu(),
            gc_passes=sum(generation["collections"] for generation in gc.get_stats()),
            load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """What the driver measured of itself during one run.

    A late harness can only lengthen latencies, because they start at the scheduled time: its faults may take
    a rejection away, never give an acceptance. The one exception is a machine that slept (`clock_step_ns`).
    A candidate that is too slow is no fault of the harness; that stands in `candidate_notes`.
    """

    sends: int
    send_lag_p50_ns: int | None  # from when a worker was free and the policy said go; None: nothing was sent
    send_lag_p99_ns: int | None
    send_lag_max_ns: int | None
    run_delay_share: float | None  # of the window, the worst worker thread; None: not told by this system
    foreign_cpu_share: float | None  # of all processors, used by other processes
    clock_step_ns: int
    gc_passes: int  # during the window, where the driver has turned collection off
    cpus: int
    load_average: float | None  # over the minute before the window
    rate_is_declared: bool
    offered: int  # queries
    completed: int
    unsent: int
    backlog: int  # offered, but not completed, at the last scheduled time
    waiting_first_third: float | None  # mean number of queries that wait when another becomes due
    waiting_last_third: float | None
    at_once: int  # how many the workers serve side by side

    @property
    def backlog_grew(self) -> bool:
        """Whether more and more queries waited under a declared rate, and more than are served at once."""
        first, last = self.waiting_first_third, self.waiting_last_third
        if not self.rate_is_declared or first is None or last is None:
            return False
        return last > BACKLOG_GROWTH * first and last - first > self.at_once

    def faults(self, tightest_bar_ns: int | None = None) -> tuple[str, ...]:
        """Tell the harness's own faults, each with its mend. `tightest_bar_ns`: the least latency bar."""
        allowed = max(SEND_LAG_NS, int(SEND_LAG_SHARE_OF_BAR * (tightest_bar_ns or 0)))
        told = []
        if self.send_lag_p99_ns is not None and self.send_lag_p99_ns > allowed:
            told.append(
                f"while a worker was free, 1 query in 100 was sent {_ms(self.send_lag_p99_ns)} late or more "
                f"(allowed: {_ms(allowed)}); run on a machine with nothing else to do"
            )
        if self._waited_for_cpu and not self._own_threads:
            told.append(
                f"the worker threads waited for a processor {self.run_delay_share:.0%} of the time "
                f"(allowed: {RUN_DELAY_SHARE:.0%}); end other programs, or give the run processors of its own"
            )
        if self.clock_stepped:
            told.append(
                f"the wall clock moved by {_ms(self.clock_step_ns)} against the steady clock: it was set, or "
                f"the machine slept; turn off suspending, and let a time service set the clock before the run"
            )
        return tuple(told)

    @property
    def clock_stepped(self) -> bool:
        """Whether the clocks parted: the one fault of the harness that may also have shortened a latency."""
        return abs(self.clock_step_ns) > CLOCK_STEP_NS

    def candidate_notes(self) -> tuple[str, ...]:
        """Tell what the driver saw of the candidate, which stands against the candidate."""
        told = []
        if self.backlog_grew:
            told.append(
                f"the backlog grew: on average {self.waiting_first_third:.3g} requests waited in the first "
                f"third of the run and {self.waiting_last_third:.3g} in the last"
            )
        if self.rate_is_declared and self.completed < KEPT_UP * self.offered:
            told.append(
                f"the candidate never kept up: it answered {self.completed:,} of {self.offered:,} requests"
            )
        if self.rate_is_declared and self.unsent:
            told.append(f"{self.unsent:,} requests were never sent, because the candidate was still busy")
        if self._waited_for_cpu and self._own_threads:
            told.append(
                f"the worker threads waited for a processor {self.run_delay_share:.0%} of the time, "
                f"behind the candidate's own threads"
            )
        if self.gc_passes:
            times = "once" if self.gc_passes == 1 else f"{self.gc_passes} times"
            told.append(f"the candidate's code ran Python's garbage collector {times}")
        return tuple(told)

    def as_dict(self) -> dict[str, Any]:
        """Give all of it as plain JSON data."""
        return asdict(self)

    @property
    def _waited_for_cpu(self) -> bool:
        return self.run_delay_share is not None and self.run_delay_share > RUN_DELAY_SHARE

    @property
    def _own_threads(self) -> bool:
        return self.foreign_cpu_share is not None and self.foreign_cpu_share < FOREIGN_CPU_SHARE


def audit(
    log: RequestLog,
    scenario: Scenario,
    *,
    before: Readings,
    after: Readings,
    run_delays_ns: list[int] | None,
) -> Audit:
    """Judge the harness from the log and from readings on both sides of the window."""
    window = max(1, after.monotonic_ns - before.monotonic_ns)
    lag = send_lag(log, scenario)
    begun = log.started >= 0
    ended = log.completed >= 0
    due = log.scheduled <= log.window_ns  # the others were never offered: the run was stopped before
    waiting = _waiting(log)[due]
    third = len(waiting) // 3
    last_due = int(log.scheduled[-1]) if len(log) else 0
    return Audit(
        sends=len(lag),
        send_lag_p50_ns=_quantile(lag, 0.5),
        send_lag_p99_ns=_quantile(lag, 0.99),
        send_lag_max_ns=_quantile(lag, 1.0),
        run_delay_share=None if run_delays_ns is None else max(run_delays_ns, default=0) / window,
        foreign_cpu_share=_foreign_share(before, after),
        clock_step_ns=after.wall_minus_monotonic_ns - before.wall_minus_monotonic_ns,
        gc_passes=after.gc_passes - before.gc_passes,
        cpus=_cpus(),
        load_average=before.load_average,
        rate_is_declared=scenario.rate_is_declared,
        offered=int(np.count_nonzero(due)),
        completed=int(np.count_nonzero(ended)),
        unsent=int(np.count_nonzero(~begun & due)),
        backlog=int(np.count_nonzero(due & (~ended | (log.completed > last_due))))
        if scenario.rate_is_declared
        else 0,
        waiting_first_third=float(waiting[:third].mean()) if third else None,
        waiting_last_third=float(waiting[-third:].mean()) if third else None,
        at_once=scenario.workers * scenario.max_batch,
    )


def _waiting(log: RequestLog) -> Int64:
    """Count for each query how many were due before it and not started when it became due: `(n,)`.

    Counts, not waiting times: the times of queries that were never sent are cut off by the end of the run.
    """
    begun = np.sort(log.started[log.started >= 0])
    waiting: Int64 = np.arange(len(log)) - np.searchsorted(begun, log.scheduled, side="right")
    return np.maximum(waiting, 0)


def send_lag(log: RequestLog, scenario: Scenario) -> Int64:
    """Give for each batch how late it was sent: `(b,)` int64 ns.

    A batch has to be sent when a worker is free and it is full or its oldest query has waited `max_wait`.
    Which worker is free first follows from the measured completions, so a busy candidate makes no lag.
    """
    heads = np.flatnonzero(np.diff(log.batch, prepend=-1) * (log.batch >= 0))
    started, completed = log.started[heads], log.completed[heads]
    full = heads + scenario.max_batch - 1
    there = np.full(len(heads), np.iinfo(np.int64).max)
    there[full < len(log)] = log.scheduled[full[full < len(log)]]
    leave = np.minimum(log.scheduled[heads] + scenario.max_wait.ns, there)
    if scenario.is_closed_loop:
        leave[:] = 0
    # A worker whose batch never ended is never free again.
    freed = np.where(completed >= 0, completed, np.iinfo(np.int64).max)
    if scenario.workers == 1:
        free = np.concatenate(([0], freed[:-1])) if len(heads) else freed
    else:
        free = np.zeros(len(heads), dtype=np.int64)
        idle = [0] * scenario.workers
        for number, end in enumerate(freed.tolist()):
            free[number] = heapq.heapreplace(idle, end)
    lag: Int64 = np.maximum(started - np.maximum(leave, free), 0)
    return lag


def run_delay_ns(tid: int) -> int | None:
    """Tell how long thread `tid` of this process has waited for a processor, in all; None where unknown."""
    try:
        return int(Path(f"/proc/self/task/{tid}/schedstat").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _wall_minus_monotonic() -> int:
    """Read both clocks as close together as possible, so that a preemption between them is no step."""
    nearest = None
    for _ in range(5):
        before = time.perf_counter_ns()
        wall = time.time_ns()
        after = time.perf_counter_ns()
        if nearest is None or after - before < nearest[0]:
            nearest = (after - before, wall - (before + after) // 2)
    return nearest[1] if nearest else 0


def _busy_cpu() -> int | None:
    try:
        fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()
        return sum(int(fields[place]) for place in _BUSY_FIELDS) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None


def _foreign_share(before: Readings, after: Readings) -> float | None:
    window = after.monotonic_ns - before.monotonic_ns
    if before.busy_cpu_ns is None or after.busy_cpu_ns is None or window < _LEAST_WINDOW_NS:
        return None
    foreign = (after.busy_cpu_ns - before.busy_cpu_ns) - (after.own_cpu_ns - before.own_cpu_ns)
    return max(0.0, foreign / (window * (os.cpu_count() or 1)))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quantile(values: Int64, share: float) -> int | None:
    """Nearest rank."""
    return int(np.quantile(values, share, method="inverted_cdf")) if len(values) else None


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3g} ms"
