"""A batch of inputs on its way to the process: arrays in shared memory, everything else pickled by us."""

from __future__ import annotations

import mmap
import pickle
import socket
from typing import Any

import numpy as np

from pytest_procure.errors import DataError

from . import frames
from .arrays import is_plain, shape_of

#: Batches differ in size only, so that a run has few shapes.
_KNOWN_SHAPES = 256


class Outbox:
    """Sends batches. What they need besides their bytes is worked out once a shape."""

    def __init__(self, channel: socket.socket, arena: mmap.mmap | None) -> None:
        self._channel = channel
        self._arena = arena
        self._places: dict[Any, tuple[bytes, Any]] = {}

    def send(self, kind: int, number: int, batch: Any) -> None:
        """Send a batch. Raises `DataError` for what cannot be sent, and `OSError` where nobody listens."""
        known = self._places.get((batch.shape, batch.dtype)) if type(batch) is np.ndarray else None
        if known is None and not is_plain(batch):
            self._pickled(kind, number, batch)
            return
        shape, place = known or self._place(batch)
        if place is not None:
            place[...] = batch
            self._channel.sendall(frames.head(kind, frames.ARRAY, frames.SHARED, number, batch.nbytes, shape))
            return
        _check_size(batch.nbytes)
        self._channel.sendall(frames.head(kind, frames.ARRAY, frames.INLINE, number, batch.nbytes, shape))
        self._channel.sendall(batch.tobytes())

    def release(self) -> None:
        """Let go of the arena."""
        self._places.clear()
        self._arena = None

    def _place(self, batch: np.ndarray[Any, Any]) -> tuple[bytes, Any]:
        """Give type and shape as bytes, and a batch's place in the arena; None where it has none."""
        fits = self._arena is not None and batch.nbytes <= len(self._arena)
        place = np.ndarray(batch.shape, batch.dtype, buffer=self._arena) if fits else None
        found = (shape_of(batch), place)
        if len(self._places) < _KNOWN_SHAPES:
            self._places[batch.shape, batch.dtype] = found
        return found

    def _pickled(self, kind: int, number: int, batch: Any) -> None:
        try:
            data = pickle.dumps(batch, protocol=5)
        except Exception as error:
            said = " ".join(str(error).split())
            raise DataError(
                f"a sample cannot be sent to a process of its own: {type(error).__name__}: {said}; "
                "keep samples to numbers, text, bytes and arrays, or declare `isolation='none'`"
            ) from error
        _check_size(len(data))
        if self._arena is not None and len(data) <= len(self._arena):
            self._arena[: len(data)] = data
            self._channel.sendall(frames.head(kind, frames.PICKLE, frames.SHARED, number, len(data)))
            return
        frames.send(self._channel, kind, number, frames.PICKLE, data)


def _check_size(size: int) -> None:
    if size > frames.MOST_BYTES:
        raise DataError(
            f"a batch of inputs takes {size / 1e9:.2f} GB, more than goes to a process of its own at once "
            f"({frames.MOST_BYTES / 1e9:.2f} GB); lower `max_batch`, or declare `isolation='none'`"
        )
