"""Ctrl-C while a run is driven: the first ends it, and a second does not lose what was measured.

Python raises `KeyboardInterrupt` wherever the main thread happens to be. While a run is under way that is
caught, and its log is written as far as it came; but a second one, or the first after the last answer, would
fall into the writing of the log.

    armed     the first is raised, as ever
    held      it is counted and not raised; so is the second, wherever it comes
    at last   the third is raised in any case: somebody wants out

One lies within another: a run within the test that asks for it. The inner one decides while it lasts. That of
a test that was interrupted stays until the session has written what it has.
"""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, Self

#: So many, and nothing is held any more.
_WAY_OUT = 3


@dataclass(slots=True)
class Interrupts:
    """Takes Ctrl-C over from Python's own handler, in the main thread; another's handler is left alone.

    `holds_on`: where one within it ends held, it is held as well, until what was measured is kept.
    """

    holds_on: bool = False
    pressed: int = 0
    hurried_ns: int | None = None  # of `perf_counter_ns`: the second, which says that waiting is too long
    _armed: bool = False
    _stays: bool = False
    _before: Any = field(default=None, repr=False)  # the handler that it has taken over from

    def __enter__(self) -> Self:
        handler = signal.getsignal(signal.SIGINT)
        ours = handler is signal.default_int_handler or _of(handler) is not None
        if ours and threading.current_thread() is threading.main_thread():
            self._before = handler
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        held, self._armed = error is None and not self._armed, False
        outer = _of(self._before)
        if outer is not None:
            outer.pressed += self.pressed
            if self.pressed or (held and outer.holds_on):
                outer.hold()
        if not self._stays:
            self.release()
        if self.pressed and error is not None and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error  # what was asked for, and was held

    def arm(self) -> None:
        """Let the first Ctrl-C be raised, and one that has come already, here or around."""
        self._armed = True
        outer = _of(self._before)
        if self.pressed or (outer is not None and outer.pressed):
            self._armed = False
            raise KeyboardInterrupt

    def hold(self) -> None:
        """Count from now on, and do not raise."""
        self._armed = False

    def stay(self) -> None:
        """Hold on until `release`, also when this is left: what is written behind it takes a while."""
        self._stays = True

    def release(self) -> None:
        """Give Ctrl-C back to who had it before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _press(self, _signal: int, _frame: FrameType | None) -> None:
        self.pressed += 1
        if self.pressed == 2:
            self.hurried_ns = time.perf_counter_ns()
        if self._armed or self.pressed >= _WAY_OUT:
            self._armed = False
            raise KeyboardInterrupt


def _of(handler: Any) -> Interrupts | None:
    """Give whose handler it is, if it is one of ours."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interrupts) else None
