"""A line that shows how far a run is, where somebody watches; nothing in logs, pipes and workers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any

from .units import Quantity, readable

#: A run shorter than this needs no line.
_PATIENCE_SECONDS = 1.0
#: The rate, and the time left, are those of so many looks back: some ten seconds.
_LOOKS = 40


class Progress:
    """Called by the driver a few times a second; erases its line when the run is over.

    `now` gives seconds, on any clock that only goes forward.
    """

    def __init__(
        self,
        reporter: Any,
        uncaptured: Callable[[], AbstractContextManager[Any]],
        label: str,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reporter = reporter
        self._uncaptured = uncaptured
        self._label = label
        self._now = now
        self._since = now()
        self._looks: deque[tuple[float, int]] = deque(maxlen=_LOOKS)
        self._shown = False

    def __call__(self, begun: int, total: int, failed: int = 0, slow_ns: int | None = None, /) -> None:
        """Show the line, once the run has lasted a while."""
        now = self._now()
        if self._looks and begun < self._looks[-1][1]:
            self._looks.clear()  # another run: a further launch, or the other side of a comparison
        self._looks.append((now, begun))
        if now - self._since < _PATIENCE_SECONDS:
            return
        told = f"{self._label}: {', '.join(self._told(begun, total, failed, slow_ns))}"
        width = int(getattr(getattr(self._reporter, "_tw", None), "fullwidth", 80))
        with self._uncaptured():
            if not self._shown:
                self._reporter.ensure_newline()
                self._shown = True
            # A line that is wider than the terminal would wrap, and the next could not erase it.
            self._reporter.rewrite(told[: max(width - 1, 20)], erase=True)
            self._reporter.flush()

    def done(self) -> None:
        """Leave the terminal as if there had been no line."""
        if self._shown:
            with self._uncaptured():
                self._reporter.rewrite("", erase=True)
                self._reporter.rewrite("")
                self._reporter.flush()
        self._shown = False
        self._since = self._now()
        self._looks.clear()

    def _told(self, begun: int, total: int, failed: int, slow_ns: int | None) -> list[str]:
        told = [f"{begun:,} of {total:,} requests" if total else f"{begun:,} requests"]
        rate = self._rate()
        if rate > 0:
            told.append(readable(Quantity.of(rate, "1/s")))
        if slow_ns is not None:
            told.append(f"p95 now {readable(Quantity(Decimal(slow_ns), 'ns'))}")
        if failed:
            told.append(f"{failed:,} failed")
        if rate > 0 and total > begun:
            told.append(f"{_left((total - begun) / rate)} left")
        return told

    def _rate(self) -> float:
        """Give requests a second, over the latest looks; 0 where that cannot be said yet."""
        (then, few), (now, many) = self._looks[0], self._looks[-1]
        return (many - few) / (now - then) if now > then else 0.0


def progress(config: Any, label: str) -> Progress | None:
    """Give a progress line for a terminal that somebody looks at; None elsewhere."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not reporter.isatty() or config.option.verbose < 0:
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    uncaptured = nullcontext if capture is None else capture.global_and_fixture_disabled
    return Progress(reporter, uncaptured, label)


def teller(config: Any) -> Callable[[str], None] | None:
    """Give what writes a line into the session's output, in a pipe too; None in workers of pytest-xdist.

    For what may take minutes and would look like a session that hangs.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    uncaptured = nullcontext if capture is None else capture.global_and_fixture_disabled

    def tell(sentence: str) -> None:
        with uncaptured():
            reporter.ensure_newline()
            reporter.write_line(f"procure: {sentence}")
            reporter.flush()

    return tell


def _left(seconds: float) -> str:
    """Write how long something takes, as one says it while waiting."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
