"""Files of an offer: found, named as the suite names them, and digested."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path
from typing import Any

from pytest_procure.errors import ProvisionError


def model_file(base: Path, path: str | Path) -> Path:
    """Resolve `path` against `base`, the conftest's folder. Raises `ProvisionError` when no file is there."""
    found = base / path
    if found.is_file():
        return found
    if found.is_dir():
        raise ProvisionError(f"`{path}` is a folder; expected a model file")
    folder = found.parent
    if not folder.is_dir():
        raise ProvisionError(
            f"there is no file `{path}`, nor its folder; paths start at the conftest's folder"
        )
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    near = difflib.get_close_matches(found.name, names, n=1, cutoff=0.6)
    hint = (
        f"; did you mean `{Path(path).with_name(near[0])}`?"
        if near
        else "; paths start at the conftest's folder"
    )
    raise ProvisionError(f"there is no file `{path}`{hint}")


def file_record(path: Path, name: str | None = None) -> dict[str, Any]:
    """Describe a file by its name without folder (or `name`), size and digest, as plain JSON data."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": name or path.name, "bytes": path.stat().st_size, "sha256": digest}


def checked_digest(path: Path, expected: str | None, shown: str) -> None:
    """Refuse a file that is not the one declared. Raises `ProvisionError`."""
    if expected is None:
        return
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != str(expected).lower():
        raise ProvisionError(
            f"`{shown}` has SHA-256 {found[:16]}..., declared was {str(expected)[:16]}...: it is another "
            "file than was offered"
        )


def one_line(error: BaseException, *, hide: Path | None = None) -> str:
    """What an exception says, on one line, without the folder of the file `hide`."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if hide is None else text.replace(f"{hide.parent}/", "")
