"""One request to the mock endpoint and its answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mock_behaviour import Record, now

if TYPE_CHECKING:
    from mock_endpoint import Connection


class Exchange:
    """One request and its answer."""

    def __init__(
        self, connection: Connection, path: str, named: dict[str, str], body: bytes, received: int
    ) -> None:
        self.connection = connection
        self.server = connection.server
        self.behaviour = self.server.behaviour
        self.path = path
        self.named = named
        self.asked = json.loads(body)
        self.record = Record(self.server.number(), received, named.get("x-request-id", ""))
        if self.behaviour.parrot:
            self.record.messages = self.asked["messages"]
        self.is_over = False
        self.timer: asyncio.TimerHandle | None = None
        connection.exchange = self
        self.server.at_once += 1
        self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)

    @property
    def since(self) -> int:
        """Nanoseconds since the request was there."""
        return now() - self.record.received

    @property
    def ending(self) -> str:
        """Why its answer ends."""
        every = self.behaviour.cut_every
        return "length" if every and self.record.number % every == 0 else "stop"

    def begin(self) -> None:
        """Serve it, or let it wait for a slot."""
        if self.behaviour.slots and self.server.in_service >= self.behaviour.slots:
            self.server.queue.append(self)
            return
        self.server.in_service += 1
        self.serve()

    def serve(self) -> None:
        """Misbehave as told, or answer."""
        record = self.record
        record.queued = self.since
        kind = self.fault()
        if kind:
            record.kind = kind
            getattr(self, f"fault_{kind}")()
        elif self.asked.get("stream") and not self.behaviour.json_for_stream:
            self.at(record.received + record.queued, self.start_stream)
        else:
            self.at(self.first_token_at() + self.decode_ns(), self.whole)

    def fault(self) -> str:
        """Which misbehaviour it is this request's turn for."""
        told, number = self.behaviour, self.record.number
        if told.error_once and not self.record.id.endswith(".0"):
            return ""
        for kind in ("hang", "error", "html", "twice", "redirect", "gzip", "flood", "headers", "echo"):
            every = getattr(told, f"{kind}_every")
            if every and number % every == 0:
                return kind
        return ""

    def fault_hang(self) -> None:
        """Never answer."""

    def fault_error(self) -> None:
        """Answer with an error status."""
        told = self.behaviour
        more = f"Retry-After: {told.retry_after}\r\n" if told.retry_after else ""
        self.record.status = told.error_status
        body = b'{"error": {"message": "the mock refuses"}}'
        self.finish(lambda: self.connection.answer(told.error_status, body, more=more))

    def fault_html(self) -> None:
        """Answer with a page."""
        self.finish(lambda: self.connection.answer(200, b"<html>log in</html>", "text/html"))

    def fault_twice(self) -> None:
        """Answer twice at once."""
        document = self.document()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(document)}\r\n\r\n"
        self.finish(lambda: self.connection.write(2 * (head.encode() + document)))

    def fault_redirect(self) -> None:
        """Point elsewhere."""
        more = "Location: http://127.0.0.1:9/elsewhere\r\n"
        self.finish(lambda: self.connection.answer(307, b"", more=more))

    def fault_gzip(self) -> None:
        """Claim to be compressed."""
        self.finish(lambda: self.connection.answer(200, b"\x1f\x8b" * 50, more="Content-Encoding: gzip\r\n"))

    def fault_flood(self) -> None:
        """Send a body without end."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
        self.connection.write(head)
        self.more(b" " * 1_000_000)

    def fault_headers(self) -> None:
        """Send a head without end."""
        self.connection.write(b"HTTP/1.1 200 OK\r\n")
        self.more(b"X-More: and more\r\n" * 1000)

    def fault_echo(self) -> None:
        """Repeat the key in an error."""
        body = json.dumps({"error": {"message": f"wrong key {self.named.get('authorization', '')}"}}).encode()
        self.record.status = 401
        self.finish(lambda: self.connection.answer(401, body))

    def more(self, data: bytes) -> None:
        """Send the same again and again."""
        if not self.is_over:
            self.connection.write(data)
            self.timer = self.server.loop.call_later(0.001, self.more, data)

    # A whole answer

    def whole(self) -> None:
        """Send one document."""
        record = self.record
        record.tokens = self.behaviour.tokens
        self.finish(lambda: self.connection.answer(200, self.document(), self.behaviour.media_type))
        record.first = record.end

    def document(self) -> bytes:
        """Write an answer by path."""
        told = self.behaviour
        if self.path.endswith("/embeddings"):
            vector = [float(len(self.asked["input"])), 1.0]
            answer: dict[str, Any] = {"data": [{"index": 0, "embedding": vector}], "model": told.model}
            return json.dumps(answer | {"usage": {"prompt_tokens": 3, "total_tokens": 3}}).encode()
        if self.path.endswith("/predict"):
            return json.dumps({"predictions": [{"label": self.asked.get("input")}]}).encode()
        text = "".join(self.words())
        choice: dict[str, Any] = {"index": 0, "finish_reason": self.ending}
        if "/chat/" in self.path:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        answer = self.about("chat.completion") | {"choices": [choice]}
        if told.usage != "none":
            answer["usage"] = self.usage()
        return json.dumps(answer).encode()

    # A stream

    def start_stream(self) -> None:
        """Send the head and what comes before the first token."""
        told = self.behaviour
        how = "Connection: close" if told.by_close else "Transfer-Encoding: chunked"
        kind = "Content-Type: text/event-stream; charset=utf-8"
        head = f"HTTP/1.1 200 OK\r\n{kind}\r\nServer: mock\r\n{how}\r\n\r\n"
        self.connection.write(head.encode())
        empty = self.behaviour.empty_every and self.record.number % self.behaviour.empty_every == 0
        if empty:
            self.record.kind = "empty"
        if told.preamble != "none":
            delta = {"role": "assistant", "content": ""} if told.preamble == "role" else {"content": ""}
            self.send([self.event(delta)])
        self.steps = self.stream(0 if empty else told.tokens)
        self.due = self.first_token_at()
        self.at(self.due, self.step)

    def step(self) -> None:
        """Send what is due, and come back for more."""
        for pause in self.steps:
            if pause is None:
                return
            if pause:
                self.due += pause
                self.at(self.due, self.step)
                return

    def stream(self, tokens: int) -> Iterator[int | None]:
        """Send chunk after chunk; gives the pause in ns after each, None at the end."""
        told, record = self.behaviour, self.record
        words, held = list(self.words()), []
        breaks = bool(told.break_every) and record.number % told.break_every == 0
        drops = bool(told.drop_every) and record.number % told.drop_every == 0
        for first in range(0, tokens, told.tokens_per_chunk):
            if (breaks or drops) and record.tokens >= told.break_after:
                self.flush(held)
                yield self.break_off(drops=drops)
            piece = words[first : first + told.tokens_per_chunk]
            name = "reasoning_content" if first < told.reasoning else "content"
            record.tokens += len(piece)
            held.append(self.event({name: "".join(piece)}, every=True))
            if len(held) >= told.coalesce or first == 0:
                self.flush(held)
            if first + told.tokens_per_chunk < tokens:
                yield int(told.itl_ms * 1e6)
        self.flush(held)
        last = [self.event({}, finish=self.ending)] if told.finish else []
        if told.usage in {"last", "every"}:
            ending = self.about("chat.completion.chunk") | {"choices": [], "usage": self.usage()}
            last.append(self.sse(ending))
        if told.done:
            last.append(self.sse("[DONE]"))
        self.finish(lambda: self.send(last, ends=True))
        yield None

    def flush(self, held: list[bytes]) -> None:
        """Send the chunks that were held back, and log them."""
        if held:
            since = self.since  # before the write, behind which the client may be first to run
            self.send(held)
            self.record.first = since if self.record.first is None else self.record.first
            self.record.chunks += [since] * len(held)
            held.clear()

    def break_off(self, *, drops: bool) -> None:
        """End a stream in its middle."""
        self.record.kind = "drop" if drops else "break"
        if not drops:
            self.finish(
                lambda: self.send([self.sse({"error": {"message": "the mock's engine died"}})], ends=True)
            )
            return
        transport = self.connection.transport
        self.finish(
            lambda: (
                None
                if transport is None
                else (transport.abort if self.behaviour.reset else transport.close)()
            )
        )

    def send(self, events: list[bytes], *, ends: bool = False) -> None:
        """Send events as one chunk of HTTP, or in two writes."""
        data = b"".join(events)
        if self.behaviour.by_close:
            self.connection.write(data)
            if ends and self.connection.transport is not None:
                self.connection.transport.close()
            return
        data = (b"%x\r\n%s\r\n" % (len(data), data) if data else b"") + (b"0\r\n\r\n" if ends else b"")
        cut = self.behaviour.split
        if 0 < cut < len(data):
            self.connection.write(data[:cut])
            time.sleep(0.001)
            data = data[cut:]
        self.connection.write(data)

    def event(self, delta: dict[str, Any], finish: str | None = None, *, every: bool = False) -> bytes:
        """Write an event with a choice."""
        told = self.behaviour
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        if "/chat/" in self.path:
            choice["delta"] = delta
        else:
            choice["text"] = delta.get("content", "")
        chunk = self.about("chat.completion.chunk") | {"choices": [choice]}
        if every and told.usage == "every":
            chunk["usage"] = self.usage()
        return self.sse(chunk)

    def about(self, chat: str) -> dict[str, Any]:
        """Say what an object of an answer is: `chat`, where it was asked for one."""
        what = chat if "/chat/" in self.path else "text_completion"
        return {"id": f"m{self.record.number}", "object": what, "model": self.behaviour.model}

    def sse(self, data: Any) -> bytes:
        """Write an event."""
        eol = self.behaviour.eol
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        comment = f": still here{eol}{eol}" if self.behaviour.comment else ""
        return f"{comment}data: {text}{eol}{eol}".encode()

    def words(self) -> Iterator[str]:
        """Give the tokens of the answer."""
        if self.behaviour.parrot:
            yield self.asked["messages"][-1]["content"]
        elif self.behaviour.text:
            yield from (f"{' ' if i else ''}{word}" for i, word in enumerate(self.behaviour.text.split()))
        else:
            yield from (f" w{i % 1000}" for i in range(self.behaviour.tokens))

    def usage(self) -> dict[str, Any]:
        """Report tokens, or lie about them."""
        told = self.behaviour
        tokens = round((self.record.tokens or told.tokens) * told.usage_factor)
        usage: dict[str, Any] = {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": 3 + tokens}
        return usage | ({"prompt_tokens_details": {"cached_tokens": told.cached}} if told.cached else {})

    # Time, and the end

    def first_token_at(self) -> int:
        """When the first token is due, absolute."""
        told, number = self.behaviour, self.record.number
        slow = number <= told.cold or (told.slow_every and number % told.slow_every == 0)
        slow = slow or 0 < told.slow_after < number
        wait = told.slow_ttft_ms if slow else told.ttft_ms
        return self.record.received + self.record.queued + int(wait * 1e6)

    def decode_ns(self) -> int:
        """How long the tokens after the first take."""
        told = self.behaviour
        chunks = -(-told.tokens // told.tokens_per_chunk)
        return int(told.itl_ms * 1e6) * max(0, chunks - 1)

    def at(self, due: int, then: Any) -> None:
        """Go on at a time, or at once."""
        left = due - now()
        if left <= 0:
            then()
        else:
            self.timer = self.server.loop.call_later(left * 1e-9, self.then, then)

    def then(self, function: Any) -> None:
        """Go on, if there is somebody to go on for."""
        if not self.is_over:
            function()

    def finish(self, send: Any) -> None:
        """Send the last bytes, log, and serve the next."""
        connection = self.connection
        connection.exchange = None
        self.record.end = self.since
        send()
        self.close()
        if connection.buffer:
            connection.data_received(b"")

    def gone(self) -> None:
        """The client has left."""
        if self.record.kind == "ok":
            self.record.kind = "gone"
        self.record.end = self.since
        self.connection.exchange = None
        self.close()

    def close(self) -> None:
        """Log it, and free its slot."""
        if self.is_over:
            return
        self.is_over = True
        server = self.server
        server.at_once -= 1
        server.records.append(self.record)
        if self in server.queue:
            server.queue.remove(self)
        elif server.queue:
            server.loop.call_soon(server.queue.popleft().serve)
        else:
            server.in_service -= 1
