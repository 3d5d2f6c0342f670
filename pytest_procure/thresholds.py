"""The audit's thresholds, as a suite's ini states them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from .driver.limits import Limits
from .driver.thresholds import THRESHOLDS, Threshold
from .errors import DeclarationError
from .units import Quantity

#: kind -> least, most, and what is said of it
_NUMBERS = {
    "share": (0.0, 1.0, "a share"),
    "factor": (1.0, 1e6, "a factor from 1"),
    "number": (0.0, 1e6, "a number from 0"),
    "count": (1.0, 1e6, "a whole number from 1"),
}
_QUANTITIES = {
    "time": ("duration", Quantity.of(60, "s"), "a time up to a minute, as in `1 ms`"),
    "size": ("size", Quantity.of(1024, "GiB"), "a size up to 1,024 GiB, as in `16 MiB`"),
}


def limits(config: pytest.Config) -> Limits:
    """Read the thresholds. Raises `UsageError` for what cannot be meant."""
    stated: dict[str, Any] = {}
    for name, threshold in THRESHOLDS.items():
        written = str(config.getini(f"procure_{threshold.key}")).strip()
        if written:
            read = _quantity if threshold.kind in _QUANTITIES else _number
            stated[name] = read(threshold, written)
    return dataclasses.replace(Limits(), **stated)


def _quantity(threshold: Threshold, written: str) -> int:
    """Read a time, in ns, or a size, in bytes."""
    dimension, most, expected = _QUANTITIES[threshold.kind]
    try:
        read = Quantity.parse(written)
    except DeclarationError:
        read = None
    if read is None or read.dimension != dimension or not 0 < read.base <= most.base:
        raise _wrong(threshold, written, expected)
    return read.ns if dimension == "duration" else int(read.base)


def _number(threshold: Threshold, written: str) -> float:
    least, most, said = _NUMBERS[threshold.kind]
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    is_count = threshold.kind == "count"
    if not least <= value <= most or (is_count and not value.is_integer()):
        raise _wrong(threshold, written, f"{said} up to {most:,.0f}")
    return int(value) if is_count else value


def _wrong(threshold: Threshold, written: str, expected: str) -> pytest.UsageError:
    return pytest.UsageError(f"procure: ini key `procure_{threshold.key} = {written}`; expected {expected}")
