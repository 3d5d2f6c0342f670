"""Ctrl-C while a run is driven: the first ends it, and a second does not lose what was measured.

Python raises `KeyboardInterrupt` wherever the main thread happens to be. While a run is under way that is
caught, and its log is written as far as it came; but a second one, or the first after the last answer, would
fall into the writing of the log.

    armed     the first is raised, as ever
    held      it is counted and not raised; so is the second, wherever it comes
    at last   the third is raised in any case: somebody wants out
"""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Self

#: So many, and nothing is held any more.
_WAY_OUT = 3


@dataclass(slots=True)
class Interrupts:
    """Takes Ctrl-C over from Python's own handler, in the main thread; another's handler is left alone."""

    pressed: int = 0
    hurried_ns: int | None = None  # of `perf_counter_ns`: the second, which says that waiting is too long
    _armed: bool = False
    _taken: bool = field(default=False, repr=False)

    def __enter__(self) -> Self:
        own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if own and threading.current_thread() is threading.main_thread():
            self._taken = True
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._armed = False
        if self._taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.pressed and error is not None and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error  # what was asked for, and was held

    def arm(self) -> None:
        """Let the first Ctrl-C be raised, and one that has come already."""
        self._armed = True
        if self.pressed:
            self._armed = False
            raise KeyboardInterrupt

    def hold(self) -> None:
        """Count from now on, and do not raise."""
        self._armed = False

    def _press(self, _signal: int, _frame: FrameType | None) -> None:
        self.pressed += 1
        if self.pressed == 2:
            self.hurried_ns = time.perf_counter_ns()
        if self._armed or self.pressed >= _WAY_OUT:
            self._armed = False
            raise KeyboardInterrupt
