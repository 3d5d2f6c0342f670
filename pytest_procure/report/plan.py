"""The plan at the end of `pytest --procure-plan`: plain text, a block a requirement and kind of candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby

from pytest_procure.needs import BarPlan, Numbers, Point, State
from pytest_procure.pilots import Pilot
from pytest_procure.planning import Effort, Plan
from pytest_procure.units import Quantity, readable
from pytest_procure.wording import amount

from . import words
from .terminal import NARROWEST, wrapped
from .visible import one_line, shorten

_GLYPHS = {
    State.DECIDES: "●",
    State.TOO_FEW: "■",
    State.NOT_KNOWN: "◐",
    State.NOT_PLANNED: "○",
    State.FIXED: "◇",
}
_MARKUP = {
    State.DECIDES: {"green": True},
    State.TOO_FEW: {"red": True},
    State.NOT_KNOWN: {"yellow": True},
}
_INDENT = " " * 7
_NOTHING = ["No test of this run stands for a requirement, so there is nothing to plan."]


def lines(plans: Sequence[Plan], status: int, *, width: int) -> list[str]:
    """Tell plans in lines of at most `width` columns (40 or more); equal ones of a requirement once."""
    width = max(width, NARROWEST)
    if not plans:
        return wrapped(_NOTHING[0], width)
    told = wrapped(_risks(plans), width)
    requirements: dict[str, list[Plan]] = {}
    for plan in plans:
        requirements.setdefault(plan.id, []).append(plan)
    for number, each in enumerate(requirements.values(), start=1):
        head = f"{number}. "
        question = shorten(one_line(each[0].question or each[0].id), 2 * width)
        told += wrapped(question, width, first=head, rest=" " * len(head))
        told += wrapped(each[0].traffic, width, first="   ", rest="   ")
        for names, plan in _alike(each):
            told += wrapped(f"{names}:", width, first="   ", rest="     ")
            for line in _block(plan):
                head = "   " if line[:1] in _GLYPHS.values() else _INDENT
                told += wrapped(line[len("   ") - 3 :], width, first=head, rest=_INDENT)
    return told
