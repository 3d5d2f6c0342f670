"""What is read of a candidate's device while it is measured: its energy, and each GPU that it uses."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from .driver import gpus_of
from .energy import Meter, meter
from .gpu import GpuProbe, GpuSeen
from .owners import owned
from .sampling import Probe

NOT_COUNTED = "not counted: "


@dataclass(frozen=True, slots=True)
class Instruments:
    """The instruments of one device. `absent`: why energy is not counted; "" where it is, or nobody could."""

    meter: Meter | None
    gpus: Sequence[GpuProbe]
    absent: str
    unseen: str = ""  # why a GPU that the device names is not looked at

    @classmethod
    def of(
        cls, device: str, environ: Mapping[str, str] = os.environ, before: Collection[int] = ()
    ) -> Instruments:
        """Find what there is to read of a device: `cpu`, `cuda:0`, `cuda:0,1`; of others nothing.

        `environ`: of the process that computes. `before`: who held a GPU before the candidate was loaded.
        """
        counting, absent = meter(device, environ)
        found, unseen = gpus_of(device, environ)
        whose = partial(owned, before=before)
        probes = [
            GpuProbe(gpu.nvml, gpu.gpu, gpu.index, part=gpu.part, cut=gpu.cut, whose=whose) for gpu in found
        ]
        return cls(counting, probes, absent, unseen)

    @property
    def probes(self) -> list[Probe]:
        """What the sampler asks; energy first, so that its window is the tightest."""
        return [*([] if self.meter is None else [self.meter]), *self.gpus]

    @property
    def energy(self) -> str:
        """Whose energy is counted, and how; or why it is not; nothing of a device that is not looked at."""
        if self.meter is not None:
            return self.meter.told
        return f"{NOT_COUNTED}{self.absent}" if self.absent else ""

    def seen(self) -> tuple[GpuSeen, ...]:
        """What was seen of each GPU."""
        return tuple(probe.seen() for probe in self.gpus)

    def joules(self, first_ns: int, last_ns: int) -> float | None:
        """What was used between two times of `perf_counter_ns`; None where that was not counted."""
        return None if self.meter is None else self.meter.between(first_ns, last_ns)
