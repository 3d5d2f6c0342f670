"""One process of a candidate: started clean, bound to us, and told apart by how it ended."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
import weakref

from pytest_procure.errors import ProvisionError

from . import frames
from .arena import mapped, shared_memory
from .endings import Breach, Ending, breached, ended, with_last_words
from .kernel import cpu_ns, oom_kills
from .warden import Memory, Warden, megabytes

#: How long a process may take to end by itself when it is asked to, or has closed its channel.
LAST_SECONDS = 5.0
#: Our import path is set before anything is imported: the plugin itself may come from it.
_BOOT = (
    "import sys; given = sys.argv[1:6]; sys.path[:] = sys.argv[6:]; "
    "from pytest_procure.isolation.child import main; main(given)"
)


class Process:
    """A fresh interpreter at the other end of `channel`, with two pieces of shared memory, there and back.

    Raises `ProvisionError` where the system gives no process.
    """

    def __init__(self, memory: Memory) -> None:
        self.channel, theirs = socket.socketpair()
        arenas = [shared_memory(), shared_memory()]
        self._oom_kills = oom_kills()
        try:
            self.there = mapped(arenas[0], writable=True)
            self.back = mapped(arenas[1], writable=False)
            self._popen = _start(theirs, arenas)
        except OSError as error:
            self.channel.close()
            raise ProvisionError(f"a process of its own cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
            for each in arenas:
                if each is not None:
                    os.close(each)
        self.pid = self._popen.pid
        self._warden = Warden(self._popen, memory, self._hang_up)
        _living.add(self)

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return self._warden.gone.is_set()

    def watch(self, since: float, limit: float) -> None:
        """A call has begun at `since` (monotonic seconds) and may take `limit` seconds; 0: it is over."""
        self._warden.call = (since, limit)

    def kill(self, cause: Ending | None = None) -> None:
        """End it, and all that it started, at once."""
        self._warden.kill(cause)

    def conclude(self, breach: Breach | None) -> Ending:
        """Find out how it ended, or end it for what it sent."""
        if breach is not None:
            self.kill(breached(breach))
        elif not self._warden.gone.wait(LAST_SECONDS):
            self.kill(Ending("channel", "it closed its channel, and was ended", "a closed channel"))
        self._warden.gone.wait(LAST_SECONDS)
        return with_last_words(self._warden.cause or self._read_status(), self._warden.last_words())

    def cpu_ns(self) -> int:
        """Give its processor time; of one that has ended, what it was when last looked at."""
        return (0 if self.gone else cpu_ns(self.pid)) or self._warden.cpu_ns

    def close(self) -> str:
        """Ask it to end, and end it if it does not; give what was wrong about its end."""
        if not self.gone:
            with contextlib.suppress(OSError):
                frames.send(self.channel, frames.CLOSE, 0)
        in_time = self._warden.gone.wait(LAST_SECONDS)
        self.kill()
        self._warden.gone.wait(LAST_SECONDS)
        if not in_time:
            return f"its process did not end within {LAST_SECONDS:g} s, and was killed"
        if self._popen.returncode:
            return with_last_words(self._read_status(), self._warden.last_words()).sentence
        return ""

    def release(self) -> None:
        """Give up the channel and the shared memory."""
        self.channel.close()
        for arena in (self.there, self.back):
            # An answer may still be read from it; then it goes when that is over.
            with contextlib.suppress(BufferError):
                if arena is not None:
                    arena.close()
        self.there = self.back = None

    def _hang_up(self) -> None:
        """Wake whoever waits for an answer: what the process started may hold the channel open."""
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)

    def _read_status(self) -> Ending:
        kills = oom_kills() - self._oom_kills
        return ended(self._popen.returncode or 0, oom_kills=kills, held=megabytes(self._warden.last_held))


_living: weakref.WeakSet[Process] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for each in list(_living):
        each.kill()


def _start(theirs: socket.socket, arenas: list[int | None]) -> subprocess.Popen[bytes]:
    descriptors = [theirs.fileno(), *(-1 if each is None else each for each in arenas)]
    main = threading.current_thread() is threading.main_thread()
    optimised = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
    given = [*descriptors, os.getpid(), int(main)]
    return subprocess.Popen(  # noqa: S603 - our own interpreter, and our own arguments
        [sys.executable, "-P", *optimised, "-c", _BOOT, *map(str, given), *sys.path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[each for each in descriptors if each >= 0],
        start_new_session=True,
    )
