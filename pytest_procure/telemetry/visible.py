"""Which GPU of the driver's a device of CUDA's is: `cuda:1` is the second that `CUDA_VISIBLE_DEVICES` shows.

CUDA counts in an order of its own (the fastest first, unless `CUDA_DEVICE_ORDER=PCI_BUS_ID`), the driver by
where they sit. The two agree where all GPUs are of one kind. Where that is not sure, no GPU is named: numbers
of another GPU would be worse than none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_IN_ORDER = "PCI_BUS_ID"


@dataclass(frozen=True, slots=True)
class Place:
    """A GPU by the driver's index, or a part of one (MIG) by its UUID."""

    index: int = -1
    part: str = ""


def ordinals(device: str) -> tuple[int, ...]:
    """Read a device's numbers: `cuda` is (0,), `cuda:1` is (1,), `cuda:0,1` is (0, 1), `cpu` is ()."""
    kind, _, listed = device.partition(":")
    if kind != "cuda":
        return ()
    numbers = [each.strip().removeprefix("cuda:") for each in listed.split(",")] if listed else ["0"]
    return tuple(dict.fromkeys(int(each) for each in numbers if each.isdigit()))


def place(
    ordinal: int,
    names: Sequence[str],
    uuids: Sequence[str],
    environ: Mapping[str, str] = os.environ,
) -> Place | str:
    """Find CUDA's device number `ordinal` among the driver's GPUs, or say why it cannot be told.

    `names`, `uuids`: of the driver's GPUs, in its order.
    """
    shown = environ.get("CUDA_VISIBLE_DEVICES")
    entry = str(ordinal)
    if shown is not None:
        entries = [each.strip() for each in shown.split(",")]
        if ordinal >= len(entries) or not entries[ordinal]:
            return f"CUDA_VISIBLE_DEVICES={shown} shows no device number {ordinal}"
        entry = entries[ordinal]
    if entry.startswith("MIG-"):
        return Place(part=entry)
    if entry.startswith("GPU-"):
        found = [index for index, uuid in enumerate(uuids) if uuid.startswith(entry)]
        return Place(found[0]) if len(found) == 1 else f"the driver has not one GPU `{entry}`"
    if not entry.isdigit() or int(entry) >= len(names):
        return f"the driver has no GPU number {entry}"
    if len(set(names)) > 1 and environ.get("CUDA_DEVICE_ORDER") != _IN_ORDER:
        return (
            f"the machine has GPUs of several kinds, so which of them is cuda:{ordinal} cannot be told; "
            f"set CUDA_DEVICE_ORDER={_IN_ORDER}"
        )
    return Place(int(entry))
