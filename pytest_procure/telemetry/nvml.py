"""NVIDIA GPUs, as their driver reports them."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import Any

_SM, _MEMORY = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `memory` is in bytes; what the driver does not tell is None."""

    index: int
    name: str | None
    uuid: str | None
    driver: str | None
    vbios: str | None
    cuda: str | None
    pci: str | None  # where it sits
    memory: int | None
    power_limit_w: float | None
    power_limit_default_w: float | None
    clock_sm_mhz: int | None  # now, which is while it does nothing
    clock_sm_most_mhz: int | None
    clock_memory_mhz: int | None
    clock_memory_most_mhz: int | None
    persistence: bool | None
    ecc: bool | None
    mig: bool | None

    def describe(self) -> dict[str, Any]:
        """The GPU as plain JSON data."""
        return asdict(self)


def gpus() -> tuple[tuple[Gpu, ...], str]:
    """List the GPUs, and say why there are none; the reason is empty when there are some."""
    try:
        pynvml: Any = importlib.import_module("pynvml")  # an extra
    except ImportError:
        return (), "nvidia-ml-py is not installed (`pip install 'pytest-procure[gpu]'`)"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), no_driver(error)
    try:
        found = tuple(_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError as error:
        return (), f"the NVIDIA driver does not list its GPUs: {error}"
    finally:
        pynvml.nvmlShutdown()
    return found, "" if found else "the NVIDIA driver lists no GPU"


def no_driver(error: Exception) -> str:
    """Say why the driver's library does not answer: it is not there, or it is and refuses."""
    absent = getattr(error, "value", 0) in {9, 12}  # NVML_ERROR_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND
    return f"no NVIDIA driver: {error}" if absent else f"the NVIDIA driver does not answer: {error}"


def _gpu(nvml: Any, index: int) -> Gpu:
    def ask(question: str, *arguments: Any) -> Any:
        try:
            return getattr(nvml, question)(*arguments)
        except (nvml.NVMLError, AttributeError):  # not supported by this GPU, or not known to this version
            return None

    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    cuda = ask("nvmlSystemGetCudaDriverVersion_v2")
    limit = ask("nvmlDeviceGetEnforcedPowerLimit", handle)
    usual = ask("nvmlDeviceGetPowerManagementDefaultLimit", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    ecc = ask("nvmlDeviceGetEccMode", handle)
    persistence = ask("nvmlDeviceGetPersistenceMode", handle)
    pci = ask("nvmlDeviceGetPciInfo", handle)
    return Gpu(
        index=index,
        name=_text(ask("nvmlDeviceGetName", handle)),
        uuid=_text(ask("nvmlDeviceGetUUID", handle)),
        driver=_text(ask("nvmlSystemGetDriverVersion")),
        vbios=_text(ask("nvmlDeviceGetVbiosVersion", handle)),
        cuda=None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        pci=None if pci is None else _text(pci.busId),
        memory=None if memory is None else int(memory.total),
        power_limit_w=None if limit is None else limit / 1000,
        power_limit_default_w=None if usual is None else usual / 1000,
        clock_sm_mhz=ask("nvmlDeviceGetClockInfo", handle, _SM),
        clock_sm_most_mhz=ask("nvmlDeviceGetMaxClockInfo", handle, _SM),
        clock_memory_mhz=ask("nvmlDeviceGetClockInfo", handle, _MEMORY),
        clock_memory_most_mhz=ask("nvmlDeviceGetMaxClockInfo", handle, _MEMORY),
        persistence=None if persistence is None else bool(persistence),
        ecc=None if ecc is None else bool(ecc[0]),
        mig=None if mig is None else bool(mig[0]),
    )


def _text(value: str | bytes | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
