"""Frames on the channel: a fixed head, a few bytes of form, and a payload unless that lies in the arena.

    head     magic, kind, form, place, sequence number, bytes of payload, bytes of form   32 bytes
    form     how to read the payload: type and shape of an array, nothing otherwise
    payload  here (`INLINE`), or in shared memory from byte 0 on (`SHARED`)

A channel carries one frame there and one back, in turn. The sequence number says which answer belongs to
which question.
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from .endings import Breach

HEAD = struct.Struct("<IBBBxQQI4x")
_MAGIC = 0x70_72_6F_63

# kinds, there ...
RECIPE, BEGIN, ASK, ECHO, END, CLOSE = range(1, 7)
# ... and back
READY, FAILED, ANSWER, RAISED, DONE = range(11, 16)
# forms of a payload
NOTHING, ARRAY, SCALARS, INTEGERS, PLAIN, PICKLE, TEXT = range(7)
# places of a payload
INLINE, SHARED = range(2)

#: More than any batch of answers; a length beyond it is no length.
MOST_BYTES = 1 << 30
#: A type in 24 bytes, a number of dimensions, and at most 64 of them (numpy's own limit).
MOST_FORM = 25 + 64 * 8
#: What one read may bring: a small answer takes one system call.
_CHUNK = 1 << 16


class Frame(NamedTuple):
    """One frame; `payload` is empty where it lies in shared memory, and valid until the next is read."""

    kind: int
    form: int
    place: int
    number: int
    size: int
    shape: bytes
    payload: memoryview


def head(  # noqa: PLR0913, PLR0917 - a frame's fields, in their order
    kind: int, form: int, place: int, number: int, size: int, shape: bytes = b""
) -> bytes:
    """Write the head and form of a frame."""
    return HEAD.pack(_MAGIC, kind, form, place, number, size, len(shape)) + shape


def send(channel: socket.socket, kind: int, number: int, form: int = NOTHING, payload: bytes = b"") -> None:
    """Send a whole frame with its payload."""
    channel.sendall(head(kind, form, INLINE, number, len(payload)))
    if payload:
        channel.sendall(payload)


class Inbox:
    """Reads frames from a channel whose other end may send anything."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._chunk = memoryview(bytearray(_CHUNK))

    def next(self) -> Frame:
        """Wait for a frame. Raises `EOFError` when the channel is closed, `Breach` for what is no frame."""
        got = self._channel.recv_into(self._chunk)
        while got < HEAD.size:
            got += self._more(self._chunk[got:])
        magic, kind, form, place, number, size, length = HEAD.unpack_from(self._chunk)
        if magic != _MAGIC or size > MOST_BYTES or length > MOST_FORM or place > SHARED:
            raise no_answer()
        total = HEAD.size + length + (size if place == INLINE else 0)
        whole = self._chunk
        if total > len(whole):
            whole = memoryview(bytearray(total))
            whole[:got] = self._chunk[:got]
        while got < total:
            got += self._more(whole[got:total])
        if got > total:
            raise _unasked(whole[total:got])
        start = HEAD.size + length
        return Frame(kind, form, place, number, size, bytes(whole[HEAD.size : start]), whole[start:total])

    def unasked(self) -> Breach | None:
        """Tell what came without being asked for, if anything did; wait for nothing."""
        try:
            got = self._channel.recv_into(self._chunk, 0, socket.MSG_DONTWAIT)
        except OSError:
            return None
        return _unasked(self._chunk[:got]) if got else None

    def _more(self, into: memoryview) -> int:
        got = self._channel.recv_into(into)
        if not got:
            raise EOFError
        return got


def twice() -> Breach:
    """Say that a call was answered again."""
    return Breach("it answered one call more than once", "duplicate")


def no_answer() -> Breach:
    """Say that what came answers nothing."""
    return Breach("it sent bytes on the channel that are no answer")


def _unasked(rest: memoryview) -> Breach:
    return twice() if len(rest) >= HEAD.size and HEAD.unpack_from(rest)[0] == _MAGIC else no_answer()
