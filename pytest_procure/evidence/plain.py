"""Typed values as plain JSON data, and back: what a pack holds becomes the very objects that are judged.

A pack may come from a stranger. Only the types named here are made, each field has to be there and of its
type, and numbers are bounded, so that reading a pack runs no code of its author's and takes no more memory
than the pack itself.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin

from pytest_procure.errors import EvidenceError

if TYPE_CHECKING:  # who only writes a record, or renders one, has no need of it
    import numpy as np

T = TypeVar("T")

_LONGEST_NUMBER = 80  # digits of an exact number as text; a float's 17 and a price's dozen fit
_LARGEST_EXPONENT = 60
_MOST_DEEP = 60  # nested lists and mappings


def dumps(data: Any) -> str:
    """Write plain data as JSON: sorted keys, ASCII, no NaN, a newline at the end."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def loads(text: bytes, where: str) -> Any:
    """Read JSON as `dumps` writes it, to the byte. Raises `EvidenceError` for anything else."""
    try:
        data = json.loads(text.decode("ascii"), parse_constant=_refuse)
        canonical = dumps(data).encode("ascii")
    except (ValueError, RecursionError, UnicodeDecodeError) as error:
        raise EvidenceError(f"{where}: no JSON of ours: {str(error)[:120]}") from None
    if canonical != text:
        raise EvidenceError(f"{where}: the JSON is not in its canonical form (sorted keys, one layout)")
    return data


def _refuse(constant: str) -> float:
    raise ValueError(f"`{constant}` is no number")


def to_plain(value: Any) -> Any:  # noqa: C901, PLR0911 - one return a type
    """Give a value as plain JSON data; `EvidenceError` for one of a type that no pack can hold."""
    if isinstance(value, Enum):
        return to_plain(value.value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvidenceError(f"{value} cannot be recorded; expected a finite number")
        return float(value)
    if isinstance(value, Decimal):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(to_plain(each) for each in value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [to_plain(each) for each in value]
    if type(value).__module__ == "numpy":  # an array or one of its numbers
        return to_plain(cast("Any", value).tolist())
    raise EvidenceError(f"a {type(value).__name__} cannot be recorded; expected plain data")


def from_plain(kind: type[T], data: Any, where: str) -> T:
    """Make a `kind` of plain data. Raises `EvidenceError` that names the field: `cases/x.json: $.bars[0]`."""
    made: T = _read(kind, data, where, 0)
    return made


def _read(kind: Any, data: Any, where: str, depth: int) -> Any:
    if depth > _MOST_DEEP:
        raise EvidenceError(f"{where}: nested too deeply")
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any or typing.is_typeddict(kind):
        return data
    if origin in (types.UnionType, typing.Union):
        return _one_of(arguments, data, where, depth)
    if origin is typing.Literal:
        if data in arguments and type(data) is type(arguments[arguments.index(data)]):
            return data
        raise _wrong(where, f"one of {', '.join(map(repr, arguments))}", data)
    if (collection := getattr(origin, "__name__", "")) in _COLLECTIONS:
        return _COLLECTIONS[collection](arguments, data, where, depth)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, data, where, depth)
    if kind in _SCALARS:
        return _SCALARS[kind](data, where)
    raise EvidenceError(f"{where}: values of type {kind} are not read")  # pragma: no cover - a type of ours


def _one_of(kinds: Sequence[Any], data: Any, where: str, depth: int) -> Any:
    if data is None and type(None) in kinds:
        return None
    kinds = [kind for kind in kinds if kind is not type(None)]
    for kind in kinds[:-1]:
        try:
            return _read(kind, data, where, depth)
        except EvidenceError:
            continue
    return _read(kinds[-1], data, where, depth)


def _list(arguments: Sequence[Any], data: Any, where: str, depth: int) -> list[Any]:
    if not isinstance(data, list):
        raise _wrong(where, "a list", data)
    return [_read(arguments[0], each, f"{where}[{i}]", depth + 1) for i, each in enumerate(data)]


def _tuple(arguments: Sequence[Any], data: Any, where: str, depth: int) -> tuple[Any, ...]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_list(arguments[:1], data, where, depth))
    if not isinstance(data, list) or len(data) != len(arguments):
        raise _wrong(where, f"a list of {len(arguments)}", data)
    pairs = zip(arguments, data, strict=True)
    return tuple(_read(kind, each, f"{where}[{i}]", depth + 1) for i, (kind, each) in enumerate(pairs))


def _set(arguments: Sequence[Any], data: Any, where: str, depth: int) -> set[Any]:
    return set(_list(arguments, data, where, depth))


def _dict(arguments: Sequence[Any], data: Any, where: str, depth: int) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _wrong(where, "an object", data)
    return {key: _read(arguments[1], each, f"{where}.{key}", depth + 1) for key, each in data.items()}


def _array(arguments: Sequence[Any], data: Any, where: str, depth: int) -> np.ndarray[Any, Any]:
    """Read a column of whole numbers, `(n,)` int64; read-only, as what was declared."""
    import numpy as np  # noqa: PLC0415 - only traces are columns

    (number,) = get_args(arguments[1])
    if number is not np.int64:  # pragma: no cover - a type of ours
        raise EvidenceError(f"{where}: columns of {number} are not read")
    numbers = _list((int,), data, where, depth)
    if not all(0 <= each < 2**63 for each in numbers):
        raise _wrong(where, "whole numbers of 63 bits", data)
    made = np.array(numbers, dtype=np.int64)
    made.flags.writeable = False
    return made


def _dataclass(kind: Any, data: Any, where: str, depth: int) -> Any:
    if not isinstance(data, dict):
        raise _wrong(where, "an object", data)
    hints = _hints(kind)
    for name in data:
        if name not in hints:
            raise EvidenceError(f"{where}.{name}: there is no such field; known: {', '.join(hints)}")
    for name in hints:
        if name not in data:
            raise EvidenceError(f"{where}.{name}: the field is missing")
    return kind(**{name: _read(hints[name], data[name], f"{where}.{name}", depth + 1) for name in hints})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _scalar(*kinds: type) -> Callable[[Any, str], Any]:
    def read(data: Any, where: str) -> Any:
        if type(data) not in kinds:  # a bool is no int here
            raise _wrong(where, kinds[-1].__name__, data)
        return data

    return read


def _int(data: Any, where: str) -> int:
    if type(data) is not int or not -(2**63) <= data < 2**64:
        raise _wrong(where, "a whole number of 64 bits", data)
    return data


def _float(data: Any, where: str) -> float:
    if type(data) not in {int, float} or not abs(data) < 1e300:
        raise _wrong(where, "a number", data)
    return float(data)


def _decimal(data: Any, where: str) -> Decimal:
    """Read an exact number; one with an absurd exponent would fill the memory when it is written out."""
    try:
        number = Decimal(data) if isinstance(data, str) and len(data) <= _LONGEST_NUMBER else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise _wrong(where, "an exact number as text", data)
    return number


def _wrong(where: str, expected: str, data: Any) -> EvidenceError:
    return EvidenceError(f"{where}: expected {expected}, not {repr(data)[:60]}")


_COLLECTIONS: dict[str, Callable[[Sequence[Any], Any, str, int], Any]] = {
    "list": _list,
    "tuple": _tuple,
    "set": _set,
    "dict": _dict,
    "ndarray": _array,
}
_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    bool: _scalar(bool),
    str: _scalar(str),
    int: _int,
    float: _float,
    Decimal: _decimal,
}
