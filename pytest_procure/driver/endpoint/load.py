"""The load of one process: its part of the schedule, sent when due, on as many connections as it takes.

    due ──► free connection ──► sent ──► answered ──► settle
     └────► waiting ──► a connection becomes free, or a new one opens
                        answered badly, a retry is left ──► later ──► waiting

A closed loop keeps `concurrency` queries under way; an open loop sends when due whether or not the endpoint
keeps up, on at most `connections` connections.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pytest_procure.backends.endpoints.failure import Failure

from .agenda import Agenda
from .columns import MOST_LAG, Columns
from .connection import AT_ONCE_NS, Connection, now
from .leisure import Leisure
from .loop import Loop
from .message import Head
from .pool import Dial, Pool
from .retry import is_retried, pause_ns, told
from .settle import Settler
from .traffic import Traffic

_SWEEP_NS = 10_000_000
_FOREVER = 2**63 - 1


class Load:
    """Sends, waits, and notes when; all times in the columns are ns from `origin`."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a process has to bring together
        self,
        traffic: Traffic,
        columns: Columns,
        settler: Settler,
        requests: Sequence[tuple[bytes, bytes]],
        dial: Dial,
        loop: Loop,
        control: memoryview,
    ) -> None:
        self.traffic = traffic
        self.columns = columns
        self.settler = settler
        self.is_over = False
        self.lateness: list[int] = []  # ns, of each sweep
        self.unasked_for = 0  # connections on which bytes came that nothing had asked for
        self.keeps = True  # the server keeps connections, as far as was seen
        self.pinned_ns = 0  # time in which queries waited because all connections were in use
        self.origin = 0
        self._requests = requests
        self._control = control
        self._agenda = Agenda(loop, self._rung)  # beside the schedule: retries, and -1 for who thinks
        self._leisure = Leisure(settler, loop)
        self.pool = Pool(self, dial, traffic.connections)
        self._free = self.pool.free
        self._waiting: deque[int] = deque()
        # Sent again: the server had closed a kept connection before it took them.
        self._again: set[int] = set()
        self._next = traffic.first
        self._under_way = 0
        self._missing = 0  # answers to the query of several requests that is under way
        self._until = _FOREVER
        self._sweep_due = 0
        self._ended = 0
        self._last_end = 0
        self._keep = settler.waiting.append
        self._kept = 0  # bytes of whole answers, since the last sweep
        # Where whoever has an answer asks the next at once, as long as there is one.
        is_eager = traffic.concurrency is not None and not traffic.think_ns and traffic.together == 1
        self._eager_total = traffic.total if is_eager else 0
        self._step = traffic.step
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
        self._sweep_due = origin
        self._agenda.begin(origin)

    def stop(self) -> None:
        """Give up what is under way: it stays without an answer."""
        if self.is_over:
            return
        self.is_over = True
        self._eager_total = 0
        self._tell()
        if self.origin:
            self._agenda.end()
        for connection in [each for each in self.pool.every if each.query >= 0]:
            self.pool.drop(connection)

    def _rung(self) -> None:
        """Do what is due: send, expire, and set the alarm again."""
        if self.is_over:
            return
        stamp = now()
        traffic = self.traffic
        if traffic.concurrency is None:
            self._send_due(stamp)
        elif self._sweep_due == self.origin:
            for _ in range(traffic.concurrency):
                self._take(stamp)
        for due, query in self._agenda.due(stamp):
            self._start(query, due) if query >= 0 else self._take(stamp)
        if stamp >= self._sweep_due:
            self.lateness.append(stamp - self._sweep_due)
            self._sweep(stamp)
            self._sweep_due = stamp + _SWEEP_NS
            self.settler.hold(self._kept)
            self._kept = 0
            self._leisure.look(self._ended)
        until = self._sweep_due
        if traffic.concurrency is None and self._next < traffic.total:
            until = min(until, self.origin + self._scheduled[self._next])
        self._agenda.wait(until)
        self._check_over()

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
        if query >= self.traffic.total or stamp >= self._until or self.is_over:
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
        late = now() - due
        if late > 0 and self._sent[query] < 0:
            self._lag[query] = min(late, MOST_LAG)
        self._waiting.append(query)
        self._open()

    def _send(self, query: int, connection: Connection, could: int) -> None:
        """`could`: since when it could have been sent."""
        before, behind = self._requests[self._items[query]]
        again = b".again" if query in self._again else b""
        data = b"%s%d.%d%s%s" % (before, query, self._retries[query], again, behind)
        stamp = now()
        if self._sent[query] < 0:
            self._sent[query] = stamp - self.origin
            if stamp > could:
                self._lag[query] = min(self._lag[query] + stamp - could, MOST_LAG)
        connection.query = query
        connection.send(data)

    # What connections tell

    def answered(self, connection: Connection, *, cut: bool = False) -> None:
        """An answer has come to its end, or to the connection's in the middle of its body."""
        query, stamp = connection.query, connection.stamp
        self._received[query] += connection.received
        message = connection.message
        self._headers[query] = message.headers_at - self.origin
        keeping, status = connection.is_keeping and not cut, message.status
        retried = (
            (cut or is_retried(status))
            and self.traffic.retries > 0
            and self._retry(query, stamp, message.fields.get("retry_after"))
        )
        if not retried:
            self._ends[query] = stamp - self.origin
            answer = (query, status, message.fields, message.parts, message.stamps, cut)
            self.settler.add(answer, message.buffered)
        connection.query = -1
        if keeping:
            self._let_go(connection, stamp)
        else:
            self.pool.drop(connection)
            self._open()
        if not retried:
            self._concluded(query, stamp)
        if not self._under_way:
            self._check_over()

    def whole(self, connection: Connection, head: Head, data: bytes, stamp: int) -> None:
        """An answer has come in one read, with a head as it came before; what it says is read later."""
        query, origin = connection.query, self.origin
        self._ends[query] = since = stamp - origin
        self._keep((query, head, data))
        self._kept += head.whole
        following = self._next
        if following < self._eager_total and stamp < self._until and not self._waiting:
            # What `_freed`, `_concluded`, `_take` and `_send` come to where a closed loop goes on: at the
            # highest rates half of the time would go into calling them.
            connection.query = following
            before, behind = self._requests[self._items[following]]
            request = b"%s%d.0%s" % (before, following, behind)
            sent = now()
            connection.send(request)
            self._next = following + self._step
            self._ended += 1
            self._last_end = stamp
            self._scheduled[following] = since
            self._sent[following] = sent - origin
            lag = sent - stamp
            self._lag[following] = lag if lag < MOST_LAG else MOST_LAG  # noqa: FURB136 - a call costs more
            return
        connection.query = -1
        self._let_go(connection, stamp)
        self._concluded(query, stamp)
        if not self._under_way:
            self._check_over()

    def broke(self, connection: Connection, failure: Failure, text: str) -> None:
        """There is no answer, and the connection is of no use any more."""
        query, stamp = connection.query, connection.stamp
        self._received[query] += connection.received
        self.pool.drop(connection)
        if connection.is_unread:  # it was never taken; latency runs on
            self._again.add(query)
            self.keep_none()
            self._waiting.appendleft(query)
        elif failure is not Failure.RESET or not self._retry(query, stamp, None):
            self._fail(query, failure, text, stamp)
        self._open()
        self._check_over()

    def unasked(self, connection: Connection) -> None:
        """Bytes came on a connection that nothing was asked on: it cannot be trusted."""
        self.unasked_for += 1
        self.pool.drop(connection)

    def lost(self, connection: Connection) -> None:
        """A connection was closed while nothing was under way on it."""
        self.pool.drop(connection)
        if connection.requests and connection.stamp - connection.freed < AT_ONCE_NS:
            self.keep_none()

    def keep_none(self) -> None:
        """Send each request on a connection of its own from now on."""
        self.keeps = False
        self._eager_total = 0
        for connection in [each for each in self._free if each.requests]:
            self.pool.drop(connection)

    @property
    def resent(self) -> int:
        """Count the queries that were sent again."""
        return len(self._again)

    def _let_go(self, connection: Connection, stamp: int) -> None:
        """Take the next query on a connection that has answered, if the server is to be believed."""
        if self.keeps:
            self._freed(connection, stamp)
        else:
            self.pool.drop(connection)
            self._open()

    def _freed(self, connection: Connection, stamp: int) -> None:
        connection.freed = stamp
        if self._waiting:
            self._send(self._waiting.popleft(), connection, stamp)
        else:
            self._free.append(connection)

    # How a query ends

    def _retry(self, query: int, stamp: int, after: bytes | None) -> bool:
        """Arrange for another attempt, if one is left and its time comes before the deadline."""
        tried = self._retries[query]
        deadline = self.origin + self._scheduled[query] + self.traffic.timeout_ns
        pause = pause_ns(tried, None if after is None else after.decode("latin-1"))
        if tried >= self.traffic.retries or stamp + pause >= deadline or self.is_over:
            return False
        self._retries[query] = tried + 1
        self._agenda.add(stamp + pause, query)
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
            self._agenda.add(stamp + self.traffic.think_ns, -1)
        else:
            self._take(stamp)

    def _go_on(self, query: int, due: int) -> None:
        """Let the next turn of a session be due."""
        self._scheduled[query] = due - self.origin
        if self.traffic.think_ns:
            self._agenda.add(due, query)
        else:
            self._start(query, due)

    def _check_over(self) -> None:
        if self._under_way or self.is_over:
            return
        closed = self.traffic.concurrency is not None
        more = self._next < self.traffic.total
        if closed and more:
            more = bool(self._agenda) and now() < self._until
        if not more:
            self.stop()

    def _sweep(self, stamp: int) -> None:
        """Give up what is past its deadline, on connections and in the queue."""
        under_way = [each for each in self.pool.every if each.query >= 0]
        began = stamp - self.origin - self.traffic.timeout_ns
        for connection in [each for each in under_way if self._scheduled[each.query] <= began]:
            query = connection.query
            self._received[query] += connection.received
            self.pool.drop(connection)
            self._fail(query, Failure.TIMEOUT, "no answer before the time-out", stamp)
        waiting, timeout = self._waiting, self.traffic.timeout_ns
        while waiting and self.origin + self._scheduled[waiting[0]] + timeout <= stamp:
            query = waiting.popleft()
            text = "no connection was free before the time-out"
            self._fail(query, Failure.UNSENT if self._sent[query] < 0 else Failure.TIMEOUT, text, stamp)
        if waiting:
            self._open()
            if self.pool.is_full:
                self.pinned_ns += _SWEEP_NS
        self._tell()

    def _tell(self) -> None:
        self._control[0] = (self._next - self.traffic.first) // self.traffic.step
        self._control[1], self._control[2] = self._ended, self._last_end

    # Connections

    def _open(self) -> None:
        """Open connections for those that wait, as far as the limit allows."""
        if not self.is_over:
            self.pool.open_for(len(self._waiting))

    def connected(self, connection: Connection) -> None:
        """Take a new connection."""
        if self.is_over or connection.is_closed:
            self.pool.drop(connection)
            self._open()
        else:
            self._freed(connection, now())

    def unconnected(self, error: OSError, began: int) -> None:
        """There is no connection for who has waited longest; `began`: when it was asked for."""
        if not self._waiting or self.is_over:
            return
        query = self._waiting[0]
        if self.origin + self._scheduled[query] <= began:  # else who asked for it has gone
            self._waiting.popleft()
            stamp = now()
            if not self._retry(query, stamp, None):
                self._fail(query, *told(error), stamp)
        self._open()
        self._check_over()
