"""Who answers for a requirement, and who waives it: the marks `requirement` and `waiver`."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from .candidates import checked_text
from .errors import DeclarationError, unknown
from .evidence.spec import SealedWaiver
from .redaction import redacted

_REQUIREMENT = ("owner", "risk")
_WAIVER = ("owner", "reason", "expires", "candidate")


def owner_of(item: pytest.Item, default: str) -> tuple[str, str]:
    """Give who answers for a requirement, and what goes wrong where it is not met; "" where nobody says.

    Raises `DeclarationError` for a mark that cannot be meant.
    """
    mark = item.get_closest_marker("requirement")
    given = {} if mark is None else _texts(item, mark, _REQUIREMENT)
    return given.get("owner", default), given.get("risk", "")


def waivers_of(item: pytest.Item, candidates: set[str]) -> list[SealedWaiver]:
    """Read the `waiver` marks of a test. Raises `DeclarationError`."""
    return [_waiver(item, mark, candidates) for mark in item.iter_markers("waiver")]


def _waiver(item: pytest.Item, mark: pytest.Mark, candidates: set[str]) -> SealedWaiver:
    given = _texts(item, mark, _WAIVER)
    missing = [name for name in ("owner", "reason", "expires") if not given.get(name, "").strip()]
    if missing:
        raise _wrong(
            item,
            "waiver",
            f"`{missing[0]}=` is missing; expected for example "
            'waiver(owner="claims department", reason="fixed in 2.1", expires="2027-03-31")',
        )
    expires = given["expires"]
    try:
        sound = date.fromisoformat(expires).isoformat() == expires
    except ValueError:
        sound = False
    if not sound:
        raise _wrong(item, "waiver", f"`expires={expires!r}`; expected a date, as in '2027-03-31'")
    candidate = given.get("candidate", "")
    if candidate and candidate not in candidates:
        raise _wrong(item, "waiver", unknown("candidate", candidate, candidates))
    return {"candidate": candidate, "owner": given["owner"], "reason": given["reason"], "expires": expires}


def _texts(item: pytest.Item, mark: pytest.Mark, known: tuple[str, ...]) -> dict[str, str]:
    if mark.args:
        raise _wrong(item, mark.name, f"expected {', '.join(f'{name}=' for name in known)}")
    for argument in mark.kwargs:
        if argument not in known:
            raise _wrong(item, mark.name, unknown("argument", argument, known))
    given = {name: checked_text(value, what=f"`{name}`") for name, value in mark.kwargs.items()}
    return {name: value if name == "candidate" else redacted(value) for name, value in given.items()}


def _wrong(item: Any, mark: str, what: str) -> DeclarationError:
    return DeclarationError(f"mark `{mark}` on {item.nodeid.partition('[')[0]}: {what}")
