"""Processes that a backend leaves behind, also where their parent has ended and they are nobody's child."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .kept_program import ready

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
#: What was told to end takes a moment.
_PATIENCE_S = 1.0


@contextmanager
def watched() -> Iterator[Callable[[], set[int]]]:
    """Give a function that tells which processes were started here meanwhile and are left (Linux).

    This process becomes the parent of what loses its own, and descends from it: a child that went into a
    session of its own, or that was left to the system. Those are ended in the end. To be used in another
    thread than the main one, which is the one that adopts.
    """
    if sys.platform != "linux":
        yield set
        return
    system = ctypes.CDLL(None)
    was = ctypes.c_int()
    system.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    system.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children("*")

    def left() -> set[int]:
        deadline = time.monotonic() + _PATIENCE_S
        for pid in _children(str(os.getpid())) - before:
            with contextlib.suppress(OSError):  # one that has ended is nobody's to wait for but ours
                end = os.pidfd_open(pid)
                ready(end, selectors.EVENT_READ, deadline)
                os.close(end)
                os.waitpid(pid, os.WNOHANG)
        return _children("*") - before

    try:
        yield left
    finally:
        for pid in _children(str(os.getpid())) - before:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        system.prctl(_PR_SET_CHILD_SUBREAPER, was.value, 0, 0, 0)


def _children(thread: str) -> set[int]:
    """Give the processes that a thread of this one started or adopted; `*`: any thread."""
    found: set[int] = set()
    for task in Path("/proc/self/task").glob(f"{thread}/children"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found.update(map(int, task.read_text("ascii").split()))
    return found
