"""Arrays as bytes: a type, a shape and a buffer. No types that run code when they are read."""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .endings import Breach
from .frames import MOST_BYTES, MOST_FORM

#: bool, integers, floats, complex, text, bytes and times, little-endian or big: plain bytes, all of them.
_TYPE = re.compile(r"[<>|][biufcSUmM]\d{1,9}(\[\d{0,9}[a-zA-Z]{1,3}\])?")
_TYPE_BYTES = 24
_LAST_CODE_POINT = 0x10FFFF


def is_plain(array: object) -> TypeGuard[NDArray[Any]]:
    """Whether something is an array whose bytes are all there is to it."""
    return type(array) is np.ndarray and array.dtype.itemsize > 0 and _is_named(array.dtype)


def shape_of(array: NDArray[Any]) -> bytes:
    """Write type and shape."""
    return (
        array.dtype.str.encode().ljust(_TYPE_BYTES)
        + bytes([array.ndim])
        + struct.pack(f"<{array.ndim}Q", *array.shape)
    )


@lru_cache(maxsize=256)  # a run has few shapes
def read_shape(form: bytes, size: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Read type and shape of `size` bytes. Raises `Breach` unless they fit each other."""
    if not _TYPE_BYTES < len(form) <= MOST_FORM:
        raise Breach("it sent an array without a type or a shape")
    dimensions = form[_TYPE_BYTES]
    if len(form) != _TYPE_BYTES + 1 + 8 * dimensions:
        raise Breach("it sent an array without a type or a shape")
    kind = form[:_TYPE_BYTES].decode("ascii", "replace").strip()
    return checked(kind, struct.unpack_from(f"<{dimensions}Q", form, _TYPE_BYTES + 1), size)


def checked(kind: str, shape: tuple[int, ...], size: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Give type and shape if an array of them takes `size` bytes. Raises `Breach`."""
    if not _TYPE.fullmatch(kind) or len(shape) > 64:
        raise Breach("it sent an array of a type that is not taken")
    try:
        dtype = np.dtype(kind)
    except (TypeError, ValueError, OverflowError):
        raise Breach("it sent an array of a type that is not taken") from None
    # A dimension of 0 makes any other one free of charge.
    if math.prod(max(1, each) for each in shape) * dtype.itemsize > MOST_BYTES or dtype.itemsize == 0:
        raise Breach("it sent an array that is too large to be one")
    if math.prod(shape) * dtype.itemsize != size:
        raise Breach("it sent an array whose shape does not fit its bytes")
    return dtype, shape


def sound(array: NDArray[Any]) -> NDArray[Any]:
    """Give an array back whose bytes mean something in its type. Raises `Breach`."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise Breach("it sent truth values that are neither")
    if array.dtype.kind == "U" and array.size:
        points = np.ascontiguousarray(array).reshape(-1).view(array.dtype.str[0] + "u4")
        if points.max() > _LAST_CODE_POINT:
            raise Breach("it sent text that is none")
    return array


@lru_cache(maxsize=256)
def _is_named(dtype: np.dtype[Any]) -> bool:
    return dtype.names is None and dtype.subdtype is None and _TYPE.fullmatch(dtype.str) is not None
