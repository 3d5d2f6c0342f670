"""Whose threads use the processor: the workers', the candidate's, or somebody else's in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

#: Python threads that began while a candidate was loaded or driven: they are the candidate's own.
_candidates: WeakSet[threading.Thread] = WeakSet()


@dataclass(frozen=True, slots=True)
class Used:
    """What threads of this process used in the window, in ns of processor time; None where not told."""

    others_ns: int | None  # Python threads that are neither workers nor the candidate's
    candidates_ns: int | None  # Python threads that the candidate started
    busiest: str  # the name of the one of the others that used most


@contextmanager
def of_candidate() -> Iterator[None]:
    """Remember the threads that begin inside as the candidate's own."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        remember(before)


def remember(before: set[threading.Thread]) -> None:
    """Remember the threads that run now and not in `before` as the candidate's."""
    _candidates.update(set(threading.enumerate()) - before)


def candidates_ids() -> set[int | None]:
    """Give the native ids of the candidate's threads."""
    return {thread.native_id for thread in _candidates}


def times() -> dict[threading.Thread, int] | None:
    """Read the processor time of every Python thread, in ns; None where the system does not tell."""
    read = {}
    for thread in threading.enumerate():
        ran = schedstat(thread.native_id or 0)
        if ran is not None:
            read[thread] = ran[0]
    return read or None


def used(
    before: dict[threading.Thread, int] | None,
    after: dict[threading.Thread, int] | None,
    workers: set[threading.Thread],
) -> Used:
    """Tell by whom the time between two readings was used.

    A thread that has ended in between has taken its figures with it, and is left out.
    """
    if before is None or after is None:
        return Used(None, None, "")
    spent = {thread: ran - before.get(thread, 0) for thread, ran in after.items() if thread not in workers}
    others = {thread: ns for thread, ns in spent.items() if thread in before and thread not in _candidates}
    busiest = max(others, key=lambda thread: others[thread], default=None)
    return Used(
        others_ns=sum(others.values()),
        candidates_ns=sum(spent.values()) - sum(others.values()),
        busiest=_name(busiest) if busiest is not None else "",
    )


def schedstat(tid: int) -> tuple[int, int] | None:
    """Tell how long thread `tid` of this process has run and has waited to run, in ns; None where unknown."""
    try:
        ran, waited, _ = Path(f"/proc/self/task/{tid}/schedstat").read_text("ascii").split()
        return int(ran), int(waited)
    except (OSError, ValueError):
        return None


def _name(thread: threading.Thread) -> str:
    return "".join(sign for sign in thread.name if sign.isprintable())[:60]
