"""Tokens by the buyer's own count, beside those that the endpoint reports: of each output and its question.

All of it happens after the run. A question is the texts of the request's body (of its messages, its prompt or
its input), each counted by itself. What a server puts around them, the marks of its chat template, roles and
tools, is not in the count, so a report of the input that is a little more is to be expected.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.endpoints.failure import line
from pytest_procure.backends.endpoints.reading import MOST_TOKENS

from .plan import Plan
from .stores import Rows

Counts = NDArray[np.signedinteger[Any]]
#: Two bytes a count, as long as none is longer: of ten million requests each column counts.
_NARROW, _MOST_NARROW = np.int16, 2**15 - 1


class Recount:
    """Counts texts the buyer's way, and remembers on how many that failed.

    What cannot be counted is not counted: one answer must not take a run with it. tiktoken, for one, refuses
    texts that hold its own marks.
    """

    def __init__(self, count: Callable[[str], int] | None) -> None:
        self._count = count
        self._asked = self._failed = 0
        self._first = ""

    @property
    def trouble(self) -> str:
        """Say how often it failed, and how the first time; "" where it never did."""
        if not self._failed:
            return ""
        of = f"all {self._asked:,}" if self._failed == self._asked else f"{self._failed:,} of {self._asked:,}"
        texts = "text" if self._asked == 1 else "texts"
        return f"`count_tokens` failed on {of} {texts}, not counted; the first time: {self._first}"

    def outputs(self, answers: Sequence[Any]) -> Counts:
        """Count the tokens of each output that is a text: `(n,)`, -1 where they were not counted."""
        if self._count is None:
            return _nothing(len(answers))
        counted: Counts = np.full(len(answers), -1, dtype=_NARROW)
        for place, answer in enumerate(answers):
            if isinstance(answer, str):
                tokens = self._tokens(answer)
                if tokens > _MOST_NARROW:
                    counted = counted.astype(np.int32, copy=False)
                counted[place] = tokens
        return counted

    def questions(self, plan: Plan, rows: Rows, good: NDArray[np.bool_], outputs: Counts) -> Counts:
        """Count the tokens of what each request asked: `(n,)`, -1 where they were not counted.

        A sample is counted once, however often it was asked. `good` and `outputs`: which were answered, and
        the count of that, for turns that carry the answers before them.
        """
        if self._count is None:
            return _nothing(rows.count)
        items = plan.table["item"]
        alone: Counts = np.full(plan.items, -1, dtype=np.int32)
        for item in np.unique(items).tolist():
            alone[item] = self._of_texts(texts_of(plan.body(item)))
        if alone.max() <= _MOST_NARROW:
            alone = alone.astype(_NARROW)
        own: Counts = alone[items]
        return _with_history(own, outputs, good, plan.turns, rows) if plan.scenario.history else own

    def _of_texts(self, texts: Sequence[str] | None) -> int:
        counted = [self._tokens(text) for text in texts or ()]
        total = sum(counted)
        return total if counted and min(counted) >= 0 and total <= MOST_TOKENS else -1

    def _tokens(self, text: str) -> int:
        assert self._count is not None, "somebody asked for a count"
        self._asked += 1
        try:
            found = operator.index(self._count(text))
            if not 0 <= found <= MOST_TOKENS:
                raise ValueError(f"it gave {found}")  # noqa: TRY301 - all that can go wrong goes one way
        except Exception as error:  # noqa: BLE001 - the buyer's own function may raise anything
            self._failed += 1
            self._first = self._first or line(f"{type(error).__name__}: {error}")
            return -1
        return found


def texts_of(body: bytes) -> list[str] | None:
    """Give the texts that a request asks about; None where there are none, or more than texts.

    A message is a text, or parts that each are one.
    """
    asked = json.loads(body)
    if not isinstance(asked, dict):
        return None
    if isinstance(asked.get("messages"), list):
        told = [each.get("content") for each in asked["messages"] if isinstance(each, dict)]
        parts = [part for each in told for part in (each if isinstance(each, list) else [each])]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    else:
        texts = [asked.get("prompt", asked.get("input"))]
    found = [text for text in texts if isinstance(text, str)]
    return found if found and len(found) == len(texts) else None


def _with_history(own: Counts, outputs: Counts, good: NDArray[np.bool_], turns: int, rows: Rows) -> Counts:
    """Add to each turn what it carries: the questions before it that were answered, and their answers."""
    places = rows.numbers

    def by_session(column: NDArray[Any]) -> NDArray[Any]:
        found = np.empty_like(column)
        found[places] = column
        return found.reshape(-1, turns)

    known = (own >= 0) & (outputs >= 0)
    added = by_session(np.where(good & known, own.astype(np.int64) + outputs, 0))
    unknown = by_session(good & ~known)
    carried = np.cumsum(added, axis=1) - added
    unclear = np.cumsum(unknown, axis=1) > unknown
    total = by_session(own) + carried
    total[unclear | (by_session(own) < 0) | (total > MOST_TOKENS)] = -1
    counted: Counts = total.ravel()[places].astype(np.int32)
    return counted


def _nothing(n: int) -> Counts:
    return np.broadcast_to(np.int32(-1), n)  # which takes no memory
