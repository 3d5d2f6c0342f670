"""An HTTP/1.1 answer, taken apart: status, the fields that matter, the body in parts with their stamps."""

from __future__ import annotations

from dataclasses import dataclass

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
        "begun",
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
        self.begun = 0  # answers
        self.answers = 0  # that have come to their end
        self.is_keeping = False

    def feed(self, data: bytes, stamp: int) -> str:
        """Take what came in one read, at `stamp` (ns); why it is no HTTP, or ""."""
        self.stamp = stamp
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            return f"the answer is no HTTP: {error}"
        return ""

    @property
    def has_end(self) -> bool:
        """Whether the head says where the body ends; otherwise the connection's end is its own."""
        return "length" in self.fields or "transfer" in self.fields

    # What the parser calls

    def on_message_begin(self) -> None:
        """Count."""
        self.begun += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the fields that matter; those behind a body in chunks come too late."""
        if not self.in_head:
            return
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
            self.begun -= 1
            self.in_head = True
            self.fields.clear()
            return
        self.answers += 1
        self.is_keeping = self.parser.should_keep_alive()


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer with status 200 whose body's length it tells, on a connection that is kept."""

    fields: dict[str, bytes]
    text: bytes  # to the end of its empty line
    whole: int  # bytes of the answer


#: Heads that were taken apart before, by all bytes before the empty line. At high rates most are alike, and
#: taking one apart costs more than everything else that has to be done for an answer.
known: dict[bytes, Head] = {}
END = b"\r\n\r\n"
_MOST_KNOWN, _LONGEST_KNOWN = 500, 4000


def learn(data: bytes, message: Message) -> None:
    """Remember the head of an answer that came in one read, `data`, and was taken apart into `message`."""
    head, _, body = data.partition(END)
    if (
        message.status == 200
        and message.is_keeping
        and "transfer" not in message.fields
        and head.startswith(b"HTTP/1.1 200 ")  # not an interim answer's
        and len(body) == message.buffered == int(message.fields.get("length", b"-1"))
        and len(head) <= _LONGEST_KNOWN
    ):
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[head] = Head(message.fields, head + END, len(data))


def head_of(data: bytes) -> Head | None:
    """Give the head of a whole answer, if one like it was taken apart before."""
    head = known.get(data.partition(END)[0])
    return head if head is not None and head.whole == len(data) else None
