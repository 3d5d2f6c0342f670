"""Conditions of a scenario by what changing them does: makes it easier, makes it another one, or neither.

A condition that stands in none of the lists is `changed` in either direction, which has to be declared.
"""

from __future__ import annotations

from typing import Any

from pytest_procure.driver.thresholds import THRESHOLDS
from pytest_procure.errors import ProcureError
from pytest_procure.units import quantity

#: Of which fewer, or less, is lax: less traffic, shorter peaks, fewer turns, a slower replay.
FEWER_IS_LAX = frozenset({
    "qps", "base", "peak", "period", "duty", "start", "end", "speed", "concurrency", "starts", "turns",
    "duration", "count", "launches", "samples_per_query",
})  # fmt: skip
#: Of which more is lax: longer deadlines and pauses, steadier arrivals, more that is sent and not measured,
#: more questions that were asked already.
MORE_IS_LAX = frozenset({"timeout", "drain", "think_time", "burstiness", "warmup", "cut", "repeat_share"})
#: What makes it another scenario, and not the sealed one under other conditions.
IDENTITY = frozenset({"scenario", "stopping", "arrivals", "trace", "conversations", "history"})
#: What neither eases nor replaces it: changed, whichever way.
EITHER_WAY = frozenset({"seed", "steps", "max_batch", "max_wait", "workers", "loadgen"})
#: What follows from the others, and is told only where none of them differs.
DERIVED = frozenset({"label", "sample_order", "carried", "closed_loop", "wall_limit"})
#: Thresholds of the audit by their ini key, less `procure_`: which way lies an easier run.
_THRESHOLDS = {each.key: each.lax for each in THRESHOLDS.values()}


def is_lax(condition: str, sealed: Any, ran: Any) -> bool:
    """Whether a condition was changed in the lax direction; what cannot be compared is taken for lax."""
    if condition in FEWER_IS_LAX:
        return not is_more(ran, sealed)
    return condition in MORE_IS_LAX and not is_more(sealed, ran)


def is_lax_threshold(key: str, sealed: Any, ran: Any) -> bool:
    """Whether a threshold of the audit was moved so that an offer passes more easily."""
    way = _THRESHOLDS.get(key, "")
    if way == "more":
        return not is_more(sealed, ran)
    return way == "less" and not is_more(ran, sealed)


def is_more(first: Any, second: Any) -> bool:
    """Whether the first is known to be more than the second; what cannot be compared is not."""
    try:
        return bool(quantity(first) > quantity(second))
    except (ProcureError, TypeError, ValueError):
        return False
