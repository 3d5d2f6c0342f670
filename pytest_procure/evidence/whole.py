"""Files that are written whole or not at all: a full disk leaves no half file that would be read as one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pytest_procure.errors import unwritten


@contextmanager
def new_file(path: Path, what: str) -> Iterator[BinaryIO]:
    """Open a file that was not there, and the folders above it; what cannot be written whole is removed.

    Raises `EvidenceError`, which names `what`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            yield file
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()  # where nothing else is in it: no pack has an empty folder
        raise unwritten(what, error, path.parent) from error


def replace(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put data in place of a file and see it to the disk, or leave the file as it was. Raises `OSError`."""
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(made).chmod(mode)
        Path(made).replace(path)
    except OSError:
        with suppress(OSError):
            Path(made).unlink()
        raise
