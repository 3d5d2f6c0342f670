"""Files of records, one after the other: JSON Lines and CSV, read once and checked line by line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pytest_procure.errors import DataError, DeclarationError, unknown

from .lazy import Spans

#: A line, or a field of a table, of more bytes than this is no sample.
LONGEST = 16 << 20
#: Inputs of larger files are read again when they are asked for, instead of kept.
LARGE = 64 << 20

#: As a file gives them; `str.splitlines` knows a dozen other ends.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

Key = str | Sequence[str]
Convert = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A record, the line it ends on, and the bytes it takes in its file."""

    line: int
    start: int
    end: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which keys of a record make a sample; `stages`: stage of a pipeline -> the key of its label."""

    input: Key
    reference: str | None = None
    stratum: str | None = None
    cluster: str | None = None
    stages: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, str]:
        """What is kept of each record beside its input: column -> key."""
        named = {"references": self.reference, "strata": self.stratum, "clusters": self.cluster}
        found = {column: key for column, key in named.items() if key is not None}
        return found | {f"stage {stage}": key for stage, key in self.stages.items()}

    def of(self, record: Mapping[str, Any], where: str) -> Any:
        """The input of a record: the value of its key, or a mapping of several."""
        if isinstance(self.input, str):
            return value(record, self.input, where)
        return {key: value(record, key, where) for key in self.input}


def is_blank(label: Any) -> bool:
    """Whether a label of a file is none: nothing, a text of white space alone, or not a number."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or (isinstance(label, float) and label != label)  # noqa: PLR0124 - NaN is not itself


def value(record: Mapping[str, Any], key: str, where: str) -> Any:
    """The value of a key. Raises `DataError` with the nearest key where there is none."""
    if key not in record:
        raise DataError(f"{where}: {unknown('key', key, map(str, record))}")
    return record[key]


def columns(
    path: Path, rows: Iterable[Row], wanted: Wanted, parse: Callable[[bytes, int], Any], *, lazy: bool | None
) -> dict[str, Any]:
    """Read all rows once: `inputs` and the labels asked for, each a list of n, or `inputs` a lazy column.

    `parse(bytes, place)` reads the record of a row again. Raises `DataError`, which names file and line.
    """
    if not (lazy is None or isinstance(lazy, bool)):
        raise DeclarationError(f"`lazy={lazy!r}` of `{path.name}`; expected True, False or None")
    later = path.stat().st_size > LARGE if lazy is None else lazy
    inputs: list[Any] = []
    spans: list[tuple[int, int]] = []
    labels: dict[str, list[Any]] = {column: [] for column in wanted.labels}
    for row in rows:
        where = f"{path.name}, line {row.line}"
        asked = wanted.of(row.record, where)
        if asked is None:
            raise DataError(f"{where}: `{wanted.input}` is empty; fill it in or leave the record out")
        if later:
            spans.append((row.start, row.end))
        else:
            inputs.append(asked)
        for column, key in wanted.labels.items():
            label = value(row.record, key, where)
            if is_blank(label):
                raise DataError(f"{where}: `{key}` is empty; label the record or leave it out")
            labels[column].append(label)
    if not (inputs or spans):
        raise DataError(f"{path.name} holds no record; expected at least one")
    if not later:
        return {"inputs": inputs, **labels}

    def again(data: bytes, place: int) -> Any:
        return wanted.of(parse(data, place), f"{path.name}, record {place}")

    return {"inputs": Spans(path, np.array(spans, dtype=np.int64), again), **labels}


# -- JSON Lines -------------------------------------------------------------------------------------------


def json_lines(path: Path) -> Iterator[Row]:
    """Give the objects of a JSON Lines file; blank lines are passed over. Raises `DataError`."""
    with path.open("rb") as stream:
        for number, start, data in _lines(stream, path):
            if data.strip():
                record = json_record(data, f"{path.name}, line {number}")
                yield Row(number, start, start + len(data), record)


def json_record(data: bytes, where: str) -> dict[str, Any]:
    """Read one object. Raises `DataError` for anything else, NaN and repeated keys included."""
    text = _text(data, where)
    try:
        record = json.loads(text, parse_constant=_no_number, object_pairs_hook=_without_repeats)
        if "\\u" in text or "\\U" in text:
            json.dumps(record, ensure_ascii=False).encode()  # half a character cannot be sent to anybody
    except UnicodeEncodeError:
        raise DataError(f"{where}: holds half a character (a lone surrogate); mend the text") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: no JSON at character {error.pos + 1}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: no JSON: {str(error)[:120]}") from None
    if not isinstance(record, dict):
        raise DataError(f"{where}: holds {type(record).__name__}; expected an object, as in {{...}}")
    return record


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number that JSON knows")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key `{next(key for key in keys if keys.count(key) > 1)[:60]}` stands twice")
    return record


# -- CSV --------------------------------------------------------------------------------------------------


class Csv:
    """A table with a header line; all values are text unless `convert` says otherwise."""

    def __init__(self, path: Path, delimiter: str, convert: Convert | None) -> None:
        if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
            raise DeclarationError(f"`delimiter={delimiter!r}` of `{path.name}`; expected one character")
        self._path = path
        self._delimiter = delimiter
        self._convert = dict(convert or {})
        self._header: list[str] = []

    def rows(self) -> Iterator[Row]:
        """Give the records. Raises `DataError` for a row that has not as many fields as the header."""
        with self._path.open("rb") as stream, _wide_fields():
            lines = _Counted(_lines(stream, self._path), self._path)
            reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
            start = 0
            while (fields := self._next(reader, lines)) is not None:
                if not self._header:
                    self._take_header(fields, lines.number)
                elif fields:  # a blank line is no record
                    yield Row(lines.number, start, lines.end, self._record(fields, lines.where))
                start = lines.end
        if not self._header:
            raise DataError(f"{self._path.name} is empty; expected a line that names the columns")

    def parse(self, data: bytes, place: int) -> dict[str, Any]:
        """Read a record's bytes again."""
        where = f"{self._path.name}, record {place}"
        with _wide_fields():
            lines = _LINE.findall(_text(data, where))
            reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
            try:
                return self._record(next(reader), where)
            except (csv.Error, StopIteration):
                raise DataError(f"{where}: was changed after it was read; start again") from None

    def _next(self, reader: Iterator[list[str]], lines: _Counted) -> list[str] | None:
        try:
            return next(reader, None)
        except csv.Error as error:
            raise DataError(f"{lines.where}: {error}") from None

    def _take_header(self, names: list[str], line: int) -> None:
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise DataError(f"{self._path.name}, line {line}: two columns are named `{repeated[:60]}`")
        for key in self._convert:
            if key not in names:
                raise DataError(f"{self._path.name}, line {line}: {unknown('column', key, names)}")
        self._header = names

    def _record(self, fields: list[str], where: str) -> dict[str, Any]:
        if len(fields) != len(self._header):
            raise DataError(f"{where}: {len(fields)} fields; expected {len(self._header)}, as in the header")
        record: dict[str, Any] = dict(zip(self._header, fields, strict=True))
        for key, convert in self._convert.items():
            try:
                record[key] = convert(record[key])
            except Exception as error:  # noqa: BLE001 - the buyer's code may raise anything
                said = f"{type(error).__name__}: {error}"
                raise DataError(f"{where}: `{key}` is {record[key][:60]!r}: {said}") from None
        return record


@contextmanager
def _wide_fields() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _Counted:
    """Lines as text, for a reader that takes several for one record."""

    def __init__(self, lines: Iterator[tuple[int, int, bytes]], path: Path) -> None:
        self._lines = lines
        self._path = path
        self.number = 0
        self.end = 0

    @property
    def where(self) -> str:
        return f"{self._path.name}, line {self.number}"

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        self.number, start, data = next(self._lines)
        self.end = start + len(data)
        return _text(data, self.where)


# -- both -------------------------------------------------------------------------------------------------


def _lines(stream: BinaryIO, path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Give number (from 1), first byte and content of each line."""
    number = start = 0
    while data := stream.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST:
            raise DataError(
                f"{path.name}, line {number}: is longer than {LONGEST >> 20} MiB; expected a record a line"
            )
        yield number, start, data
        start += len(data)


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        wrong = data[error.start]
        raise DataError(
            f"{where}: no UTF-8 (byte 0x{wrong:02x} at {error.start}); write the file anew as UTF-8"
        ) from None
