"""Energy counters: NVML's for a GPU, RAPL's for the processor packages. Reading one costs microseconds.

A GPU that does not count, but tells its power, is added up from the looks at that: it is said which.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .driver import Found, gpus_of
from .visible import ordinals

_RAPL = Path("/sys/class/powercap")
#: A run that is stopped ends a moment after its last reading.
_MOMENT_NS = 10_000_000


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts joules since some moment. `read` gives None where it cannot be read."""

    read: Callable[[], float | None]
    wraps_at: float | None = None  # joules after which it begins anew; None: it never does


class Meter:
    """Adds up what counters show from the start of a window to its end; it is read often enough for wraps.

    `told` says whose energy it is, and how it is counted.
    """

    def __init__(self, counters: Sequence[Counter], told: str = "") -> None:
        self._counters = counters
        self._last: list[float | None] = []
        self._marks: list[tuple[int, float]] = []  # ns of `perf_counter_ns`, joules since the start
        self.told = told
        self.joules: float | None = None  # None: a reading is missing, or a counter began anew unforeseen

    def start(self) -> None:
        """Begin at nothing."""
        self._last = [counter.read() for counter in self._counters]
        self.joules = None if None in self._last else 0.0
        self._marks = [(time.perf_counter_ns(), 0.0)]

    def sample(self) -> None:
        """Add what was used since the last reading."""
        for number, counter in enumerate(self._counters):
            now = counter.read()
            more = _used(self._last[number], now, counter.wraps_at)
            self._last[number] = now
            self.joules = None if more is None or self.joules is None else self.joules + more
        if self.joules is not None:
            self._marks.append((time.perf_counter_ns(), self.joules))

    def stop(self) -> None:
        """Read a last time."""
        self.sample()

    def between(self, first_ns: int, last_ns: int) -> float | None:
        """Give the joules from one time of `perf_counter_ns` to another, evenly between two readings.

        None where a reading is missing, or the times are not between the first and the last of them.
        """
        if self.joules is None or not self._marks[0][0] <= first_ns <= last_ns:
            return None
        if last_ns > self._marks[-1][0] + _MOMENT_NS:
            return None
        return self._at(last_ns) - self._at(first_ns)

    def _at(self, ns: int) -> float:
        ns = min(ns, self._marks[-1][0])
        place = min(bisect_right(self._marks, ns, key=lambda mark: mark[0]), len(self._marks) - 1)
        (before, low), (after, high) = self._marks[place - 1], self._marks[place]
        return low if after == before else low + (high - low) * (ns - before) / (after - before)


def meter(device: str, environ: Mapping[str, str] = os.environ) -> tuple[Meter | None, str]:
    """Find the energy counters of a device (`cpu`, `cuda:0`, `cuda:0,1`); None and the reason without any.

    `environ`: of the process that computes.
    """
    if ordinals(device):
        return _of_gpus(device, environ)
    return _of_packages(_RAPL) if device == "cpu" else (None, "")


def _used(before: float | None, after: float | None, wraps_at: float | None) -> float | None:
    """Give the joules between two readings; None for a missing one, or where it began anew unforeseen."""
    if before is None or after is None:
        return None
    if after >= before:
        return after - before
    return None if wraps_at is None or before > wraps_at else after + wraps_at - before


def _of_gpus(device: str, environ: Mapping[str, str]) -> tuple[Meter | None, str]:
    found, reason = gpus_of(device, environ)
    counters, ways = [], set()
    for gpu in found:
        if gpu.cut:
            return None, f"GPU {gpu.index} is cut into parts (MIG), whose energy nobody counts apart"
        counter, way = _counter(gpu)
        if counter is None:
            return None, f"GPU {gpu.index}: {way}"
        counters.append(counter)
        ways.add(way)
    if not counters:
        return None, reason
    whose = " and ".join(f"GPU {gpu.index}" for gpu in found)
    return Meter(counters, f"of {whose} alone, {' and '.join(sorted(ways))}"), ""


def _counter(found: Found) -> tuple[Counter | None, str]:
    """Give a GPU's counter and how it counts; or None, and why it has none."""
    nvml, gpu = found.nvml, found.gpu

    def counted() -> float | None:
        try:
            return float(nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)) / 1000.0
        except nvml.NVMLError:
            return None

    def watts() -> float | None:
        try:
            return float(nvml.nvmlDeviceGetPowerUsage(gpu)) / 1000.0
        except nvml.NVMLError:
            return None

    if counted() is not None:
        return Counter(counted), "by the driver's energy counter"
    if watts() is not None:
        return Counter(added_up(watts)), "added up from its power, read ten times a second"
    return None, "the driver tells neither its energy nor its power"


def added_up(watts: Callable[[], float | None]) -> Callable[[], float | None]:
    """Make a counter of joules from readings of power, evenly between two of them."""
    last: tuple[int, float] | None = None
    joules = 0.0

    def read() -> float | None:
        nonlocal last, joules
        power, now = watts(), time.perf_counter_ns()
        if power is None:
            return None
        if last is not None:
            joules += (power + last[1]) / 2 * (now - last[0]) / 1e9
        last = now, power
        return joules

    return read


def _of_packages(folder: Path) -> tuple[Meter | None, str]:
    """List the processor packages; their sub-zones and the platform's zone would count them twice."""
    zones = [file.parent for file in sorted(folder.glob("intel-rapl:*/energy_uj"))]
    packages = [_zone(zone) for zone in zones if _is_package(zone)]
    if not packages:
        return None, "the processor has no energy counter (RAPL) here"
    if any(package.read() is None for package in packages):
        return None, "the processor's energy counter (RAPL) cannot be read; most systems let only root"
    counted = "the processor packages, with all that ran on them, by their own counters (RAPL)"
    return Meter(packages, f"of {counted}"), ""


def _zone(zone: Path) -> Counter:
    def read() -> float | None:
        return _joules(zone / "energy_uj")

    return Counter(read, wraps_at=_joules(zone / "max_energy_range_uj"))


def _joules(microjoules: Path) -> float | None:
    try:
        return int(microjoules.read_text(encoding="ascii")) / 1e6
    except (OSError, ValueError):
        return None


def _is_package(zone: Path) -> bool:
    try:
        return (zone / "name").read_text(encoding="ascii").startswith("package")
    except (OSError, ValueError):
        return False
