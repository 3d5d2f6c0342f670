"""The checks every method makes of its arguments, and the one form of sentence they refuse with."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_procure.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


#: Labels that are whole numbers below so many times their count are looked up instead of sorted.
_DENSE = 10


def refusal(name: str, value: object, expected: str) -> DomainError:
    """Make the error that names the argument, what it was, and what was expected."""
    shown = value.item() if isinstance(value, np.generic) else value
    return DomainError(f"{name} is {reprlib.repr(shown)}, expected {expected}")


def real(name: str, value: float, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite float within [low, high]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number) and low <= number <= high:
        return number
    if math.isfinite(low) and math.isfinite(high):
        expected = f"a number from {low:g} to {high:g}"
    elif math.isfinite(low):
        expected = f"a finite number of at least {low:g}"
    else:
        expected = "a finite number"
    raise refusal(name, value, expected)


def inside(name: str, value: float, low: float, high: float) -> float:
    """Return `value` as a float strictly between `low` and `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low < number < high:
        raise refusal(name, value, f"a number above {low:g} and below {high:g}")
    return number


def positive(name: str, value: float) -> float:
    """Return `value` as a finite float above zero."""
    number = real(name, value)
    if number <= 0.0:
        raise refusal(name, value, "a finite number above 0")
    return number


def confidence_level(confidence: float) -> float:
    """Return the confidence; at 0.5 or less the two ends of an interval could cross."""
    return inside("confidence", confidence, 0.5, 1.0)


def whole(name: str, value: int, at_least: int) -> int:
    """Return `value` as an int of at least `at_least`; a float is refused even when it is integral."""
    try:
        number = operator.index(value)
    except TypeError:
        raise refusal(name, value, f"a whole number of at least {at_least}") from None
    if number < at_least:
        raise refusal(name, value, f"a whole number of at least {at_least}")
    return number


def vector(
    name: str,
    values: npt.ArrayLike,
    *,
    at_least: int = 1,
    low: float = -math.inf,
    high: float = math.inf,
) -> npt.NDArray[np.float64]:
    """Return `values` as a 1-d float64 array of `at_least` finite numbers within [low, high]."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal(name, values, "a sequence of numbers") from None
    require_length(name, array, at_least)
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        first = int(np.argmax(wrong))
        real(f"{name}[{first}]", float(array[first]), low=low, high=high)
    return array


def sortable(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return `values` as a 1-d array of integers or floats with at least one value and no NaN."""
    array = np.asarray(values)
    require_length(name, array, 1)
    if array.dtype.kind not in "iuf":
        raise refusal(name, array.dtype.name, "integers or floats")
    unknown = np.isnan(array)
    if unknown.any():
        raise refusal(f"{name}[{int(np.argmax(unknown))}]", math.nan, "a number or inf")
    return array


def require_length(name: str, array: npt.NDArray[Any], at_least: int) -> None:
    """Refuse an array that is not one-dimensional or too short."""
    if array.ndim != 1:
        raise DomainError(f"{name} has shape {array.shape}, expected one dimension")
    if array.size < at_least:
        raise DomainError(f"{name} has {array.size} values, expected at least {at_least}")


def same_length(name: str, values: Sequence[Any] | npt.NDArray[Any], other: str, expected: int) -> None:
    """Refuse two columns that do not describe the same rows."""
    if len(values) != expected:
        raise DomainError(f"{name} has {len(values)} values, expected {expected} as in {other}")


def grouping(clusters: npt.ArrayLike | None, n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return which cluster each of `n` rows is in, and the clusters' sizes; each row its own when None."""
    if clusters is None:
        return np.arange(n), np.ones(n)
    labels = np.asarray(clusters)
    require_length("clusters", labels, 1)
    same_length("clusters", labels, "the values", n)
    if labels.dtype.kind == "i" and labels.min() >= 0 and labels.max() < _DENSE * n:
        member_of = (np.cumsum(np.bincount(labels) > 0) - 1)[labels]  # the same, without sorting
    else:
        try:
            _, member_of = np.unique(labels, return_inverse=True)
        except TypeError:
            raise refusal("clusters", clusters, "labels of one kind") from None
    sizes = np.bincount(member_of).astype(np.float64)
    if sizes.size < 2:
        raise DomainError(f"clusters has {sizes.size} distinct label, expected at least 2")
    return member_of, sizes
