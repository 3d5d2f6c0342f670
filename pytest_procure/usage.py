"""Which of our fixtures a test uses, and which of them are the suite's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def is_requirement(item: pytest.Item) -> bool:
    """Whether a test stands for a requirement: it uses our `procure`, or puts bars on our candidates."""
    names = getattr(item, "fixturenames", ())
    if "_procure_offer" in names and item.get_closest_marker("bar"):
        return True
    return "procure" in names and _ours(item)


def misplaced(item: pytest.Item) -> str:
    """Name one of our marks on a test that is no requirement; nothing where there is none."""
    used = sorted({mark.name for mark in item.iter_markers()} & {"bar", "scenario", "dataset_slice"})
    return used[0] if used and not is_requirement(item) else ""


def _definitions(node: Any, fixture: str) -> Sequence[Any]:
    definitions: Sequence[Any] = node._fixtureinfo.name2fixturedefs.get(fixture, ())  # noqa: SLF001 - pytest has no public way to ask
    return definitions


def overridden(node: Any, fixture: str) -> bool:
    """Whether the nearest fixture of that name is the suite's own."""
    definitions = _definitions(node, fixture)
    return bool(definitions) and definitions[-1].func.__module__ != "pytest_procure.fixtures"


def _ours(item: pytest.Item) -> bool:
    """Whether the fixture `procure` of a test is ours, or the suite's own that builds on ours."""
    for definition in reversed(_definitions(item, "procure")):
        if definition.func.__module__ == "pytest_procure.fixtures":
            return True
        if "procure" not in definition.argnames:
            return False
    return False
