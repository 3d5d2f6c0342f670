"""One thread that waits for descriptors and calls whoever looks after them.

A load process asks the kernel for no more than a client must: one wait for all that is ready, and of each
request one write and one read. Event loops that serve every purpose take twice as long for a small request.
Timers are descriptors too (`Alarm`).
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

IN, OUT = select.EPOLLIN, select.EPOLLOUT
#: Told once when it becomes readable, so that nobody has to read it: for timers.
EDGE = select.EPOLLIN | select.EPOLLET
#: The same of a connection, whose end may come together with bytes. The kernel does not look again at what it
#: has told of, which is a thirtieth of a small request.
STREAM = EDGE | select.EPOLLRDHUP


class Loop:
    """Descriptors and their handlers.

    A handler takes what is there and never waits. One that says yes is called again when the other side has
    ended, until it says no.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[], object]] = {}
        self._closing: list[socket.socket] = []
        self._soon: list[Callable[[], object]] = []

    def watch(self, descriptor: int, handler: Callable[[], object], events: int = IN) -> None:
        """Call `handler` whenever one of `events` is there; in place of the one before, if there was one."""
        if descriptor in self._handlers:
            self._epoll.modify(descriptor, events)
        else:
            self._epoll.register(descriptor, events)
        self._handlers[descriptor] = handler

    def forget(self, descriptor: int) -> None:
        """Watch it no more."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def close(self, connected: socket.socket) -> None:
        """Watch a socket no more, and close it.

        Behind what is being told now: its number must not be another's as long as it may still be told of.
        """
        self.forget(connected.fileno())
        self._closing.append(connected)

    def soon(self, function: Callable[[], object]) -> None:
        """Call it once, behind what is ready now."""
        self._soon.append(function)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Wait and call until `is_over()`."""
        poll, handlers = self._epoll.poll, self._handlers
        while not is_over():
            for descriptor, events in poll(0 if self._soon else None):
                handler = handlers.get(descriptor)
                if handler is not None and handler() and events != IN:
                    while handler():  # to the end, of which nobody tells a second time
                        pass
            if self._closing:
                for each in self._closing:
                    each.close()
                self._closing.clear()
            if self._soon:
                functions, self._soon = self._soon, []
                for function in functions:
                    function()
