"""Opens connections: finds the host once, before the run, and stays with an address that answers.

A host may have several, of which some are dead: IPv6 where only IPv4 gets through. They are tried in turn,
each for its share of the time that is left, and the one that answered comes first from then on (after
RFC 8305, without its races: two connections at a time would be one too many for the server that is measured).
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Callable
from typing import Any

from pytest_procure.backends.endpoints.target import Target, trusting

from .alarm import Alarm
from .connection import Connection, SecureConnection, now
from .load import Load
from .loop import EDGE, IN, OUT, Loop

Then = Callable[[Connection | OSError], None]
Address = tuple[socket.AddressFamily, Any]


class Dialler:
    """Opens connections to a target; each within `patience_ns`."""

    def __init__(self, loop: Loop, target: Target, patience_ns: int) -> None:
        """Raise `OSError` where the host cannot be found."""
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        self.addresses: list[Address] = list(
            dict.fromkeys((family, where) for family, _, _, _, where in found)
        )
        self.loop = loop
        self.host = target.host
        self.context: ssl.SSLContext | None = None
        if target.scheme == "https":
            self.context = trusting(target)
            self.context.set_alpn_protocols(["http/1.1"])
        self._patience_ns = patience_ns
        self._under_way: dict[_Attempt, int] = {}  # and when its address has had its share of the time
        self._alarm = Alarm()
        loop.watch(self._alarm.fd, self._rung, EDGE)

    def __call__(self, load: Load, then: Then) -> None:
        """Open a connection for `load`; `then` is told of it, or why there is none: later, never at once."""
        self.soon(_Attempt(self, load, then, now() + self._patience_ns))

    @property
    def address(self) -> str:
        """The one in use."""
        return str(self.addresses[0][1][0])

    def soon(self, attempt: _Attempt) -> None:
        """Let an attempt try its next address, and ring when that has had its share."""
        self._under_way[attempt] = due = attempt.share_ends(now())
        if len(self._under_way) == 1 or due < self._alarm.due:
            self._alarm.set(due)
        self.loop.soon(attempt.begin)

    def over(self, attempt: _Attempt) -> None:
        """It has come to its end."""
        self._under_way.pop(attempt, None)

    def _rung(self) -> None:
        """Give up what takes too long, and set the alarm for the next."""
        stamp = now()
        for attempt in [each for each, due in self._under_way.items() if due <= stamp]:
            attempt.failed(TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)))
        if self._under_way:  # also those that began meanwhile, in place of the ones that failed
            self._alarm.set(min(self._under_way.values()))


class _Attempt:
    """One connection that is being opened: address by address, then TLS."""

    __slots__ = ("_dialler", "_left", "_load", "_socket", "_then", "_until")

    def __init__(self, dialler: Dialler, load: Load, then: Then, until: int) -> None:
        self._dialler = dialler
        self._load = load
        self._then: Then | None = then
        self._until = until
        self._left = list(dialler.addresses)
        self._socket: socket.socket | None = None

    def share_ends(self, stamp: int) -> int:
        """Give until when the next address may take: those that are left share the time that is."""
        return stamp + (self._until - stamp) // len(self._left)

    def begin(self) -> None:
        """Try the next address."""
        if self._then is None or self._socket is not None:  # its time was over before it began
            return
        family, where = self._left[0]
        try:
            self._socket = socket.socket(family, socket.SOCK_STREAM)
            self._socket.setblocking(False)  # noqa: FBT003 - its name says what
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = self._socket.connect_ex(where)
            if code not in {0, errno.EINPROGRESS}:
                raise OSError(code, os.strerror(code))  # noqa: TRY301 - all that can go wrong goes one way
        except OSError as error:
            self.failed(error)
            return
        self._dialler.loop.watch(self._socket.fileno(), self._connected, OUT)

    def _connected(self) -> None:
        """TCP has connected, or not."""
        assert self._socket is not None, "it was watched"
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self.failed(OSError(code, os.strerror(code)))
            return
        dialler = self._dialler
        if dialler.context is None:
            self._done(Connection(self._load, dialler.loop, self._socket))
            return
        dialler.loop.forget(self._socket.fileno())
        try:
            self._socket = dialler.context.wrap_socket(
                self._socket, server_hostname=dialler.host, do_handshake_on_connect=False
            )
        except (OSError, ValueError) as error:  # a host's name may be none that TLS can ask for
            self.failed(error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error)))
            return
        self._shake_hands()

    def _shake_hands(self) -> None:
        """TLS: one message further."""
        assert isinstance(self._socket, ssl.SSLSocket), "it was wrapped"
        loop = self._dialler.loop
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            loop.watch(self._socket.fileno(), self._shake_hands, IN)
        except ssl.SSLWantWriteError:
            loop.watch(self._socket.fileno(), self._shake_hands, OUT)
        except OSError as error:
            self.failed(error)
        else:
            self._done(SecureConnection(self._load, loop, self._socket))

    def failed(self, error: OSError) -> None:
        """Try another address, if there is one."""
        self._close()
        del self._left[0]
        if self._left:
            self._dialler.soon(self)
        else:
            self._end(error)

    def _done(self, connection: Connection) -> None:
        first = self._left[0]
        addresses = self._dialler.addresses
        if addresses[0] != first:
            addresses.remove(first)
            addresses.insert(0, first)
        self._socket = None
        self._end(connection)

    def _end(self, came: Connection | OSError) -> None:
        self._dialler.over(self)
        then, self._then = self._then, None
        if then is not None:
            then(came)

    def _close(self) -> None:
        if self._socket is not None:
            self._dialler.loop.close(self._socket)
            self._socket = None
