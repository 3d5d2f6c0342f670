"""Backends that other distributions bring, by the entry-point group `pytest_procure.backends`.

[project.entry-points."pytest_procure.backends"]
acme-npu = "acme_npu.procure:AcmeNpu"
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pytest_procure.errors import DeclarationError, ProcureError, unknown
from pytest_procure.redaction import quoted

from .protocol import Backend

GROUP = "pytest_procure.backends"


def backend_named(name: str, /, *arguments: Any, **named: Any) -> Backend:
    """Declare a backend that another distribution brings: `backend_named("acme-npu", "model.bin", cores=2)`.

    The arguments are passed on to what the entry point names. Raises `DeclarationError` when there is none of
    that name, or several, when it cannot be imported, does not take the arguments, or gives no backend.
    """
    entry = _entry(name)
    shown = f"backend `{name}` ({_from(entry)}, `{entry.value}`)"
    try:
        make = entry.load()
    except (Exception, SystemExit) as error:
        raise DeclarationError(
            f"{shown} cannot be imported: {_said(error)}; mend or upgrade that distribution"
        ) from error
    if not callable(make):
        raise DeclarationError(f"{shown} is {type(make).__name__}; expected a class or a function")
    try:
        made = make(*arguments, **named)
    except ProcureError:
        raise
    except Exception as error:
        raise DeclarationError(f"{shown} cannot be declared so: {_said(error)}") from error
    if not isinstance(made, Backend):
        raise DeclarationError(f"{shown} gave a {type(made).__name__}, which has no `load(base)`")
    return made


def _entry(name: str) -> EntryPoint:
    found = entry_points(group=GROUP)
    named = [entry for entry in found if entry.name == name]
    if not named:
        known = {entry.name for entry in found}
        raise DeclarationError(
            unknown("backend", str(name), known) + " (entry points of the group `pytest_procure.backends`)"
        )
    if len({entry.value for entry in named}) > 1:
        raise DeclarationError(
            f"backend `{name}` is brought by {' and by '.join(sorted({_from(entry) for entry in named}))}; "
            "remove one of them"
        )
    return named[0]


def _from(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "no distribution"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {quoted(str(error), 200)}"
