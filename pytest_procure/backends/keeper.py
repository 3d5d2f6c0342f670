"""Runs a server for a session, and ends it with all that it started when the session ends, however it ends.

    python -I -S keeper.py NEWS INPUT PROGRAM ARGUMENT...

It is a process between the session and the server, and imports nothing of this package. Its standard input
is a pipe that says when to end: by a byte, or by its own end, which comes with a `kill -9` of the session
too. How the server ended is written to the descriptor NEWS, as `exit 3` or `signal 9`.

INPUT is `-`, or the descriptor that a program is asked over. Such a program gets a session of its own, is
told to end by whoever asks it, and so is ended at once; NEWS begins with `began 4711`, its process, or with
`failed 8`, the system's reason. Nobody but it holds its pipes open.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: How long a server may take to end once it is told to: Triton unloads its models first, and looks once a
#: second whether they are gone. What it has started is told at the same time, and is not waited for as long.
GRACE_S = 5.0
_LEFT_S = 2.0
#: How often it is looked whether the session still is the parent: a fork may hold the pipe open.
_LOOK_S = 1.0
#: The shell's status for what cannot be started.
_NOT_STARTED = 127


class Keeper:
    """The server's parent."""

    def __init__(self, command: list[str], asked_over: int | None) -> None:
        self._at_once = asked_over is not None
        self._session = os.getppid()
        self._told = False
        self._has_ended = False
        self._wake, wakes = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, _nothing)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._tell)
        if sys.platform == "linux":  # what the server leaves behind becomes our child, and so is found
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # It is held: one that is dropped waits for its process, and the news of its end would be lost.
        self._program = subprocess.Popen(  # noqa: S603 - the buyer names the program
            command,
            stdin=subprocess.DEVNULL if asked_over is None else asked_over,
            start_new_session=self._at_once,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - there is no thread here but this one
        )
        self.pid = self._program.pid

    def keep(self) -> str:
        """Wait until the server has ended, or is to end; how it ended by itself, or nothing."""
        while not self._told:
            ready, _, _ = select.select([0, self._wake], [], [], _LOOK_S)
            if self._wake in ready:
                os.read(self._wake, 4096)
            _, how = self._reap()
            if how:
                return how
            if 0 in ready or os.getppid() != self._session:
                break
        return ""

    def end(self) -> None:
        """End all that is left: first politely, unless it is to end at once, then for certain."""
        if not self._at_once:
            self._ask_to_end()
        deadline = time.monotonic() + _LEFT_S
        while self._reap()[0] and time.monotonic() < deadline:
            _signal_all(signal.SIGKILL)
            select.select([self._wake], [], [], 0.01)

    def _ask_to_end(self) -> None:
        _signal_all(signal.SIGTERM)
        told = time.monotonic()
        while self._reap()[0]:
            left = told + (_LEFT_S if self._has_ended else GRACE_S) - time.monotonic()
            if left <= 0:
                break
            if select.select([self._wake], [], [], left)[0]:
                os.read(self._wake, 4096)

    def _reap(self) -> tuple[bool, str]:
        """Whether any child is left; and how the server ended, if it was among those that have."""
        how = ""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True, how
                if pid == self.pid:
                    self._has_ended = True
                    code = os.waitstatus_to_exitcode(status)
                    how = f"signal {-code}" if code < 0 else f"exit {code}"
        return False, how

    def _tell(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._told = True


def main(arguments: list[str]) -> int:
    """Run as a process of its own."""
    news, command = int(arguments[0]), arguments[2:]
    asked_over = None if arguments[1] == "-" else int(arguments[1])
    os.set_inheritable(news, False)  # noqa: FBT003 - the argument has no name
    try:
        keeper = Keeper(command, asked_over)
    except OSError as error:
        if asked_over is not None:
            os.write(news, b"failed %d" % (error.errno or 0))
            return _NOT_STARTED
        sys.stderr.write(f"it cannot be started: {error.strerror}\n")
        sys.stderr.flush()
        os.write(news, b"exit %d" % _NOT_STARTED)
        return _NOT_STARTED
    if asked_over is not None:
        os.close(asked_over)
        for own in (1, 2):
            os.close(own)
        os.write(news, b"began %d\n" % keeper.pid)
    how = keeper.keep()
    if how:
        with contextlib.suppress(OSError):
            os.write(news, how.encode())
    keeper.end()
    return 0


def _nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal, so that it wakes the loop; ignoring it would be inherited by the server."""


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def _signal_all(number: int) -> None:
    """Send a signal to all that descend from this process; where the system does not list them, our group."""
    found = _descendants()
    for pid in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    if not found:
        os.killpg(0, number)


def _descendants() -> list[int]:
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        for tasks in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError, ValueError):
                begun = list(map(int, tasks.read_text("ascii").split()))
                found += begun
                todo += begun
    return found


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
