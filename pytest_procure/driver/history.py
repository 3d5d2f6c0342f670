"""What was said in the sessions of a run so far, for backends that are called in this process.

Each turn's input is the whole of its session as messages: the questions before it, the answers that the
candidate gave to them, and its own sample. A turn that failed is left out with its question.
"""

from __future__ import annotations

import numpy as np

from pytest_procure.backends import chat
from pytest_procure.backends.chat import Message

from .board import Board
from .log import Int64
from .outcomes import answer_at
from .source import SampleSource

#: The messages before a turn, those that it asked, and where its answer is: batch, place in it, its size.
_Turn = tuple[list[Message], list[Message], int, int, int]


class History:
    """Makes the inputs of turns. Workers may ask side by side: a session is in one batch at a time."""

    def __init__(self, source: SampleSource, order: Int64, turns: int, board: Board) -> None:
        """`order`: `(sessions * turns,)` the sample of each turn, session by session."""
        self._source = source
        self._order = order
        self._turns = turns
        self._board = board
        self._last: dict[int, _Turn] = {}  # of each session that goes on

    def batch(self, number: int, places: Int64) -> list[list[Message]]:
        """Make the inputs of batch `number`, which asks what lies at these places of the order.

        Raises `DataError` for a sample that is no text and no messages.
        """
        samples = self._source.take(self._order[places])
        made = []
        for place, (at, sample) in enumerate(zip(places.tolist(), samples, strict=True)):
            session, turn = divmod(at, self._turns)
            before = self._before(session) if turn else []
            asked = chat.later_turn(sample) if turn else chat.messages(sample)
            if turn + 1 < self._turns:
                self._last[session] = (before, asked, number, place, len(places))
            made.append([dict(each) for each in (*before, *asked)])  # the candidate may change what it gets
        return made

    def opening(self, indices: Int64) -> list[list[Message]]:
        """Make inputs of samples as a session's first turn asks them."""
        return [chat.messages(sample) for sample in self._source.take(indices)]

    def _before(self, session: int) -> list[Message]:
        """Give what a session has said before its next turn."""
        before, asked, number, place, size = self._last.pop(session)
        told = answer_at(self._board.outputs, self._board.failures, number, place, size)
        if told is None:
            return before
        return [*before, *asked, chat.answer(told.item() if isinstance(told, np.generic) else told)]
