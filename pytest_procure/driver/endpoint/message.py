"""An HTTP/1.1 answer, taken apart: status, the fields that matter, the body in parts with their stamps."""

from __future__ import annotations

import httptools

from pytest_procure.backends.endpoints.target import MOST_BODY

#: Fields of an answer's head that matter, by what they are called here.
WANTED = {
    b"content-type": "type",
    b"content-encoding": "encoding",
    b"content-length": "length",
    b"transfer-encoding": "transfer",
    b"retry-after": "retry_after",
    b"location": "location",
    b"server": "server",
    b"via": "via",
    b"x-served-by": "x-served-by",
    b"x-model-version": "x-model-version",
    b"openai-version": "openai-version",
    b"openai-processing-ms": "",
}
_MOST_NAMES = 1000
#: Spellings seen -> WANTED: lower-casing each of twenty fields costs more than all the rest of a head.
_spellings: dict[bytes, str] = {}


class Message:
    """What has come of an answer. One object serves one connection, answer behind answer."""

    __slots__ = (
        "answers",
        "buffered",
        "fields",
        "headers_at",
        "in_head",
        "is_keeping",
        "parser",
        "parts",
        "stamp",
        "stamps",
        "status",
    )

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.stamp = 0
        self.fresh()

    def fresh(self) -> None:
        """Forget the last answer."""
        self.parts: list[bytes] = []
        self.stamps: list[int] = []
        self.fields: dict[str, bytes] = {}
        self.status = 0
        self.headers_at = -1
        self.in_head = True
        self.buffered = 0
        self.answers = 0  # that have come to their end
        self.is_keeping = False

    def feed(self, data: bytes, stamp: int) -> str:
        """Take what came in one read, at `stamp` (ns); why it is no HTTP, or ""."""
        self.stamp = stamp
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            return f"the answer is no HTTP: {error}"
        return ""

    @property
    def has_end(self) -> bool:
        """Whether the head says where the body ends; otherwise the connection's end is its own."""
        return "length" in self.fields or "transfer" in self.fields

    # What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the fields that matter."""
        kind = _spellings.get(name)
        if kind is None:
            kind = WANTED.get(name.lower(), "")
            if len(_spellings) < _MOST_NAMES:
                _spellings[name] = kind
        if kind:
            self.fields[kind] = value

    def on_headers_complete(self) -> None:
        """Note the status; an interim answer (1xx) is none."""
        self.status = self.parser.get_status_code()
        self.headers_at = self.stamp
        self.in_head = False

    def on_body(self, body: bytes) -> None:
        """Collect."""
        self.buffered += len(body)
        if self.buffered <= MOST_BODY:
            self.parts.append(body)
            self.stamps.append(self.stamp)

    def on_message_complete(self) -> None:
        """Count answers; whether the connection can be kept is known only now."""
        if 100 <= self.status < 200:
            self.in_head = True
            self.fields.clear()
            return
        self.answers += 1
        self.is_keeping = self.parser.should_keep_alive()


def is_whole(data: bytes) -> bool:
    """Whether `data` is one answer, all of it, and such that it need not be taken apart at once.

    That is: HTTP/1.1, status 200, a body whose length the head tells once, and no word on the connection,
    which is therefore kept. A no means only that more has to be known.
    """
    end = data.find(b"\r\n\r\n")
    head = data[: end + 2]
    length = _heads.get(head)
    if length is None:
        length = _told_length(head)
        if len(_heads) >= _MOST_HEADS:
            _heads.clear()
        if len(head) <= _LONGEST_HEAD:
            _heads[head] = length
    return len(data) - end - 4 == length


#: Heads seen -> the length of their body: of a server's heads, one is much as the other.
_heads: dict[bytes, int] = {}
_MOST_HEADS, _LONGEST_HEAD = 200, 2000
_NOT_TOLD = -4


def _told_length(head: bytes) -> int:
    """Give the body's length; less than any where the head does not tell it, or has more to tell."""
    named = head.lower()
    at = named.find(b"\r\ncontent-length: ")
    if (
        not head.startswith(b"HTTP/1.1 200 ")
        or at < 0
        or named.find(b"\r\ncontent-length", at + 2) >= 0
        or b"\r\ntransfer-encoding" in named
        or b"\r\nconnection" in named
    ):
        return _NOT_TOLD
    length = head[at + 18 : head.find(b"\r", at + 18)]
    return int(length) if length.isdigit() else _NOT_TOLD
