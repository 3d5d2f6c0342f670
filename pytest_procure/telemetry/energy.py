"""Energy counters: NVML's for a GPU, RAPL's for the processor packages. Reading one costs microseconds."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

_RAPL = Path("/sys/class/powercap")

#: Gives joules used since some fixed moment, or None where the counter cannot be read.
Counter = Callable[[], float | None]


def counter(device: str) -> Counter | None:
    """Find the energy counter of a device (`cpu`, `cuda:0`); None where there is none that we may read."""
    if device.startswith("cuda"):
        return _nvml(int(device.partition(":")[2] or 0))
    return _rapl(_RAPL) if device == "cpu" else None


def used(before: float | None, after: float | None) -> float | None:
    """Give the joules between two readings; None where one is missing, or the counter began anew."""
    if before is None or after is None or after < before:
        return None
    return after - before


def _nvml(index: int) -> Counter | None:
    try:
        nvml: Any = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except Exception:  # noqa: BLE001 - no package, no driver, no such counter: all mean that there is none
        return None

    def read() -> float | None:
        try:
            return float(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1000.0
        except nvml.NVMLError:
            return None

    return read


def _rapl(folder: Path) -> Counter | None:
    """Sum the processor packages; their sub-zones and the platform's zone would count them twice."""
    files = [file for file in sorted(folder.glob("intel-rapl:*/energy_uj")) if _is_package(file.parent)]

    def read() -> float | None:
        try:
            return sum(int(file.read_text(encoding="ascii")) for file in files) / 1e6
        except (OSError, ValueError):
            return None

    return read if files and read() is not None else None


def _is_package(zone: Path) -> bool:
    try:
        return (zone / "name").read_text(encoding="ascii").startswith("package")
    except (OSError, ValueError):
        return False
