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


class Undecided:
    """What holds a published figure: asked for an order, it says why there is none."""

    __slots__ = ()

    def described(self) -> str:
        """Say in few words what this is, for the refusal."""
        return str(self)

    def __lt__(self, _: object) -> bool:
        return _decide(self)

    __le__ = __gt__ = __ge__ = __lt__

    def __float__(self) -> float:
        return _calculate(self)

    def __int__(self) -> int:
        return _calculate(self)

    __index__ = __int__


class Published(Undecided):
    """A published figure itself, or one made of such figures: no operator and no conversion takes it."""

    __slots__ = ()
    number: float
    unit: str

    def __format__(self, spec: str) -> str:
        return _calculate(self) if spec else str(self)

    def __hash__(self) -> int:
        return hash((self.number, self.unit))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Published):
            return (self.number, self.unit) == (other.number, other.unit)
        if other is None:
            return False
        return _decide(self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return _decide(self)

    def __abs__(self, *_: object) -> NoReturn:
        _calculate(self)

    __neg__ = __pos__ = __round__ = __trunc__ = __floor__ = __ceil__ = __complex__ = __abs__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __abs__
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __abs__
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __abs__
    as_integer_ratio = __abs__  # later Pythons make fractions by it


def _decide(score: Undecided) -> NoReturn:
    raise PublishedScoreError(
        f"the published score {score.described()} cannot decide anything here (rule `verdict`): it was "
        "measured on MLPerf's reference task, not on yours, so it is context and never a bar; compare two "
        "published results with pytest_procure.mlperf.compare, and your offer with its own run"
    )


def _calculate(score: Undecided) -> NoReturn:
    raise PublishedScoreError(
        f"the published score {score.described()} cannot be calculated with (rule `transfer`): no latency, "
        "throughput, quality or cost of your task follows from it; derived figures come from "
        "pytest_procure.mlperf.derive, which labels them"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Score(Published):
    """A published figure with its unit, or a ratio of two: evidence class `public reference`.

    As text it says where it is from, so that no bar reads it as a quantity; `text` is for tables and quotes.
    """

    number: float
    unit: str

    def __str__(self) -> str:
        return f"{self.text} (published, MLPerf)"

    @property
    def text(self) -> str:
        """The figure with its unit and nothing else: for a table or a quote that says what it is."""
        return f"{figure(self.number)} {self.unit}"

    def described(self) -> str:
        """Give the figure alone."""
        return self.text


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


def measure(score: Published | None) -> tuple[float | None, str]:
    """Return number and unit in two cells of a table for machines; empty without a score."""
    return (None, "") if score is None else (score.number, score.unit)


def text_of(score: Score | None) -> str:
    """Return a score as text for a table or a quote that says what it is; empty without a score."""
    return "" if score is None else score.text


def percent(change: Score) -> str:
    """Write a change in percent with its sign: `+11.8%`."""
    return f"{change.number:+.1f}%"
