"""Digests of samples: what was asked, so that a later run can show it asked the same.

The digest of an item is SHA-256 over the canonical bytes of its input and its reference, each led by its
length; the digest of a slice is SHA-256 over the digests of its items, in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError

from .lazy import Lazy

Column = NDArray[Any] | Sequence[Any]

#: Samples whose bytes are laid side by side at a time: numbers are digested by the million.
_BLOCK = 4096


def slice_digest(inputs: Column, references: Column | None) -> str:
    """The digest of samples in this order, as hexadecimal text.

    Raises `DataError` if an item is neither an array, nor text, bytes or plain data.
    """
    whole = hashlib.sha256()
    for item in item_digests(inputs, references):
        whole.update(item)
    return whole.hexdigest()


def item_digests(inputs: Column, references: Column | None) -> Iterator[bytes]:
    """Give the digest of each sample, 32 bytes. Raises `DataError` as `slice_digest` does."""
    if _of_numbers(inputs) and (references is None or _of_numbers(references)):
        yield from _row_digests(inputs, references)
        return
    answers = _canonical_column(references) if references is not None else iter([b""] * len(inputs))
    for asked, expected in zip(_canonical_column(inputs), answers, strict=True):
        yield hashlib.sha256(
            b"".join((_length(len(asked)), asked, _length(len(expected)), expected))
        ).digest()


def _row_digests(inputs: NDArray[Any], references: NDArray[Any] | None) -> Iterator[bytes]:
    """Give the same digests where all is numbers: what leads an item is the same for each of them."""
    columns = [inputs] if references is None else [inputs, references]
    heads = [_array_head(column.dtype, column.shape[1:]) for column in columns]
    rows = [_bytes_of(column) for column in columns]
    leads = [_length(len(head) + row.shape[1]) + head for head, row in zip(heads, rows, strict=True)]
    if references is None:
        leads.append(_length(0))
        rows.append(np.empty((len(inputs), 0), dtype=np.uint8))
    for start in range(0, len(inputs), _BLOCK):
        parts: list[NDArray[np.uint8]] = []
        for lead, row in zip(leads, rows, strict=True):
            part = row[start : start + _BLOCK]
            parts += [np.tile(np.frombuffer(lead, dtype=np.uint8), (len(part), 1)), part]
        block = np.hstack(parts)
        data = memoryview(block.tobytes())
        width = block.shape[1]
        for place in range(0, len(data), width):
            yield hashlib.sha256(data[place : place + width]).digest()


def canonical(value: Any) -> bytes:
    """Give the canonical bytes of an input, reference or output. Raises `DataError` where it has none."""
    return _canonical_item(value, 0)


def _length(count: int) -> bytes:
    return count.to_bytes(8, "little")


def _of_numbers(column: Column) -> TypeGuard[NDArray[Any]]:
    return isinstance(column, np.ndarray) and column.dtype.kind in "biufcmM"


def _bytes_of(column: NDArray[Any]) -> NDArray[np.uint8]:
    """`(n, bytes of an item)`."""
    return np.ascontiguousarray(_little_endian(column)).reshape(len(column), -1).view(np.uint8)


def _canonical_column(column: Column) -> Iterator[bytes]:
    if isinstance(column, Lazy):
        return (_canonical_stored(column, place) for place in range(len(column)))
    if _of_numbers(column):
        head = _array_head(column.dtype, column.shape[1:])
        return (head + row.tobytes() for row in _bytes_of(column))
    return (_canonical_item(item, place) for place, item in enumerate(column))


def _canonical_stored(column: Lazy, place: int) -> bytes:
    data = column.stored(place)
    return _canonical_item(column.read(place), place) if data is None else b"stored\0" + data


def _canonical_item(item: Any, place: int) -> bytes:
    if isinstance(item, str):
        return b"text\0" + item.encode("utf-8", "surrogatepass")
    if isinstance(item, bytes):
        return b"bytes\0" + item
    if isinstance(item, np.ndarray) and item.dtype.kind in "biufcmM":
        return _array_head(item.dtype, item.shape) + _little_endian(item).tobytes()
    try:
        plain = json.dumps(item, sort_keys=True, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"item {place} ({type(item).__name__}) cannot be digested: {error}; "
            "expected arrays, text, bytes, or lists and mappings of them"
        ) from None
    return b"json\0" + plain.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcmM":
        data = _little_endian(value)
        return {
            "array": data.dtype.str,
            "shape": list(data.shape),
            "sha256": hashlib.sha256(data.tobytes()).hexdigest(),
        }
    raise TypeError(f"{type(value).__name__} is no plain data")


def _array_head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    little = dtype.newbyteorder("<")
    return f"array\0{little.str} {','.join(map(str, shape))}\0".encode()


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
