"""What `predict` returned, as a payload; and read back on the side that trusts nothing."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import plain
from .arrays import is_plain, read_shape, shape_of, sound
from .endings import Breach
from .frames import ARRAY, INTEGERS, PLAIN, SCALARS


def written(returned: Any) -> tuple[int, bytes, Any]:
    """Give (form, type and shape, payload): the payload is an array or bytes.

    Arrays go as they are; lists of integers and of numpy's scalars as one buffer, because JSON of a large
    batch takes longer than many a model. Raises `TypeError` for what cannot leave the process.
    """
    foreign = hasattr(returned, "__array__") and not isinstance(returned, np.generic)
    kept = np.asarray(returned) if foreign else returned
    if is_plain(kept):
        return ARRAY, shape_of(kept), kept
    if type(kept) is list and kept:
        first = type(kept[0])
        if first is int and all(type(each) is int for each in kept):
            try:
                return INTEGERS, b"", array.array("q", kept).tobytes()
            except OverflowError:
                return PLAIN, b"", plain.encode(kept)
        if issubclass(first, np.generic) and all(type(each) is first for each in kept):
            scalars = np.asarray(kept)
            if is_plain(scalars) and scalars.dtype.type is first:
                return SCALARS, shape_of(scalars), scalars
    return PLAIN, b"", plain.encode(_listed(kept))


def read(form: int, shape: bytes, data: memoryview) -> Any:
    """Make what was returned from a payload that may be anything. Raises `Breach`."""
    if form in {ARRAY, SCALARS}:
        dtype, dimensions = read_shape(shape, len(data))
        taken: NDArray[Any] = np.ndarray(dimensions, dtype, buffer=data).copy()
        sound(taken)
        if form == ARRAY:
            return taken
        if taken.ndim != 1:
            raise Breach("it sent an array without a type or a shape")
        return list(taken)
    if form == INTEGERS and len(data) % 8 == 0:
        return np.frombuffer(data, dtype=np.int64).tolist()
    if form == PLAIN:
        return plain.decode(data)
    raise Breach("it sent an answer of a form that there is not")


def _listed(returned: Any) -> Any:
    """Read a sequence of a class of its own; what is no sequence stays as it is, and is judged over here."""
    known = isinstance(returned, (list, tuple, str, bytes, dict, set, frozenset))
    if known or not hasattr(returned, "__len__") or hasattr(returned, "keys"):
        return returned
    return list(returned)
