"""The NVIDIA driver, opened once a process: its library, and the GPUs that a candidate's device names."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from .nvml import no_driver
from .visible import Place, ordinals, place


@dataclass(frozen=True, slots=True)
class Found:
    """A GPU that a candidate uses. `part`: the handle and UUID of the part of it, where it is cut (MIG)."""

    nvml: Any
    index: int
    gpu: Any
    name: str
    cut: bool
    part: tuple[Any, str] | None = None


def gpus_of(device: str, environ: Mapping[str, str] = os.environ) -> tuple[list[Found], str]:
    """Find the GPUs that a device (`cuda:0`, `cuda:0,1`) names, and say why one of them is not found.

    `environ`: of the process that computes.
    """
    numbers = ordinals(device)
    if not numbers:
        return [], ""
    try:
        nvml = _library()
    except ImportError:
        return [], "nvidia-ml-py is not installed (`pip install 'pytest-procure[gpu]'`)"
    except Exception as error:  # noqa: BLE001 - pynvml's own, whose class is not to be had without it
        return [], no_driver(error)
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        names = [_text(nvml.nvmlDeviceGetName(handle)) for handle in handles]
        uuids = [_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
        found = []
        for number in numbers:
            where = place(number, names, uuids, environ)
            if isinstance(where, str):
                return [], where
            found.append(_at(nvml, handles, where))
    except nvml.NVMLError as error:
        return [], f"the NVIDIA driver does not tell of its GPUs: {error}"
    return found, ""


def names_of(device: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Name the GPUs of a device as their driver does; nothing where it has none, or they cannot be told."""
    return [gpu.name for gpu in gpus_of(device, environ)[0]]


def holders() -> frozenset[int]:
    """Number the processes that hold any GPU now, as the driver tells them; nobody where it does not."""
    found: set[int] = set()
    try:
        nvml = _library()
        for index in range(nvml.nvmlDeviceGetCount()):
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
            for handle in [gpu, *_parts(nvml, gpu)]:
                with suppress(nvml.NVMLError):
                    found.update(int(each.pid) for each in nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    except Exception:  # noqa: BLE001, S110 - with no driver, or a broken one: who is not known is not listed
        pass
    return frozenset(found)


def _parts(nvml: Any, gpu: Any) -> list[Any]:
    """List the handles of the parts of a GPU that is cut (MIG)."""
    found: list[Any] = []
    if _is_cut(nvml, gpu):
        for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
            with suppress(nvml.NVMLError):  # as many as there may be; there may be fewer
                found.append(nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, number))
    return found


def _at(nvml: Any, handles: list[Any], where: Place) -> Found:
    if not where.part:
        gpu = handles[where.index]
        return Found(nvml, where.index, gpu, _text(nvml.nvmlDeviceGetName(gpu)), _is_cut(nvml, gpu))
    own = nvml.nvmlDeviceGetHandleByUUID(where.part)
    gpu = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(own)
    name = _text(nvml.nvmlDeviceGetName(gpu))
    return Found(nvml, int(nvml.nvmlDeviceGetIndex(gpu)), gpu, name, cut=True, part=(own, where.part))


def _is_cut(nvml: Any, gpu: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(gpu)[0])
    except nvml.NVMLError:  # a GPU that cannot be cut
        return False


@cache
def _library() -> Any:
    """Open the driver's library. It stays open, because opening it takes longer than a look at a GPU."""
    nvml: Any = importlib.import_module("pynvml")  # an extra
    nvml.nvmlInit()
    return nvml


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
