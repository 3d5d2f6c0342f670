"""A GPU during the measured window: who used it, what held its clocks down, how much memory was taken."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .owners import Owned, owned

#: What the driver says holds the clocks down: bit -> word. That nothing runs (1) holds nothing down.
_SLOWED = {
    0x2: "clocks set by the operator",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "in step with other GPUs",
    0x20: "heat, by software",
    0x40: "heat, by hardware",
    0x80: "power brake",
}
_SLOWDOWN, _CAUSES = 0x8, 0x40 | 0x80  # the first is set with each of the others, and says less
#: NVML_ERROR_NOT_SUPPORTED, _NO_PERMISSION, _FUNCTION_NOT_FOUND, _NO_DATA: asking again is of no use.
_NEVER = {3, 4, 13, 21}
#: NVML_ERROR_GPU_IS_LOST, _RESET_REQUIRED.
_LOST = {15, 16}
#: NVML_ERROR_NOT_SUPPORTED, _FUNCTION_NOT_FOUND, _ARGUMENT_VERSION_MISMATCH: a question it does not know.
_OLD = {3, 13, 25}
#: Looks from one list of processes to the next: it takes the driver longer than all the rest together.
_LOOKS_A_LIST = 10
_SM, _HOTTEST = 1, 0  # NVML_CLOCK_SM, NVML_TEMPERATURE_GPU


_NOBODY = "the driver lists no process of the candidate either"


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """What was seen of one GPU in the window. None is what the driver does not tell; `untold` says why."""

    index: int  # the driver's
    name: str
    uuid: str
    part: str  # of it, where it is cut into parts (MIG)
    looks: int
    memory_before: int | None  # bytes in use as the window opened
    memory_peak: int | None  # bytes in use, the most that any look saw
    busy: float | None  # share of the time that a kernel ran, mean over looks
    busy_most: float | None
    clock_least_mhz: int | None  # of its processors
    clock_most_mhz: int | None
    hottest_c: int | None
    slowed: dict[str, float]  # what held the clocks down -> share of looks
    foreign: int  # processes of somebody else for certain, the most at one look
    unknown: int  # processes of which nobody can tell whose they are, the most at one look
    desktop: int  # processes that draw on it, the most at one look
    lost: str  # why it no longer answers, and since when; "" while it does
    untold: dict[str, str]

    @property
    def called(self) -> str:
        """What sentences call it."""
        part = f", part {self.part}" if self.part else ""
        return f"GPU {self.index} ({self.name}{part})"

    @property
    def memory_is_shared(self) -> bool:
        """Whether memory in use may be another's than the candidate's, for all that is known."""
        return bool(self.foreign or self.unknown or self.untold.keys() & {"processes", "others", "reserved"})

    @property
    def shows_nobody(self) -> bool:
        """Whether all who use it are listed, and nobody of the candidate's is among them."""
        return not (self.foreign or self.unknown) and self.untold.get("others") == _NOBODY

    @property
    def fault(self) -> str:
        """The harness's own fault: somebody else was there. Nothing where that is not certain."""
        if not self.foreign:
            return ""
        others = "a process" if self.foreign == 1 else f"{self.foreign} processes"
        return (
            f"{others} of somebody else held {self.called} during the run; end them, or give the run a GPU "
            "of its own"
        )

    def notes(self) -> Iterator[str]:
        """Tell what stands against the candidate's hardware, and what could not be seen of it."""
        if self.lost:
            yield f"{self.called} was lost: {self.lost}"
        if self.slowed:
            reasons = sorted(self.slowed.items(), key=lambda each: (-each[1], each[0]))
            told = ", ".join(f"{why} ({share:.0%} of looks)" for why, share in reasons)
            yield f"{self.called} ran below its clocks: {told}"
        if self.unknown:
            yield (
                f"{self.unknown} process(es) held {self.called} of which it cannot be told whether they are "
                "the candidate's or somebody else's"
            )
        if "others" in self.untold:
            yield f"that nobody else used {self.called} is not shown: {self.untold['others']}"
        if "processes" in self.untold:
            yield (
                f"the driver does not tell who holds {self.called} ({self.untold['processes']}): that nobody "
                "else used it is not shown"
            )
        if "reserved" in self.untold:
            yield (
                f"memory of {self.called} is told with what the driver reserves for itself "
                f"({self.untold['reserved']})"
            )
        if self.desktop:
            yield f"{self.desktop} process(es) also drew a desktop on {self.called}"


@dataclass(slots=True)
class Looks:
    """What came of the looks so far."""

    number: int = 0
    values: dict[str, list[int]] = field(default_factory=dict)
    reasons: Counter[int] = field(default_factory=Counter)
    reason_looks: int = 0
    most: Counter[str] = field(default_factory=Counter)
    lost: str = ""
    untold: dict[str, str] = field(default_factory=dict)


class GpuProbe:
    """Looks at one GPU. `gpu`: its handle; `part`: handle and UUID of the part that is ours, if it is cut.

    `whose` tells of listed processes which are ours.
    """

    def __init__(  # noqa: PLR0913 - keywords only but for where it is
        self,
        nvml: Any,
        gpu: Any,
        index: int,
        *,
        part: tuple[Any, str] | None = None,
        cut: bool = False,
        whose: Callable[[list[int]], Owned] = owned,
    ) -> None:
        self._nvml = nvml
        self._gpu = gpu
        self._index = index
        self._part = part
        self._cut = cut
        self._whose = whose
        self._begun = 0.0
        self._seen = Looks()
        self.name = _text(self._once("nvmlDeviceGetName")) or "a GPU"
        self.uuid = _text(self._once("nvmlDeviceGetUUID"))

    def start(self) -> None:
        """Look for the first time."""
        self._begun = time.perf_counter()
        self._seen = Looks()
        if self._cut:
            of_all = "the GPU is cut into parts (MIG), which the driver tells of together"
            self._seen.untold = dict.fromkeys(("use", "clocks", "temperature", "slowing"), of_all)
            if self._part is None:
                unnamed = "the GPU is cut into parts (MIG), and CUDA_VISIBLE_DEVICES names none"
                self._seen.untold |= dict.fromkeys(("memory", "processes"), unnamed)
        self._look(listing=True)

    def sample(self) -> None:
        """Look again."""
        self._look(listing=self._seen.number % _LOOKS_A_LIST == 0)

    def stop(self) -> None:
        """Look for the last time."""
        self._look(listing=True)

    def seen(self) -> GpuSeen:
        """Sum up."""
        seen, values = self._seen, self._seen.values
        memory, use, clock = (values.get(what, []) for what in ("memory", "use", "clocks"))
        return GpuSeen(
            index=self._index,
            name=self.name,
            uuid=self.uuid,
            part="" if self._part is None else self._part[1],
            looks=seen.number,
            memory_before=memory[0] if memory else None,
            memory_peak=max(memory, default=None),
            busy=round(sum(use) / len(use) / 100, 6) if use else None,
            busy_most=max(use) / 100 if use else None,
            clock_least_mhz=min(clock, default=None),
            clock_most_mhz=max(clock, default=None),
            hottest_c=max(values.get("temperature", []), default=None),
            slowed={
                word: round(seen.reasons[bit] / seen.reason_looks, 6)
                for bit, word in _SLOWED.items()
                if seen.reasons[bit]
            },
            foreign=seen.most["foreign"],
            unknown=seen.most["unknown"],
            desktop=seen.most["desktop"],
            lost=seen.lost,
            untold=dict(sorted((self._others() | seen.untold).items())),
        )

    def _others(self) -> dict[str, str]:
        """Say why who else was there is not shown where the list was told, and shows nobody of ours."""
        if self._seen.most["ours"] or "processes" in self._seen.untold:
            return {}
        return {"others": _NOBODY}

    def _look(self, *, listing: bool) -> None:
        if self._seen.lost:
            return
        self._seen.number += 1
        own = self._gpu if self._part is None else self._part[0]
        self._value("memory", lambda: self._used(own))
        self._value("use", lambda: self._nvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)
        self._value("clocks", lambda: self._nvml.nvmlDeviceGetClockInfo(self._gpu, _SM))
        self._value("temperature", lambda: self._nvml.nvmlDeviceGetTemperature(self._gpu, _HOTTEST))
        reasons = self._asked("slowing", self._reasons)
        if reasons is not None:
            self._seen.reason_looks += 1
            if reasons & _CAUSES:
                reasons &= ~_SLOWDOWN
            self._seen.reasons.update(bit for bit in _SLOWED if reasons & bit)
        if listing:
            self._list(own)

    def _list(self, own: Any) -> None:
        compute = self._asked("processes", lambda: self._pids("nvmlDeviceGetComputeRunningProcesses", own))
        if compute is None:
            return
        drawing = (
            self._asked("desktop", lambda: self._pids("nvmlDeviceGetGraphicsRunningProcesses", own)) or []
        )
        whose = self._whose(compute)
        if not whose.all_listed:
            self._seen.untold["others"] = "in a container a driver may leave out who runs outside of it"
        told = {
            "ours": whose.ours,
            "foreign": whose.foreign,
            "unknown": whose.unknown,
            "desktop": len(set(drawing) - set(compute)),
        }
        for word, number in told.items():
            self._seen.most[word] = max(self._seen.most[word], number)

    def _used(self, own: Any) -> int:
        """Bytes in use, without what the driver reserves, where it tells that apart.

        `used` has been documented with what is reserved and without; the other numbers mean one thing.
        """
        try:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(own, version=self._nvml.nvmlMemory_v2)
        except self._nvml.NVMLError as error:
            if error.value not in _OLD:
                raise
            used = int(self._nvml.nvmlDeviceGetMemoryInfo(own).used)
            self._seen.untold["reserved"] = str(error)
            return used
        used = int(memory.total) - int(memory.free) - int(memory.reserved)
        if used < 0:
            raise ValueError("more memory is free and reserved than there is")
        return used

    def _pids(self, question: str, own: Any) -> list[int]:
        return [int(process.pid) for process in getattr(self._nvml, question)(own)]

    def _reasons(self) -> int:
        try:
            return int(self._nvml.nvmlDeviceGetCurrentClocksEventReasons(self._gpu))
        except self._nvml.NVMLError as error:
            if error.value != 13:  # NVML_ERROR_FUNCTION_NOT_FOUND: a driver before 535 has the old name alone
                raise
            return int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._gpu))

    def _value(self, what: str, question: Callable[[], int]) -> None:
        value = self._asked(what, question)
        if value is not None:
            self._seen.values.setdefault(what, []).append(int(value))

    def _asked(self, what: str, question: Callable[[], Any]) -> Any:
        """Ask the driver; None where it does not tell, this time or ever."""
        if self._seen.lost or what in self._seen.untold:
            return None
        try:
            return question()
        except (AttributeError, OSError, TypeError, ValueError) as error:  # another version of the library
            self._seen.untold[what] = f"{type(error).__name__}: {error}"
            return None
        except self._nvml.NVMLError as error:
            if error.value in _LOST:
                after = time.perf_counter() - self._begun
                self._seen.lost = f"{error}, {after:.1f} s after the first request was due"
            elif error.value in _NEVER:
                self._seen.untold[what] = str(error)
            return None  # anything else may pass

    def _once(self, question: str) -> Any:
        try:
            return getattr(self._nvml, question)(self._gpu)
        except self._nvml.NVMLError:
            return None


def _text(value: str | bytes | None) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
    return text if text.isprintable() else ""
