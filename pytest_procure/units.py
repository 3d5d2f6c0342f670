"""Quantities: a number that knows its unit.

Every quantity is exact: its number is a `Decimal`, and converting between units of one dimension multiplies
by an exact factor. `80 ms` is 80,000,000 ns and nothing else, on every machine and in every locale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from . import spellings
from .currencies import CURRENCIES
from .errors import DeclarationError

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
#: unit as it may be written -> dimension
_ACCEPTED = {unit: dimension for unit, (dimension, _) in _UNITS.items()}
_ACCEPTED |= {alias: _ACCEPTED[unit] for alias, unit in _ALIASES.items()}
#: Decimals beyond which no number is written out, however near to its bar it lies.
_FINEST = 15

#: What people put into numbers, and Python does not read.
_SEPARATORS = (",", "_", "'")
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")


def dimension_of(unit: str) -> str:
    """Return `duration`, `number`, `rate` ... or `money in XYZ`; `DeclarationError` for an unknown unit."""
    if unit in _UNITS:
        return _UNITS[unit][0]
    if unit in CURRENCIES:
        return f"money in {unit}"
    near = spellings.nearest(unit, _ACCEPTED)
    near = _ALIASES.get(near, near)
    hint, dimension = (f"; did you mean `{near}`?", _ACCEPTED.get(near, "money")) if near else (".", "")
    raise DeclarationError(f"unknown unit `{unit}`{hint} Units of {units_of(dimension)}")


def units_of(dimension: str) -> str:
    """List the units of a dimension as they are written, or of all where it is none: `time: ns, us, ...`."""
    return spellings.listed(_ACCEPTED, dimension)


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
        if match[2][:1] in _SEPARATORS and match[2]:
            raise DeclarationError(
                f"`{text}` is no quantity; write the number with a point and without separators, as in "
                "`1000.5 ms`"
            )
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


def kind(value: Quantity) -> str:
    """Say what a quantity is: `a number without a unit`, `money in USD`, `a duration`."""
    if not value.unit:
        return "a number without a unit"
    if value.unit == "%":
        return "a share"
    of = value.dimension
    return of if of in {"power", "energy"} or of.startswith("money") else f"a {of}"


def duration(value: Quantity | Number, *, what: str) -> Quantity:
    """Read a duration; `what` names the argument in the error, for example ``duration="60 s"``."""
    try:
        read = quantity(value)
    except DeclarationError as error:
        raise DeclarationError(f"`{what}={value!r}`: {error}") from None
    if read.dimension != "duration":
        is_other = "" if read.dimension == "number" else f": that is {kind(read)}"
        raise DeclarationError(
            f"`{what}={value!r}` has no unit of time{is_other}; expected for example `{what}='60 s'` (units "
            f"of {units_of('duration')})"
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
        is_other = f": that is {kind(amount)}" if amount.unit else ""
        raise DeclarationError(f"`{text}` names no currency{is_other}; expected for example `0.0002 USD`")
    return amount


def readable(
    value: Quantity,
    *,
    share: bool = False,
    rounding: str = ROUND_HALF_EVEN,
    beside: Quantity | None = None,
) -> str:
    """Write a quantity as people read it: `85.6 %`, `41.2 us`, `0.0000142 USD`.

    `share` writes a plain number as a percentage; close to 0 or 100 % it keeps the digits that tell. The
    ends of a range are rounded outward (`ROUND_FLOOR`, `ROUND_CEILING`): words never tell more than numbers.
    `beside` a bar a number keeps as many more digits as it takes to read as below it, at it or above it.
    """
    unit = _unit(value, share=share)
    number = value.to(unit.strip())
    decimals = _of_percentage(number) if unit == " %" else max(0, 2 - number.adjusted())
    rounded = number.quantize(Decimal(1).scaleb(-decimals), rounding)
    if beside is not None and beside.dimension == value.dimension:
        bar = beside.to(unit.strip())
        while _side(rounded, bar) != _side(number, bar) and decimals < _FINEST:
            decimals += 1
            rounded = number.quantize(Decimal(1).scaleb(-decimals), rounding)
    return f"{_plain(rounded)}{unit}"


def exactly(value: Quantity, *, share: bool = False) -> str:
    """Write a quantity with every digit it has, as what was asked is written: `95.049 %`, `1.2345 ms`."""
    unit = _unit(value, share=share)
    return f"{_plain(value.to(unit.strip()))}{unit}"


def _unit(value: Quantity, *, share: bool) -> str:
    """Give the unit that suits a quantity, as it is written behind the number."""
    if value.dimension == "duration":
        ns = value.to("ns")
        return f" {next((u for u in ('s', 'ms', 'us') if ns >= Quantity(Decimal(1), u).ns), 'ns')}"
    if share and value.dimension == "number":
        return " %"
    return "/s" if value.unit == "1/s" else f" {value.unit}".rstrip()


def _of_percentage(number: Decimal) -> int:
    edge, decimals = min(number, 100 - number), 1
    while 0 < edge * 10**decimals < 1 and decimals < 4:
        decimals += 1
    return decimals


def _side(number: Decimal, bar: Decimal) -> int:
    return (number > bar) - (number < bar)


def _plain(number: Decimal) -> str:
    """Write all digits, thousands apart, without an exponent and without zeros that tell nothing."""
    if number == 0:
        return "0"
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
