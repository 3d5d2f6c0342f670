"""What stays on the machine that seals: the salt of the item digests, and the last head of the ledger.

Both lie in `.procure/` beside the spec, which git ignores. Without the salt nobody can tell from the
committed spec whether it holds an item that they guess; with it, a run shows that its items are the sealed
ones.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from pytest_procure.errors import EvidenceError, unwritten

from .whole import replace

FOLDER = ".procure"
#: Holds the salt in hexadecimal where the file cannot be, as on a CI machine with a fresh checkout.
VARIABLE = "PROCURE_SALT"
_BYTES = 32
_DIGITS = 64  # of a SHA-256, and of the salt


class Private:
    """The private folder beside a spec."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def salt(self) -> bytes | None:
        """Read the salt, from the environment or the file; None if there is none. Raises `EvidenceError`."""
        where, told = f"the environment variable {VARIABLE}", os.environ.get(VARIABLE)
        if told is None:
            where, told = f"{FOLDER}/salt", self._read("salt")
        return None if told is None else _hexadecimal(told, where)

    def make_salt(self) -> bytes:
        """Give the salt; the first time, make it. Raises `EvidenceError`."""
        known = self.salt()
        if known is None:
            known = secrets.token_bytes(_BYTES)
            self._write("salt", known.hex())
        return known

    def is_here(self) -> bool:
        """Whether the salt lies in the folder: a suite was sealed here, or its folder was brought whole."""
        return (self._folder / "salt").exists()

    def head(self) -> str | None:
        """Give the digest of the last entry that was written here to the ledger; None if none was."""
        told = self._read("head")
        return None if told is None else _hexadecimal(told, f"{FOLDER}/head").hex()

    def keep_head(self, head: str) -> None:
        """Keep the digest of the ledger's last entry. Raises `EvidenceError`."""
        self._write("head", head)

    def _read(self, name: str) -> str | None:
        try:
            return (self._folder / name).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise EvidenceError(f"{FOLDER}/{name} cannot be read: {error}") from error

    def _write(self, name: str, text: str) -> None:
        """Write a file whole or not at all, readable by nobody else."""
        try:
            self._folder.mkdir(exist_ok=True)
            ignore = self._folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="ascii")
            replace(self._folder / name, f"{text}\n".encode("ascii"))
        except OSError as error:
            raise unwritten(f"{FOLDER}/{name}", error, self._folder.parent) from error


def fingerprint(salt: bytes) -> str:
    """Give what tells one salt from another, and nothing else about it."""
    return hashlib.sha256(b"pytest-procure salt\0" + salt).hexdigest()


def _hexadecimal(text: str, where: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(text) != _DIGITS or len(found) != _BYTES:
        raise EvidenceError(
            f"{where} holds no {_DIGITS} hexadecimal digits; restore it from where it is kept"
        )
    return found
