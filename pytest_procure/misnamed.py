"""Hooks of a suite that are named nearly like ours: nobody would call them, and offers would be missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pluggy
import pytest

from . import hookspecs
from .errors import unknown

_PREFIX = "pytest_procure_"


def spare(manager: pytest.PytestPluginManager) -> None:
    """Keep pytest from ending with a traceback on such a hook: `problems` tells it in one line."""
    for caller in _strangers(manager):
        for implementation in caller.get_hookimpls():
            setattr(implementation, "optionalhook", True)  # noqa: B010 - pluggy's own word for it, made final


def refuse(manager: pytest.PytestPluginManager) -> None:
    """Raise `UsageError`, a line a hook; conftests that are found while tests are collected come later."""
    if told := problems(manager):
        raise pytest.UsageError(*(f"procure: {problem}" for problem in told))


def problems(manager: pytest.PytestPluginManager) -> list[str]:
    """Say of each such hook where it stands, and which name is the nearest of ours."""
    known = [name for name in vars(hookspecs) if name.startswith(_PREFIX)]
    return [
        f"{_place(implementation)}: {unknown('hook', caller.name, known)}"
        for caller in _strangers(manager)
        for implementation in caller.get_hookimpls()
    ]


def _strangers(manager: pytest.PytestPluginManager) -> Iterator[pluggy.HookCaller]:
    """Give the hooks with our prefix that somebody implements, and nobody has declared."""
    callers = (caller for name, caller in vars(manager.hook).items() if name.startswith(_PREFIX))
    yield from (caller for caller in callers if not caller.has_spec())


def _place(implementation: pluggy.HookImpl) -> str:
    code = getattr(implementation.function, "__code__", None)
    if code is None:
        return str(implementation.plugin_name)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"
