"""Recorded arrivals: a file of timestamps, as JSON lines or CSV, read strictly.

A trace comes from somebody else's system, so nothing in it is trusted: every line is checked, and the first
one that cannot be meant is named with its number.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DeclarationError, unknown
from pytest_procure.units import Quantity

#: Nanoseconds in the units that a column of numbers may be in.
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
MAX_ARRIVALS = 10_000_000
_NAMES = ("timestamp", "time", "arrival_time", "arrived_at")
_SUFFIXES = {".jsonl": "json", ".ndjson": "json", ".csv": "csv"}
_LONGEST_LINE = 64_000
#: Seconds of the year 5138: what is beyond is another unit.
_LATEST = Decimal(10**11)
#: What int64 ns hold, nearly: 285 years.
_LONGEST_NS = 9 * 10**18
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Trace:
    """Arrivals of a file; two traces are equal when they were read from the same bytes in the same way."""

    file: str  # its name, without its folder
    sha256: str
    column: str
    unit: str
    offsets: NDArray[np.int64] = field(repr=False, compare=False)  # (n,) ns from the first, ascending

    @classmethod
    def read(cls, path: Path, *, column: str = "", unit: str = "s") -> Trace:
        """Read a file of JSON lines (`.jsonl`) or comma-separated values (`.csv`), one arrival a line.

        column  its name; without one `timestamp`, `time`, `arrival_time`, `arrived_at`, or the only one there
        unit    of numbers: "s", "ms", "us", "ns". Times as text are ISO 8601; without a zone they are UTC

        Raises `DeclarationError` in one line, with the number of the line that is wrong.
        """
        if unit not in UNITS:
            raise DeclarationError(f"`unit={unit!r}`; expected one of {', '.join(UNITS)}")
        if path.suffix.lower() not in _SUFFIXES:
            raise DeclarationError(f"trace `{path.name}`: expected a file that ends in .jsonl or .csv")
        try:
            status = path.stat()
            return _read(path, status.st_mtime_ns, status.st_size, column, unit)
        except OSError as error:
            raise DeclarationError(f"trace `{path}` cannot be read: {error.strerror}") from None

    def __len__(self) -> int:
        return len(self.offsets)

    def arrivals(self, n: int, speed: float) -> NDArray[np.int64]:
        """Give the first n arrivals, `speed` times as fast: `(n,)` int64 ns, rounded down."""
        if speed == 1.0:
            return self.offsets[:n].copy()
        return np.floor(self.offsets[:n] / speed).astype(np.int64)

    def count(self, most: int | None, duration: Quantity | None, speed: float) -> int:
        """Count the arrivals of a replay: at most so many, before `duration` is over."""
        n = len(self) if most is None else min(most, len(self))
        if duration is None:
            return n
        return min(n, int(np.searchsorted(self.offsets, duration.ns * speed, side="left")))

    def seconds(self, n: int, speed: float) -> float:
        """Give the time from the first to the n-th arrival."""
        return int(self.offsets[n - 1]) / speed / 1e9 if n else 0.0

    def rate(self, n: int, speed: float) -> float | None:
        """Give arrivals a second over the first n; None where they all come at once."""
        span = self.seconds(n, speed)
        return (n - 1) / span if span else None

    def describe(self) -> dict[str, Any]:
        """Give what is disclosed of it, as plain JSON data."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "column": self.column,
            "unit": self.unit,
            "arrivals": len(self),
        }


@functools.lru_cache(maxsize=8)
def _read(path: Path, _changed: int, _size: int, column: str, unit: str) -> Trace:
    """Read a file once, however many tests replay it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        lines = _lines(file, path.name, digest.update)
        reader = _from_json if _SUFFIXES[path.suffix.lower()] == "json" else _from_csv
        times, named = reader(lines, path.name, column)
        offsets = _offsets(times, path.name, UNITS[unit])
    return Trace(path.name, digest.hexdigest(), named, unit, offsets)


def _lines(file: Any, name: str, seen: Callable[[bytes], object]) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, with their numbers from 1."""
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        seen(line)
        if len(line) == _LONGEST_LINE:
            raise _wrong(name, number, f"it is longer than {_LONGEST_LINE:,} bytes")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            raise _wrong(name, number, "it is no UTF-8") from None
        if text:
            yield number, text


def _offsets(times: Iterable[tuple[int, Any]], name: str, unit: int) -> NDArray[np.int64]:
    """Turn times into ns from the first. What goes back is refused: sorting would hide a wrong column."""
    found: list[int] = []
    kind: type | None = None
    last = 0
    for number, value in times:
        at, of = _ns(value, name, number, unit)
        if kind not in {None, of}:
            raise _wrong(name, number, "it mixes numbers, and times with and without a zone")
        if found and at < found[-1]:
            raise _wrong(name, number, f"its time lies before that of line {last}; expected ascending times")
        if found and at - found[0] > _LONGEST_NS:
            raise _wrong(name, number, "its time lies 285 years after the first; expected another `unit`")
        kind, last = of, number
        found.append(at)
        if len(found) > MAX_ARRIVALS:
            raise _wrong(name, number, f"it is one too many; expected {MAX_ARRIVALS:,} arrivals at most")
    if not found:
        raise DeclarationError(f"trace `{name}` holds no arrival; expected one a line")
    offsets = np.array([at - found[0] for at in found], dtype=np.int64)
    offsets.flags.writeable = False
    return offsets


def _ns(value: Any, name: str, number: int, unit: int) -> tuple[int, type]:
    """Read one time, as ns, and say of which kind it is. Exact: no float in between."""
    shown = repr(value)[:60]
    if isinstance(value, (str, Decimal)):
        try:
            read = Decimal(value)
        except InvalidOperation:
            return _iso(str(value), name, number, shown)
        # The exponent first: arithmetic on a huge one overflows.
        if read.is_finite() and read.adjusted() <= 20 and abs(read) * unit <= _LATEST * 10**9:
            return int(read * unit // 1), Decimal
    raise _wrong(name, number, f"{shown} is no time; expected a number, or a date and time as in ISO 8601")


def _iso(text: str, name: str, number: int, shown: str) -> tuple[int, type]:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        said = f"{shown} is no time; expected a number, or a date and time as in ISO 8601"
        raise _wrong(name, number, said) from None
    zoned = read.tzinfo is not None
    since = (read if zoned else read.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1) * 1000, datetime if zoned else str


def _from_json(
    lines: Iterator[tuple[int, str]], name: str, column: str
) -> tuple[Iterable[tuple[int, Any]], str]:
    """Read a number or a time a line, or an object with a column of them."""
    first = next(lines, None)
    if first is None:
        return (), column
    row = _object(first[1], name, first[0])
    named = _column(list(row), name, column) if isinstance(row, dict) else ""

    def times() -> Iterator[tuple[int, Any]]:
        yield first[0], _cell(row, named, name, first[0])
        for number, text in lines:
            yield number, _cell(_object(text, name, number), named, name, number)

    return times(), named


def _object(text: str, name: str, number: int) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=str)
    except (ValueError, RecursionError, ArithmeticError):
        raise _wrong(name, number, "it is no JSON") from None


def _cell(row: Any, named: str, name: str, number: int) -> Any:
    if isinstance(row, dict) != bool(named):
        raise _wrong(name, number, "it is of another form than the first")
    if not named:
        return row
    if named not in row:
        raise _wrong(name, number, f"it has no `{named}`")
    return row[named]


def _from_csv(
    lines: Iterator[tuple[int, str]], name: str, column: str
) -> tuple[Iterable[tuple[int, Any]], str]:
    """Read a column of a table, with a header or, where there is one column only, without."""
    first = next(lines, None)
    if first is None:
        return (), column
    header = _cells(first[1], name, first[0])
    bare = len(header) == 1 and not column and _is_time(header[0])
    named = "" if bare else _column(header, name, column)
    place = 0 if bare else header.index(named)

    def times() -> Iterator[tuple[int, Any]]:
        if bare:
            yield first[0], header[0]
        for number, text in lines:
            cells = _cells(text, name, number)
            if len(cells) != len(header):
                raise _wrong(
                    name, number, f"it has {len(cells)} cells, and line {first[0]} has {len(header)}"
                )
            yield number, cells[place]

    return times(), named


def _cells(text: str, name: str, number: int) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], strict=True))]
    except csv.Error:
        raise _wrong(name, number, "it is no line of comma-separated values") from None


def _is_time(cell: str) -> bool:
    try:
        _ns(cell, "", 0, 1)
    except DeclarationError:
        return False
    return True


def _column(names: list[str], name: str, column: str) -> str:
    """Find the column that holds the times."""
    if column:
        if column not in names:
            raise DeclarationError(f"trace `{name}`: {unknown('column', column, _shown(names))}")
        return column
    folded = {each.lower(): each for each in reversed(names)}
    known = next((folded[each] for each in _NAMES if each in folded), None)
    if known is None and len(names) == 1:
        known = names[0]
    if known is None:
        shown = ", ".join(_shown(names))
        raise DeclarationError(f"trace `{name}` has the columns {shown}; name one, as in `column='sent_at'`")
    return known


def _shown(names: list[str]) -> list[str]:
    """Make the names of a file fit for a message of one line."""
    return ["".join(sign if sign.isprintable() else "?" for sign in each[:40]) for each in names[:12]]


def _wrong(name: str, number: int, what: str) -> DeclarationError:
    return DeclarationError(f"trace `{name}`, line {number}: {what}")
