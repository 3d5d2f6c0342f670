"""A line that shows how far a run is, where somebody watches; nothing in logs, pipes and workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

#: A run shorter than this needs no line.
_PATIENCE_SECONDS = 1.0


class Progress:
    """Called by the driver with (queries begun, in all or 0); erases its line when the run is over."""

    def __init__(
        self, reporter: Any, uncaptured: Callable[[], AbstractContextManager[Any]], label: str
    ) -> None:
        self._reporter = reporter
        self._uncaptured = uncaptured
        self._label = label
        self._since = time.monotonic()
        self._shown = False

    def __call__(self, begun: int, total: int) -> None:
        """Show the line, once the run has lasted a while."""
        if time.monotonic() - self._since < _PATIENCE_SECONDS:
            return
        of = f" of {total:,}" if total else ""
        with self._uncaptured():
            if not self._shown:
                self._reporter.ensure_newline()
                self._shown = True
            self._reporter.rewrite(f"{self._label}: {begun:,}{of} requests", erase=True)
            self._reporter.flush()

    def done(self) -> None:
        """Leave the terminal as if there had been no line."""
        if self._shown:
            with self._uncaptured():
                self._reporter.rewrite("", erase=True)
                self._reporter.rewrite("")
                self._reporter.flush()
        self._shown = False
        self._since = time.monotonic()


def progress(config: Any, label: str) -> Progress | None:
    """Give a progress line for a terminal that somebody looks at; None elsewhere."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not reporter.isatty() or config.option.verbose < 0:
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    uncaptured = nullcontext if capture is None else capture.global_and_fixture_disabled
    return Progress(reporter, uncaptured, label)
