"""How many accelerators a system has: what the columns multiply to, and what the names say instead."""

from __future__ import annotations

import re
from functools import lru_cache

from .records import Count

_TIMES = re.compile(r"\(x(\d{1,6})\)")
_CHIP = re.compile(r"[A-Za-z]{1,3}\d{2,4}[A-Za-z]?")


@lru_cache(maxsize=4096)  # the rows of a system repeat its names
def count_accelerators(
    *, accelerator: str, names: tuple[str, ...], nodes: int | None, per_node: int | None, total: int | None
) -> Count:
    """Count a system's accelerators and note the first statement that gives another number.

    Looked at in turn: `(x87)` in the accelerator's name, the total column, `8x B200` or `B200x8` in the names
    of system and platform. Several types of accelerator are only counted where each name carries its own
    number.
    """
    declared = nodes * per_node if nodes and per_node else per_node
    kinds = [kind for kind in accelerator.split(",") if kind.strip()]
    times = [int(found) for found in _TIMES.findall(accelerator)]
    statements: list[tuple[int, str]] = []
    if times and len(times) == len(kinds):
        statements.append((sum(times), "accelerator name"))
    if total:
        statements.append((total, "total column"))
    if len(kinds) == 1:
        statements += [(found, "system name") for name in names for found in _named(kinds[0], name)]
    for number, where in statements:
        if number != declared:
            return Count(declared, number, where, preferred=where != "system name")
    return Count(declared)


def _named(kind: str, name: str) -> list[int]:
    """Return the counts that a name gives for an accelerator: 24 for `3x8x H200` and for `h200_x24`."""
    chip = _CHIP.search(kind)
    if chip is None:
        return []
    token = re.escape(chip[0])
    before = re.findall(rf"(?:(\d{{1,4}})x)?(\d{{1,5}})x\s?(?:NVIDIA |AMD )?{token}", name, re.IGNORECASE)
    after = re.findall(rf"{token}[\w-]*?_?x(\d{{1,5}})(?![\dA-Za-z])", name, re.IGNORECASE)
    return [int(outer or 1) * int(inner) for outer, inner in before] or [int(found) for found in after]
