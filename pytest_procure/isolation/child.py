"""What runs in the candidate's process: load, then answer one call after the other.

RECIPE ──► READY or FAILED          then, in any number:
BEGIN, END ──► DONE                 a run begins, or is over
ECHO ──► DONE                       what a call costs without the candidate
ASK ──► ANSWER or RAISED
CLOSE, or the channel's end         the end
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import pickle
import resource
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import Backend, LoadedBackend
from pytest_procure.errors import ProcureError
from pytest_procure.redaction import quoted

from . import frames
from .arena import mapped
from .arrays import read_shape
from .frames import Frame, Inbox
from .outputs import written

_PR_SET_PDEATHSIG = 1
#: The kernel takes this process before ours when memory runs out.
_OOM_SCORE = "500"
_LONGEST_TEXT = 800


def main(arguments: list[str]) -> None:
    """Serve the channel that the arguments name: its descriptor, both arenas', our parent, its thread."""
    channel, there, back, parent, dies_with_thread = map(int, arguments)
    _bind_to(parent, dies_with_thread=bool(dies_with_thread))
    faulthandler.enable()
    arenas = [
        mapped(number if number >= 0 else None, writable=writable)
        for number, writable in ((there, False), (back, True))
    ]
    for number in (there, back):
        if number >= 0:
            os.close(number)
    _Server(socket.socket(fileno=channel), *arenas).serve()


class _Server:
    def __init__(self, channel: socket.socket, there: mmap | None, back: mmap | None) -> None:
        self._channel = channel
        self._inbox = Inbox(channel)
        self._there = there
        self._back = back
        self._loaded: LoadedBackend | None = None

    def serve(self) -> None:
        """Answer until the channel ends."""
        threading.Thread(target=_end_with, args=(self._channel,), daemon=True).start()
        if not self._load(self._inbox.next()):
            return
        assert self._loaded is not None, "what is ready is loaded"
        predict = self._loaded.predict
        while True:
            frame = self._inbox.next()
            if frame.kind == frames.ASK:
                self._answer(frame, predict)
            elif frame.kind == frames.CLOSE:
                self._loaded.close()
                return
            else:
                if frame.kind == frames.ECHO:
                    self._inputs(frame)
                elif frame.kind == frames.BEGIN:
                    gc.collect()
                    gc.freeze()
                    gc.disable()
                else:
                    gc.enable()
                    gc.unfreeze()
                frames.send(self._channel, frames.DONE, frame.number)

    def _load(self, frame: Frame) -> bool:
        wrong = "its declaration cannot be read in a process of its own"
        try:
            declared: tuple[Backend, Path] = pickle.loads(frame.payload)  # noqa: S301 - from our parent, who made it
            backend, base = declared
            wrong = f"backend {type(backend).__name__} could not be loaded"
            self._loaded = backend.load(base)
            text = json.dumps([self._loaded.device, dict(self._loaded.describe())], allow_nan=False)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an offer raises, it cannot be brought up
            own = isinstance(error, ProcureError)
            said = json.dumps([str(error) if own else f"{wrong}: {type(error).__name__}: {error}"])
            frames.send(self._channel, frames.FAILED, frame.number, frames.TEXT, said.encode())
            return False
        frames.send(self._channel, frames.READY, frame.number, frames.TEXT, text.encode())
        return True

    def _answer(self, frame: Frame, predict: Callable[[Any], Any]) -> None:
        try:
            form, shape, payload = written(predict(self._inputs(frame)))
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is a failed request
            self._raised(frame.number, error)
            return
        size = payload.nbytes if isinstance(payload, np.ndarray) else len(payload)
        if self._back is not None and size <= len(self._back):
            if isinstance(payload, np.ndarray):
                np.ndarray(payload.shape, payload.dtype, buffer=self._back)[...] = payload
            else:
                self._back[:size] = payload
            self._channel.sendall(frames.head(frames.ANSWER, form, frames.SHARED, frame.number, size, shape))
            return
        self._channel.sendall(frames.head(frames.ANSWER, form, frames.INLINE, frame.number, size, shape))
        self._channel.sendall(payload.tobytes() if isinstance(payload, np.ndarray) else payload)

    def _inputs(self, frame: Frame) -> Any:
        """Give a call's inputs: an array that may be read until the call is over, or a list."""
        where = frame.payload
        if frame.place == frames.SHARED:
            assert self._there is not None, "who has no arena does not write into it"
            where = memoryview(self._there)[: frame.size]
        if frame.form == frames.PICKLE:
            return pickle.loads(where)  # noqa: S301 - the buyer's own data, from our parent
        dtype, shape = read_shape(frame.shape, frame.size)
        inputs: np.ndarray[Any, Any] = np.ndarray(shape, dtype, buffer=where)
        inputs.flags.writeable = False
        return inputs

    def _raised(self, number: int, error: BaseException) -> None:
        try:
            text = quoted(str(error), _LONGEST_TEXT)
        except BaseException:  # noqa: BLE001 - the text of a candidate's exception is the candidate's code
            text = "(its text cannot be read)"
        said = json.dumps([type(error).__name__, text])
        frames.send(self._channel, frames.RAISED, number, frames.TEXT, said.encode())


def _bind_to(parent: int, *, dies_with_thread: bool) -> None:
    """Let the kernel end this process with its parent, and leave no core dump behind."""
    # The signal comes when the *thread* that started us ends, which is right for a main thread only.
    if sys.platform == "linux" and dies_with_thread:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before we were bound to it
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")


def _end_with(channel: socket.socket) -> None:
    """Wait for the other end of the channel to close, and end with it, whatever is being computed."""
    poll = select.poll()
    poll.register(channel, getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
    while not poll.poll():
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
