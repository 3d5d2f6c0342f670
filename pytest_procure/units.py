"""Quantities: a number that knows its unit.

Every quantity is exact: its number is a `Decimal`, and converting between units of one dimension multiplies
by an exact factor. `80 ms` is 80,000,000 ns and nothing else, on every machine and in every locale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from .errors import DeclarationError, unknown

Number = int | float | str | Decimal

#: unit -> (dimension, factor to the dimension's base unit)
_UNITS: dict[str, tuple[str, Decimal]] = {
    "ns": ("duration", Decimal("1e-9")),
    "us": ("duration", Decimal("1e-6")),
    "ms": ("duration", Decimal("1e-3")),
    "s": ("duration", Decimal(1)),
    "min": ("duration", Decimal(60)),
    "h": ("duration", Decimal(3600)),
    "": ("number", Decimal(1)),
    "%": ("number", Decimal("0.01")),
    "points": ("difference", Decimal("0.01")),  # of two percentages
    "1/s": ("rate", Decimal(1)),
    "requests/s": ("rate", Decimal(1)),
    "tokens/s": ("token rate", Decimal(1)),
    "W": ("power", Decimal(1)),
    "J": ("energy", Decimal(1)),
    "Wh": ("energy", Decimal(3600)),
    "kWh": ("energy", Decimal(3_600_000)),
    "B": ("size", Decimal(1)),
    "MB": ("size", Decimal(1_000_000)),
    "GB": ("size", Decimal(1_000_000_000)),
    "MiB": ("size", Decimal(1024**2)),
    "GiB": ("size", Decimal(1024**3)),
}
_ALIASES = {"µs": "us", "μs": "us", "sec": "s", "/s": "1/s", "qps": "1/s", "req/s": "requests/s"}

#: ISO 4217 codes of what offers are usually priced in; any other three capitals are taken as a currency too.
_CURRENCY = re.compile(r"[A-Z]{3}")
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")


def dimension_of(unit: str) -> str:
    """Return `duration`, `number`, `rate` ... or `money in XYZ`; `DeclarationError` for an unknown unit."""
    if unit in _UNITS:
        return _UNITS[unit][0]
    if _CURRENCY.fullmatch(unit):
        return f"money in {unit}"
    known = [name for name in _UNITS if name] + ["USD", "EUR"]
    raise DeclarationError(unknown("unit", unit, known))


@dataclass(frozen=True, slots=True, order=False)
class Quantity:
    """A number with a unit, for example `Quantity(Decimal(80), "ms")`.

    Quantities of one dimension compare with each other; others raise `TypeError`, because 80 ms is neither
    more nor less than 0.92.
    """

    number: Decimal
    unit: str = ""

    @classmethod
    def of(cls, number: Number, unit: str = "") -> Quantity:
        """Make a quantity, reading floats by their shortest decimal form. Refuses NaN and infinity."""
        unit = _ALIASES.get(unit, unit)
        dimension_of(unit)
        if not hasattr(number, "__float__") and not isinstance(number, str):
            raise DeclarationError(f"`{number!r}` is no quantity; expected a number, or text as in '80 ms'")
        if not isinstance(number, (int, float, str, Decimal)):
            number = float(number)  # numpy's scalars; a published score refuses, and says why
        try:
            exact = number if isinstance(number, Decimal) else Decimal(str(number))
        except InvalidOperation:
            raise DeclarationError(f"`{number}` is no number; expected for example `{80} {unit}`") from None
        if not exact.is_finite():
            raise DeclarationError(f"`{number} {unit}` is no quantity; expected a finite number")
        return cls(exact, unit)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read `"80 ms"`, `"0.0002 USD"`, `"99 %"` or `"0.92"`."""
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise DeclarationError(f"`{text}` is no quantity; expected a number and a unit, as in `80 ms`")
        return cls.of(match[1], match[2])

    @property
    def dimension(self) -> str:
        """What is measured: `duration`, `number`, `rate` or `money in XYZ`."""
        return dimension_of(self.unit)

    def to(self, unit: str) -> Decimal:
        """Give the number in another unit of the same dimension."""
        unit = _ALIASES.get(unit, unit)
        if dimension_of(unit) != self.dimension:
            raise TypeError(f"{self} is a {self.dimension}, not a {dimension_of(unit)}")
        return self.base / _UNITS.get(unit, ("", Decimal(1)))[1]

    @property
    def ns(self) -> int:
        """A duration in whole nanoseconds, rounded down."""
        return int(self.to("ns"))

    @property
    def base(self) -> Decimal:
        """The number in the dimension's base unit: seconds, shares of 1, requests a second, the currency."""
        return self.number * _UNITS.get(self.unit, ("", Decimal(1)))[1]

    def _comparable(self, other: Quantity) -> Decimal:
        if other.dimension != self.dimension:
            raise TypeError(f"{self} ({self.dimension}) cannot be compared with {other!r}")
        return other.base

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.dimension == other.dimension and self.base == other.base

    def __hash__(self) -> int:
        return hash((self.dimension, self.base))

    def __lt__(self, other: object) -> bool:
        # A measured value on the right knows how to compare; everything else is a TypeError.
        return self.base < self._comparable(other) if isinstance(other, Quantity) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.base <= self._comparable(other) if isinstance(other, Quantity) else NotImplemented

    def __float__(self) -> float:
        return float(self.number)

    def __str__(self) -> str:
        number = format(self.number.normalize(), "f")
        return f"{number} {self.unit}" if self.unit else number


def quantity(value: Quantity | Number, unit: str = "") -> Quantity:
    """Read what an author may write for a quantity: a `Quantity`, text with a unit, or a bare number."""
    if isinstance(value, Quantity):
        return value
    if isinstance(value, str):
        return Quantity.parse(value)
    if isinstance(value, bool):
        raise DeclarationError(f"`{value}` is no quantity; expected a number")
    return Quantity.of(value, unit)


def duration(value: Quantity | Number, *, what: str) -> Quantity:
    """Read a duration; `what` names the argument in the error, for example ``duration="60 s"``."""
    try:
        read = quantity(value)
    except DeclarationError as error:
        raise DeclarationError(f"`{what}={value!r}`: {error}") from None
    if read.dimension != "duration":
        raise DeclarationError(
            f"`{what}={value!r}` has no unit of time; expected for example `{what}='60 s'`"
        )
    return read


def us(number: Number) -> Quantity:
    """Microseconds."""
    return Quantity.of(number, "us")


def ms(number: Number) -> Quantity:
    """Milliseconds."""
    return Quantity.of(number, "ms")


def seconds(number: Number) -> Quantity:
    """Seconds."""
    return Quantity.of(number, "s")


def per_second(number: Number) -> Quantity:
    """Requests a second."""
    return Quantity.of(number, "1/s")


def percent(number: Number) -> Quantity:
    """Hundredths: `percent(95)` is the share 0.95."""
    return Quantity.of(number, "%")


def money(text: str) -> Quantity:
    """Read an amount with its currency, as in `money("0.0002 USD")`."""
    amount = Quantity.parse(text)
    if not amount.dimension.startswith("money"):
        raise DeclarationError(f"`{text}` names no currency; expected for example `0.0002 USD`")
    return amount


def readable(value: Quantity, *, share: bool = False, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a quantity as people read it: `85.6 %`, `41.2 us`, `0.0000142 USD`.

    `share` writes a plain number as a percentage; close to 0 or 100 % it keeps the digits that tell. The
    ends of a range are rounded outward (`ROUND_FLOOR`, `ROUND_CEILING`): words never tell more than numbers.
    """
    if value.dimension == "duration":
        ns = value.to("ns")
        unit = next((unit for unit in ("s", "ms", "us") if ns >= Quantity(Decimal(1), unit).ns), "ns")
        return f"{_significant(value.to(unit), rounding)} {unit}"
    if share and value.dimension == "number":
        return f"{_percentage(value.base * 100, rounding)} %"
    if value.unit == "1/s":
        return f"{_significant(value.number, rounding)}/s"
    return f"{_significant(value.number, rounding)} {value.unit}".rstrip()


def _percentage(number: Decimal, rounding: str) -> str:
    edge, decimals = min(number, 100 - number), 1
    while 0 < edge * 10**decimals < 1 and decimals < 4:
        decimals += 1
    return str(number.quantize(Decimal(1).scaleb(-decimals), rounding)).removesuffix(".0")


def _significant(number: Decimal, rounding: str) -> str:
    """Three significant digits, all of those before the point, thousands apart, no exponent."""
    if number == 0:
        return "0"
    decimals = max(0, 2 - number.adjusted())
    text = f"{number.quantize(Decimal(1).scaleb(-decimals), rounding):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
