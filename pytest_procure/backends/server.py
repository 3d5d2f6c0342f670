"""A server of an offer: started on a free port, waited for, watched, and ended with all that it started."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_procure.errors import ProvisionError
from pytest_procure.isolation.endings import Ending, ended, with_last_words
from pytest_procure.isolation.kernel import oom_kills, resident
from pytest_procure.isolation.warden import megabytes

from .keeper import GRACE_S
from .kept_program import KEEPER
from .process import wait_for_group
from .server_log import ServerLog

HOST = "127.0.0.1"
_PAUSE_S = 0.05
_PROBE_S = 2.0
#: How long news of an end may take, once nobody listens on the port any more.
_NEWS_S = 2.0
_QUOTED = 3  # lines of the log of a server that never got ready
#: Those that run: a session that ends leaves none behind.
_running: weakref.WeakSet[Server] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Ready:
    """How one knows that a server is ready: by a path that answers 200, a function of its URL, a line."""

    path: str = ""
    asks: Callable[[str], object] | None = None
    line: str = ""

    @property
    def label(self) -> str:
        """It in words."""
        if self.path:
            return f"GET {self.path} answers 200"
        if self.asks is not None:
            return f"{getattr(self.asks, '__qualname__', type(self.asks).__name__)}(url)"
        return f"its log says {self.line!r}" if self.line else "its port takes connections"


class Server:
    """A server that was started. Raises `ProvisionError` where it cannot be."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: dict[str, str],
        log: ServerLog,
    ) -> None:
        self.port = free_port()
        self.log = log
        self.ready_after_s = 0.0
        self.most_bytes = 0  # of memory, of what it was seen to hold
        self._oom_kills = oom_kills()
        self._how = ""
        self._closed = False
        news, news_end = os.pipe()
        self._news = news
        given = [self._with_port(each) for each in arguments]
        variables = {name: self._with_port(value) for name, value in environment.items()}
        try:
            self._keeper = subprocess.Popen(  # noqa: S603 - our own keeper, and the program that the buyer names
                [sys.executable, "-I", "-S", str(KEEPER), str(news_end), "-", *given],
                cwd=folder,
                env=variables | {"PORT": str(self.port)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[news_end],
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            os.close(news)
            raise ProvisionError(f"the server cannot be started: {error.strerror}") from None
        finally:
            os.close(news_end)
        assert self._keeper.stdout is not None, "its pipe was asked for"
        self.log.read_from(self._keeper.stdout.fileno())
        _running.add(self)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    def wait_ready(self, ready: Ready, limit: float) -> None:
        """Wait until it is ready; one that is not is ended. Raises `ProvisionError`."""
        begun = time.monotonic()
        said = ""
        while True:
            if self._ended(_PAUSE_S):
                self._refuse(f"the server ended {self._told()} before it was ready")
            said = self._probe(ready, max(begun + limit - time.monotonic(), _PAUSE_S))
            if not said:
                self.ready_after_s = time.monotonic() - begun
                return
            if time.monotonic() >= begun + limit:
                self._refuse(f"the server was not ready within {limit:g} s ({said}), and was ended")

    def ending(self, *, patient: bool = False) -> Ending | None:
        """Tell how it ended by itself; None while it runs.

        `patient`: where nobody listens on its port any more, news of its end are waited for.
        """
        if self._closed:
            return None
        self.most_bytes = max(self.most_bytes, resident(self._keeper.pid))
        if not self._ended(_PAUSE_S * 2 if patient else 0.0) and not (
            patient and not self._listens() and self._ended(_NEWS_S)
        ):
            return None
        self.log.wait(GRACE_S)
        word, _, number = self._how.partition(" ")
        status = -int(number) if word == "signal" else int(number or 0)
        killed = oom_kills() - self._oom_kills
        if not self._how:
            status = -signal.SIGKILL  # its keeper was killed, and it with it
        told = ended(status, oom_kills=killed, held=megabytes(self.most_bytes))
        return with_last_words(told, " | ".join(self.log.last_lines(1)))

    def close(self) -> None:
        """End it and all that it started. May be called twice."""
        if self._closed:
            return
        self._closed = True
        assert self._keeper.stdin is not None, "its pipe was asked for"
        with contextlib.suppress(OSError):
            self._keeper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._keeper.wait(2 * GRACE_S + 1.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._keeper.pid, signal.SIGKILL)
        self._keeper.wait()
        wait_for_group(self._keeper.pid)
        self.log.wait(GRACE_S)
        if self._keeper.stdout is not None:
            with contextlib.suppress(OSError):
                self._keeper.stdout.close()
        os.close(self._news)
        self.log.close()

    def _with_port(self, text: str) -> str:
        return text.replace("{port}", str(self.port))

    def _refuse(self, why: str) -> None:
        self.close()
        lines = self.log.last_lines(_QUOTED)
        quoted = " | ".join(lines)
        raise ProvisionError(why + (f"; its log ends: {quoted}" if lines else "; its log is empty"))

    def _told(self) -> str:
        word, _, number = self._how.partition(" ")
        if word == "exit":
            return f"with exit status {number}"
        return f"by signal {number}" if word == "signal" else "by a signal"

    def _ended(self, seconds: float) -> bool:
        """Whether the keeper has told, within this time, that the server has ended."""
        if self._how:
            return True
        readable, _, _ = select.select([self._news], [], [], seconds)
        if not readable:
            return False
        self._how = os.read(self._news, 64).decode("ascii")
        return True

    def _listens(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=_PROBE_S):
                return True
        except ConnectionRefusedError:
            return False
        except OSError:  # a full queue says nothing of its end
            return True

    def _probe(self, ready: Ready, left: float) -> str:
        """Give "" when it is ready, else what was seen; a function may take all the time that is left."""
        seconds = min(_PROBE_S, left)
        if ready.line and not self.log.seen.is_set():
            return f"its log does not say {ready.line!r}"
        try:
            with socket.create_connection((HOST, self.port), timeout=seconds):
                pass
        except OSError:
            return f"nobody listens on port {self.port}"
        if ready.path:
            return _get(self.port, ready.path, seconds)
        if ready.asks is not None:
            return self._answered(ready.asks, ready.label, left)
        return ""

    def _answered(self, asks: Callable[[str], object], label: str, left: float) -> str:
        """Ask the buyer's function; one that never answers is left behind, in a thread that holds nobody."""
        told: queue.SimpleQueue[str] = queue.SimpleQueue()

        def ask() -> None:
            try:
                told.put("" if asks(self.url) else f"{label} says no")
            except BaseException as error:  # noqa: BLE001 - a server that is not ready may raise anything
                told.put(f"{label} raised {type(error).__name__}")

        threading.Thread(target=ask, name="procure-ready", daemon=True).start()
        until = time.monotonic() + left
        while time.monotonic() < until and not self._ended(0.0):
            with contextlib.suppress(queue.Empty):
                return told.get(timeout=_PAUSE_S)
        return f"{label} has not answered"


def free_port() -> int:
    """Find a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _get(port: int, path: str, seconds: float) -> str:
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"GET {path}: {type(error).__name__}"
    finally:
        connection.close()
    return "" if status == 200 else f"GET {path} answers {status}"


@atexit.register
def _end_all() -> None:
    for server in list(_running):
        server.close()
