"""What the driver saw of the candidate while it measured: for or against it, never against the harness."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_procure.scenarios import Scenario, is_steady
from pytest_procure.stats.steady import BATCH, batch_means, mser

from .limits import Limits
from .load import Load, load_of
from .log import RequestLog

_BATCHES = 10  # of each third, for its standard error
_FEWEST = 100  # requests, below which thirds say nothing
_AT_A_TIME = 1 << 16  # of ten million requests each column counts


@dataclass(frozen=True, slots=True)
class Seen:
    """Counts and shares. A third is one of the requests that were due, in the order of their times."""

    rate_is_declared: bool
    offered: int  # queries that became due
    sent: int
    completed: int
    unsent: int
    backlog: (
        int  # offered, but not completed, at the last scheduled time; 0 where the candidate sets the pace
    )
    waiting_first_third: float | None  # mean number of queries that wait when another becomes due
    waiting_last_third: float | None
    at_once: int  # how many the workers serve side by side
    pinned_share: float | None  # of the window, with all workers serving; None: behind a URL nobody knows
    settled_after: int | None  # requests, by MSER-5; None: too few, or offline
    slower_share: float | None  # mean latency of the last third over the first's, less 1
    never_settled: bool
    load: Load | None = None  # None: the candidate sets the pace, or it is not known
    load_at_end: Load | None = None  # by what the last third took

    def backlog_grew(self, limits: Limits) -> bool:
        """Whether more and more waited under a declared rate, because more is asked than can be done.

        In steady traffic the last third is held against the first: by more than are served at once, and
        where only the last third asks too much, or the load is not known, by a factor as well.
        Where the rate changes, more than twice what is served at once is unanswered at the end.
        """
        first, last = self.waiting_first_third, self.waiting_last_third
        if not self.rate_is_declared:
            return False
        too_much = self.load is not None and self.load.is_too_much(limits)
        if first is None or last is None:
            return too_much and self.backlog > 2 * self.at_once
        if last - first <= self.at_once:
            return False
        unknown = self.load is None
        at_end = self.load_at_end is not None and self.load_at_end.is_surely_too_much(limits)
        return too_much or (last > limits.backlog_growth * first and (unknown or at_end))

    def is_gross(self, limits: Limits) -> bool:
        """Whether so much was left when the last request became due that no spell at the end explains it.

        A load is known from the time in which many waited, which may be a small part of the run; and services
        that are alike for a while look like a load for as long. What was answered in all the time is neither.
        """
        answered = self.offered - self.backlog + self.at_once
        return self.offered >= limits.gross * answered

    def overload(self, limits: Limits) -> Load | None:
        """The load that tells of a backlog: of the whole run, or else of its end; None: neither does."""
        whole, end = self.load, self.load_at_end
        if whole is not None and whole.is_too_much(limits):
            return whole
        return end if end is not None and end.is_surely_too_much(limits) else None

    def leaves_unanswered(self, limits: Limits) -> bool:
        """Whether fewer were answered than a declared rate asks."""
        return self.rate_is_declared and self.completed < limits.answered * self.offered

    def leaves_unsent(self, limits: Limits) -> bool:
        """Whether more were due, and never sent, than a declared rate allows."""
        return self.rate_is_declared and self.unsent > (1.0 - limits.sent) * self.offered

    def notes(self, limits: Limits) -> list[str]:
        """Tell what stands against the candidate."""
        told = []
        if self.backlog_grew(limits):
            told.append(self.growth("waited", "the workers", limits))
        if self.leaves_unanswered(limits):
            told.append(
                f"the candidate never kept up: it answered {self.completed:,} of {self.offered:,} requests"
            )
        if self.leaves_unsent(limits):
            told.append(f"{self.unsent:,} requests were never sent, because the candidate was still busy")
        pinned = self.pinned_share or 0.0
        if self.rate_is_declared and self.waiting_last_third and pinned > limits.pinned:
            told.append(
                f"every worker was busy {pinned:.0%} of the time: at this rate the candidate has nothing left"
            )
        if self.never_settled:
            told.append(
                f"the run never settled: requests of its last third took {self.slower_share:.0%} longer than "
                f"those of its first, and no first part can be cut off that explains it (MSER-5)"
            )
        return told

    def growth(self, waited: str, whom: str, limits: Limits) -> str:
        """Say how a backlog grew: what requests did meanwhile, and who was asked too much."""
        if self.waiting_first_third is None or self.waiting_last_third is None:
            said = f"{self.backlog:,} requests were unanswered when the last one became due"
        else:
            said = (
                f"on average {self.waiting_first_third:.3g} requests {waited} in the first third of the run "
                f"and {self.waiting_last_third:.3g} in the last"
            )
        load = self.overload(limits)
        asked = "" if load is None else f"; the traffic asked {load.share:.0%} of what {whom} can do"
        return f"the backlog grew: {said}{asked}"


def seen(log: RequestLog, scenario: Scenario, limits: Limits) -> Seen:
    """Look at a log for what it says of the candidate."""
    due = int(np.searchsorted(log.scheduled, log.window_ns, side="right"))  # the others were never offered
    sent, completed = (int(np.count_nonzero(column >= 0)) for column in (log.started, log.completed))
    unsent = due - int(np.count_nonzero(log.started[:due] >= 0))
    knows_workers = log.wire is None  # behind a URL, the endpoint's own audit tells what waited
    first, last = _waiting(log, due) if knows_workers and is_steady(scenario) else (None, None)
    settled, slower, never = _settling(log, scenario, due, limits)
    return Seen(
        rate_is_declared=scenario.rate_is_declared,
        offered=due,
        sent=sent,
        completed=completed,
        unsent=unsent,
        backlog=_backlog(log, due) if scenario.rate_is_declared else 0,
        waiting_first_third=first,
        waiting_last_third=last,
        at_once=scenario.workers * scenario.max_batch,
        pinned_share=_pinned(log, scenario.workers) if knows_workers else None,
        settled_after=settled,
        slower_share=slower,
        never_settled=never,
        load=load_of(log, scenario, due),
        load_at_end=load_of(log, scenario, due, at_end=True),
    )


def _backlog(log: RequestLog, due: int) -> int:
    last_due = int(log.scheduled[-1]) if len(log) else 0
    ended = log.completed[:due]
    return int(np.count_nonzero((ended < 0) | (ended > last_due)))


def _waiting(log: RequestLog, due: int) -> tuple[float | None, float | None]:
    """Count how many were due before a query and not started when it became due: means of two thirds.

    Counts, not waiting times: the times of queries that were never sent are cut off by the end of the run.
    """
    third = due // 3
    if not third:
        return None, None
    begun = log.started[log.started >= 0]
    begun.sort()

    def mean(first: int, end: int) -> float:
        total = 0
        for start in range(first, end, _AT_A_TIME):
            due = np.arange(start, min(start + _AT_A_TIME, end))
            waiting = due - np.searchsorted(begun, log.scheduled[due], side="right")
            total += int(np.maximum(waiting, 0).sum())
        return total / (end - first)

    return mean(0, third), mean(due - third, due)


def _pinned(log: RequestLog, workers: int) -> float:
    """Give the share of the window in which all workers served.

    All k are busy from a start, the i-th, until the next completion if it is the (i - k + 1)-th.
    """
    leads = log.leads
    if not log.window_ns or np.count_nonzero(leads) < workers:
        return 0.0
    started, completed = log.started[leads], log.completed[leads]
    del leads
    completed[completed < 0] = log.window_ns
    started.sort()
    completed.sort()
    together = completed[: len(completed) - workers + 1]
    together -= started[workers - 1 :]
    return min(1.0, float(np.maximum(together, 0, out=together).sum() / log.window_ns))


def _settling(
    log: RequestLog, scenario: Scenario, due: int, limits: Limits
) -> tuple[int | None, float | None, bool]:
    """Say after how many requests latencies settle, how much slower the last third is, whether never."""
    if due < _FEWEST or not scenario.allows_latency or not is_steady(scenario):
        return None, None, False
    latency = log.latency[:due]
    third = due // 3
    first, last = _part_means(latency[:third]), _part_means(latency[-third:])
    means = batch_means(latency)
    del latency  # of ten million requests each copy counts
    cut = BATCH * mser(means)
    before, after = float(first.mean()), float(last.mean())
    error = math.sqrt((first.var(ddof=1) + last.var(ddof=1)) / _BATCHES)
    slower = after / before - 1 if before > 0 else None
    drifted = after > (1.0 + limits.slower) * before and after - before > limits.slower_errors * error
    return cut, slower, drifted and cut >= limits.unsettled * due


def _part_means(values: np.ndarray) -> np.ndarray:
    size = len(values) // _BATCHES
    means: np.ndarray = values[: size * _BATCHES].reshape(_BATCHES, size).mean(axis=1)
    return means
