"""How a declared backend gets into a process of its own: pickled here, by us, and read there.

Functions and classes go by name, with the file that they come from: a conftest is no module that a fresh
interpreter could import, and two conftests may share one name.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import pickle
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pytest_procure.errors import DeclarationError

_MENDS = "or declare `isolation='none'` for it"


def pickled(value: Any, *, what: str) -> bytes:
    """Write `value` for the process. Raises `DeclarationError`, which says what about it cannot be sent."""
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump(value)
    except DeclarationError as error:
        raise DeclarationError(f"{what} cannot be sent to a process of its own: {error}") from None
    except Exception as error:  # a declaration of the suite's own may refuse in any way
        said = " ".join(str(error).split())
        raise DeclarationError(
            f"{what} cannot be sent to a process of its own: {type(error).__name__}: {said}; "
            f"keep in it what can be pickled, {_MENDS}"
        ) from error
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Send functions and classes of the suite's own files by file and name."""
        if obj is found or not isinstance(obj, (FunctionType, type)):
            return NotImplemented
        home = _home(obj)
        if home is None:
            return NotImplemented
        name, file = home.get("__name__"), home.get("__file__")
        path = obj.__qualname__
        if "<" in path:
            kind = "a lambda" if path.endswith("<lambda>") else "defined inside a function"
            raise DeclarationError(
                f"`{name}.{path}` is {kind}; write it at the top level of a file "
                f"(a class with `__call__` where it carries settings), {_MENDS}"
            )
        if not isinstance(name, str) or not isinstance(file, str) or _found(home, path) is not obj:
            return NotImplemented
        return found, (name, str(Path(file).resolve()), path)


def found(name: str, file: str, path: str) -> Any:
    """Over there: give the function or class `path` of the module `name` that `file` holds."""
    return _found(vars(_module(name, file)), path)


def _home(thing: Any) -> dict[str, Any] | None:
    """Find the names of the module that a function or class was written in; None for what is not Python's."""
    if isinstance(thing, FunctionType):
        return thing.__globals__
    module = sys.modules.get(thing.__module__)
    for inside in vars(thing).values():
        if isinstance(inside, FunctionType) and inside.__globals__.get("__name__") == thing.__module__:
            return inside.__globals__
    return None if module is None or "__file__" not in vars(module) else vars(module)


def _found(names: dict[str, Any], path: str) -> Any:
    first, *rest = path.split(".")
    thing = names.get(first)
    for each in rest:
        thing = getattr(thing, each, None)
    return thing


def _module(name: str, file: str) -> ModuleType:
    """Import by name where that gives this file; else load the file under its name, or one beside it."""
    try:
        known = importlib.import_module(name)
        if Path(getattr(known, "__file__", None) or "").resolve() == Path(file):
            return known
    except ImportError:
        pass
    place = name if name not in sys.modules else f"{name}:{file}"
    if place in sys.modules:
        return sys.modules[place]
    spec = importlib.util.spec_from_file_location(place, file)
    assert spec is not None and spec.loader is not None, "a Python file can be loaded"  # noqa: PT018 - one reason
    module = importlib.util.module_from_spec(spec)
    sys.modules[place] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[place]
        raise
    return module
