"""Parquet files and folders written by Hugging Face `datasets`, both read by pyarrow, which runs no code."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.errors import DataError, unknown

from .lazy import Lazy
from .places import inside
from .records import Wanted, is_blank

#: A Parquet file is unpacked into memory; a larger one belongs into Arrow files, which are mapped.
MOST = 4 << 30


class ArrowColumn(Lazy):
    """A column of an Arrow table, or several as mappings; items are made when they are asked for."""

    def __init__(self, columns: dict[str, Any], single: str | None) -> None:
        self._columns = columns
        self._single = single

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def read(self, place: int) -> Any:
        """Give the item as plain Python data."""
        if self._single is not None:
            return self._columns[self._single][place].as_py()
        return {name: column[place].as_py() for name, column in self._columns.items()}


def parquet(path: Path, wanted: Wanted) -> dict[str, Any]:
    """Read the wanted columns of a Parquet file. Raises `DataError`."""
    arrow = _arrow("parquet")
    needed = _needed(wanted)
    try:
        file = arrow.ParquetFile(path, memory_map=True)
        _check(file.schema_arrow.names, needed, path.name)
        _check_size(file.metadata, path.name)
        table = file.read(columns=needed)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - a file from outside fails in every way there is
        raise DataError(f"{path.name}: no Parquet file: {_said(error)}") from None
    return _columns(table, wanted, path.name)


def _check_size(metadata: Any, file: str) -> None:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > MOST:
        raise DataError(
            f"{file}: more than {MOST >> 30} GiB when unpacked; expected less, or a folder that `datasets` "
            "has saved, which is mapped instead"
        )


def saved_folder(folder: Path, wanted: Wanted) -> dict[str, Any]:
    """Map the wanted columns of what `datasets.Dataset.save_to_disk` wrote. Raises `DataError`."""
    arrow = _arrow("ipc")
    if (folder / "dataset_dict.json").is_file():
        splits = sorted(entry.name for entry in folder.iterdir() if (entry / "state.json").is_file())
        raise DataError(
            f"`{folder.name}` holds splits ({', '.join(splits)}); name one of them, as in "
            f"`{folder.name}/{splits[0] if splits else 'test'}`"
        )
    state = _state(folder)
    if state.get("_indices_data_files"):
        raise DataError(
            f"`{folder.name}` is a selection that was never written out; save it after `flatten_indices()`"
        )
    where = f"{folder.name}/state.json"
    try:
        names = [str(each["filename"]) for each in state["_data_files"]]
    except (KeyError, TypeError):
        raise DataError(f"{where}: does not say which files hold the data") from None
    files = [inside(folder, name, where) for name in names]
    pyarrow: Any = importlib.import_module("pyarrow")
    parts = []
    for file in files:
        try:
            with arrow.open_stream(pyarrow.memory_map(str(file))) as reader:
                _check(reader.schema.names, _needed(wanted), file.name)
                parts.append(reader.read_all().select(_needed(wanted)))
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - a file from outside fails in every way there is
            raise DataError(f"{folder.name}/{file.name}: no Arrow file: {_said(error)}") from None
    if not parts:
        raise DataError(f"`{folder.name}` holds no data")
    try:
        table = pyarrow.concat_tables(parts)
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"the files of `{folder.name}` differ in their columns: {_said(error)}") from None
    return _columns(table, wanted, folder.name)


def _state(folder: Path) -> dict[str, Any]:
    file = folder / "state.json"
    if not file.is_file():
        raise DataError(
            f"`{folder.name}` has no state.json; expected a folder that `datasets.Dataset.save_to_disk` wrote"
        )
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{folder.name}/state.json: no JSON") from None
    if not isinstance(state, dict):
        raise DataError(f"{folder.name}/state.json: expected an object")
    return state


def _needed(wanted: Wanted) -> list[str]:
    inputs = [wanted.input] if isinstance(wanted.input, str) else list(wanted.input)
    return list(dict.fromkeys([*inputs, *wanted.labels.values()]))


def _check(names: list[str], needed: list[str], file: str) -> None:
    for name in needed:
        if name not in names:
            raise DataError(f"{file}: {unknown('column', name, names)}")
        if names.count(name) > 1:
            raise DataError(
                f"{file}: {names.count(name)} columns are named `{name[:60]}`; rename all but one"
            )


def _columns(table: Any, wanted: Wanted, file: str) -> dict[str, Any]:
    try:
        table.validate(full=True)  # lengths and offsets are the file's word
    except Exception as error:  # noqa: BLE001 - the same
        raise DataError(f"{file}: damaged: {_said(error)}") from None
    if table.num_rows == 0:
        raise DataError(f"{file} holds no row; expected at least one")
    found: dict[str, Any] = {}
    for column, key in wanted.labels.items():
        labels = table.column(key)
        if labels.null_count:
            place = next(i for i, each in enumerate(labels) if not each.is_valid)
            raise DataError(f"{file}, row {place}: `{key}` is empty; label the row or leave it out")
        found[column] = labels.to_pylist()
        for place, label in enumerate(found[column]):
            if is_blank(label):
                raise DataError(f"{file}, row {place}: `{key}` is empty; label the row or leave it out")
    if isinstance(wanted.input, str):
        asked = table.column(wanted.input)
        if asked.null_count:
            place = next(i for i, each in enumerate(asked) if not each.is_valid)
            raise DataError(
                f"{file}, row {place}: `{wanted.input}` is empty; fill it in or leave the row out"
            )
        found["inputs"] = _inputs(table.column(wanted.input), wanted.input)
    else:
        found["inputs"] = ArrowColumn({key: table.column(key) for key in wanted.input}, None)
    return found


def _inputs(column: Any, name: str) -> Any:
    """Numbers as an array, which is asked in batches; everything else as it comes."""
    kind = str(column.type)
    if column.null_count == 0 and kind in {"float", "double", "halffloat", "int64", "int32", "int8", "uint8"}:
        return np.asarray(column.to_numpy())
    return ArrowColumn({name: column}, name)


def _arrow(part: str) -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}")  # an extra, and slow to import
    except ImportError:
        raise DataError(
            "Parquet and Arrow files need pyarrow, which is not installed; "
            "run `pip install 'pytest-procure[parquet]'`"
        ) from None


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
