"""A first-in-first-out queue with batches and k servers, simulated event by event."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_DONE, _ARRIVAL, _ENOUGH_WAITED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries served together, and when; times in the unit of the schedule."""

    queries: tuple[int, ...]
    started: int
    completed: int


def simulate(
    schedule: Sequence[int], services: Sequence[int], *, max_batch: int, max_wait: int, servers: int
) -> list[Batch]:
    """Serve queries that arrive at `schedule`, ascending; batch k takes `services[k]`, later ones the last.

    A batch is sent when a server is free and it is full or its oldest query has waited `max_wait`.
    """
    events = [(due, _ARRIVAL, query) for query, due in enumerate(schedule)]
    events += [(due + max_wait, _ENOUGH_WAITED, query) for query, due in enumerate(schedule)]
    heapq.heapify(events)
    waiting: deque[int] = deque()
    batches: list[Batch] = []
    idle = servers
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, query = heapq.heappop(events)
            if kind == _DONE:
                idle += 1
            elif kind == _ARRIVAL:
                waiting.append(query)
        while idle and waiting and (len(waiting) >= max_batch or schedule[waiting[0]] + max_wait <= now):
            taken = tuple(waiting.popleft() for _ in range(min(max_batch, len(waiting))))
            done = now + services[min(len(batches), len(services) - 1)]
            batches.append(Batch(taken, now, done))
            heapq.heappush(events, (done, _DONE, -1))
            idle -= 1
    return batches
