"""Where pytest took a value of an option of ours for a path of tests, and with it other settings.

pytest looks for its ini file before it knows the options of plugins: in `pytest suite --procure-out DIR` a
folder that is there already counts as a path of tests. The ini file is then that of a folder above both.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

#: Where pytest looks for settings, in its order: files that always hold them, and those with a section.
_FILES = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


def refuse_lost_settings(base: Path, args: Sequence[str], tests: Sequence[str], used: Path | None) -> None:
    """Raise `UsageError` where such a value hides the ini file of the tests that are asked for.

    `used`: the ini file that pytest took.
    """
    values = [(option, after) for option, after in pairwise(args) if option.startswith("--procure-")]
    paths = [(option, value) for option, value in values if value not in tests and (base / value).exists()]
    asked = [base / path.partition("::")[0] for path in tests]
    if not paths or not asked or not all(path.exists() for path in asked):
        return
    folders = [os.path.abspath(path if path.is_dir() else path.parent) for path in asked]  # noqa: PTH100 - links stay
    above = Path(os.path.commonpath(folders))
    own = next((found for folder in (above, *above.parents) if (found := _settings(folder))), None)
    if own is not None and (used is None or not own.samefile(used)):
        option, value = paths[0]
        raise pytest.UsageError(
            f"procure: `{value}` is there already, so pytest took it for a path of tests and left out "
            f"{os.path.relpath(own, base)}; write `{option}={value}`"
        )


def _settings(folder: Path) -> Path | None:
    for name, section in _FILES.items():
        path = folder / name
        if path.is_file() and section in path.read_text("utf-8", "replace"):
            return path
    return None
