"""Counters of the machine and of this process, read on both sides of the window."""

from __future__ import annotations

import gc
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_procure import threads

_BUSY_FIELDS = (1, 2, 3, 6, 7, 8)  # user, nice, system, irq, softirq, steal
#: Counters of `/proc/stat` tick in 10 ms, so that shares over less than this are noise.
_LEAST_WINDOW_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class Readings:
    """Counters at one moment."""

    monotonic_ns: int
    wall_minus_monotonic_ns: int
    own_cpu_ns: int
    busy_cpu_ns: int | None  # all processes, all processors
    load_average: float | None
    threads_ns: dict[threading.Thread, int] | None = None  # processor time of each Python thread

    @classmethod
    def take(cls) -> Readings:
        """Read them now."""
        return cls(
            monotonic_ns=time.perf_counter_ns(),
            wall_minus_monotonic_ns=_wall_minus_monotonic(),
            own_cpu_ns=time.process_time_ns(),
            busy_cpu_ns=_busy_cpu(),
            load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            threads_ns=threads.times(),
        )


def cpu_share(before: Readings, after: Readings) -> float:
    """Tell what share of all processors this process used."""
    window = max(1, after.monotonic_ns - before.monotonic_ns)
    return max(0.0, (after.own_cpu_ns - before.own_cpu_ns) / (window * (os.cpu_count() or 1)))


def foreign_share(before: Readings, after: Readings) -> float | None:
    """Tell what share of all processors other processes used; None where nobody knows."""
    window = after.monotonic_ns - before.monotonic_ns
    if before.busy_cpu_ns is None or after.busy_cpu_ns is None or window < _LEAST_WINDOW_NS:
        return None
    foreign = (after.busy_cpu_ns - before.busy_cpu_ns) - (after.own_cpu_ns - before.own_cpu_ns)
    return max(0.0, foreign / (window * (os.cpu_count() or 1)))


def usable_cpus() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(slots=True)
class Collections:
    """Turns the garbage collector off, and times the passes that somebody makes all the same.

    A pass over a test session's objects takes 0.3 ms or more; frozen, they are left out.
    """

    passes: list[tuple[int, int]] = field(default_factory=list)  # (native id of the thread, ns)
    _begun: int = 0
    _was_on: bool = False
    _frozen_before: int = 0

    def __enter__(self) -> Self:
        self._was_on = gc.isenabled()
        self._frozen_before = gc.get_freeze_count()  # not ours to unfreeze
        gc.collect()
        if not self._frozen_before:
            gc.freeze()
        gc.disable()
        gc.callbacks.append(self._passing)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        gc.callbacks.remove(self._passing)
        if not self._frozen_before:
            gc.unfreeze()
        if self._was_on:
            gc.enable()

    def _passing(self, phase: str, _: dict[str, int]) -> None:
        now = time.perf_counter_ns()
        if phase == "start":
            self._begun = now
        elif self._begun:
            self.passes.append((threading.get_native_id(), now - self._begun))


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
