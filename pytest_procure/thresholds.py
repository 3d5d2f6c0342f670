"""The audit's thresholds, as a suite's ini states them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from .driver.limits import Limits
from .errors import DeclarationError
from .units import Quantity, duration

#: ini key, less `procure_` -> the field of `Limits`
_FIELDS = {
    "max_send_lag": "send_lag_ns",
    "max_send_lag_of_bar": "send_lag_of_bar",
    "max_run_delay": "run_delay",
    "max_other_threads": "other_threads",
    "max_gc_pause": "gc_pause_ns",
    "max_clock_step": "clock_step_ns",
    "max_backlog_growth": "backlog_growth",
    "max_pinned": "pinned",
}


def limits(config: pytest.Config) -> Limits:
    """Read the thresholds. Raises `UsageError` for what cannot be meant."""
    stated: dict[str, Any] = {}
    for key, field in _FIELDS.items():
        written = str(config.getini(f"procure_{key}")).strip()
        if written:
            stated[field] = _time(key, written) if field.endswith("_ns") else _number(key, written)
    return dataclasses.replace(Limits(), **stated)


def _time(key: str, written: str) -> int:
    try:
        read = duration(Quantity.parse(written), what=key)
    except DeclarationError:
        read = None
    if read is None or not 0 < read.base <= 60:
        raise _wrong(key, written, "a time up to a minute, as in `1 ms`")
    return read.ns


def _number(key: str, written: str) -> float:
    least, most, said = (
        (1.0, 1e6, "a factor from 1") if key == "max_backlog_growth" else (0.0, 1.0, "a share")
    )
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise _wrong(key, written, f"{said} up to {most:,.0f}")
    return value


def _wrong(key: str, written: str, expected: str) -> pytest.UsageError:
    return pytest.UsageError(f"procure: ini key `procure_{key} = {written}`; expected {expected}")
