"""Readers by name: how the bytes of an answer become an output, and the output becomes what a scorer sees."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from .failure import Failure
from .openai_answers import StreamReader, read_embedding, read_whole
from .reading import Reading
from .tensors import CODES, TEXT, packed_texts, read_inference, texts

#: name -> reads a whole answer.
_WHOLE: dict[str, Callable[[bytes], Reading]] = {
    "chat": lambda body: read_whole(body, chat=True),
    "completions": lambda body: read_whole(body, chat=False),
    "embeddings": read_embedding,
}


def whole(reader: str, body: bytes, select: Sequence[str | int] = ()) -> Reading:
    """Read an answer that came in one piece."""
    if reader == "json":
        return select_json(body, select)
    return read_inference(body, select) if reader == "kserve" else _WHOLE[reader](body)


def is_readable(reader: str, media: str) -> bool:
    """Whether an answer of this media type may be read in one piece."""
    return (
        media == "application/json"
        or media.endswith("+json")
        or (reader == "kserve" and media == "application/octet-stream")
    )


def stream(reader: str) -> StreamReader:
    """Read an answer that comes as events."""
    return StreamReader(chat=reader == "chat")


def output(reader: str, data: bytes) -> Any:
    """Give the output: text, a list of numbers, JSON data, or tensors by name."""
    if reader == "kserve":
        return _tensors(data)
    if reader == "embeddings":
        return array("d", data).tolist()
    return json.loads(data) if reader == "json" else data.decode("utf-8")


def _tensors(data: bytes) -> dict[str, Any]:
    """Give arrays by name, of objects where they hold texts."""
    import numpy as np  # noqa: PLC0415 - load processes read answers without it

    head, _, raw = data.partition(b"\n")
    found: dict[str, Any] = {}
    place = 0
    for name, datatype, shape in json.loads(head):
        count = math.prod(shape)
        if datatype == TEXT:
            known = texts(raw[place:], count)
            array_of = np.empty(count, dtype=object)
            array_of[:] = [each.decode("utf-8", "replace") for each in known]
            size = len(packed_texts(known))
        else:
            kind = np.dtype(f"<{CODES[datatype]}")
            array_of = np.frombuffer(raw, dtype=kind, count=count, offset=place)
            size = count * kind.itemsize
        found[name] = array_of.reshape(shape)
        place += size
    return found


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
    elif found == "":  # as for every backend
        reading.fail(Failure.EMPTY, "the output is an empty text")
    try:
        reading.output = json.dumps(found, allow_nan=False).encode()
    except (ValueError, RecursionError):
        reading.fail(Failure.EMPTY, "the output holds NaN or infinity")
    return reading
