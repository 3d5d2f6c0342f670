"""One kept-alive HTTP/1.1 connection: sends prepared bytes, stamps what arrives.

One stamp a read, because what one read brings has arrived together. Bytes are only collected here; what they
say is read later, when nothing waits to be stamped.
"""

from __future__ import annotations

import socket
import ssl
import struct
import termios
import time
from fcntl import ioctl
from typing import TYPE_CHECKING

from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.backends.endpoints.target import MOST_BODY, MOST_HEAD

from .loop import IN, OUT, STREAM, Loop
from .message import Head, Message, head_of, learn

if TYPE_CHECKING:  # a connection belongs to a load: the import at run time goes the other way
    from .load import Load

#: Most bytes of an answer that are none of its body: sizes of chunks, their extensions, trailers. So a body
#: of any size may come in chunks of 5 bytes, and all attempts of a query fit into the column of 32 bits.
MOST_FRAMING = MOST_BODY
#: Most bytes of one read.
_READ = 64 << 10
#: A server that ends a connection so soon after an answer on it keeps none, whatever it says.
AT_ONCE_NS = 20_000_000
#: Of the answers on a connection the second, and one in so many more, is held against what the server has.
_LOOKED_AT = 16
_INT = struct.Struct("i")
_WANTS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

now = time.perf_counter_ns


class Connection:
    """A connection of a load process. At most one query is on its way on it."""

    __slots__ = (
        "_given",
        "_is_fresh",
        "_loop",
        "_recv",
        "_send",
        "_socket",
        "_unsent",
        "_usual",
        "freed",
        "head_size",
        "is_closed",
        "is_unread",
        "load",
        "message",
        "query",
        "received",
        "requests",
        "stamp",
    )

    def __init__(self, load: Load, loop: Loop, connected: socket.socket) -> None:
        """`connected`: that does not block."""
        self.load = load
        self.message = Message()
        self.is_closed = False
        self.is_unread = False  # closed by a server that never took the last request, after it took others
        self.requests = 0
        self.query = -1  # none is on its way
        self.freed = 0  # when it last became free
        self.stamp = 0  # of the last read, or the end
        self.received = self.head_size = 0
        self._is_fresh = True
        self._usual: Head | None = None  # the head of its last answer: most are alike
        self._unsent = b""
        self._given = 0  # bytes of the last request that the kernel has taken
        self._loop = loop
        self._socket = connected
        # Looked up once.
        self._recv, self._send = connected.recv, connected.send
        loop.watch(connected.fileno(), self.readable, STREAM)

    def send(self, data: bytes) -> None:
        """Send the request of `query`."""
        if not self._is_fresh:
            self.message.fresh()
            self.received = self.head_size = 0
            self._is_fresh = True
        self.requests += 1
        try:
            sent = self._send(data)
        except _WANTS:
            sent = 0
        except OSError:
            self._given = 0
            return  # it is broken: reading will say how
        self._given = sent
        if sent < len(data):
            self._is_fresh = False
            self._unsent = data[sent:]
            self._loop.watch(self._socket.fileno(), self._writable, IN | OUT)

    @property
    def is_keeping(self) -> bool:
        """Whether another request can be sent on it."""
        return self.message.is_keeping and not self.is_closed and not self._unsent

    def readable(self) -> bool:
        """Take what came; whether something did, and more may."""
        try:
            data = self._recv(_READ)
        except _WANTS:
            return False
        except OSError:
            self._ended(cleanly=False)
            return False
        self.stamp = stamp = now()
        head: Head | None = self._usual
        if head is None or len(data) != head.whole or not data.startswith(head.text):
            head = self._usual = head_of(data)
        if (
            head is not None
            and self._is_fresh
            and self.query >= 0
            and (self.requests % _LOOKED_AT != 2 or not self._is_early())
        ):
            self.load.whole(self, head, data, stamp)
        elif data:
            self._take(data)
        else:
            self._ended(cleanly=True)
            return False
        if len(data) == _READ:
            self._loop.soon(self._read_on)
        return not self.is_closed

    def close(self) -> None:
        """Close at once; nothing is asked of it any more."""
        self.query = -1
        if not self.is_closed:
            self.is_closed = True
            self._loop.close(self._socket)

    def _read_on(self) -> None:
        """Take more than one read brings, behind what has come on other connections."""
        if not self.is_closed:
            self.readable()

    def _writable(self) -> None:
        """Send what is left, and look whether something came."""
        try:
            sent = self._send(self._unsent)
            self._given += sent
            self._unsent = self._unsent[sent:]
        except _WANTS:
            pass
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self._loop.watch(self._socket.fileno(), self.readable, STREAM)
        self.readable()

    def _take(self, data: bytes) -> None:
        if self.query < 0:  # nobody asked
            self.load.unasked(self)
        else:
            self._take_apart(data)

    def _is_early(self) -> bool:
        """Whether the server answers what it has not got yet, as far as one answer in some is looked at.

        An answer acknowledges its request. One that does not was sent before, and guesses.
        """
        return _unacknowledged(self._socket) > 0

    def _take_apart(self, data: bytes) -> None:
        """Any answer, as its bytes come."""
        self._is_fresh = False
        message = self.message
        self.received += len(data)
        if message.in_head:
            self.head_size += len(data)
        trouble = message.feed(data, self.stamp)
        if trouble:
            self.load.broke(self, Failure.PROTOCOL, trouble)
        elif message.begun > 1:
            self.load.broke(self, Failure.PROTOCOL, "one request was answered more than once")
        elif (
            message.answers == 1
            and message.status == 200
            and self.requests % _LOOKED_AT == 2
            and self._is_early()
        ):
            self.load.broke(self, Failure.PROTOCOL, "it was answered before the server had it")
        elif message.answers == 1:
            if self.received == len(data):
                learn(data, message)
            self.load.answered(self)
        elif message.buffered > MOST_BODY:
            self.load.broke(self, Failure.TOO_LARGE, f"the answer is longer than {MOST_BODY >> 20} MiB")
        elif self.received - message.buffered > MOST_FRAMING:
            self.load.broke(
                self,
                Failure.TOO_LARGE,
                f"the answer takes more than {MOST_FRAMING >> 20} MiB beside its body",
            )
        elif message.in_head and self.head_size > MOST_HEAD:
            self.load.broke(
                self, Failure.TOO_LARGE, f"the answer's head is longer than {MOST_HEAD >> 10} KiB"
            )

    def _ended(self, *, cleanly: bool) -> None:
        """Judge what the end of the connection means."""
        stamp = now()
        if self.query >= 0 and not self.received and self.requests > 1:
            is_told = cleanly or stamp - self.stamp < AT_ONCE_NS
            # An orderly end acknowledges all that came before it, so that nobody can have read a request of
            # which no byte is. A reset acknowledges nothing, and shows nothing alone.
            self.is_unread = not self._given or (is_told and _unacknowledged(self._socket) >= self._given)
        self.is_closed = True
        self._loop.close(self._socket)
        self.stamp = stamp
        message = self.message
        if self.query < 0:
            self.load.lost(self)
        elif cleanly and not message.in_head and not message.has_end:
            self.load.answered(self)  # it lasted as long as the connection
        elif message.in_head:
            when = "before" if not self.received else "in"
            self.load.broke(self, Failure.RESET, f"the connection was closed {when} the answer's head")
        else:
            self.load.answered(self, cut=True)


class SecureConnection(Connection):
    """The same over TLS, whose records may lie here where the kernel no longer tells of them."""

    __slots__ = ()

    def readable(self) -> bool:
        """Take what came, record behind record, until there is no more."""
        while super().readable():
            pass
        return False


def _unacknowledged(connected: socket.socket) -> int:
    """Count the bytes sent that the server's kernel has not acknowledged."""
    left = bytearray(_INT.size)
    ioctl(connected.fileno(), termios.TIOCOUTQ, left)
    count: int = _INT.unpack(left)[0]
    return count
