"""Looks: runs of the offer in one test that an asserted bar is not held against.

Who makes several runs in a test may assert on the best of them. What each run is held against cannot be
picked: it has to hold on all. A bar that is asserted on one run and not on another is judged as that of a
further run, at half the consumer's risk for each, as a further run of a sealed requirement is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .bars import Bar
from .metrics.goodput import Limits
from .result import Result


@dataclass(frozen=True, slots=True)
class HeldTo:
    """A bar that decides, and the run that it is held against; `limits` are those of goodput."""

    result: Result
    bar: Bar
    limits: Limits | None = None

    def covers(self, other: HeldTo) -> bool:
        """Whether it asks as much of its run as the other does of its own."""
        mine, theirs = self.bar, other.bar
        same = (mine.metric.name, mine.sense, self.limits) == (theirs.metric.name, theirs.sense, other.limits)
        if not same or mine.limit.dimension != theirs.limit.dimension:
            return False
        more = mine.limit >= theirs.limit if mine.sense == "at least" else mine.limit <= theirs.limit
        return more and mine.consumer_risk in {None, theirs.consumer_risk}


def looks(asserted: HeldTo, held: Sequence[HeldTo], runs: Sequence[Result]) -> int:
    """Count the runs that show what an asserted bar is about, and are not held to it."""
    return sum(
        run is not asserted.result
        and _shows(run, asserted)
        and not any(each.result is run and each.covers(asserted) for each in held)
        for run in runs
    )


def _shows(run: Result, asserted: HeldTo) -> bool:
    limits = asserted.limits
    measured = run.measurement(asserted.bar.metric) if limits is None else run.joint(limits)
    return measured.estimate is not None
