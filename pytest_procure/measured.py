"""A measured value, as a test's author holds it: compared by the decision rule, and recorded when it is."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Protocol

from .asserts import Role, role
from .errors import ComparisonError, DeclarationError
from .metrics.measurement import Measurement, Unmeasurable
from .units import Quantity, quantity, readable

Operator = Literal["<", "<=", ">", ">="]

_EXAMPLES = {"duration": "ms(80)", "rate": "per_second(40)", "money": 'money("0.0002 USD")'}


class Recorder(Protocol):
    """Who keeps the findings of a test."""

    def compare(
        self, measured: Measurement, operator: Operator, limit: Quantity, stands: Role | None
    ) -> bool:
        """Decide and record one comparison."""
        ...

    def explain(self, measured: Measurement) -> list[str]:
        """Say how the last comparison of a measurement was decided."""
        ...


class Measured:
    """A measurement with unit, n and likely range.

    `measured <= limit` is true only when the evidence shows it, not when the point value happens to lie
    below: an undecided comparison is false, and under a `not` true, so that neither way accepts. It is no
    `float`, so that no library compares the bare number behind its back; `value` is the way out.
    """

    __slots__ = ("_measurement", "_recorder")
    __array_ufunc__ = None  # numpy's scalars leave the comparison to us

    def __init__(self, measurement: Measurement, recorder: Recorder) -> None:
        self._measurement = measurement
        self._recorder = recorder

    @property
    def value(self) -> float:
        """The point value in the metric's unit, ns for latencies; `ValueError` if nothing was measured."""
        return float(self.quantity)

    @property
    def quantity(self) -> Quantity:
        """The point value with its unit. Raises `ValueError` if nothing was measured."""
        if self._measurement.estimate is None:
            raise ValueError(repr(self))
        return self._measurement.estimate

    @property
    def n(self) -> int:
        """How many requests, samples or launches it rests on."""
        return self._measurement.n

    def explain(self) -> list[str]:
        """Say how its last comparison was decided: what was found, by which rule, what would decide it."""
        return self._recorder.explain(self._measurement)

    def __bool__(self) -> bool:
        raise ComparisonError(f"{self!r} is neither true nor false; ask for <= or >=")

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        measured = self._measurement
        if measured.estimate is None:
            reason = measured.basis.reason if isinstance(measured.basis, Unmeasurable) else "nothing was seen"
            return f"<{measured.metric.name} not measurable: {reason}>"
        text = readable(measured.estimate, share=measured.metric.dimension == "number")
        sign = ">= " if measured.censored else ""
        return f"<{measured.metric.name} {sign}{text} of {measured.n} {measured.n_unit}>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Real, Decimal, Quantity)):
            raise ComparisonError(f"{self!r} is measured, so it equals no number; ask for <= or >=")
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        __tracebackhide__ = True
        return self._compare("<", other, role(sys._getframe(1)))

    def __le__(self, other: Any) -> bool:
        __tracebackhide__ = True
        return self._compare("<=", other, role(sys._getframe(1)))

    def __gt__(self, other: Any) -> bool:
        __tracebackhide__ = True
        return self._compare(">", other, role(sys._getframe(1)))

    def __ge__(self, other: Any) -> bool:
        __tracebackhide__ = True
        return self._compare(">=", other, role(sys._getframe(1)))

    def _compare(self, operator: Operator, other: Any, stands: Role | None) -> bool:
        __tracebackhide__ = True  # a user's mistake: the line that matters is theirs
        comparable = isinstance(other, (Real, str, Decimal, Quantity, Measured)) and not isinstance(
            other, bool
        )
        if not comparable:
            return NotImplemented  # type: ignore[no-any-return]  # what knows better says why: a published score
        return self._recorder.compare(self._measurement, operator, self._limit(other), stands)

    def _limit(self, other: Any) -> Quantity:
        __tracebackhide__ = True
        metric = self._measurement.metric
        if isinstance(other, Measured):
            raise ComparisonError(
                f"{self!r} and {other!r} are both measured; hold each against a bar of its own"
            )
        if isinstance(other, Real) and not isinstance(other, (bool, int, float)):
            other = float(other)  # a numpy scalar
        try:
            limit = quantity(other)
        except DeclarationError as error:
            raise ComparisonError(f"{self!r}: {error}") from None
        own = self._measurement.estimate
        expected = own.dimension if own is not None else metric.dimension
        if expected and not limit.dimension.startswith(expected):
            kind = expected.partition(" in ")[0]
            if kind == "number":
                raise ComparisonError(f"{metric.name} is a number, and {limit} is none")
            example = _EXAMPLES.get(kind, f'"{other} {own.unit if own else ""}"')
            raise ComparisonError(
                f"{metric.name} is a {expected}, so {limit} needs its unit, as in {example}"
            )
        return limit
