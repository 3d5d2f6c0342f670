"""What is kept of a session's tests, as the suite's settings say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .evidence.keeping import Keeper


def keeper(config: pytest.Config, folder: Path) -> Keeper:
    """Make the keeper of the tests' files. Raises `UsageError` for settings that cannot be meant."""
    texts, pattern = (str(config.getini(f"procure_{key}")) for key in ("keep_outputs", "redact"))
    if texts not in {"", "yes", "no"}:
        raise pytest.UsageError(f"procure: ini key `procure_keep_outputs = {texts}`; expected yes or no")
    try:
        redact = re.compile(pattern) if pattern else None
    except re.error as error:
        raise pytest.UsageError(f"procure: ini key `procure_redact = {pattern}`: {error}") from None
    return Keeper(folder, texts=texts != "no", redact=redact)
