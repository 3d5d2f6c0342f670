"""The requests of sessions whose turns carry what was said before: made when they are sent.

Bodies differ in their messages alone, so that the messages of a turn are cut out of the body that was made
before the run, and spliced in behind those of the turns before it. The answer to the last turn is read in its
pause, or at the latest now; what that takes counts as lag of the harness.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any, overload

from pytest_procure.backends.endpoints.target import Target

from .columns import Columns
from .settle import Settler

#: What is sent before the number of a request's id, and behind it.
Request = tuple[bytes, bytes]
_END = b"\r\n\r\n"


def requests_of(
    asked: dict[str, Any], target: Target, plain: Sequence[Request], table: Columns, settler: Settler
) -> tuple[Sequence[Request], Columns]:
    """Give the requests of a run, and the columns whose `item` tells which of them each query sends."""
    if asked["around"] is None:
        return plain, table
    turns, run = asked["traffic"]["turns"], asked["run"].encode()
    talk = Talk(plain, table["item"], turns, asked["around"], target.head(), run, settler)
    return talk, table | {"item": memoryview(array("q", range(len(talk))))}


class Talk(Sequence[Request]):
    """Gives the request of each query; queries of a session are numbered one after the other.

    `plain`: the request of each item by itself. `around`: how many bytes of its body stand before and behind
    the messages. `head`: what is sent before Content-Length.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what a request is made of
        self,
        plain: Sequence[Request],
        items: Sequence[int],
        turns: int,
        around: tuple[int, int],
        head: bytes,
        run: bytes,
        settler: Settler,
    ) -> None:
        self._plain = plain
        self._items = items
        self._turns = turns
        self._before, self._behind = around
        self._head, self._run = head, run
        self._settler = settler
        self._said: dict[int, bytes] = {}  # session -> messages of the turns that were answered
        self._made: dict[int, tuple[int, Request]] = {}  # session -> its last turn and request, for retries
        self._answers: dict[int, bytes] = {}  # query -> output
        settler.heard = self._hear

    def __len__(self) -> int:
        """Count the queries."""
        return len(self._items)

    @overload
    def __getitem__(self, query: int) -> Request: ...
    @overload
    def __getitem__(self, query: slice) -> Sequence[Request]: ...
    def __getitem__(self, query: int | slice) -> Request | Sequence[Request]:
        """Make a query's request; the same again for another attempt."""
        if isinstance(query, slice):
            raise TypeError("requests are made one by one")
        session, turn = divmod(query, self._turns)
        if not turn:
            return self._plain[self._items[query]]
        made = self._made.get(session)
        if made is None or made[0] != query:
            made = (query, self._request(query, session))
            self._made[session] = made
            if turn + 1 == self._turns:
                del self._said[session]
        return made[1]

    def _hear(self, query: int, output: bytes) -> None:
        """Keep a good answer until the next turn takes it up."""
        if (query + 1) % self._turns:
            self._answers[query] = output
        else:
            self._made.pop(query // self._turns, None)

    def _request(self, query: int, session: int) -> Request:
        self._settler.catch_up()
        said = self._said.get(session, b"")
        answer = self._answers.pop(query - 1, None)
        if answer is not None:
            text = json.dumps(answer.decode("utf-8"), ensure_ascii=False)
            told = b'{"role": "assistant", "content": %s}, ' % text.encode()
            said += self._messages(query - 1) + b", " + told
        self._said[session] = said
        body = self._body(query)
        whole = body[: self._before] + said + body[self._before :]
        before = b"%sContent-Length: %d\r\nX-Request-Id: %s-" % (self._head, len(whole), self._run)
        return before, _END + whole

    def _body(self, query: int) -> bytes:
        return self._plain[self._items[query]][1][len(_END) :]

    def _messages(self, query: int) -> bytes:
        body = self._body(query)
        return body[self._before : len(body) - self._behind]
