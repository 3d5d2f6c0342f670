"""Reads counters while a run is measured, beside the hot path and never in it.

A probe is told when the measured window opens and when it is over, and ten times a second in between, from a
thread that sleeps the rest of the time. What it raises ends the probe, never the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

#: Ten times a second: often enough for a counter that wraps or a clock that throttles, and with a fraction of
#: a millisecond each time still below what one worker in a thousand would notice.
PERIOD_NS = 100_000_000
#: How long a reading may take to return when the window is over, before its thread is given up.
_GRACE_SECONDS = 1.0


class Probe(Protocol):
    """Something that is read during the measured window. Its calls have to be short."""

    def start(self) -> None:
        """Begin: the warm-up is over, and the first request is due in a moment."""
        ...

    def sample(self) -> None:
        """Read, from the sampler's thread."""
        ...

    def stop(self) -> None:
        """End: the last answer is there, or waiting for it is over. Called once after each `start`."""
        ...


class Sampler:
    """Asks its probes in a thread of its own."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = list(probes)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="procure-sampler", daemon=True)
        self.failures: list[str] = []  # what probes raised, one line each
        self.cpu_ns: int | None = None  # what sampling took; None: there was nothing to sample

    def start(self) -> None:
        """Start the probes, and the thread if there are any."""
        self._each("start")
        if self._probes:
            self.cpu_ns = 0
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread, then the probes; probes that hang are left alone."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(_GRACE_SECONDS)
        if self._thread.is_alive():
            self.failures.append("a probe did not return, and was given up")
        else:
            self._each("stop")

    def _work(self) -> None:
        due = time.perf_counter_ns() + PERIOD_NS
        while not self._over.wait(max(0, due - time.perf_counter_ns()) * 1e-9):
            self._each("sample")
            self.cpu_ns = time.thread_time_ns()
            due = max(due + PERIOD_NS, time.perf_counter_ns())  # a late reading is not made up for

    def _each(self, what: str) -> None:
        for probe in list(self._probes):
            try:
                getattr(probe, what)()
            except Exception as error:  # noqa: BLE001 - drivers of devices raise what they like
                self.failures.append(f"{type(probe).__name__}: {type(error).__name__}: {error}")
                self._probes.remove(probe)


@contextmanager
def sampling(probes: Sequence[Probe]) -> Iterator[Sampler]:
    """Sample while the block runs."""
    sampler = Sampler(probes)
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.stop()
