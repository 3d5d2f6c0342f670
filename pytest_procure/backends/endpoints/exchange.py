"""One request and its answer, within one limit on all of it: connecting, asking, each byte of the answer.

A socket's own limit holds for each read, so an answer that drips a byte now and then would never be over.
"""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from time import monotonic
from typing import Any

from .target import Target, trusting


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What was answered; `data` is cut off one byte behind the most that was asked for."""

    status: int
    headers: Message
    data: bytes


def exchange(  # noqa: PLR0913 - what is asked, and what is read of the answer
    target: Target,
    path: str,
    body: bytes | None = None,
    *,
    limit: float,
    most: int,
    only: Callable[[int], bool] = lambda status: True,  # noqa: ARG005 - of every status
) -> Exchanged:
    """Ask with a body, or for what is there, and read up to `most` + 1 bytes. `limit` is in seconds.

    `only`: of which statuses anything is read behind the head.

    Raises `TimeoutError` at the limit, any other `OSError`, and `HTTPException`.
    """
    until = monotonic() + limit

    def timed(sock: socket.socket, *rest: Any, **named: Any) -> http.client.HTTPResponse:
        # Of a socket it takes the reader alone.
        return http.client.HTTPResponse(_Timed(sock, until), *rest, **named)  # type: ignore[arg-type]

    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    connection = _connection(target, limit / len(found))  # each address gets its share of the time
    connection.response_class = timed  # type: ignore[assignment] # which makes one, as the class does
    try:
        connection.connect()
        connection.sock.settimeout(_left(until))
        connection.request("GET" if body is None else "POST", path, body, fields_of(target))
        with connection.getresponse() as answer:
            data = answer.read(most + 1) if only(answer.status) else b""
            return Exchanged(answer.status, answer.headers, data)
    finally:
        connection.close()


def _connection(target: Target, limit: float) -> http.client.HTTPConnection:
    if target.scheme == "http":
        return http.client.HTTPConnection(target.host, target.port, timeout=limit)
    return http.client.HTTPSConnection(target.host, target.port, timeout=limit, context=trusting(target))


def _left(until: float) -> float:
    left = until - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def fields_of(target: Target) -> dict[str, str]:
    """Give the header fields of a request. Raises `ProvisionError` where the key is not there."""
    return dict(part.split(": ", 1) for part in target.head().decode("latin-1").split("\r\n")[1:-1])


class _Timed:
    """A socket of which nothing is read later than its time."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until

    def makefile(self, mode: str) -> io.BufferedReader:
        """Give its reader, as the one of a socket."""
        assert mode == "rb", "answers are read"
        return io.BufferedReader(_TimedReader(self._connection, self._until))


class _TimedReader(io.RawIOBase):
    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until
        self._raw = connection.makefile("rb", buffering=0)  # it keeps the socket open until it is closed

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int | None:
        self._connection.settimeout(_left(self._until))
        return self._raw.readinto(into)

    def close(self) -> None:
        self._raw.close()
        super().close()
