"""What the kernel tells of a process: memory, processor time, waiting, and kills for want of memory."""

from __future__ import annotations

import os
import time
from pathlib import Path


def resident(pid: int) -> int:
    """Give the bytes of memory that a process and what it started hold; 0 for one that is gone."""
    held, todo = 0, [pid]
    while todo:
        each = todo.pop()
        try:
            held += int(Path(f"/proc/{each}/statm").read_text("ascii").split()[1]) * os.sysconf(
                "SC_PAGE_SIZE"
            )
            started = Path(f"/proc/{each}/task/{each}/children").read_text("ascii").split()
        except (OSError, ValueError, IndexError):
            continue
        todo += map(int, started)
    return held


def cpu_ns(pid: int) -> int:
    """Give the processor time of all threads of a process; 0 where it is not told."""
    try:
        return time.clock_gettime_ns(
            (~pid << 3) | 2
        )  # CPUCLOCK_SCHED of a process, as clock_getcpuclockid has it
    except OSError:
        return 0


def waited_ns(pid: int) -> int | None:
    """Tell how long the main thread of a process has waited for a processor, in all; None where unknown."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None


def oom_kills() -> int:
    """Count the processes of our control group that the kernel has killed for want of memory; 0 if untold."""
    try:
        groups = Path("/proc/self/cgroup").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return 0
    return max((_killed(counts) for line in groups for counts in _counts(line)), default=0)


def _counts(line: str) -> list[Path]:
    """Give the files that count the kills of a control group, of the first and of the second version.

    A container sees its own group as the root, and may be told its name outside.
    """
    _, _, named = line.partition(":")
    controllers, _, group = named.partition(":")
    if not controllers:
        return [Path(f"/sys/fs/cgroup{group}/memory.events")]
    if "memory" not in controllers.split(","):
        return []
    return [Path(f"/sys/fs/cgroup/memory{each}/memory.oom_control") for each in (group, "")]


def _killed(counts: Path) -> int:
    try:
        words = counts.read_text("ascii").split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError, IndexError):
        return 0
