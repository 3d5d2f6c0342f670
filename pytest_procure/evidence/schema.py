"""The format of `verdict.json`: its JSON Schema, made from the record's types, and a check by the same types.

The schema is shipped as `verdict.schema.json` beside this module; `python -m pytest_procure.evidence.schema`
writes it anew, and a test holds the file to the types.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from .record import FORMAT, VERSION, Record

FILE = Path(__file__).with_name("verdict.schema.json")
#: How many mistakes of a file are told; one is mostly enough to know what it is.
_TOLD = 3
_PLAIN: dict[object, tuple[str, tuple[type, ...]]] = {
    str: ("string", (str,)),
    bool: ("boolean", (bool,)),
    int: ("integer", (int,)),
    float: ("number", (int, float)),
    type(None): ("null", (type(None),)),
}


def schema(*, strict: bool = False) -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) of a record.

    A later version of the plugin may add optional fields to a format, so unknown ones are allowed; `strict`
    refuses them, for tests.
    """
    definitions: dict[str, Any] = {}
    whole = _of(Record, definitions, strict=strict)
    definitions["Record"]["properties"] |= {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT} {VERSION}",
        "description": "What a procurement report says, as data. History: docs/report.md.",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def problems(record: object) -> list[str]:
    """Say where data are no record of this format, a line each, at most three; [] for a record.

    As in "$.requirements[0].results: expected a list, got text".
    """
    found = _problems(record, Record, "$")
    return [problem for problem, _ in zip(found, range(_TOLD), strict=False)]


def fields(typed: Any) -> dict[str, tuple[Any, bool]]:
    """List the fields of a typed mapping: name -> (type, whether it may be left out)."""
    hints = get_type_hints(typed, include_extras=True)
    return {
        name: (get_args(hint)[0], True) if get_origin(hint) is NotRequired else (hint, False)
        for name, hint in hints.items()
    }


def _of(  # noqa: PLR0911 - a line a kind of type
    hint: Any, definitions: dict[str, Any], *, strict: bool
) -> dict[str, Any]:
    """Translate a type; typed mappings become definitions that are referred to by name."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # a place, so that a type may hold itself
            definitions[hint.__name__] = _object(hint, definitions, strict=strict)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint][0]}
    if hint is Any:
        return {}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _of(arguments[0], definitions, strict=strict)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions, strict=strict)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_of(each, definitions, strict=strict) for each in arguments]}
    raise TypeError(f"{hint!r} has no place in the format")


def _object(hint: Any, definitions: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    known = fields(hint)
    return {
        "type": "object",
        "description": (hint.__doc__ or "").strip().partition("\n")[0],
        "properties": {name: _of(kind, definitions, strict=strict) for name, (kind, _) in known.items()},
        "required": [name for name, (_, optional) in known.items() if not optional],
        **({"additionalProperties": False} if strict else {}),
    }


def _problems(value: object, hint: Any, where: str) -> Iterator[str]:
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        yield from _problems_of_object(value, hint, where)
    elif hint in _PLAIN:
        if not _is_plain(value, hint):
            yield f"{where}: expected {_PLAIN[hint][0]}, got {_told(value)}"
    elif origin is Literal:
        if value not in arguments:
            yield f"{where}: expected one of {', '.join(map(str, arguments))}; got {_told(value)}"
    elif origin in {list, dict}:
        yield from _problems_of_many(value, origin, arguments[-1], where)
    elif origin in {Union, types.UnionType}:
        tried = [list(_problems(value, each, where)) for each in arguments]
        if all(tried):
            yield max(tried, key=lambda told: len(told[0]))[0]


def _problems_of_many(value: object, kind: Any, inner: Any, where: str) -> Iterator[str]:
    if kind is list and isinstance(value, list):
        for place, each in enumerate(value):
            yield from _problems(each, inner, f"{where}[{place}]")
    elif kind is dict and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _problems(each, inner, f"{where}.{str(key)[:40]}")
    else:
        yield f"{where}: expected a {'list' if kind is list else 'mapping'}, got {_told(value)}"


def _problems_of_object(value: object, hint: Any, where: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{where}: expected a mapping, got {_told(value)}"
        return
    for name, (kind, optional) in fields(hint).items():
        if name in value:
            yield from _problems(value[name], kind, f"{where}.{name}")
        elif not optional:
            yield f"{where}: `{name}` is missing"


def _is_plain(value: object, hint: object) -> bool:
    if isinstance(value, bool):
        return hint is bool
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _PLAIN[hint][1])


def _told(value: object) -> str:
    if isinstance(value, (str, int, float, bool)) or value is None:
        text = json.dumps(value)
        return text if len(text) <= 40 else text[:39] + "…"
    return "a list" if isinstance(value, list) else "a mapping"


if __name__ == "__main__":
    FILE.write_text(json.dumps(schema(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
