"""Folders of images: one label a subfolder, or a table that names files and labels."""

from __future__ import annotations

import importlib
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.errors import DataError, DeclarationError

from .lazy import Lazy
from .places import inside
from .records import Csv, value

#: Pillow knows formats that start other programs; these are pictures and nothing else.
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".dib", ".gif", ".tif", ".tiff", ".webp"}
    | {".ppm", ".pgm", ".pbm", ".pnm"}
)
#: What file managers leave behind.
_LEFT_BEHIND = frozenset({"thumbs.db", "desktop.ini"})
#: How a picture is turned upright, by the orientation in its EXIF data (tag 0x0112); others lie right.
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
#: Pillow's names of what holds more than 8 bits a channel; it would clip or cut them without a word.
_DEEP = re.compile(r"^(I|F)\b|;16[BLN]\b|;32")
_MODES = ("RGB", "RGBA", "L")
#: A small file may hold a picture that fills the memory.
MOST_PIXELS = 64_000_000


@dataclass(frozen=True, slots=True)
class Form:
    """How pictures are given: `mode` of Pillow, and `size` (width, height) or as they are."""

    mode: str = "RGB"
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise DeclarationError(f"`mode={self.mode!r}`; expected one of {', '.join(_MODES)}")
        size = self.size
        if size is not None and not (
            isinstance(size, tuple) and len(size) == 2 and all(type(n) is int and n > 0 for n in size)
        ):
            raise DeclarationError(f"`size={size!r}`; expected (width, height) in pixels")


class Images(Lazy):
    """Pictures as arrays `(height, width, 3)` uint8, `(height, width)` for mode L, decoded when asked for.

    They are turned upright as their EXIF data say. More than 8 bits a channel are refused.
    """

    def __init__(self, files: list[Path], form: Form) -> None:
        self._files = files
        self._form = form
        self._pillow = _pillow()
        for file in files:
            self._check(file)

    def __len__(self) -> int:
        return len(self._files)

    def read(self, place: int) -> Any:
        """Decode a picture. Raises `DataError` for one that is damaged."""
        file = self._files[place]
        try:
            with self._pillow.open(file, formats=FORMATS) as image:
                turn = _UPRIGHT.get(image.getexif().get(_ORIENTATION, 1))
                picture = image.convert(self._form.mode)
                if turn is not None:
                    picture = picture.transpose(self._pillow.Transpose[turn])
                if self._form.size is not None and picture.size != self._form.size:
                    picture = picture.resize(self._form.size, self._pillow.Resampling.BILINEAR)
                return np.asarray(picture)
        except Exception as error:  # noqa: BLE001 - a picture from outside fails in every way there is
            raise DataError(f"{_named(file)}: damaged picture: {_said(error)}") from None

    def stored(self, place: int) -> bytes:
        """The file's bytes, and how it is given."""
        form = self._form
        try:
            data = self._files[place].read_bytes()
        except OSError as error:
            raise DataError(f"{_named(self._files[place])}: {error.strerror}") from None
        return f"image\0{form.mode} {form.size}\0".encode() + data

    def __getstate__(self) -> dict[str, Any]:
        """Leave the module out: another process imports it itself."""
        return {"_files": self._files, "_form": self._form}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._files, self._form = state["_files"], state["_form"]
        self._pillow = _pillow()

    def _check(self, file: Path) -> None:
        """Look at a picture's head: what it is, and how large."""
        bomb = self._pillow.DecompressionBombWarning
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", bomb)
                with self._pillow.open(file, formats=FORMATS) as image:
                    width, height = image.size
                    deep = _bits(image)
        except (bomb, self._pillow.DecompressionBombError):
            width, height, deep = MOST_PIXELS, 2, ""
        except Exception:  # noqa: BLE001 - the same; Pillow's own text says no more than the file's folder
            raise DataError(f"{_named(file)}: no picture; expected one of {', '.join(FORMATS)}") from None
        if width * height > MOST_PIXELS:
            raise DataError(f"{_named(file)}: more than {MOST_PIXELS:,} pixels; that is refused")
        if deep:
            raise DataError(
                f"{_named(file)}: more than 8 bits a channel ({deep}), which {self._form.mode} would cut; "
                "scale it to 8 bits, or give arrays with `from_npy`"
            )


def by_subfolder(folder: Path) -> tuple[list[Path], list[str]]:
    """The pictures of a folder's subfolders, by name, and the subfolder's name of each as its label."""
    files: list[Path] = []
    labels: list[str] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if not entry.is_dir():
            if entry.suffix.lower() in _SUFFIXES:
                raise DataError(
                    f"{_named(entry)}: lies in no subfolder, so it has no label; move it into one"
                )
            continue
        for file in sorted(entry.iterdir()):
            if file.name.startswith(".") or file.name.lower() in _LEFT_BEHIND:
                continue
            # Passed over, it would be missing from what is measured, and nobody told.
            if file.is_dir():
                raise DataError(
                    f"{_named(file)}: a folder within a label's; expected pictures alone, or `labels=` with "
                    "a table of files and labels"
                )
            if file.suffix.lower() not in _SUFFIXES:
                raise DataError(
                    f"{_named(file)}: no picture by its name; expected one of "
                    f"{', '.join(sorted(_SUFFIXES))}, or the file elsewhere"
                )
            files.append(inside(folder, f"{entry.name}/{file.name}", f"folder `{folder.name}`"))
            labels.append(entry.name)
    if not files:
        raise DataError(
            f"folder `{folder.name}` has no subfolder with pictures; expected one a label, or `labels=` "
            "with a table of files and labels"
        )
    return files, labels


def by_table(
    folder: Path, table: Path, file: str, others: dict[str, str]
) -> tuple[list[Path], dict[str, list[Any]]]:
    """The pictures that a CSV table names in its column `file`, and its other columns asked for."""
    files: list[Path] = []
    found: dict[str, list[Any]] = {column: [] for column in others}
    for row in Csv(table, ",", None).rows():
        where = f"{table.name}, line {row.line}"
        files.append(inside(folder, value(row.record, file, where), where))
        for column, key in others.items():
            label = value(row.record, key, where)
            if not label.strip():
                raise DataError(f"{where}: `{key}` is empty; label the picture or leave it out")
            found[column].append(label)
    if not files:
        raise DataError(f"{table.name} names no picture; expected at least one")
    return files, found


def _bits(image: Any) -> str:
    """Name how a picture that was opened, and not read yet, holds more than 8 bits a channel; or ""."""
    kept = [image.mode, *(str(tile[3][0] if isinstance(tile[3], tuple) else tile[3]) for tile in image.tile)]
    return next((str(each) for each in kept if _DEEP.search(str(each))), "")


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")  # an extra
    except ImportError:
        raise DataError(
            "pictures need Pillow, which is not installed; run `pip install 'pytest-procure[images]'`"
        ) from None


def _named(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
