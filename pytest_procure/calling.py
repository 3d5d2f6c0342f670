"""Calls of what a suite declares: an unknown or missing argument is one line with the nearest name."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .errors import DeclarationError, unknown

Made = TypeVar("Made", bound=type)
Called = TypeVar("Called", bound=Callable[..., Any])


def declared(made: Made) -> Made:
    """Make a class raise `DeclarationError` where Python would raise `TypeError` for its arguments.

    Values are not quoted: one may be a key that was written where it does not belong.
    """
    init: Any = made.__init__  # type: ignore[misc] # that of this very class, not of one below it

    @functools.wraps(init)
    def checked(self: Any, *arguments: Any, **named: Any) -> None:
        __tracebackhide__ = True
        check(init, type(self).__name__, (self, *arguments), named)
        init(self, *arguments, **named)

    setattr(made, "__init__", checked)  # noqa: B010 - checkers rightly forbid it; the arguments stay the same
    return made


def declaring(called: Called) -> Called:
    """Do the same for a function or a method."""

    @functools.wraps(called)
    def checked(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        check(called, _shown(called, arguments), arguments, named)
        return called(*arguments, **named)

    return checked  # type: ignore[return-value] # it takes and gives the same


def _shown(called: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """Name a function, or a method with the class that it was called on."""
    if called.__qualname__ == called.__name__ or not arguments:
        return called.__name__
    owner = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
    return f"{owner.__name__}.{called.__name__}"


def check(called: Callable[..., Any], name: str, arguments: Iterable[Any], named: dict[str, Any]) -> None:
    """Raise `DeclarationError` where `called` does not take these arguments; `name` is what it is told as."""
    __tracebackhide__ = True  # what counts is the line that calls
    signature = inspect.signature(called)
    taken = [each for each in signature.parameters.values() if each.name not in {"self", "cls"}]
    known = {each.name for each in taken if each.kind not in _WITHOUT_NAMES}
    for each in taken:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            further = _further(called, each)
            known |= set(named) if further is None else further
    strange = next((key for key in named if key not in known), None)
    if strange is not None:
        raise DeclarationError(f"`{name}(...)`: {unknown('argument', strange, known)}")
    try:
        given = signature.bind_partial(*arguments, **named).arguments
    except TypeError as error:  # too many, or one of them twice
        raise DeclarationError(f"`{name}(...)`: {error}. Known: {', '.join(sorted(known))}") from None
    missing = [f"`{each.name}`" for each in taken if _is_needed(each) and each.name not in given]
    if missing:
        raise DeclarationError(
            f"`{name}(...)`: it needs {' and '.join(missing)}. Known: {', '.join(sorted(known))}"
        )


_WITHOUT_NAMES = {
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
}


def _further(called: Callable[..., Any], rest: inspect.Parameter) -> set[str] | None:
    """Name what `**rest: Unpack[Typed]` takes; None where that may be anything."""
    typed = re.fullmatch(r"Unpack\[(\w+)\]", str(rest.annotation))
    keys = getattr(called, "__globals__", {}).get(typed[1]) if typed else None
    return None if keys is None else set(keys.__annotations__)


def _is_needed(each: inspect.Parameter) -> bool:
    collects = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    return each.default is inspect.Parameter.empty and each.kind not in collects


def of_kind(value: Any, kinds: type | tuple[type, ...], name: str, *, of: str, expected: str) -> None:
    """Raise `DeclarationError` where an argument is of another kind.

    Its value is not quoted: it may be a key. A bool is no number here.
    """
    numbers = bool not in (kinds if isinstance(kinds, tuple) else (kinds,))
    if not isinstance(value, kinds) or (isinstance(value, bool) and numbers):
        raise DeclarationError(f"`{name}` of {of} is of type {type(value).__name__}; expected {expected}")
