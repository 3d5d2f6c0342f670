"""Where pytest took a report's folder for a path of tests, and with it other settings.

pytest looks for its ini file before it knows the options of plugins: in `pytest suite --procure-out DIR` a
folder that is there already counts as a path of tests. The ini file is then that of a folder above both.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

_ALWAYS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
_WITH = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}


def refuse_lost_settings(base: Path, args: Sequence[str], tests: Sequence[str]) -> None:
    """Raise `UsageError` where the report's folder hides the ini file of the tests that are asked for."""
    out = next((after for option, after in pairwise(args) if option == "--procure-out"), "")
    asked = [base / path.partition("::")[0] for path in tests]
    if not out or not (base / out).exists() or not asked or not all(path.exists() for path in asked):
        return
    above = _common([path if path.is_dir() else path.parent for path in asked])
    taken = _common([above, base / out])
    for folder in (above, *above.parents):
        if folder == taken:
            return
        if found := _settings(folder):
            raise pytest.UsageError(
                f"procure: `--procure-out {out}` is there already, so pytest took it for a path of tests and "
                f"left out {os.path.relpath(found, base)}; write `--procure-out={out}`"
            )


def _common(paths: Sequence[Path]) -> Path:
    return Path(os.path.commonpath([os.path.abspath(path) for path in paths]))  # noqa: PTH100 - links stay


def _settings(folder: Path) -> Path | None:
    for name in _ALWAYS:
        if (folder / name).is_file():
            return folder / name
    for name, section in _WITH.items():
        if (folder / name).is_file() and section in (folder / name).read_text("utf-8", "replace"):
            return folder / name
    return None
