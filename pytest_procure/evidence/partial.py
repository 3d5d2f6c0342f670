"""Partial runs: what a journal holds of a run that never came to its end, as rows that decide nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pytest_procure.driver.board import Snapshot
from pytest_procure.driver.journal import Journalled
from pytest_procure.driver.outcomes import Plan, request_log
from pytest_procure.errors import EvidenceError

from .keeping import RUNS, journals_of
from .logs import UNKNOWN, columns, fill, save

#: The exit status of a session that was killed: 128 + SIGKILL, as shells tell it.
KILLED = 137
_FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class Partial:
    """A run that never came to its end, and the sentence about it."""

    file: str  # of its rows, relative to the pack
    test: str
    said: str


def settle(folder: Path) -> list[Partial]:
    """Turn each journal of a pack into the rows of a partial run. Raises `EvidenceError`.

    What was answered has the status "not known": nobody looked at the answers, which died with the process.
    """
    return [_settled(folder, path) for path in journals_of(folder)]


def _settled(folder: Path, path: Path) -> Partial:
    file = f"{RUNS}/{path.name.removesuffix(path.suffix)}.npy"
    try:
        journal = Journalled.read(path)
        test, candidate = str(journal.about["test"])[:500], str(journal.about["candidate"])[:200]
        size = int(journal.about["samples_per_query"])
    except (EvidenceError, KeyError, ValueError) as error:
        return _unread(path, error)
    if len(journal.order) != len(journal.started) * size:
        return _unread(path, "it counts samples and queries differently")
    sent, answered = _rows(journal, size, folder / file)
    path.unlink()
    of = len(journal.started)
    paced = journal.about.get("paced", journal.schedule is not None)
    total = f" of {of:,}" if paced else ""
    said = (
        f"Partial run: {test} on {candidate} was under way when it was cut off: {sent:,}{total} requests "
        f"were sent, {answered:,} answered; it decides nothing ({file})."
    )
    return Partial(file, test, said)


def _unread(path: Path, why: object) -> Partial:
    path.unlink()
    return Partial("", "", f"A run was under way, and its journal cannot be read: {why}.")


def _as_due(journal: Journalled, size: int) -> Journalled:
    """Keep of a run by load processes what became due, in the order in which it did."""
    assert journal.schedule is not None, "such a journal has a time for each query"
    known = np.where(journal.schedule >= 0, journal.schedule, _FOREVER)
    rows = np.argsort(known, kind="stable")[: int((journal.schedule >= 0).sum())]
    return replace(
        journal,
        started=journal.started[rows],
        completed=journal.completed[rows],
        ends=journal.ends[: len(rows)],
        order=journal.order.reshape(-1, size)[rows].ravel(),
        schedule=journal.schedule[rows],
    )


def _rows(journal: Journalled, size: int, path: Path) -> tuple[int, int]:
    """Write the rows of what was sent or due; give how many queries were sent, and how many answered."""
    if not journal.about.get("paced", True):
        journal = _as_due(journal, size)
    stamps = np.concatenate([journal.started, journal.completed])
    taken = max(int(stamps.max(initial=0)), journal.origin)
    n = len(journal.started)
    board = Snapshot(taken, journal.started, journal.completed, journal.ends, [None] * n, {})
    plan = Plan(journal.order, journal.schedule, size, _FOREVER, from_start=False, by_duration=True)
    log = request_log(board, plan, journal.origin, "cut off")
    log.errors = {}
    rows = np.zeros(len(log.samples), columns([]))
    fill(rows, log, {})
    rows["status"] = np.where(rows["completed_ns"] >= 0, UNKNOWN, 0)
    for name in ("cluster", "stratum", "error"):
        rows[name] = -1
    if journal.about.get("in_turns"):  # who asks next, and so what, follows from answers: nobody knows it now
        rows["item"] = -1
    save(path, rows)
    return int((log.started >= 0).sum()), int((log.completed >= 0).sum())
