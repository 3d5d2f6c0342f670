"""Hooks and settings that are not ours by a letter, in their name or a parameter's: each is told in one line.

Nobody would call a hook of another name, and offers would be missing; pluggy refuses a parameter of another
name with a traceback of its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pluggy
import pytest

from . import hookspecs
from .errors import unknown

_PREFIX = "pytest_procure_"
#: Where a manager, which has no stash, keeps what is to be told of parameters.
_TOLD = "_procure_parameters"


def declare(manager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, and see to it that a parameter of another name is told and not raised.

    Raises `UsageError` for one in a plugin that was there before us.
    """
    told: list[str] = []
    given = manager.parse_hookimpl_opts

    @functools.wraps(given)
    def parse(plugin: object, name: str) -> Any:
        # Each attribute of each plugin comes by here, and few begin like this.
        is_ours = name.startswith(_PREFIX) and name in _ours()
        if is_ours and (problem := _parameters(getattr(plugin, name, None), name)):
            told.append(problem)
            return None  # it is no hook: pluggy would end the session, and nothing can call it
        return given(plugin, name)

    setattr(manager, "parse_hookimpl_opts", parse)  # noqa: B010 - pluggy asks it of each function of a plugin
    setattr(manager, _TOLD, told)
    callers = [caller for name in _ours() if (caller := getattr(manager.hook, name, None)) is not None]
    before = [
        problem
        for caller in callers
        for implementation in caller.get_hookimpls()
        if (problem := _parameters(implementation.function, caller.name))
    ]
    if before:
        raise pytest.UsageError(*(f"procure: {problem}" for problem in before))
    manager.add_hookspecs(hookspecs)


def spare(manager: pytest.PytestPluginManager) -> None:
    """Keep pytest from ending with a traceback on a hook of another name: `problems` tells it in one line."""
    for caller in _strangers(manager):
        for implementation in caller.get_hookimpls():
            setattr(implementation, "optionalhook", True)  # noqa: B010 - pluggy's own word for it, made final


def refuse(manager: pytest.PytestPluginManager) -> None:
    """Raise `UsageError`, a line a hook; conftests that are found while tests are collected come later."""
    if told := problems(manager):
        raise pytest.UsageError(*(f"procure: {problem}" for problem in told))


def refuse_keys(config: pytest.Config, known: Iterable[str]) -> None:
    """Raise `UsageError` for a setting with our prefix that nobody reads: pytest only warns of it."""
    ours = [f"procure_{key}" for key in known]
    given = getattr(config, "_inicfg", None) or {}  # there is no public way to ask which keys are set
    strange = [key for key in given if key.startswith("procure_") and key not in ours]
    if strange:
        raise pytest.UsageError(*(f"procure: {unknown('ini key', key, ours)}" for key in sorted(strange)))


def problems(manager: pytest.PytestPluginManager) -> list[str]:
    """Say of each such hook where it stands, and which name is the nearest of ours."""
    misnamed = [
        f"{_place(implementation.function) or implementation.plugin_name}: "
        f"{unknown('hook', caller.name, _ours())}"
        for caller in _strangers(manager)
        for implementation in caller.get_hookimpls()
    ]
    return [*misnamed, *getattr(manager, _TOLD, ())]


def _ours() -> list[str]:
    return [name for name in vars(hookspecs) if name.startswith(_PREFIX)]


def _strangers(manager: pytest.PytestPluginManager) -> Iterator[pluggy.HookCaller]:
    """Give the hooks with our prefix that somebody implements, and nobody has declared."""
    callers = (caller for name, caller in vars(manager.hook).items() if name.startswith(_PREFIX))
    yield from (caller for caller in callers if not caller.has_spec())


def _parameters(function: Any, name: str) -> str:
    """Say which parameter of a hook of ours nobody would give; nothing where all are known."""
    known = list(inspect.signature(getattr(hookspecs, name)).parameters)
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    needed = [each.name for each in given if each.kind in _NAMED and each.default is inspect.Parameter.empty]
    strange = next((each for each in needed if each not in known), "")
    return f"{_place(function)}: hook `{name}`: {unknown('parameter', strange, known)}" if strange else ""


_NAMED = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}


def _place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else ""
