"""A timer that is punctual to tens of microseconds; those of event loops round to milliseconds."""

from __future__ import annotations

import ctypes
import os

_CLOCK_MONOTONIC = 1  # what `perf_counter_ns` reads on Linux
_ABSOLUTE = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Alarm:
    """A Linux timerfd: readable from a given time of `perf_counter_ns` on.

    To be watched for the edge: each setting makes it readable anew, and nobody has to read it. Python has it
    from 3.13 on; before, the same calls go through ctypes.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._setting = _Setting()
        self._at = ctypes.byref(self._setting)
        self.due = 0
        self.fd = int(self._libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS))
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def set(self, due: int) -> None:
        """Ring at `due`; at once when that is past."""
        self.due = due
        value = self._setting.value
        value.tv_sec, value.tv_nsec = divmod(max(due, 1), 1_000_000_000)
        self._libc.timerfd_settime(self.fd, _ABSOLUTE, self._at, None)

    def close(self) -> None:
        """Release it."""
        os.close(self.fd)
