"""One kept-alive HTTP/1.1 connection: sends prepared bytes, takes an answer apart, stamps what arrives.

One stamp a read, because what one read brings has arrived together. Bytes are only collected here; what they
say is read later, when nothing waits to be stamped.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import TYPE_CHECKING

import httptools

from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.backends.endpoints.target import MOST_BODY, MOST_HEAD

if TYPE_CHECKING:  # a connection belongs to a load: the import at run time goes the other way
    from .load import Load

#: Fields of an answer's head that matter, by what they are called here.
WANTED = {
    b"content-type": "type",
    b"content-encoding": "encoding",
    b"content-length": "length",
    b"transfer-encoding": "transfer",
    b"retry-after": "retry_after",
    b"location": "location",
    b"server": "server",
    b"via": "via",
    b"x-served-by": "x-served-by",
    b"x-model-version": "x-model-version",
    b"openai-version": "openai-version",
    b"openai-processing-ms": "",
}
_MOST_NAMES = 1000
#: The head of Linux's `struct tcp_info`: its state, and at byte 24 the segments sent and not acknowledged.
_TCP_INFO = struct.Struct("=B23xI")
_TCP_CLOSE = 7
#: Spellings seen -> WANTED: lower-casing each of twenty fields costs more than all the rest of a head.
_spellings: dict[bytes, str] = {}

now = time.perf_counter_ns


class Connection(asyncio.Protocol):
    """A connection of a load process. At most one query is on its way on it."""

    __slots__ = (
        "answers",
        "buffered",
        "deadline",
        "fields",
        "freed",
        "head_size",
        "headers_at",
        "in_head",
        "is_closed",
        "is_keeping",
        "is_unread",
        "load",
        "parser",
        "parts",
        "query",
        "received",
        "sizes",
        "stamp",
        "stamps",
        "status",
        "transport",
    )

    def __init__(self, load: Load) -> None:
        self.load = load
        self.parser = httptools.HttpResponseParser(self)
        self.transport: asyncio.Transport | None = None
        self.is_closed = False
        self.is_unread = False  # closed by a server that never took the last request
        self.query = -1  # none is on its way
        self.deadline = 0
        self.freed = 0  # when it last became free
        self.stamp = 0
        self._fresh()

    def _fresh(self) -> None:
        """Forget the last answer."""
        self.parts: list[bytes] = []
        self.stamps: list[int] = []
        self.fields: dict[str, bytes] = {}
        self.status = 0
        self.headers_at = -1
        self.in_head = True
        self.head_size = 0
        self.buffered = 0
        self.received = 0
        self.answers = 0
        self.is_keeping = False

    def send(self, query: int, data: bytes, deadline: int) -> None:
        """Send a query's request."""
        self._fresh()
        self.query = query
        self.deadline = deadline
        assert self.transport is not None, "it is connected"
        self.transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self.transport = transport  # type: ignore[assignment]  # TCP gives a transport that reads and writes

    def data_received(self, data: bytes) -> None:
        """Take what came in one read."""
        self.stamp = now()
        if self.query < 0:  # nobody asked
            self.load.unasked(self)
            return
        self.received += len(data)
        if self.in_head:
            self.head_size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.load.broke(self, Failure.PROTOCOL, f"the answer is no HTTP: {error}")
            return
        if self.answers == 1:
            self.load.answered(self)
        elif self.answers > 1:
            self.load.broke(self, Failure.PROTOCOL, "one request was answered more than once")
        elif self.buffered > MOST_BODY:
            self.load.broke(self, Failure.TOO_LARGE, f"the answer is longer than {MOST_BODY >> 20} MiB")
        elif self.in_head and self.head_size > MOST_HEAD:
            self.load.broke(
                self, Failure.TOO_LARGE, f"the answer's head is longer than {MOST_HEAD >> 10} KiB"
            )

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the fields that matter."""
        kind = _spellings.get(name)
        if kind is None:
            kind = WANTED.get(name.lower(), "")
            if len(_spellings) < _MOST_NAMES:
                _spellings[name] = kind
        if kind:
            self.fields[kind] = value

    def on_headers_complete(self) -> None:
        """Note the status; an interim answer (1xx) is none."""
        self.status = self.parser.get_status_code()
        self.headers_at = self.stamp
        self.in_head = False

    def on_body(self, body: bytes) -> None:
        """Collect."""
        self.buffered += len(body)
        if self.buffered <= MOST_BODY:
            self.parts.append(body)
            self.stamps.append(self.stamp)

    def on_message_complete(self) -> None:
        """Count answers; whether the connection can be kept is known only now."""
        if 100 <= self.status < 200:
            self.in_head = True
            self.fields.clear()
            return
        self.answers += 1
        self.is_keeping = self.parser.should_keep_alive()

    def eof_received(self) -> None:
        """Look, before the socket is gone, whether the server had closed it when the request came.

        Then the other end's kernel answers the request with a reset, behind the end or in place of it, or has
        not acknowledged it yet. A server that took the request and closed afterwards is no such case.
        """
        if self.query >= 0 and not self.received and self.freed and self.transport is not None:
            self.is_unread = _is_unread(self.transport.get_extra_info("socket"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Judge what the end of the connection means."""
        self.is_closed = True
        self.stamp = now()
        if self.query < 0:
            self.load.lost(self)
            return
        if isinstance(exc, ConnectionResetError) and not self.received and self.freed:
            self.is_unread = True
        has_end = "length" in self.fields or "transfer" in self.fields
        if exc is None and not self.in_head and not has_end:
            self.load.answered(self)  # it lasted as long as the connection
        elif self.in_head:
            when = "before" if not self.received else "in"
            self.load.broke(self, Failure.RESET, f"the connection was closed {when} the answer's head")
        else:
            self.load.cut(self)

    def close(self) -> None:
        """Close at once; nothing is asked of it any more."""
        self.query = -1
        if self.transport is not None and not self.is_closed:
            self.transport.abort()


def _is_unread(open_socket: socket.socket) -> bool:
    """Whether bytes were sent that the other end's kernel has not taken (Linux)."""
    if not hasattr(socket, "TCP_INFO"):
        return False
    told = open_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    state, unacknowledged = _TCP_INFO.unpack(told)
    return bool(state == _TCP_CLOSE or unacknowledged)
