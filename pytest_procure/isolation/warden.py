"""The thread that watches over one process: its last words, its memory, how long a call takes, its end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable

from pytest_procure.redaction import later_part, redacted

from .endings import Ending, hung, over_limit
from .kernel import cpu_ns, resident

#: Often enough to stop a leak in time, and rare enough to cost a worker nothing: a look takes about 30 us.
_LOOK_SECONDS = 0.25
#: Where the kernel does not tell of a process's end, one has to look for it.
_LOOK_SECONDS_WITHOUT_EVENTS = 0.02
_LAST_BYTES = 8192
_LONGEST_QUOTE = 200


class Memory:
    """What the processes of one candidate hold together, and how much they may."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.peak = 0
        self._held: dict[int, int] = {}

    def look(self, pid: int) -> int:
        """Look at one process, and give what all of them hold, in bytes."""
        self._held[pid] = resident(pid)
        held = sum(self._held.values())
        self.peak = max(self.peak, held)
        return held

    def last(self, pid: int) -> int:
        """Give what a process held when it was last looked at."""
        return self._held.get(pid, 0)

    def forget(self, pid: int) -> None:
        """Take a process that is gone out of the sum."""
        self._held.pop(pid, None)


class Warden:
    """Watches one process from its start to its end, and ends it where it has to."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        memory: Memory,
        on_gone: Callable[[], None],
    ) -> None:
        assert process.stdout is not None, "it is started with a pipe, on which it also writes its errors"
        self._process = process
        self._words = process.stdout.fileno()
        self._memory = memory
        self._on_gone = on_gone
        self.call = (
            0.0,
            0.0,
        )  # since when one is running (monotonic seconds; 0: none is), and how long it may
        self._said = bytearray()
        self._forgot = False  # how it began to speak
        self.cause: Ending | None = None  # why it was killed by us
        self.gone = threading.Event()
        self.last_held = 0
        self.cpu_ns = 0
        os.set_blocking(self._words, False)
        self._event = _end_event(process.pid)
        self._thread = threading.Thread(target=self._watch, name=f"procure-warden-{process.pid}", daemon=True)
        self._thread.start()

    def kill(self, cause: Ending | None = None) -> None:
        """End the process and all that it started; the first cause counts."""
        if self.gone.is_set():
            return
        if cause is not None and self.cause is None:
            self.cause = cause
        _kill_group(self._process.pid)

    def last_words(self) -> str:
        """Quote the last thing that the process wrote, on one printable line."""
        text = self._said.decode("utf-8", "replace")
        lines = (later_part(text) if self._forgot else text).splitlines()
        told = [line for line in lines if line.strip()]
        fatal = [line for line in told if line.startswith("Fatal Python error")]
        line = redacted((fatal or told or [""])[-1])[: 4 * _LONGEST_QUOTE]  # before a cut halves a key
        return " ".join("".join(sign if sign.isprintable() else " " for sign in line).split())[
            :_LONGEST_QUOTE
        ]

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._words, select.POLLIN)
        if self._event is not None:
            poll.register(self._event, select.POLLIN)
        seconds = _LOOK_SECONDS if self._event is not None else _LOOK_SECONDS_WITHOUT_EVENTS
        look = 0.0
        while True:
            seen = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
            if self._words in seen and not self._listen():
                poll.unregister(self._words)
            if self._event is not None:
                if self._event in seen:
                    break
            elif self._process.poll() is not None:
                break
            if time.monotonic() - look >= _LOOK_SECONDS:
                look = time.monotonic()
                self._look()
        # Before it is reaped: until then its number, which is its group's too, is nobody else's.
        _kill_group(self._process.pid)
        self._process.wait()
        while self._listen():
            pass
        self.last_held = self._memory.last(self._process.pid)
        self._memory.forget(self._process.pid)
        if self._event is not None:
            os.close(self._event)
        assert self._process.stdout is not None, "as before"
        self._process.stdout.close()
        self.gone.set()
        self._on_gone()

    def _listen(self) -> bool:
        """Take in what was written, and keep the end of it; False when there is nothing more."""
        try:
            said = os.read(self._words, 1 << 16)
        except BlockingIOError:
            return False
        self._said += said
        self._forgot = self._forgot or len(self._said) > _LAST_BYTES
        del self._said[:-_LAST_BYTES]
        return bool(said)

    def _look(self) -> None:
        held = self._memory.look(self._process.pid)
        self.cpu_ns = cpu_ns(self._process.pid) or self.cpu_ns
        limit = self._memory.limit
        if limit is not None and held > limit:
            self.kill(over_limit(megabytes(held), megabytes(limit)))
            return
        since, most = self.call
        if since and time.monotonic() - since > most:
            self.kill(hung(f"there was no answer within {most:g} s"))


def megabytes(held: int) -> str:
    """Write an amount of memory."""
    return f"{held / 1e6:,.0f} MB"


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # nobody is left in it (macOS: or only the dead)
        return


def _end_event(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
