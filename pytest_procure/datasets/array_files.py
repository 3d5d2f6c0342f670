"""Arrays in numpy's own files: mapped into memory where they can be, and never unpickled.

A head that promises more than the file holds, or than `MOST` for a packed one, is refused before anything is
unpacked.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from pytest_procure.errors import DataError, unknown

#: An `.npz` is unpacked into memory; larger arrays belong into `.npy` files, which are mapped.
MOST = 4 << 30


def npy(path: Path) -> Any:
    """Map the array of an `.npy` file. Raises `DataError`."""
    try:
        with path.open("rb") as stream:
            _head(stream, path.stat().st_size, path.name)
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, TypeError, EOFError, MemoryError, SyntaxError) as error:
        raise DataError(f"{path.name}: no array file: {_said(error)}") from None


def npz(path: Path, names: list[str]) -> dict[str, Any]:
    """Unpack the named arrays of an `.npz` file. Raises `DataError`."""
    try:
        with zipfile.ZipFile(path) as packed:
            there = {info.filename.removesuffix(".npy"): info for info in packed.infolist()}
            return {name: _member(packed, there, name, path.name) for name in names}
    except (OSError, ValueError, TypeError, EOFError, MemoryError, SyntaxError, NotImplementedError) as error:
        raise DataError(f"{path.name}: no packed arrays: {_said(error)}") from None
    except (zipfile.BadZipFile, RuntimeError) as error:  # damaged, or asking for a password
        raise DataError(f"{path.name}: no packed arrays: {_said(error)}") from None


def _member(packed: zipfile.ZipFile, there: dict[str, zipfile.ZipInfo], name: str, file: str) -> Any:
    if name not in there:
        raise DataError(f"{file}: {unknown('array', name, there)}")
    info = there[name]
    where = f"{file}, array `{name}`"
    if info.file_size > MOST:
        raise DataError(
            f"{where}: {info.file_size:,} bytes when unpacked; expected at most {MOST:,}, or an .npy file"
        )
    with packed.open(info) as stream:
        _head(stream, info.file_size, where)
    with packed.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _head(stream: IO[bytes], size: int, where: str) -> None:
    """Refuse an array that would run code when read, or that is not as long as it says."""
    version = np.lib.format.read_magic(stream)
    if version not in {(1, 0), (2, 0), (3, 0)}:
        raise ValueError(f"version {version} of the format")
    # Version 3 has the head of version 2 in another encoding; numpy has no public reader for it alone.
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise DataError(
            f"{where}: holds pickled objects, which run code when read; that is refused. Save it as numbers, "
            "or text as dtype '<U'"
        )
    count = 1
    for length in shape:
        count *= int(length)
    if not shape or count * dtype.itemsize != size - stream.tell():
        raise ValueError(f"its head says {shape} of {dtype}, which is not as long as the file")


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
