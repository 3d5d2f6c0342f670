"""What OpenAI-compatible servers answer: chat, completions and embeddings, whole or as a stream.

A token is what a reader would see or pay for: text, reasoning, a refusal, the arguments of a tool call. A
role, an empty delta, usage and the end mark are none. A stream is good only with a token and a reason why it
ended.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Sequence
from typing import Any

from .failure import Failure, line
from .reading import Reading

_DONE = b"[DONE]"
#: What is read of a body that is no answer, and how much of it is shown: no key is cut in two in between.
_START, _SHOWN = 64 << 10, 120
#: Where servers put tokens beside `content`.
_BESIDE = ("reasoning_content", "reasoning", "refusal")
#: What a hostile answer makes Python raise on the way to a field.
_WRONG_SHAPE = (TypeError, AttributeError, KeyError, IndexError)
_NOT_JSON = (ValueError, RecursionError)


class StreamReader:
    """Reads the events of one stream, some at a time."""

    __slots__ = ("_calls", "_chat", "_seen", "_texts", "done", "reading")

    def __init__(self, *, chat: bool) -> None:
        self._chat = chat
        self._texts: list[str] = []
        self._calls: list[str] = []
        self._seen = 0
        self.done = False  # the end mark was there
        self.reading = Reading(chunks=0)

    def add(self, payloads: Sequence[bytes]) -> None:
        """Read the next events, by their payloads."""
        reading = self.reading
        for place, chunk in enumerate(_decoded(payloads), start=self._seen):
            if chunk is None:
                self.done = True
                continue
            try:
                if self._read(chunk):
                    reading.places.append(place)
            except _WRONG_SHAPE:
                reading.fail(Failure.BODY, "an event of the stream is no chunk of an answer")
        self._seen += len(payloads)

    def end(self, *, cut: bool) -> Reading:
        """Judge the stream. `cut`: the connection was closed before the answer's end."""
        reading = self.reading
        reading.chunks = len(reading.places)
        reading.output = "".join(self._texts or self._calls).encode("utf-8", "replace")
        if cut and not (self.done and reading.finish):
            reading.fail(Failure.RESET, f"the connection was closed after {reading.chunks} chunks")
        if reading.chunks:
            reading.check_usage()
        else:
            reading.fail(Failure.EMPTY, "the stream held no token")
        if not reading.finish:
            reading.fail(Failure.NO_FINISH, "the stream ended without a finish_reason")
        return reading

    def _read(self, chunk: Any) -> bool:
        """Read one event: whether it carries tokens."""
        reading = self.reading
        if chunk.get("error"):
            reading.fail(Failure.STREAM_ERROR, f"the stream broke off: {error_text(chunk)}")
            return False
        if chunk.get("usage"):
            reading.take_usage(chunk["usage"])
        if not reading.model:
            reading.take_identity(chunk)
        choices = chunk.get("choices")
        if not choices:
            return False
        choice = choices[0]
        if choice.get("finish_reason"):
            reading.finish = line(choice["finish_reason"])
        if not self._chat:
            return self._text(choice.get("text"))
        delta = choice.get("delta") or {}
        carries = self._text(delta.get("content"))
        for name in _BESIDE:
            carries = bool(delta.get(name)) or carries
        if delta.get("tool_calls"):
            carries = self._tool_calls(delta["tool_calls"]) or carries
        return carries

    def _text(self, text: Any) -> bool:
        if not text:
            return False
        if not isinstance(text, str):
            raise TypeError
        self._texts.append(text)
        return True

    def _tool_calls(self, calls: Any) -> bool:
        said = [part for call in calls for part in _called(call)]
        self._calls += said
        return bool(said)


def read_whole(body: bytes, *, chat: bool) -> Reading:
    """Read an answer that is one JSON document."""
    reading = Reading()
    answer = _document(body, reading)
    if answer is None:
        return reading
    try:
        reading.take_usage(answer.get("usage"))
        reading.take_identity(answer)
        choice = answer["choices"][0]
        reading.finish = line(choice.get("finish_reason") or "")
        message = choice["message"] if chat else choice
        text = (message["content"] if chat else message["text"]) or ""
        calls = message.get("tool_calls") or [] if chat else []
        said = text or "".join(part for call in calls for part in _called(call))
        beside = any(message.get(name) for name in _BESIDE)
        reading.output = said.encode("utf-8", "replace")
    except _WRONG_SHAPE:
        reading.fail(Failure.BODY, f"the answer has no choice that can be read: {start(body)}")
        return reading
    if said or beside:
        reading.check_usage()
    else:
        reading.fail(Failure.EMPTY, "the answer holds no text")
    return reading


def read_embedding(body: bytes) -> Reading:
    """Read an embedding: `output` holds its numbers as float64 in this machine's byte order.

    It has no output tokens, so that what it costs is known where its input tokens are.
    """
    reading = Reading()
    answer = _document(body, reading)
    if answer is None:
        return reading
    try:
        reading.take_usage(answer.get("usage"))
        reading.take_identity(answer)
        if reading.input_tokens >= 0:
            reading.output_tokens = max(reading.output_tokens, 0)
        vector = array("d", answer["data"][0]["embedding"])
    except (*_WRONG_SHAPE, OverflowError):
        reading.fail(Failure.BODY, f"the answer has no embedding that can be read: {start(body)}")
        return reading
    if not vector:
        reading.fail(Failure.EMPTY, "the embedding is empty")
    elif not all(map(math.isfinite, vector)):
        reading.fail(Failure.EMPTY, "the embedding holds NaN or infinity")
    reading.output = vector.tobytes()
    return reading


def error_text(answer: Any) -> str:
    """Give the message of an error document, in the forms that servers use."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return line(error)


def said(body: bytes) -> str:
    """What an error's body says: its message, or how it begins."""
    if body.lstrip().startswith(b"{"):
        try:
            return error_text(json.loads(body[:_START]))
        except _NOT_JSON:
            pass
    return start(body)


def _document(body: bytes, reading: Reading) -> dict[str, Any] | None:
    try:
        answer = json.loads(body)
    except _NOT_JSON:
        reading.fail(Failure.BODY, f"the answer is no JSON: {start(body)}")
        return None
    if not isinstance(answer, dict):
        reading.fail(Failure.BODY, f"the answer is no JSON object: {start(body)}")
        return None
    if answer.get("error"):
        reading.fail(Failure.STREAM_ERROR, f"the answer is an error: {error_text(answer)}")
        return None
    return answer


def _decoded(payloads: Sequence[bytes]) -> list[Any]:
    """Decode payloads; None for the end mark, an empty chunk for nothing, text for what is no JSON.

    All at once costs a third of one by one. No two payloads can be taken for one value, since a line break
    between them is allowed in no string; one that is taken for two makes the numbers differ.
    """
    marked = [place for place, payload in enumerate(payloads) if payload == _DONE or not payload]
    plain = (
        [b"null" if payload == _DONE else payload or b"{}" for payload in payloads] if marked else payloads
    )
    try:
        decoded = json.loads(b"[" + b",\n".join(plain) + b"]")
        if len(decoded) == len(payloads):
            for place, chunk in enumerate(decoded):
                if chunk is None and payloads[place] != _DONE:
                    decoded[place] = "null"
            return list(decoded)
    except _NOT_JSON:
        pass
    return [_one(payload) for payload in payloads]


def _one(payload: bytes) -> Any:
    if payload == _DONE:
        return None
    try:
        chunk = json.loads(payload or b"{}")
    except _NOT_JSON:
        return line(payload.decode("utf-8", "replace"))
    return "null" if chunk is None else chunk


def _called(call: Any) -> list[str]:
    """What a tool call adds: a function's name, a piece of its arguments."""
    function = call.get("function") or {}
    return [str(part) for part in (function.get("name"), function.get("arguments")) if part]


def start(body: bytes) -> str:
    """Quote how a body begins."""
    return line(body[:_START].decode("utf-8", "replace"), _SHOWN)
