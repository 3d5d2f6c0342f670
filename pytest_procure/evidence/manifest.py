"""The manifest: every file of a pack with its size and SHA-256, under one root.

The root is the SHA-256 of the manifest itself. What was signed, and the manifest, stand outside it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from pytest_procure.errors import EvidenceError

from .plain import dumps, from_plain, loads, to_plain

MANIFEST = "manifest.json"
#: Folder of what is said about the manifest, and so stands outside it.
OUTSIDE = "attestations"
#: A pack with more files than this, deeper folders, or a larger file is not looked at.
MOST_FILES, MOST_DEEP, MOST_BYTES = 100_000, 4, 1 << 36
#: JSON of a pack is read whole; a larger file is refused.
MOST_JSON = 256 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the pack."""

    path: str  # relative, with forward slashes
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of the pack, by path."""

    format: Literal["pytest-procure/manifest"]
    version: Literal[1]
    files: tuple[Entry, ...]


def manifest(folder: Path) -> str:
    """Write the manifest of a folder. Raises `EvidenceError` where it holds what no pack may hold."""
    found, wrong = files_in(folder)
    if wrong:
        raise EvidenceError(f"{wrong[0][0]}: {wrong[0][1]}")
    entries = (entry_of(folder, path) for path in found if covered(path))
    return dumps(to_plain(Manifest("pytest-procure/manifest", 1, tuple(entries))))


def covered(path: str) -> bool:
    """Whether a file stands in the manifest."""
    return path != MANIFEST and not path.startswith(f"{OUTSIDE}/")


def read(folder: Path) -> tuple[Manifest, str]:
    """Read the manifest and its SHA-256, the root. Raises `EvidenceError`."""
    text = read_bytes(folder, MANIFEST)
    return from_plain(Manifest, loads(text, MANIFEST), f"{MANIFEST}: $"), hashlib.sha256(text).hexdigest()


def files_in(folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """List the regular files of a folder by path, and what else is there with why it may not be.

    Links are not followed. Raises `EvidenceError` where there are too many files to look at.
    """
    found: list[str] = []
    wrong: list[tuple[str, str]] = []
    for entry, path, depth in _entries(folder, "", 0):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            wrong.append((path, "a link, which a pack may not hold"))
        elif stat.S_ISDIR(mode):
            if depth >= MOST_DEEP:
                wrong.append((path, "a folder too deep to be of a pack"))
            elif not any(Path(entry.path).iterdir()):
                wrong.append((path, "an empty folder, which is of no pack"))
        elif not stat.S_ISREG(mode):
            wrong.append((path, "neither a file nor a folder"))
        else:
            found.append(path)
        if len(found) + len(wrong) > MOST_FILES:
            raise EvidenceError(f"more than {MOST_FILES:,} files: this is no pack")
    return sorted(found), wrong


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[tuple[os.DirEntry[str], str, int]]:
    try:
        listed = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise EvidenceError(f"{prefix or folder}: cannot be read: {error.strerror}") from error
    for entry in listed:
        path = f"{prefix}{entry.name}"
        yield entry, path, depth
        if entry.is_dir(follow_symlinks=False) and depth < MOST_DEEP:
            yield from _entries(Path(entry.path), f"{path}/", depth + 1)


def entry_of(folder: Path, path: str) -> Entry:
    """Measure and digest a file. Raises `EvidenceError`."""
    digest, size = hashlib.sha256(), 0
    try:
        with open_file(folder, path) as file:
            while chunk := file.read(1 << 20):
                size += len(chunk)
                digest.update(chunk)
                if size > MOST_BYTES:
                    raise EvidenceError(f"{path}: larger than any file of a pack")
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error
    return Entry(path, size, digest.hexdigest())


def read_bytes(folder: Path, path: str, most: int = MOST_JSON) -> bytes:
    """Read a file of a pack whole. Raises `EvidenceError` for one that is missing, a link, or too large."""
    try:
        with open_file(folder, path) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise EvidenceError(f"{path}: larger than {most:,} bytes, so it is not read")
    return data


def open_file(folder: Path, path: str) -> BinaryIO:
    """Open a regular file inside a pack; never follows a link. Raises `EvidenceError`, `OSError`."""
    parts = path.split("/")
    if not path or any(part in {"", ".", ".."} or "\\" in part or "\0" in part for part in parts):
        raise EvidenceError(f"{path!r}: no path inside a pack")
    for depth in range(1, len(parts)):
        if folder.joinpath(*parts[:depth]).is_symlink():
            raise EvidenceError(f"{path}: leads through a link, which a pack may not hold")
    handle = os.open(folder.joinpath(*parts), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise EvidenceError(f"{path}: no regular file")
    return os.fdopen(handle, "rb")
