"""A published number that cannot be mistaken for a measurement.

`Score` carries its unit and refuses every operator that would let it decide something: `<=` would be a
verdict that rests on a published score (rule `verdict`), `*` and `/` would be a forecast for the buyer's own
task (rule `transfer`). The plain figure is at `.number`, for tables and citations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from .errors import PublishedScoreError

#: The units MLPerf's benchmarks are measured in, by the label the published tables give them.
UNITS = {
    "Samples/s": "samples/s",
    "Queries/s": "queries/s",
    "Tokens/s": "tokens/s",
    "Latency (ms)": "ms",
    "Latency (s)": "s",
}


def lower_is_better(unit: str) -> bool:
    """Tell latencies, where less is better, from rates."""
    return unit in {"ms", "s"}


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A published figure with its unit: evidence class `public reference`."""

    number: float
    unit: str

    def __str__(self) -> str:
        return f"{figure(self.number)} {self.unit}"

    def __hash__(self) -> int:
        return hash((self.number, self.unit))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score):
            return (self.number, self.unit) == (other.number, other.unit)
        if other is None:
            return False
        return self._decide(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _decide(self, *_: object) -> NoReturn:
        raise PublishedScoreError(
            f"the published score {self} cannot decide anything here (rule `verdict`): it was measured on "
            "MLPerf's reference task, not on yours, so it is context and never a bar; compare two published "
            "results with pytest_procure.mlperf.compare, and your offer with its own run"
        )

    def _calculate(self, *_: object) -> NoReturn:
        raise PublishedScoreError(
            f"the published score {self} cannot be calculated with (rule `transfer`): no latency, "
            "throughput, quality or cost of your task follows from it; derived figures come from "
            "pytest_procure.mlperf.derive, which labels them"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _decide
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _calculate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _calculate
    __float__ = __int__ = __index__ = __neg__ = __abs__ = __round__ = _calculate


def figure(number: float, digits: int | None = None) -> str:
    """Write a figure as the published table gives it, or a derived one rounded to some significant digits.

    >>> figure(101527.0), figure(62.695344), figure(3189.083, 4)
    ('101,527', '62.695344', '3,189')
    """
    if not math.isfinite(number):
        return "not a number"
    exact = Decimal(repr(number))
    if digits is not None and number:
        exact = round(exact, digits - 1 - exact.adjusted())
    text = f"{exact:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def share(ratio: float) -> str:
    """Write a relative change with its sign: `+11.8%`."""
    return f"{100 * ratio:+.1f}%"
