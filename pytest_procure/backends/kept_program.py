"""A program that is asked over its input, under a keeper, so that nothing that it starts outlives it.

A child that has left the program's group and session is the keeper's all the same.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from pytest_procure.errors import ProvisionError

KEEPER = Path(__file__).with_name("keeper.py")
#: How long a keeper may take to start a program, and to end what is left of it.
_START_S, _END_S = 60.0, 5.0
_CHUNK = 1 << 16


class KeptProgram:
    """A program that was started, with pipes to its `input` and `output`, and its `errors`.

    Raises `ProvisionError` where it cannot be started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        errors_in_output: bool = False,
    ) -> None:
        self._news, news_end = os.pipe()
        asked_over, self._input = os.pipe()
        self._told = b""
        self._closed = False
        try:
            self._keeper = subprocess.Popen(  # noqa: S603 - our own keeper, and the program that the buyer names
                [sys.executable, "-I", "-S", str(KEEPER), str(news_end), str(asked_over), *arguments],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors_in_output else subprocess.PIPE,
                pass_fds=[news_end, asked_over],
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            for each in (self._news, self._input):
                os.close(each)
            raise _unstarted(arguments[0], error.strerror) from None
        finally:
            os.close(news_end)
            os.close(asked_over)
        assert self._keeper.stdin is not None, "its pipes were asked for"
        assert self._keeper.stdout is not None, "the same"
        self._alive: BinaryIO = self._keeper.stdin  # type: ignore[assignment] # it ends when this is closed
        self.output = self._keeper.stdout.fileno()
        self.errors = self._keeper.stderr
        self.pid = self._began(arguments[0])

    @property
    def input(self) -> int:
        """Its end of the pipe; -1 once it is closed."""
        return self._input

    def close_input(self) -> None:
        """Tell the program that nothing more is asked. May be called twice."""
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def ended(self, seconds: float) -> int | None:
        """Give how it ended, as a status or a signal below 0; None where it has not within this time."""
        if b" " not in self._told:
            if not ready(self._news, selectors.EVENT_READ, time.monotonic() + seconds):
                return None
            self._told += os.read(self._news, 64) or b"signal 9"  # its keeper was killed, and it with it
        word, _, number = self._told.decode("ascii").partition(" ")
        return -int(number) if word == "signal" else int(number)

    def end(self) -> None:
        """End it and all that it started, at once, and let go of its pipes. May be called twice."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            self._alive.close()
        try:
            self._keeper.wait(_END_S)
        except subprocess.TimeoutExpired:  # somebody has stopped it
            for group in (self._keeper.pid, self.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            self._keeper.wait()

    def let_go(self) -> None:
        """Close what was left open for whoever reads the last of it. May be called twice."""
        self.close_input()
        for stream in (self._keeper.stdout, self.errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._news >= 0:
            os.close(self._news)
            self._news = -1

    def _began(self, name: str) -> int:
        """Wait until it runs, and give its process."""
        said = b""
        until = time.monotonic() + _START_S
        while b"\n" not in said and ready(self._news, selectors.EVENT_READ, until):
            part = os.read(self._news, 64)
            if not part:
                break
            said += part
        line, whole, self._told = said.partition(b"\n")
        word, _, number = line.decode("ascii").partition(" ")
        self.pid = int(number) if word == "began" else self._keeper.pid
        if whole:
            return self.pid
        self.end()
        self.let_go()
        raise _unstarted(name, os.strerror(int(number)) if number else "its keeper has ended")


def said_by(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], limit: float, most: int
) -> tuple[int, bytes]:
    """Run a program to its end: its status, and the first `most` bytes of what it says.

    Raises `TimeoutError` where it has not ended in time, and `ProvisionError`.
    """
    until = time.monotonic() + limit
    program = KeptProgram(arguments, folder=folder, environment=environment, errors_in_output=True)
    said = b""
    try:
        program.close_input()
        while ready(program.output, selectors.EVENT_READ, until):
            part = os.read(program.output, _CHUNK)
            if not part:
                break
            said += part[: most - len(said)]
        status = program.ended(until - time.monotonic())
    finally:
        program.end()
        program.let_go()
    if status is None:
        raise TimeoutError
    return status, said


def ready(descriptor: int, event: int, deadline: float) -> bool:
    """Wait until a pipe can be read or written; False when time is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        return bool(selector.select(max(0.0, deadline - time.monotonic())))


def _unstarted(name: str, why: str | None) -> ProvisionError:
    return ProvisionError(f"the program `{Path(name).name}` cannot be started: {why}")
