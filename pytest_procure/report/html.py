"""The report as one HTML file: no script, no request, and the same bytes for the same record."""

from __future__ import annotations

import functools
import json
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined
from markupsafe import Markup

from pytest_procure.evidence.record import Record, dumps

from . import facts, offers, palette, words
from .page import page_of
from .visible import shorten, visible


def render(record: Record) -> str:
    """Render a record. Text from outside is escaped and made visible; none of it can run.

    The record is taken as `verdict.json` holds it, so that the file renders to the very same page.
    """
    record = json.loads(dumps(record))
    page = _environment().get_template("page.html.j2").render(page=page_of(record), record=record)
    return page + "\n"


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("pytest_procure.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shorten": shorten, "upper_first": words.upper_first, "n": "{:,}".format}
    made.filters["unbroken"] = words.unbroken
    made.globals |= {
        "words": words,
        "facts": facts,
        "offers": offers,
        "light": palette.LIGHT,
        "dark": palette.DARK,
    }
    return made


def _printable(value: Any) -> Any:
    """Let through text and whole numbers only: how a float reads is decided where it is worded."""
    if isinstance(value, (Markup, Undefined)):
        return value
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"the report cannot show {value!r}; expected text")
