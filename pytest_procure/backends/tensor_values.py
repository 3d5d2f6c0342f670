"""The values of a sample as a tensor of a server of the KServe V2 protocol takes them, or a word why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_procure.errors import DataError

from .endpoints.failure import line
from .endpoints.tensors import CODES, TEXT, packed_texts


def numbers(value: Any, datatype: str, where: str, *, cast: bool) -> np.ndarray[Any, Any]:
    """Give the numbers of a sample as an array of this datatype; `where` tells who takes them.

    Raises `DataError` for another type than the model's, and for a number that this type cannot hold.
    """
    kind = np.dtype(f"<{CODES[datatype]}")
    is_typed = isinstance(value, np.ndarray | np.generic)
    try:
        values = np.asarray(value, order="C")
        if values.dtype.kind not in "biuf":
            raise DataError(f"a sample is of type {values.dtype}, and {where}")
        if is_typed and values.dtype != kind and not cast:
            raise DataError(
                f"a sample is of type {values.dtype}, and {where}; convert the dataset, or declare "
                "`cast=True`"
            )
        if not is_typed and kind.kind in "biu" and values.dtype.kind == "f":
            raise DataError(f"a sample holds fractions, and {where}")
        with np.errstate(over="ignore"):  # what is too great for its type is looked for
            _check_range(values, kind, where, is_cast=is_typed)
            return np.atleast_1d(values.astype(kind))
    except (ValueError, OverflowError) as error:
        raise DataError(f"a sample cannot be a tensor ({line(error)}), and {where}") from None


def _check_range(values: np.ndarray[Any, Any], kind: np.dtype[Any], where: str, *, is_cast: bool) -> None:
    """Refuse numbers that another type would turn into others: numpy wraps them, and says nothing.

    A cast may cut off fractions, and makes True of what is not 0. Raises `DataError`.
    """
    if values.dtype == kind or values.dtype.kind == "b" or not values.size:
        return
    if kind.kind == "f":
        wrong = values[np.isfinite(values) & ~np.isfinite(values.astype(kind))]
        expected = f"at most {float(np.finfo(kind).max):g}"
    else:
        low, high = (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
        expected = f"{low} to {high}"
        if values.dtype.kind == "f":  # the greatest whole number of 64 bits is no float, and the next one is
            whole = np.trunc(values)
            fits = ~np.isnan(whole) if kind.kind == "b" else (whole >= low) & (whole < float(high + 1))
            wrong = values[~fits]
        elif kind.kind == "b" and is_cast:
            return
        else:
            ends = np.array([values.min(), values.max()])
            wrong = ends[[not low <= int(end) <= high for end in ends]]
    if wrong.size:
        raise DataError(f"a sample holds {wrong.flat[0]}, and {where}; expected {expected}")


def text_array(value: Any, where: str) -> np.ndarray[Any, Any]:
    """Give the texts of a sample as an array of objects. Raises `DataError` for what is none."""
    values = np.asarray([value] if isinstance(value, str | bytes) else value, dtype=object)
    if not all(isinstance(each, str | bytes) for each in values.reshape(-1)):
        raise DataError(f"a sample is no text, and {where}")
    return values


def as_json(values: np.ndarray[Any, Any], datatype: str) -> list[Any]:
    """Write values as JSON data, in one list."""
    if datatype == TEXT:
        return [each if isinstance(each, str) else each.decode("utf-8", "replace") for each in values.flat]
    return list(values.reshape(-1).tolist())


def as_bytes(values: np.ndarray[Any, Any], datatype: str) -> bytes:
    """Write values as the binary extension has them."""
    if datatype != TEXT:
        return bytes(values.tobytes())
    return packed_texts([each.encode() if isinstance(each, str) else each for each in values.flat])
