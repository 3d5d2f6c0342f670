"""Energy counters: NVML's for a GPU, RAPL's for the processor packages. Reading one costs microseconds."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RAPL = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts joules since some moment. `read` gives None where it cannot be read."""

    read: Callable[[], float | None]
    wraps_at: float | None = None  # joules after which it begins anew; None: it never does


class Meter:
    """Adds up what counters show from the start of a window to its end; it is read often enough for wraps."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = counters
        self._last: list[float | None] = []
        self.joules: float | None = None  # None: a reading is missing, or a counter began anew unforeseen

    def start(self) -> None:
        """Begin at nothing."""
        self._last = [counter.read() for counter in self._counters]
        self.joules = None if None in self._last else 0.0

    def sample(self) -> None:
        """Add what was used since the last reading."""
        for number, counter in enumerate(self._counters):
            now = counter.read()
            more = _used(self._last[number], now, counter.wraps_at)
            self._last[number] = now
            self.joules = None if more is None or self.joules is None else self.joules + more

    def stop(self) -> None:
        """Read a last time."""
        self.sample()


def meter(device: str) -> Meter | None:
    """Find the energy counters of a device (`cpu`, `cuda:0`); None where there is none that we may read."""
    counters = []
    if device.startswith("cuda"):
        counters = _nvml(int(device.partition(":")[2] or 0))
    elif device == "cpu":
        counters = _rapl(_RAPL)
    return Meter(counters) if counters and all(counter.read() is not None for counter in counters) else None


def _used(before: float | None, after: float | None, wraps_at: float | None) -> float | None:
    """Give the joules between two readings; None for a missing one, or where it began anew unforeseen."""
    if before is None or after is None:
        return None
    if after >= before:
        return after - before
    return None if wraps_at is None or before > wraps_at else after + wraps_at - before


def _nvml(index: int) -> list[Counter]:
    try:
        nvml: Any = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except Exception:  # noqa: BLE001 - no package, no driver, no such counter: all mean that there is none
        return []

    def read() -> float | None:
        try:
            return float(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1000.0
        except nvml.NVMLError:
            return None

    return [Counter(read)]


def _rapl(folder: Path) -> list[Counter]:
    """List the processor packages; their sub-zones and the platform's zone would count them twice."""
    zones = [file.parent for file in sorted(folder.glob("intel-rapl:*/energy_uj"))]
    return [_zone(zone) for zone in zones if _is_package(zone)]


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
