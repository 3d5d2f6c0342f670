"""Tensors on the wire: what a server of the KServe V2 protocol answers, in JSON or by its binary extension.

A binary answer is a JSON document and the raw tensors behind it, little-endian, in order; text is a length in
four bytes and so many bytes. A read answer is kept the same way: one line of JSON that lists names, datatypes
and shapes, and the raw tensors. Nothing here needs numpy, which load processes do not import.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from typing import Any, TypeGuard

from .failure import Failure, line
from .reading import Reading

#: Datatype -> what `struct` calls it.
CODES = {
    "BOOL": "?",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "FP16": "e",
    "FP32": "f",
    "FP64": "d",
}
TEXT = "BYTES"
_LENGTH = struct.Struct("<I")
_MOST_RANK = 32


def is_known(datatype: object) -> TypeGuard[str]:
    """Whether it names a datatype; a hostile server may send anything in its place."""
    return isinstance(datatype, str) and (datatype in CODES or datatype == TEXT)


class _Amiss(Exception):  # noqa: N818 - it tells what is amiss
    """An answer that cannot be read; its text says why."""


def read_inference(body: bytes, wanted: Sequence[str | int]) -> Reading:
    """Read an answer that has to hold the outputs `wanted`."""
    reading = Reading()
    try:
        answer, end = _document(body)
        if "error" in answer:
            reading.fail(Failure.STREAM_ERROR, f"the answer is an error: {line(answer['error'])}")
            return reading
        if isinstance(answer.get("model_name"), str):
            reading.model = line(answer["model_name"])
        found = _outputs(answer, body[end:])
        missing = [name for name in wanted if name not in found]
    except _Amiss as amiss:
        reading.fail(Failure.BODY, str(amiss))
        return reading
    if missing:
        told = f"the answer has no output `{missing[0]}`; it has {', '.join(found) or 'none'}"
        reading.fail(Failure.BODY, line(told))
        return reading
    kept = {str(name): found[str(name)] for name in (wanted or found)}
    if not kept or any(0 in shape for _, shape, _ in kept.values()):
        reading.fail(Failure.EMPTY, "the outputs are empty")
    elif not any(datatype != TEXT or any(texts(raw)) for datatype, _, raw in kept.values()):
        reading.fail(Failure.EMPTY, "the output is an empty text")
    head = [[name, datatype, shape] for name, (datatype, shape, _) in kept.items()]
    reading.output = json.dumps(head).encode() + b"\n" + b"".join(raw for _, _, raw in kept.values())
    return reading


def texts(raw: bytes, count: int | None = None) -> list[bytes]:
    """Take a tensor of texts apart, the first `count`. Raises `ValueError` where lengths do not add up."""
    found: list[bytes] = []
    place = 0
    while place < len(raw) and (count is None or len(found) < count):
        if place + _LENGTH.size > len(raw):
            raise ValueError("a length is cut off")
        (length,) = _LENGTH.unpack_from(raw, place)
        place += _LENGTH.size
        if place + length > len(raw):
            raise ValueError("a text is cut off")
        found.append(raw[place : place + length])
        place += length
    return found


def packed_texts(values: Sequence[bytes]) -> bytes:
    """Write a tensor of texts."""
    return b"".join(_LENGTH.pack(len(value)) + value for value in values)


def _document(body: bytes) -> tuple[dict[str, Any], int]:
    """Read the JSON at the beginning: the document, and where it ends."""
    try:
        # A byte is a sign in Latin-1, so that places are those of the bytes; what is read is read again.
        _, end = json.JSONDecoder().raw_decode(body.decode("latin-1"))
        answer = json.loads(body[:end])
    except (ValueError, RecursionError):
        raise _Amiss("the answer does not begin with JSON") from None
    if not isinstance(answer, dict):
        raise _Amiss("the answer is no JSON object")
    return answer, end


def _outputs(answer: dict[str, Any], behind: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    """Give the outputs by name: datatype, shape, raw bytes."""
    listed = answer.get("outputs")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise _Amiss("the answer has no list of outputs")
    sizes = [_binary_size(each) for each in listed]
    place = len(behind) - sum(size for size in sizes if size is not None)
    if place < 0 or behind[:place].strip():
        raise _Amiss(f"{len(behind):,} bytes stand behind the answer's JSON, and it announces others")
    found = {}
    for each, size in zip(listed, sizes, strict=True):
        name, datatype, shape = each.get("name"), each.get("datatype"), _shape(each.get("shape"))
        if not isinstance(name, str) or not is_known(datatype):
            raise _Amiss(f"an output is named {line(repr(name))} and of datatype {line(repr(datatype))}")
        if size is None:
            raw = _raw(name, datatype, shape, each.get("data"))
        else:
            raw, place = behind[place : place + size], place + size
            _check_raw(name, datatype, shape, raw)
        found[name] = (datatype, shape, raw)
    return found


def _binary_size(output: dict[str, Any]) -> int | None:
    parameters = output.get("parameters")
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is None:
        return None
    if type(size) is not int or size < 0:
        raise _Amiss(f"an output announces {line(repr(size))} bytes")
    return size


def _shape(shape: Any) -> list[int]:
    if not isinstance(shape, list) or len(shape) > _MOST_RANK:
        raise _Amiss("an output has no shape")
    if any(type(length) is not int or length < 0 for length in shape):
        raise _Amiss(f"an output has the shape {line(repr(shape))}")
    return shape


def _raw(name: str, datatype: str, shape: list[int], data: Any) -> bytes:
    flat = _flat(data)
    if len(flat) != math.prod(shape):
        raise _Amiss(f"output `{name}` has {len(flat):,} values, and the shape {line(repr(shape))}")
    try:
        if datatype == TEXT:
            if None in flat:
                raise TypeError  # noqa: TRY301 - told like any other
            return packed_texts([str(value).encode("utf-8", "replace") for value in flat])
        return struct.pack(f"<{len(flat)}{CODES[datatype]}", *flat)
    except (struct.error, OverflowError, TypeError):
        raise _Amiss(f"output `{name}` holds what is no {datatype}") from None


def _flat(data: Any) -> list[Any]:
    """Give the values in order; servers send them flat or nested."""
    if not isinstance(data, list):
        raise _Amiss("an output has no data")
    flat = data
    for _ in range(_MOST_RANK):
        if not any(isinstance(each, list) for each in flat):
            return flat
        if not all(isinstance(each, list) for each in flat):
            raise _Amiss("an output's data are nested unevenly")
        flat = [value for each in flat for value in each]
    raise _Amiss("an output's data are nested too deeply")


def _check_raw(name: str, datatype: str, shape: list[int], raw: bytes) -> None:
    count = math.prod(shape)
    if datatype != TEXT:
        right = len(raw) == count * struct.calcsize(f"<{CODES[datatype]}")
    else:
        try:
            right = len(texts(raw)) == count
        except ValueError:
            right = False
    if not right:
        raise _Amiss(f"output `{name}` has {len(raw):,} bytes, and the shape {line(repr(shape))}")
