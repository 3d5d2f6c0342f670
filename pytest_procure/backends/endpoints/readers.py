"""Readers by name: how the bytes of an answer become an output, and the output becomes what a scorer sees."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from .failure import Failure
from .openai_answers import StreamReader, read_embedding, read_whole
from .reading import Reading

#: name -> reads a whole answer.
_WHOLE: dict[str, Callable[[bytes], Reading]] = {
    "chat": lambda body: read_whole(body, chat=True),
    "completions": lambda body: read_whole(body, chat=False),
    "embeddings": read_embedding,
}


def whole(reader: str, body: bytes, select: Sequence[str | int] = ()) -> Reading:
    """Read an answer that came in one piece."""
    return select_json(body, select) if reader == "json" else _WHOLE[reader](body)


def stream(reader: str) -> StreamReader:
    """Read an answer that comes as events."""
    return StreamReader(chat=reader == "chat")


def output(reader: str, data: bytes) -> Any:
    """Give the output: text, a list of numbers, or JSON data."""
    if reader == "embeddings":
        return array("d", data).tolist()
    return json.loads(data) if reader == "json" else data.decode("utf-8")


def _step(found: Any, step: str | int) -> tuple[bool, Any]:
    """Go one step into JSON: whether there is such a place, and what is there."""
    if isinstance(found, dict):
        return step in found, found.get(step)
    if isinstance(found, list) and isinstance(step, int) and -len(found) <= step < len(found):
        return True, found[step]
    return False, None


def select_json(body: bytes, select: Sequence[str | int]) -> Reading:
    """Read any JSON: `select` is the way to the output, names and places."""
    reading = Reading()
    found: Any = None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        reading.fail(Failure.BODY, "the answer is no JSON")
        return reading
    for step in select:
        there, found = _step(found, step)
        if not there:
            reading.fail(Failure.BODY, f"the answer has no {step!r} on the way to the output")
            return reading
    if found is None:
        reading.fail(Failure.EMPTY, "the output is null")
    try:
        reading.output = json.dumps(found, allow_nan=False).encode()
    except (ValueError, RecursionError):
        reading.fail(Failure.EMPTY, "the output holds NaN or infinity")
    return reading
