"""The connections of a load: in use, free, and being opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from .connection import Connection, now
from .loop import Loop
from .retry import OWN_LIMITS

if TYPE_CHECKING:  # connections belong to a load: the import at run time goes the other way
    from .load import Load

#: Opens a connection for a load, and tells later of it, or of why there is none.
Dial = Callable[["Load", Callable[[Connection | OSError], None]], None]


class Pool:
    """At most `most` connections at once."""

    def __init__(self, load: Load, dial: Dial, most: int) -> None:
        self.every: set[Connection] = set()
        self.free: list[Connection] = []
        self.opened = 0  # for queries that waited
        self.short_of: set[str] = set()  # what this machine had no more of, in words
        self._load = load
        self._dial = dial
        self._most = most
        self._opening = 0

    @property
    def is_full(self) -> bool:
        """Whether no more can be open."""
        return len(self.every) >= self._most

    def open_for(self, waiting: int) -> None:
        """Open connections for so many who wait, as far as the limit allows; the load is told of each."""
        began = now()

        def told(came: Connection | OSError) -> None:
            self._opening -= 1
            if isinstance(came, Connection):
                self.every.add(came)
                self._load.connected(came)
            elif came.errno in OWN_LIMITS:
                # It is nobody else's doing: those who wait go on waiting, and the next sweep tries again.
                self.short_of.add(os.strerror(came.errno))
            else:
                self._load.unconnected(came, began)

        while self._opening < waiting and len(self.every) + self._opening < self._most:
            self._opening += 1
            self.opened += 1
            self._dial(self._load, told)

    def drop(self, connection: Connection) -> None:
        """Close one, whatever it does."""
        connection.close()
        self.every.discard(connection)
        if connection in self.free:
            self.free.remove(connection)

    def warm(self, wanted: int, loop: Loop) -> None:
        """Open connections before the window, until there are this many. Raises what connecting raises."""
        came: list[Connection | OSError] = []
        while len(self.every) < min(wanted, self._most) and not self._load.is_over:
            self._dial(self._load, came.append)
            loop.run(lambda: bool(came) or self._load.is_over)
            if came:
                connection = came.pop()
                if isinstance(connection, OSError):
                    raise connection
                self.every.add(connection)
                self.free.append(connection)

    def adopt(self, other: Pool) -> None:
        """Take over the free connections of a load that is over."""
        for connection in other.free:
            connection.load = self._load
            connection.freed = 0
            self.every.add(connection)
            self.free.append(connection)
        other.every.clear()
        other.free.clear()
