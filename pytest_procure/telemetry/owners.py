"""Which processes are ours: this one, and all that it has started.

A driver names processes as the machine's first PID namespace knows them. Inside a container ours have other
numbers, so whom a number belongs to cannot be told there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: The number that Linux gives its first PID namespace (`PROC_PID_INIT_INO`).
_FIRST_NAMESPACE = "pid:[4026531836]"
_MOST_ANCESTORS = 64


@dataclass(frozen=True, slots=True)
class Owned:
    """How many of some processes are certainly not ours, and of how many that cannot be told."""

    foreign: int
    unknown: int


def owned(listed: Iterable[int], proc: Path = Path("/proc")) -> Owned:
    """Tell whose the listed processes are."""
    pids = set(listed)
    strangers = [pid for pid in pids if not _is_ours(pid, proc)]
    if not strangers or _names_are_ours(proc):
        return Owned(len(strangers), 0)
    # They may be ours under other numbers: as many as we are, at most.
    beyond = len(pids) - _count_ours(proc)
    return Owned(beyond, 0) if beyond > 0 else Owned(0, len(pids))


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
