"""The load of one process: its part of the schedule, sent when due, on as many connections as it takes.

    due ──► free connection ──► sent ──► answered ──► settle
     └────► waiting ──► a connection becomes free, or a new one opens
                        answered badly, a retry is left ──► later ──► waiting

A closed loop keeps `concurrency` queries under way; an open loop sends when due whether or not the endpoint
keeps up, on at most `connections` connections.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Sequence

from pytest_procure.backends.endpoints.failure import Failure

from .alarm import Alarm
from .columns import Columns
from .connection import Connection, now
from .retry import is_retried, pause_ns, told
from .settle import Settler
from .traffic import Traffic

_SWEEP_NS = 10_000_000
#: A server that closes a connection so soon after an answer on it keeps none, whatever it says.
_AT_ONCE_NS = 20_000_000
#: Answers between two sweeps up to which there is time to read some.
_CALM = 20
_FOREVER = 2**63 - 1


class Load:
    """Sends, waits, and notes when; all times in the columns are ns from `origin`."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a process has to bring together
        self,
        traffic: Traffic,
        columns: Columns,
        settler: Settler,
        requests: Sequence[tuple[bytes, bytes]],
        connect: Callable[[Load], asyncio.Future[object]],
        control: memoryview,
    ) -> None:
        self.traffic = traffic
        self.columns = columns
        self.settler = settler
        self.done = asyncio.Event()
        self.lateness: list[int] = []  # ns, of each sweep
        self.opened = 0  # connections, in the window
        self.unasked_for = 0  # connections on which bytes came that nothing had asked for
        self.keeps = True  # the server keeps connections, as far as was seen
        self.resent = 0  # queries sent again, because the server closed a kept connection as they were sent
        self.pinned_ns = 0  # time in which queries waited because all connections were in use
        self.origin = 0
        self._requests = requests
        self._connect = connect
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm()
        self._all: set[Connection] = set()
        self._free: list[Connection] = []
        self._opening = 0
        self._waiting: deque[int] = deque()
        self._later: list[tuple[int, int]] = []  # (absolute ns, query): retries, and who thinks
        self._next = traffic.first
        self._under_way = 0
        self._missing = 0  # answers to the query of several requests that is under way
        self._until = _FOREVER
        self._sweep_due = 0
        self._settling = False
        self._over = False
        self._ended = 0
        self._last_end = 0
        self._settled = 0  # of those ended, at the last sweep
        # Looked up once: a name in a dict costs as much as the store itself.
        self._sent = columns["sent"]
        self._scheduled = columns["scheduled"]
        self._items = columns["item"]
        self._lag = columns["lag"]
        self._headers = columns["headers"]
        self._ends = columns["ended"]
        self._received = columns["received"]
        self._retries = columns["retries"]

    # The window

    def begin(self, origin: int) -> None:
        """Let it run from `origin` on, a time of `perf_counter_ns`."""
        self.origin = self.settler.origin = origin
        traffic = self.traffic
        if traffic.duration_ns is not None:
            self._until = origin + traffic.duration_ns
        self._loop.add_reader(self._alarm.fd, self._rung)
        self._sweep_due = origin
        self._alarm.set(origin)

    def stop(self) -> None:
        """Give up what is under way: it stays without an answer."""
        if self._over:
            return
        self._over = True
        self._tell()
        if self.origin:
            self._loop.remove_reader(self._alarm.fd)
        for connection in [each for each in self._all if each.query >= 0]:
            self._all.discard(connection)
            connection.close()
        self.done.set()

    def _rung(self) -> None:
        """Do what is due: send, expire, and set the alarm again."""
        self._alarm.silence()
        if self._over:
            return
        stamp = now()
        traffic = self.traffic
        if traffic.concurrency is None:
            self._send_due(stamp)
        elif self._sweep_due == self.origin:
            for _ in range(traffic.concurrency):
                self._take(stamp)
        while self._later and self._later[0][0] <= stamp:
            due, query = heapq.heappop(self._later)
            self._start(query, due) if query >= 0 else self._take(stamp)
        if stamp >= self._sweep_due:
            self.lateness.append(stamp - self._sweep_due)
            self._sweep(stamp)
            self._sweep_due = stamp + _SWEEP_NS
            is_calm = self._ended - self._settled < _CALM
            self._settled = self._ended
            if not self._settling and (is_calm or self.settler.is_full):
                self._settle()
        self._set_alarm()
        self._check_over()

    def _set_alarm(self) -> None:
        due = self._sweep_due
        if self.traffic.concurrency is None and self._next < self.traffic.total:
            due = min(due, self.origin + self._scheduled[self._next])
        if self._later:
            due = min(due, self._later[0][0])
        self._alarm.set(due)

    def _send_due(self, stamp: int) -> None:
        query, total, step = self._next, self.traffic.total, self.traffic.step
        origin, scheduled = self.origin, self._scheduled
        while query < total and origin + scheduled[query] <= stamp:
            self._under_way += 1
            self._start(query, origin + scheduled[query])
            query += step
        self._next = query

    def _take(self, stamp: int) -> None:
        """Closed loop: take the next query, if there is one and time is left."""
        query = self._next
        if query >= self.traffic.total or stamp >= self._until or self._over:
            return
        self._next = query + self.traffic.step
        together = self._missing = self.traffic.together
        self._under_way += together
        for each in range(query, query + together):
            self._scheduled[each] = stamp - self.origin
            self._start(each, stamp)

    def _start(self, query: int, due: int) -> None:
        """Send a query that is due, or let it wait for a connection."""
        if self._free:
            connection = self._free.pop()
            self._send(query, connection, max(due, connection.freed))
            return
        self._waiting.append(query)
        self._open()

    def _send(self, query: int, connection: Connection, could: int) -> None:
        """`could`: since when it could have been sent."""
        before, behind = self._requests[self._items[query]]
        data = b"%s%d.%d%s" % (before, query, self._retries[query], behind)
        deadline = self.origin + self._scheduled[query] + self.traffic.timeout_ns
        stamp = now()
        if self._sent[query] < 0:
            self._sent[query] = stamp - self.origin
            self._lag[query] = stamp - could if stamp > could else 0
        connection.send(query, data, deadline)

    # What connections tell

    def answered(self, connection: Connection) -> None:
        """An answer has come to its end."""
        self._take_over(connection, cut=False)

    def cut(self, connection: Connection) -> None:
        """The connection was closed in the middle of an answer's body."""
        self._take_over(connection, cut=True)

    def broke(self, connection: Connection, failure: Failure, text: str) -> None:
        """There is no answer, and the connection is of no use any more."""
        query, stamp = connection.query, connection.stamp
        self._received[query] += connection.received
        connection.close()
        self._all.discard(connection)
        if connection.is_unread:  # it was never taken, on a connection that was to be kept; latency runs on
            self.resent, self.keeps = self.resent + 1, False
            self._waiting.appendleft(query)
        elif failure is not Failure.RESET or not self._retry(query, stamp, None):
            self._fail(query, failure, text, stamp)
        self._open()
        self._check_over()

    def unasked(self, connection: Connection) -> None:
        """Bytes came on a connection that nothing was asked on: it cannot be trusted."""
        self.unasked_for += 1
        connection.close()
        self.lost(connection)

    def lost(self, connection: Connection) -> None:
        """A connection was closed while nothing was under way on it."""
        self._all.discard(connection)
        if connection in self._free:
            self._free.remove(connection)
        if connection.freed and connection.stamp - connection.freed < _AT_ONCE_NS:
            self.keeps = False

    def _take_over(self, connection: Connection, *, cut: bool) -> None:
        query, stamp = connection.query, connection.stamp
        self._received[query] += connection.received
        self._headers[query] = connection.headers_at - self.origin
        keeping = connection.is_keeping and not cut and not connection.is_closed
        status = connection.status
        retried = (
            (cut or is_retried(status))
            and self.traffic.retries > 0
            and self._retry(query, stamp, connection.fields.get("retry_after"))
        )
        if not retried:
            self._ends[query] = stamp - self.origin
            answer = (query, status, connection.fields, connection.parts, connection.stamps, cut)
            self.settler.add(answer, connection.buffered)
        connection.query = -1
        if keeping and self.keeps:
            self._freed(connection, stamp)
        else:
            connection.close()
            self._all.discard(connection)
            self._open()
        if not retried:
            self._concluded(query, stamp)
        if not self._under_way:
            self._check_over()

    def _freed(self, connection: Connection, stamp: int) -> None:
        connection.freed = stamp
        if self._waiting:
            self._send(self._waiting.popleft(), connection, stamp)
        else:
            self._free.append(connection)

    def _settle(self) -> None:
        """Read some of the answers; more, when too many wait, as soon as what has arrived is stamped."""
        self._settling = self.settler.some()
        if self._settling:
            self._loop.call_soon(self._settle)

    # How a query ends

    def _retry(self, query: int, stamp: int, after: bytes | None) -> bool:
        """Arrange for another attempt, if one is left and its time comes before the deadline."""
        tried = self._retries[query]
        deadline = self.origin + self._scheduled[query] + self.traffic.timeout_ns
        pause = pause_ns(tried, None if after is None else after.decode("latin-1"))
        if tried >= self.traffic.retries or stamp + pause >= deadline or self._over:
            return False
        self._retries[query] = tried + 1
        heapq.heappush(self._later, (stamp + pause, query))
        self._set_alarm()
        return True

    def _fail(self, query: int, failure: Failure, text: str, stamp: int) -> None:
        self._ends[query] = stamp - self.origin
        self.settler.fail(query, failure, text)
        self._concluded(query, stamp)

    def _concluded(self, query: int, stamp: int) -> None:
        """A query is over; its session goes on, a closed loop takes the next."""
        self._ended += 1
        self._last_end = stamp
        if self.traffic.turns > 1 and (query + 1) % self.traffic.turns:
            self._go_on(query + 1, stamp + self.traffic.think_ns)
            return
        self._under_way -= 1
        self._missing -= 1
        if self.traffic.concurrency is None or self._missing > 0:
            return
        if self.traffic.think_ns:
            heapq.heappush(self._later, (stamp + self.traffic.think_ns, -1))
            self._set_alarm()
        else:
            self._take(stamp)

    def _go_on(self, query: int, due: int) -> None:
        """Let the next turn of a session be due."""
        self._scheduled[query] = due - self.origin
        if self.traffic.think_ns:
            heapq.heappush(self._later, (due, query))
            self._set_alarm()
        else:
            self._start(query, due)

    def _check_over(self) -> None:
        if self._under_way or self._over:
            return
        closed = self.traffic.concurrency is not None
        more = self._next < self.traffic.total
        if closed and more:
            more = bool(self._later) and now() < self._until
        if not more:
            self.stop()

    def _sweep(self, stamp: int) -> None:
        """Give up what is past its deadline, on connections and in the queue."""
        for connection in [each for each in self._all if each.query >= 0 and each.deadline <= stamp]:
            query = connection.query
            self._received[query] += connection.received
            self._all.discard(connection)
            connection.close()
            self._fail(query, Failure.TIMEOUT, "no answer before the time-out", stamp)
        waiting, timeout = self._waiting, self.traffic.timeout_ns
        while waiting and self.origin + self._scheduled[waiting[0]] + timeout <= stamp:
            query = waiting.popleft()
            text = "no connection was free before the time-out"
            self._fail(query, Failure.UNSENT if self._sent[query] < 0 else Failure.TIMEOUT, text, stamp)
        if waiting:
            self._open()
            if len(self._all) >= self.traffic.connections:
                self.pinned_ns += _SWEEP_NS
        self._tell()

    def _tell(self) -> None:
        self._control[0] = (self._next - self.traffic.first) // self.traffic.step
        self._control[1], self._control[2] = self._ended, self._last_end

    # Connections

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._all)

    async def warm(self, connections: int) -> None:
        """Open connections before the window, until there are this many. Raises what connecting raises."""
        while len(self._all) < min(connections, self.traffic.connections):
            connection = await self._connect(self)
            assert isinstance(connection, Connection), "the factory makes them"
            self._all.add(connection)
            self._free.append(connection)

    def adopt(self, other: Load) -> None:
        """Take over the free connections of a load that is over, and what it saw of them."""
        self.keeps = other.keeps
        for connection in other._free:
            connection.load = self
            connection.freed = 0
            self._all.add(connection)
            self._free.append(connection)
        other._all.clear()
        other._free.clear()

    def _open(self) -> None:
        """Open connections for those that wait, as far as the limit allows."""
        while self._opening < len(self._waiting) and (
            len(self._all) + self._opening < self.traffic.connections and not self._over
        ):
            self._opening += 1
            self.opened += 1
            self._connect(self).add_done_callback(self._is_open)

    def _is_open(self, connecting: asyncio.Future[object]) -> None:
        self._opening -= 1
        error = None if connecting.cancelled() else connecting.exception()
        stamp = now()
        if error is None and not connecting.cancelled():
            connection = connecting.result()
            assert isinstance(connection, Connection), "the factory makes them"
            if self._over or connection.is_closed:
                connection.close()
                self._open()
                return
            self._all.add(connection)
            self._freed(connection, stamp)
            return
        if self._waiting and not self._over:
            query = self._waiting.popleft()
            failure, text = told(error)
            if not self._retry(query, stamp, None):
                self._fail(query, failure, text, stamp)
            self._open()
            self._check_over()
