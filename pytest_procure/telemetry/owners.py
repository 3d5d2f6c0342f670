"""Which processes are ours: this one, and all that it has started.

Some drivers name processes as the machine's first PID namespace knows them, others as the one who asks does,
and these leave out whom he cannot see. So in a container ours may have other numbers, and who is not listed
may be there all the same.

What a candidate starts need not descend from us: a container, a server that gives its work to a daemon. So
only who was there before it was loaded is somebody else for certain.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

#: The number that Linux gives its first PID namespace (`PROC_PID_INIT_INO`).
_FIRST_NAMESPACE = "pid:[4026531836]"
_MOST_ANCESTORS = 64


@dataclass(frozen=True, slots=True)
class Owned:
    """How many of some processes are ours, somebody else's for certain, and of how many it cannot be told."""

    ours: int
    foreign: int
    unknown: int
    all_listed: bool  # nobody who is not listed can be there


def owned(listed: Iterable[int], before: Collection[int] = (), proc: Path = Path("/proc")) -> Owned:
    """Tell whose the listed processes are. `before`: who was listed before the candidate was loaded."""
    pids = set(listed)
    strangers = {pid for pid in pids if not _is_ours(pid, proc)}
    outside = _names_are_ours(proc)
    foreign = len(strangers.intersection(before))
    if not outside:  # they may be ours under other numbers: as many as we are, at most
        foreign = max(0, foreign - _count_ours(proc))
    return Owned(len(pids) - len(strangers), foreign, len(strangers) - foreign, outside)


def _is_ours(pid: int, proc: Path) -> bool:
    """Whether a process descends from this one; one that has ended since does not."""
    for _ in range(_MOST_ANCESTORS):
        if pid == os.getpid():
            return True
        pid = _parent(pid, proc)
    return False


def _parent(pid: int, proc: Path) -> int:
    try:
        after_name = (proc / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return int(after_name[1])
    except (OSError, ValueError, IndexError):
        return 0


def _names_are_ours(proc: Path) -> bool:
    try:
        return str((proc / "self" / "ns" / "pid").readlink()) == _FIRST_NAMESPACE
    except OSError:
        return False


def _count_ours(proc: Path) -> int:
    try:
        every = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    except OSError:
        return 1
    return max(1, sum(_is_ours(pid, proc) for pid in every))
