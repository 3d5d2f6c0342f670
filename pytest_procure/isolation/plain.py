"""Plain data as JSON with buffers beside it: what answers are made of, and nothing that runs.

JSON's own values stand for themselves. Everything else is an object with one key, which says what it is:
`{"tuple": [...]}`, `{"dict": [[key, value], ...]}`, `{"array": [type, shape, first byte, bytes]}`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import Answer, Passing, StagePass

from .arrays import checked, is_plain, sound
from .endings import Breach

_DEEPEST = 100
_LENGTH = struct.Struct("<Q")
_BASES: tuple[type[Any], ...] = (str, int, float, list)
_ITSELF = (str, int, float, bool, type(None))


def encode(value: object) -> bytes:
    """Write `value`. Raises `TypeError` for what is no plain data, which names it."""
    writer = _Writer()
    text = json.dumps(writer.node(value, 0)).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *writer.buffers))


def decode(data: memoryview) -> Any:
    """Read what `encode` wrote, from somebody who may have written anything. Raises `Breach`."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        if length > len(data) - _LENGTH.size:
            raise Breach("it sent data that end too early")
        end = _LENGTH.size + length
        return _Reader(data[end:]).value(json.loads(str(data[_LENGTH.size : end], "utf-8")), 0)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, struct.error):
        raise Breach("it sent data that cannot be read") from None


class _Writer:
    def __init__(self) -> None:
        self.buffers: list[bytes] = []
        self._end = 0

    def node(self, value: Any, depth: int) -> Any:
        """Give `value` as JSON data; its bytes go into the buffers."""
        kind = type(value)
        if kind in _ITSELF:
            return value
        if depth > _DEEPEST:
            raise TypeError(f"answered with data nested more than {_DEEPEST} deep")
        inside = depth + 1
        if kind is list:
            return [self.node(each, inside) for each in value]
        for group in (Answer, Mapping, tuple, set, frozenset):
            if isinstance(value, group):
                return self._group(value, group, inside)
        return self._scalar(value) if isinstance(value, np.generic) else self._other(value, inside)

    def _group(self, value: Any, group: type, depth: int) -> Any:
        if group is Mapping:
            pairs = ((self.node(key, depth), self.node(each, depth)) for key, each in value.items())
            return {"dict": [list(pair) for pair in pairs]}
        if group is Answer:
            passed = [
                [each.name, int(each.passing), each.ns, each.output, *_tokens(each)] for each in value.stages
            ]
            value = (value.output, *_tokens(value), passed, value.error)
        return {group.__name__.lower(): [self.node(each, depth) for each in value]}

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"bytes": list(self._kept(bytes(value)))}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        for plain in _BASES:  # a class derived from one: its value is what counts
            if isinstance(value, plain):
                return self.node(plain(value), depth)
        array = np.asarray(value) if hasattr(value, "__array__") else value
        if is_plain(array):
            return {"array": [array.dtype.str, list(array.shape), *self._kept(array.tobytes())]}
        raise TypeError(
            f"answered with a {type(value).__name__}, which cannot leave its process; "
            "expected numbers, text, bytes, arrays, and lists or dicts of them"
        )

    def _scalar(self, value: np.generic) -> Any:
        array = np.asarray(value)
        if not is_plain(array):
            raise TypeError(f"answered with a {type(value).__name__}, which cannot leave its process")
        return {"scalar": [array.dtype.str, *self._kept(array.tobytes())]}

    def _kept(self, data: bytes) -> tuple[int, int]:
        first = self._end
        self.buffers.append(data)
        self._end += len(data)
        return first, len(data)


def _tokens(of: Answer | StagePass) -> tuple[int, int, int]:
    return of.input_tokens, of.output_tokens, of.cached_tokens


class _Reader:
    def __init__(self, buffers: memoryview) -> None:
        self._buffers = buffers
        self._of: dict[str, Callable[[list[Any], int], Any]] = {
            "tuple": lambda given, depth: tuple(self._each(given, depth)),
            "set": lambda given, depth: set(self._each(given, depth)),
            "frozenset": lambda given, depth: frozenset(self._each(given, depth)),
            "dict": lambda given, depth: dict(self._each(pair, depth) for pair in given),
            "bytes": lambda given, _: bytes(self._part(*given)),
            "complex": lambda given, _: complex(float(given[0]), float(given[1])),
            "array": self._array,
            "scalar": lambda given, _: self._array([given[0], [], *given[1:]], 0)[()],
            "answer": self._answer,
        }

    def value(self, node: Any, depth: int) -> Any:
        """Make the value that a piece of JSON stands for."""
        if isinstance(node, _ITSELF):
            return node
        if depth > _DEEPEST:
            raise Breach("it sent data that are nested too deep")
        if isinstance(node, list):
            return self._each(node, depth)
        ((name, given),) = node.items()
        if not isinstance(given, list):
            raise Breach("it sent data that cannot be read")
        return self._of[name](given, depth)

    def _answer(self, given: list[Any], depth: int) -> Answer:
        """Read an answer; what it says of stages is looked at where the log is written."""
        output, asked, answered, cached, passed, error = self._each(given, depth)
        stages = tuple(StagePass(name, Passing(passing), *told) for name, passing, *told in passed)
        return Answer(output, asked, answered, stages, error, cached)

    def _each(self, nodes: list[Any], depth: int) -> list[Any]:
        return [self.value(node, depth + 1) for node in nodes]

    def _part(self, first: int, size: int) -> memoryview:
        if (
            type(first) is not int
            or type(size) is not int
            or not 0 <= first <= first + size <= len(self._buffers)
        ):
            raise Breach("it sent data whose parts lie outside")
        return self._buffers[first : first + size]

    def _array(self, given: list[Any], _: int) -> Any:
        kind, shape, first, size = given
        if not isinstance(kind, str) or not all(type(each) is int and each >= 0 for each in shape):
            raise Breach("it sent an array without a type or a shape")
        dtype, dimensions = checked(kind, tuple(shape), size)
        return sound(np.ndarray(dimensions, dtype, buffer=bytes(self._part(first, size))).copy())
