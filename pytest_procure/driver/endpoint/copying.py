"""The journal of a run against an endpoint: copied from the load processes' columns while they fill them.

The columns lie in memory that dies with its last process. This process looks at them a few times a second
anyway, to see how far the run is; what has happened since the last look goes into the journal's file, which
outlives a kill. The load processes know nothing of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_procure.backends.endpoints.failure import UNANSWERED
from pytest_procure.driver.journal import Journal
from pytest_procure.driver.log import Int64

from .plan import Plan


class Copy:
    """What a journal holds of the run of a plan."""

    def __init__(self, journal: Journal, plan: Plan) -> None:
        """Make the file. Raises `EvidenceError` when it cannot be written."""
        about = journal.about | {"in_turns": False, "by_load_processes": True, "paced": plan.is_paced}
        queries = plan.queries
        memory = replace(journal, about=about).open(queries, plan.order, _due(plan, slice(None)))
        self._origin = memory[:1]
        self._started, self._completed = memory[1 : 1 + queries], memory[1 + queries : 1 + 2 * queries]
        self._schedule = memory[-queries:]
        self._journal = journal
        self._plan = plan
        self._first = 0  # all queries before it are copied as they ended

    def forget(self) -> None:
        """Remove the file: the run never began."""
        self._journal.forget()

    def begin(self, origin: int) -> None:
        """Note the first scheduled time."""
        self._origin[0] = origin

    def take(self) -> None:
        """Copy what has happened since the last time."""
        plan, origin = self._plan, int(self._origin[0])
        queries = slice(self._first, plan.begun)
        if not origin or queries.start >= queries.stop:
            return
        table, per = plan.table, plan.scenario.samples_per_query
        rows = slice(queries.start * per, queries.stop * per)
        # Ends first: what has ended by then was sent before.
        ended = table["ended"][rows].reshape(-1, per)
        failed = np.isin(table["failure"][rows], UNANSWERED).reshape(-1, per)
        sent = table["sent"][rows].reshape(-1, per)
        over = (ended >= 0).all(axis=1)
        first = np.where(sent >= 0, sent, np.iinfo(np.int64).max).min(axis=1)
        answered = over & ~failed.any(axis=1)
        self._schedule[queries] = _due(plan, queries)
        self._started[queries] = np.where((sent >= 0).any(axis=1), first + origin, -1)
        self._completed[queries] = np.where(answered, ended.max(axis=1) + origin, -1)
        self._first += int(np.argmin(over)) if not over.all() else len(over)


def _due(plan: Plan, queries: slice) -> Int64:
    """`(n,)` ns from the origin: when queries were due, -1 where that is not known yet."""
    due: Int64 = plan.table["scheduled"][:: plan.scenario.samples_per_query][queries]
    return due
