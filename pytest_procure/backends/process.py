"""A program that is asked over pipes, and that never gets to keep us: every wait and every line has a limit.

What it leaves behind when it ends (children of its own, in whatever session) its keeper ends with it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_procure.errors import ProvisionError
from pytest_procure.redaction import keep_secret, later_part, quoted

from .kept_program import KeptProgram, ready

#: What a program needs to run at all; everything else, keys above all, is given by name.
_ALWAYS = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
)
_CHUNK = 1 << 16
_KEPT_OF_ERRORS = 1 << 14
#: A shorter value stands in any text.
_SECRET = 4
#: Those that run: a session that ends while one hangs leaves none behind.
_running: weakref.WeakSet[Process] = weakref.WeakSet()
#: How long a program may take to end by itself once its input is closed, and once it is told to.
_GRACE_S = 2.0


class Process:
    """A program with pipes to its input and output."""

    def __init__(self, arguments: list[str], *, folder: Path, variables: Sequence[str], longest: int) -> None:
        self._longest = longest
        self._lock = threading.Lock()
        self._gone = ""  # why nothing can be asked any more
        self._unread = b""
        self._errors: deque[bytes] = deque()
        self._secrets = secrets_of(variables)
        self._forgot = False  # some of its errors
        self._is_over = False
        self._process = KeptProgram(arguments, folder=folder, environment=environment_of(variables))
        self._input, self._output = self._process.input, self._process.output
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        _running.add(self)

    @contextmanager
    def call(self, timeout: float) -> Iterator[Call]:
        """Ask for the block; what goes wrong in it ends the program. Raises `RuntimeError`."""
        with self._lock:
            if self._gone:
                raise RuntimeError(self._gone)
            try:
                yield Call(self, time.monotonic() + timeout, timeout)
            except RuntimeError:
                raise
            except ValueError as error:
                raise self.give_up(str(error)) from None
            except BaseException:
                self.give_up("the call was broken off")
                raise

    def give_up(self, why: str) -> RuntimeError:
        """End the program; give the error that tells why."""
        self.kill()
        said = self._last_words()
        self._gone = f"the program was ended: {why}" + (f"; its last words: {said}" if said else "")
        return RuntimeError(self._gone)

    def ended(self) -> RuntimeError:
        """The program has closed its output: give the error that tells how it ended."""
        status = self._process.ended(_GRACE_S)
        if status is None:
            return self.give_up("it closed its output")
        self.kill()
        how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
        said = self._last_words()
        self._gone = f"the program ended {how}" + (f"; its last words: {said}" if said else "")
        return RuntimeError(self._gone)

    def close(self) -> None:
        """Close its input, wait a little, and end whatever is left. May be called twice."""
        with self._lock:
            self._gone = self._gone or "the program was closed"
            if self._is_over:
                return
            self._process.close_input()
            deadline = time.monotonic() + _GRACE_S
            # It may still be writing, and would wait for us to read.
            while self._drain(deadline):
                continue
            self._process.ended(max(0.0, deadline - time.monotonic()))
            self.kill()

    def _drain(self, deadline: float) -> bool:
        """Throw away what it writes; False when it has closed its output, or time is over."""
        if time.monotonic() > deadline or not ready(self._output, selectors.EVENT_READ, deadline):
            return False
        with contextlib.suppress(OSError):
            return bool(os.read(self._output, _CHUNK))
        return False

    def kill(self) -> None:
        """End it and all that it started, also where it has ended already, and let go of the pipes."""
        self._is_over = True
        self._process.end()
        self._reader.join(_GRACE_S)
        self._process.let_go()

    def _read_errors(self) -> None:
        """Keep the end of what it writes on its standard error, so that it never has to wait for us."""
        stream = self._process.errors
        assert stream is not None, "its pipes were asked for"
        kept = 0
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(stream.fileno(), _CHUNK):
                self._errors.append(data)
                kept += len(data)
                while len(self._errors) > 1 and kept - len(self._errors[0]) >= _KEPT_OF_ERRORS:
                    kept -= len(self._errors.popleft())
                    self._forgot = True

    def _last_words(self) -> str:
        text = b"".join(self._errors).decode("utf-8", "replace")
        if self._forgot:  # what it begins with may be the end of a secret
            text = later_part(text, also=self._secrets, shown="(secret)")
        lines = [line for line in text.splitlines() if line.strip()]
        return self.quoted(lines[-1], 120) if lines else ""

    def quoted(self, text: str, most: int) -> str:
        """Quote what it says without the values of the variables that it was given: it may repeat them."""
        return quoted(text, most, also=self._secrets, shown="(secret)")

    # -- for a call ---------------------------------------------------------------------------------------

    def write(self, data: bytes, deadline: float, timeout: float) -> None:
        """Send all of it, and read what comes meanwhile: a program may answer before it has read all."""
        view = memoryview(data)
        with selectors.DefaultSelector() as both:
            both.register(self._input, selectors.EVENT_WRITE)
            both.register(self._output, selectors.EVENT_READ)
            while view:
                events = both.select(max(0.0, deadline - time.monotonic()))
                if not events:
                    raise self.give_up(f"it did not take its input within {timeout:g} s")
                for key, _ in events:
                    if key.fd == self._output:
                        self._read()
                    else:
                        try:
                            view = view[os.write(self._input, view[:_CHUNK]) :]
                        except OSError:
                            raise self.ended() from None

    def read_line(self, deadline: float, timeout: float) -> bytes:
        """The next line. Raises `RuntimeError` when none comes."""
        while b"\n" not in self._unread:
            if not ready(self._output, selectors.EVENT_READ, deadline):
                raise self.give_up(f"it did not answer within {timeout:g} s")
            self._read()
        line, _, self._unread = self._unread.partition(b"\n")
        if len(line) > self._longest:
            raise self.give_up(f"it wrote a line of more than {self._longest:,} bytes")
        return line

    def unread(self) -> bool:
        """Whether it has written more than it was asked for."""
        return bool(self._unread.strip())

    def _read(self) -> None:
        data = os.read(self._output, _CHUNK)
        if not data:
            raise self.ended()
        self._unread += data
        if len(self._unread) - self._unread.rfind(b"\n") > self._longest + _CHUNK:
            raise self.give_up(f"it wrote a line of more than {self._longest:,} bytes")
        if len(self._unread) > 4 * self._longest + _CHUNK:
            raise self.give_up("it wrote more than it was asked for")


class Call:
    """One exchange with a program."""

    def __init__(self, process: Process, deadline: float, timeout: float) -> None:
        self._process = process
        self._deadline = deadline
        self._timeout = timeout

    def send(self, data: bytes) -> None:
        """Write to its input."""
        self._process.write(data, self._deadline, self._timeout)

    def line(self) -> bytes:
        """Read a line of its output."""
        return self._process.read_line(self._deadline, self._timeout)

    def nothing_more(self) -> None:
        """Raise where it has said more than it was asked: the next answer would be taken for another's."""
        if self._process.unread():
            raise self._process.give_up("it wrote more than it was asked for")

    def broken(self, why: str) -> RuntimeError:
        """End the program, and give the error that says why."""
        return self._process.give_up(why)


def wait_for_group(group: int) -> None:
    """Wait until nothing of a group runs that was told to end; what it had started is nobody's child here."""
    deadline = time.monotonic() + _GRACE_S
    for process in _running_of(group):
        with contextlib.suppress(OSError):
            ended = os.pidfd_open(process)
            ready(ended, selectors.EVENT_READ, deadline)
            os.close(ended)


def _running_of(group: int) -> list[int]:
    """Ids of the processes of a group that have not ended, where the system tells (Linux)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, _, of, *_ = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(of) == group and state != "Z":
                found.append(int(entry.parent.name))
    return found


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        process.kill()


def environment_of(variables: Sequence[str]) -> dict[str, str]:
    """Give what a program gets of our environment: what it needs to run, and what is named."""
    missing = [name for name in variables if name not in os.environ]
    if missing:
        raise ProvisionError(f"the environment has no variable `{missing[0]}`, which the program is to get")
    for name in variables:
        keep_secret(name, os.environ[name])
    return {name: os.environ[name] for name in (*_ALWAYS, *variables) if name in os.environ}


def secrets_of(variables: Sequence[str]) -> list[str]:
    """Give the values of variables that are long enough to be recognised where a program repeats them."""
    return [os.environ[name] for name in variables if len(os.environ.get(name, "")) >= _SECRET]
