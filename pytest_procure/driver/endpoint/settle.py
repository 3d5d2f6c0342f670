"""From collected bytes to columns: a little at a time during the window, and the rest behind it.

Reading an answer costs more than sending its request and stamping what comes; done at once it would make the
load process slower than it has to be. So answers wait, as long as they fit into some memory.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns

from pytest_procure.backends.endpoints import readers, sse
from pytest_procure.backends.endpoints.failure import Failure, line
from pytest_procure.backends.endpoints.openai_answers import said
from pytest_procure.backends.endpoints.reading import Reading
from pytest_procure.backends.endpoints.target import Target

from .columns import MOST_TIMES, SIZE, Columns
from .message import Head

#: Events read in one piece: about 0.1 ms.
_PIECE = 64
#: What is read without a look at what has arrived meanwhile.
_PORTION_NS = 200_000
#: Bytes of answers that may wait to be read, and what an answer takes beside its bytes, and one of its parts.
MOST_HELD = 64 << 20
OF_AN_ANSWER, _OF_A_PART = 600, 80
#: A hundred thousand tokens have fewer. Each line takes up to a microsecond in which nothing is sent.
_MOST_LINES = 300_000
_LONGEST = 200  # of a field of the head
_OUTPUTS, _TIMES = 256 << 10, 32 << 10  # bytes and token times that are written to a store at once
_MOST_TEXTS = 60_000
#: What stands where a server repeats the secret.
HIDDEN = "[key]"
_MOST_SEEN = 20


#: What came for a query: its number, the status, fields of the head, the body in parts with their stamps
#: (absolute ns), and whether the connection was closed before the answer's end.
Came = tuple[int, int, dict[str, bytes], list[bytes], list[int], bool]
#: The same where it came in one read, HTTP 200, with a head that was known: number, head, head and body. When
#: is noted as the query's end.
CameWhole = tuple[int, Head, bytes]


class Answer:
    """What came for a query, with names."""

    __slots__ = ("cut", "fields", "parts", "query", "stamps", "status")

    def __init__(self, came: Came) -> None:
        self.query, self.status, fields, self.parts, self.stamps, self.cut = came
        self.fields = {name: value[:_LONGEST].decode("latin-1") for name, value in fields.items()}


@dataclass(slots=True)
class Settler:
    """Reads answers and fills the columns that depend on what they say."""

    target: Target
    columns: Columns
    origin: int
    token_store: int  # file descriptors
    output_store: int
    hidden: str = ""  # the secret: an answer that repeats it is recorded without
    heard: Callable[[int, bytes], None] | None = None  # is told each good answer's query and output
    waiting: deque[Came | CameWhole] = field(default_factory=deque)
    texts: dict[str, int] = field(default_factory=dict)
    seen: dict[str, set[str]] = field(default_factory=dict)  # what servers say of themselves
    _times: array[int] = field(default_factory=lambda: array("q"))
    _outputs: bytearray = field(default_factory=bytearray)
    _held: int = 0
    _times_written: int = 0
    _outputs_written: int = 0
    _under_way: Iterator[None] | None = None

    def add(self, came: Came, size: int) -> None:
        """Take an answer whose body has this size."""
        self.waiting.append(came)
        self._held += size + _OF_A_PART * len(came[3])

    def hold(self, size: int) -> None:
        """Count bytes of answers that were put among the waiting as they came, each with its stamp."""
        self._held += size

    @property
    def is_full(self) -> bool:
        """Whether too much waits."""
        return self._held + len(self.waiting) * OF_AN_ANSWER > MOST_HELD

    def some(self) -> bool:
        """Do about 0.2 ms of work; whether more has to be done soon: too much waits, or somebody for it."""
        until = perf_counter_ns() + _PORTION_NS
        while self._under_way is not None or self.waiting:
            if self._under_way is not None:
                if next(self._under_way, self) is self:
                    self._under_way = None
            else:
                self._next(self.waiting.popleft())
            if perf_counter_ns() >= until:
                return self.is_full or self.heard is not None
        self._held = 0
        self._write()  # what is known stays known if this process is killed
        return False

    def _next(self, came: Came | CameWhole) -> None:
        """Read an answer, or begin to."""
        if len(came) == 3:
            query, head, data = came
            self._held -= head.whole
            ended = self.columns["headers"][query] = self.columns["ended"][query]
            self.columns["received"][query] += head.whole
            body = data[len(head.text) :]
            answer = Answer((query, 200, head.fields, [body], [ended + self.origin], False))
        else:
            answer = Answer(came)
            self._held -= sum(map(len, answer.parts)) + _OF_A_PART * len(answer.parts)
        if self._is_stream(answer):
            self._under_way = self._stream(answer)
        else:
            self._note(answer, self._read(answer))

    def catch_up(self) -> None:
        """Do all that is left."""
        while self._under_way is not None or self.waiting:
            self.some()

    def finish(self) -> None:
        """Do all that is left, and write the stores out."""
        self.catch_up()
        self._write()

    def fail(self, query: int, failure: Failure, text: str) -> None:
        """Note a failure."""
        self.columns["failure"][query] = failure
        self.columns["text"][query] = self._number(text)

    def _is_stream(self, answer: Answer) -> bool:
        return (
            self.target.stream
            and answer.status == 200
            and answer.fields.get("encoding", "identity").lower() == "identity"
            and _media_type(answer) == "text/event-stream"
        )

    def _stream(self, answer: Answer) -> Iterator[None]:
        """Read a stream, a piece at a time."""
        body = b"".join(answer.parts)
        if body.count(b"\n") + body.count(b"\r") > _MOST_LINES:
            reading = Reading()
            reading.fail(Failure.TOO_LARGE, f"the stream has more than {_MOST_LINES:,} lines")
            self._note(answer, reading)
            return
        try:
            payloads, ends = sse.events(body)
            reader = readers.stream(self.target.reader)
            for first in range(0, len(payloads), _PIECE):
                reader.add(payloads[first : first + _PIECE])
                yield
            reading = reader.end(cut=answer.cut)
            arrived = sse.arrivals([ends[place] for place in reading.places], [len(p) for p in answer.parts])
        except Exception as error:  # noqa: BLE001 - a hostile answer, as in `_read`
            reading, arrived = _unread(error), []
        start = self._times_written + len(self._times)
        if start > MOST_TIMES:
            raise OverflowError("more tokens than a load process can time; raise `load_processes=`")
        self.columns["token_start"][answer.query] = start
        origin, stamps = self.origin, answer.stamps
        self._times.extend([stamps[part] - origin for part in arrived])
        self._note(answer, reading)

    def _read(self, answer: Answer) -> Reading:
        """Read an answer that is no stream. What it makes Python raise is its own failure, nobody else's."""
        try:
            return self._whole(answer)
        except Exception as error:  # noqa: BLE001 - a hostile answer must not end the load of all others
            return _unread(error)

    def _whole(self, answer: Answer) -> Reading:
        """Read an answer that is no stream: a document, or the reason why there is none."""
        reading = Reading()
        body, kind = b"".join(answer.parts), _media_type(answer)
        encoding = answer.fields.get("encoding", "identity").lower()
        if 300 <= answer.status < 400:
            where = answer.fields.get("location", "nowhere")
            reading.fail(
                Failure.REDIRECT, f"HTTP {answer.status}: redirects are not followed; it was to {where}"
            )
        elif answer.status != 200:
            reading.fail(Failure.HTTP, f"HTTP {answer.status}: {said(body)}")
        elif answer.cut:
            reading.fail(Failure.RESET, "the connection was closed before the answer's end")
        elif encoding != "identity":
            reading.fail(Failure.ENCODED, f"the answer is compressed ({encoding}), which was not accepted")
        elif not readers.is_readable(self.target.reader, kind):
            reading.fail(
                Failure.BODY, f"answered with {kind or 'no media type'}; expected {self._expected()}"
            )
        else:
            reading = readers.whole(self.target.reader, body, self.target.select)
        return reading

    def _expected(self) -> str:
        return "text/event-stream" if self.target.stream else "application/json"

    def _note(self, answer: Answer, reading: Reading) -> None:
        """Fill a query's row."""
        columns, query = self.columns, answer.query
        columns["http"][query] = min(answer.status, 0xFFFF)
        columns["chunks"][query] = reading.chunks
        columns["input_tokens"][query] = reading.input_tokens
        columns["output_tokens"][query] = reading.output_tokens
        columns["cached_tokens"][query] = reading.cached_tokens
        if reading.failure is Failure.NONE:
            columns["good"][query] = 1
            if reading.finish:
                columns["text"][query] = self._number(reading.finish)
            columns["output_start"][query] = self._outputs_written + len(self._outputs)
            output = self._without_secret(reading.output)
            self._outputs += SIZE.pack(len(output))
            self._outputs += output
            if self.heard is not None:
                self.heard(query, reading.output)
        else:
            self.fail(query, reading.failure, reading.text)
        if reading.model:
            self._see("model", reading.model)
        if reading.finish:
            self._see("finish_reason", reading.finish)
        if reading.fingerprint:
            self._see("system_fingerprint", reading.fingerprint)
        for name, value in answer.fields.items():
            if name in _SHOWN:
                self._see(name, value)
        if len(self._outputs) > _OUTPUTS or len(self._times) > _TIMES:
            self._write()

    def _see(self, name: str, value: str) -> None:
        values = self.seen.setdefault(name, set())
        if value not in values and len(values) < _MOST_SEEN:
            values.add(self._told(value))

    def _number(self, text: str) -> int:
        """Give the number of a message, from 1; a server that says something new each time is cut short."""
        text = self._told(text)
        if len(self.texts) >= _MOST_TEXTS:
            text = "(too many different ones to tell)"
        return self.texts.setdefault(text, len(self.texts) + 1)

    def _told(self, text: str) -> str:
        return line(text.replace(self.hidden, HIDDEN) if self.hidden else text)

    def _without_secret(self, output: bytes) -> bytes:
        secret = self.hidden.encode()
        return output.replace(secret, HIDDEN.encode()) if secret and secret in output else output

    def _write(self) -> None:
        self._times_written += len(self._times)
        self._outputs_written += len(self._outputs)
        _write_all(self.token_store, self._times.tobytes())
        _write_all(self.output_store, bytes(self._outputs))
        del self._times[:]
        self._outputs.clear()


_SHOWN = {"server", "via", "x-served-by", "x-model-version", "openai-version"}


def _media_type(answer: Answer) -> str:
    return answer.fields.get("type", "").partition(";")[0].strip().lower()


def _unread(error: Exception) -> Reading:
    """Give the failure of an answer that broke its reader."""
    reading = Reading()
    reading.fail(Failure.BODY, f"the answer cannot be read: {type(error).__name__}")
    return reading


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
