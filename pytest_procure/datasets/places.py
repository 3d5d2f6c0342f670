"""Where the buyer's files are: seen from the conftest, never outside of the folder they are said to be in."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from pytest_procure.errors import DataError, DeclarationError

_base: ContextVar[Path | None] = ContextVar("pytest_procure_base", default=None)


@contextmanager
def starting_at(base: Path) -> Iterator[None]:
    """Let relative paths of datasets start at `base`, the conftest's folder, for the block."""
    token = _base.set(base)
    try:
        yield
    finally:
        _base.reset(token)


def base() -> Path:
    """Give the folder that relative paths start at: the conftest's, or outside of a suite the working one."""
    return _base.get() or Path()


def located(path: str | Path, *, folder: bool = False) -> Path:
    """Find a file, or a folder, of the buyer's.

    Relative paths start at the conftest that declares the dataset; outside of a suite, at the working
    directory. Raises `DeclarationError` for what is no path, `DataError` where nothing is there, with the
    nearest name.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise DeclarationError(f"{path!r} is no path; expected the name of a file or folder")
    found = base() / path
    if found.is_dir() if folder else found.is_file():
        return found
    if found.exists():
        raise DataError(f"`{path}` is {'no folder' if folder else 'no file'}; expected one")
    near = []
    if found.parent.is_dir():
        names = sorted(entry.name for entry in found.parent.iterdir() if entry.is_dir() == folder)
        near = difflib.get_close_matches(found.name, names, n=1, cutoff=0.6)
    hint = f"; did you mean `{Path(path).with_name(near[0])}`?" if near else ""
    raise DataError(
        f"there is no {'folder' if folder else 'file'} `{path}`"
        + (hint or f"; paths start at the conftest's folder, {base().resolve()}")
    )


def inside(folder: Path, name: str, where: str) -> Path:
    """Find a file that a list names, in `folder` and nowhere else, links followed.

    `where` leads the message of the `DataError`: the list's name and line.
    """
    root = folder.resolve()
    try:
        found = (root / name).resolve()
        there = found.is_file()
    except (OSError, ValueError, RuntimeError):  # a name too long, a NUL in it, links in a circle
        raise DataError(f"{where}: {name[:80]!r} names no file") from None
    if not found.is_relative_to(root):
        raise DataError(f"{where}: {name[:80]!r} leads out of the folder `{folder.name}`; that is refused")
    if not there:
        raise DataError(f"{where}: there is no file {name[:80]!r} in the folder `{folder.name}`")
    return found
