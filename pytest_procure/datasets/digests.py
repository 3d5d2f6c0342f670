"""Digests of samples: what was asked, so that a later run can show it asked the same.

The digest of an item is SHA-256 over the canonical bytes of its input and its reference, each led by its
length; the digest of a slice is SHA-256 over the digests of its items, in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError

from .lazy import Lazy

Column = NDArray[Any] | Sequence[Any]


def slice_digest(inputs: Column, references: Column | None) -> str:
    """The digest of samples in this order, as hexadecimal text.

    Raises `DataError` if an item is neither an array, nor text, bytes or plain data.
    """
    return digest_of(item_digests(inputs, references))


def digest_of(items: Iterable[bytes]) -> str:
    """The digest of samples that have these digests, in this order, as hexadecimal text."""
    return hashlib.sha256(b"".join(items)).hexdigest()


def item_digests(inputs: Column, references: Column | None) -> Iterator[bytes]:
    """Give the digest of each sample, 32 bytes. Raises `DataError` as `slice_digest` does."""
    nothing = _length(b"")
    answers = iter([nothing] * len(inputs)) if references is None else _framed_column(references)
    for asked, expected in zip(_framed_column(inputs), answers, strict=True):
        yield hashlib.sha256(asked + expected).digest()


def canonical(value: Any) -> bytes:
    """Give the canonical bytes of an input, reference or output. Raises `DataError` where it has none."""
    return _canonical_item(value, 0)


def _length(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little")


def _framed_column(column: Column) -> Iterator[bytes]:
    """Give the canonical bytes of each item, led by their length."""
    if isinstance(column, Lazy):
        return _framed(_canonical_stored(column, place) for place in range(len(column)))
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufcmM":
        return _framed_rows(column)
    return _framed(_canonical_item(item, place) for place, item in enumerate(column))


def _framed(items: Iterable[bytes]) -> Iterator[bytes]:
    return (_length(data) + data for data in items)


def _framed_rows(column: NDArray[Any]) -> Iterator[bytes]:
    """Do the same for rows of an array, which are of one length, and often millions."""
    head = _array_head(column.dtype, column.shape[1:])
    data = np.ascontiguousarray(_little_endian(column)).reshape(-1).view(np.uint8).data
    size = len(data) // max(1, len(column))
    lead = (len(head) + size).to_bytes(8, "little") + head
    return (lead + data[place * size : (place + 1) * size] for place in range(len(column)))


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
