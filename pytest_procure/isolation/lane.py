"""A lane to one process of a candidate: a call goes there, and its answer comes back, one at a time."""

from __future__ import annotations

import json
import threading
import time
from functools import lru_cache
from typing import Any

from pytest_procure.errors import DataError, ProvisionError
from pytest_procure.redaction import quoted

from . import frames
from .endings import Breach, Ended, Ending, broken_off
from .frames import Frame, Inbox
from .inputs import Outbox
from .kernel import waited_ns
from .outputs import read
from .process import LAST_SECONDS, Process
from .warden import Memory

#: Loading takes minutes for large models; what takes longer is taken for stuck.
LOAD_SECONDS = 600.0
#: What a backend may tell of itself.
_MOST_TOLD = 1 << 20
_LONGEST_DEVICE = 80
_LONGEST_REFUSAL = 2000
#: A name of an exception's class, as it stands in the request log.
_LONGEST_NAME = 60


class Lane:
    """A process that has loaded the backend of `recipe`.

    Raises `ProvisionError` when the backend cannot be loaded there.
    """

    def __init__(self, recipe: bytes, memory: Memory) -> None:
        self.ending: Ending | None = None
        self._process = Process(memory)
        self._inbox = Inbox(self._process.channel)
        self._outbox = Outbox(self._process.channel, self._process.there)
        self._lock = threading.Lock()
        self._number = 0
        self._asked = False
        self._limit = LOAD_SECONDS
        try:
            self.device, self.disclosed = self._load(recipe)
        except BaseException:  # also when somebody stops the session while it loads
            self._process.kill()
            self._release()
            raise

    def ask(self, batch: Any) -> Any:
        """Have a batch answered. Raises `Ended`, what the backend raised, or `DataError` for the inputs."""
        with self._lock:
            frame = self._exchange(frames.ASK, batch)
            try:
                return self._answer(frame)
            except Breach as breach:
                raise self._ended(breach) from None

    def echo(self, batch: Any) -> int:
        """Send a batch there that nobody looks at, and give the ns that it took. Raises as `ask` does."""
        with self._lock:
            before = time.perf_counter_ns()
            self._exchange(frames.ECHO, batch)
            return time.perf_counter_ns() - before

    def begin(self, limit: float) -> None:
        """Begin a run, in which no call may take longer than `limit` seconds."""
        self._limit = limit
        self._tell(frames.BEGIN)

    def end(self) -> None:
        """End a run, and look whether more came back than was asked for."""
        if not self._lock.acquire(timeout=LAST_SECONDS):
            return  # a thread hangs in it that not even the end of the process has freed
        try:
            if self.ending is None and (breach := self._inbox.unasked()) is not None:
                self._ended(breach)
        finally:
            self._lock.release()
        try:
            self._tell(frames.END)
        except Ended:
            return

    def look(self) -> Ending | None:
        """Tell how the process ended, if it has."""
        with self._lock:
            if self.ending is None and self._process.gone:
                self._ended(None)
        return self.ending

    def kill_if_asked(self, cause: Ending) -> None:
        """End the process if a call is still running in it."""
        if self._asked:
            self._process.kill(cause)

    def close(self) -> str:
        """End the process; give what was wrong about its end, if that is not known yet."""
        if self._asked:
            self._process.kill()
        breach = None if self.ending is not None else self._inbox.unasked()
        wrong = self._process.close() or ("" if breach is None else str(breach))
        known, self.ending = self.ending, self.ending or Ending("exit", "its process was closed", "an end")
        self._release()
        return "" if known else wrong

    def cpu_ns(self) -> int:
        """Give the processor time of the process."""
        return self._process.cpu_ns()

    def waited_ns(self) -> int | None:
        """Tell how long the thread that answers has waited for a processor; None where unknown."""
        return None if self._process.gone else waited_ns(self._process.pid)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def _exchange(self, kind: int, batch: Any = None) -> Frame:
        """Send a frame and wait for the one that answers it. The lock is held."""
        if self.ending is not None:
            raise Ended(self.ending.sentence)
        self._number = number = self._number + 1
        self._asked = True
        self._process.watch(time.monotonic(), self._limit)
        try:
            if kind in _BY_BATCH:
                self._outbox.send(kind, number, batch)
            else:
                frames.send(self._process.channel, kind, number, frames.PICKLE, batch or b"")
            frame = self._inbox.next()
            self._check(frame, number)
        except Breach as breach:
            raise self._ended(breach) from None
        except (OSError, EOFError):
            raise self._ended(None) from None
        except DataError:
            raise  # nothing was sent
        except BaseException:
            self._process.kill(broken_off())  # what it answers now would be taken for the next answer
            raise
        finally:
            self._process.watch(0.0, 0.0)
            self._asked = False
        return frame

    def _check(self, frame: Frame, number: int) -> None:
        if frame.number != number:
            raise frames.twice() if frame.number < number else frames.no_answer()
        back = self._process.back
        if frame.place == frames.SHARED and (back is None or frame.size > len(back)):
            raise frames.no_answer()

    def _answer(self, frame: Frame) -> Any:
        if frame.kind == frames.ANSWER:
            back = self._process.back
            shared = back is not None and frame.place == frames.SHARED
            return read(
                frame.form,
                frame.shape,
                memoryview(back)[: frame.size] if shared else frame.payload,  # type: ignore[arg-type]  # `shared` says that it is there
            )
        if frame.kind == frames.RAISED:
            name, text = _told(frame, str, str)
            raise _named(name)(text)
        raise frames.no_answer()

    def _tell(self, kind: int) -> None:
        with self._lock:
            if self._exchange(kind).kind != frames.DONE:
                raise self._ended(frames.no_answer())

    def _load(self, recipe: bytes) -> tuple[str, dict[str, Any]]:
        """Have the backend loaded; give its device, and what it discloses."""
        try:
            with self._lock:
                return _introduction(self._exchange(frames.RECIPE, recipe))
        except Breach as breach:
            said = self._process.conclude(breach).sentence
        except Ended as error:
            said = str(error)
        raise ProvisionError(f"it could not be loaded in a process of its own: {said}")

    def _ended(self, breach: Breach | None) -> Ended:
        """Find out how the process ended, or end it for what it sent. The lock is held."""
        self.ending = self._process.conclude(breach)
        return Ended(self.ending.sentence)

    def _release(self) -> None:
        self._outbox.release()
        self._process.release()


_BY_BATCH = {frames.ASK, frames.ECHO}


def _introduction(frame: Frame) -> tuple[str, dict[str, Any]]:
    """Read what a loaded backend says of itself. Raises `Breach`, or `ProvisionError` for one that is not."""
    if frame.kind == frames.FAILED:
        (said,) = _told(frame, str)
        raise ProvisionError(quoted(said, _LONGEST_REFUSAL))
    if frame.kind != frames.READY:
        raise frames.no_answer()
    device, disclosed = _told(frame, str, dict)
    if not device.isprintable() or len(device) > _LONGEST_DEVICE:
        raise Breach(f"it named its device in more than {_LONGEST_DEVICE} printable characters")
    return device, disclosed


def _told(frame: Frame, *kinds: type) -> list[Any]:
    """Read a list of JSON values of these kinds. Raises `Breach`."""
    if frame.form != frames.TEXT or frame.place != frames.INLINE or frame.size > _MOST_TOLD:
        raise frames.no_answer()
    try:
        told = json.loads(bytes(frame.payload))
    except (ValueError, RecursionError):
        raise frames.no_answer() from None
    if not isinstance(told, list) or [type(each) for each in told] != list(kinds):
        raise frames.no_answer()
    return told


@lru_cache(maxsize=64)
def _named(name: str) -> type[Exception]:
    """Make an exception class of that name, so that a failure reads the same here as there."""
    return type(name if name.isidentifier() and len(name) <= _LONGEST_NAME else "Exception", (Exception,), {})
