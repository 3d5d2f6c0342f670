"""Shared memory without a name: nothing is left behind, however the processes end."""

from __future__ import annotations

import fcntl
import mmap
import os
import sys

#: Address space, not memory: pages are there from when they are first used. What is larger goes by channel.
ARENA_BYTES = 1 << 28


def shared_memory() -> int | None:
    """Make a piece of shared memory and give its descriptor; None where this system has none like it.

    It is sealed against shrinking: otherwise the process over there could cut it off under our hands, and
    the next access would kill *us*.
    """
    if sys.platform != "linux":
        return None
    descriptor = os.memfd_create("procure", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, ARENA_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


def mapped(descriptor: int | None, *, writable: bool) -> mmap.mmap | None:
    """Map what `shared_memory` made; the descriptor is no longer needed then."""
    if descriptor is None:
        return None
    return mmap.mmap(descriptor, ARENA_BYTES, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
