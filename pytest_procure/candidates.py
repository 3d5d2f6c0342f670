"""What is on offer: a candidate and its price.

Price
├── HourlyPrice    a machine by the hour: cost of a request follows from rate and utilisation
├── RequestPrice   an endpoint by the request
└── TokenPrice     an endpoint by the token
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any, Literal

from .backends.protocol import Backend
from .calling import declared, of_kind
from .errors import DeclarationError, unknown
from .isolation.declared import WAYS
from .redaction import redacted, redacted_data
from .units import Quantity, duration, money

if TYPE_CHECKING:  # only suites that name published scores read them
    from .mlperf.reference import PublishedScore

_LONGEST_NAME = 80
#: Prices are divided with this many digits whatever the calling code did to its own decimal context.
_ARITHMETIC = Context(prec=28)


def checked_text(value: str, *, what: str) -> str:
    """Give `value` back if a report can print it on one line; raise `DeclarationError` otherwise.

    Control and direction-changing characters are refused: they could make a report read differently from
    what was declared.
    """
    if not isinstance(value, str):
        raise DeclarationError(f"{what} is {value!r}; expected text")
    if not value.isprintable():
        raise DeclarationError(f"{what} {value!r} holds a control character; expected one line of plain text")
    return value


def checked_name(value: str, *, what: str) -> str:
    """Give `value` back if it can name a thing: text of 1 to 80 characters without control characters."""
    checked_text(value, what=f"the name of a {what}")
    if not value.strip():
        raise DeclarationError(f"a {what} has an empty name; expected for example `acme-int8`")
    if value != value.strip():
        raise DeclarationError(f"the name of {what} `{value}` begins or ends with a space; leave it out")
    if len(value) > _LONGEST_NAME:
        raise DeclarationError(
            f"{what} `{value[:20]}...` has a name of {len(value)} characters; at most {_LONGEST_NAME} fit"
        )
    return value


@dataclass(frozen=True)
class Price(ABC):
    """What an offer costs, who says so and since when.

    `source` says where the price was read, `date` (ISO 8601) when; both may be empty, and a report then says
    that they are missing.
    """

    currency: str
    source: str
    date: str

    def __init__(self, *amounts: Quantity, source: str, date: str) -> None:
        currencies = list(dict.fromkeys(amount.unit for amount in amounts))
        if len(currencies) > 1:
            raise DeclarationError(f"a price mixes {' and '.join(currencies)}; expected one currency")
        _set(self, currency=currencies[0], source=checked_text(source, what="`source` of a price"))
        _set(self, date=_iso_date(date))

    @property
    @abstractmethod
    def label(self) -> str:
        """The price in words, as in `2.95 USD an hour at 55 % utilisation`."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The price as plain JSON data; amounts are decimal text."""

    def _described(self, model: str, **amounts: str | int) -> dict[str, Any]:
        return {
            "model": model,
            "currency": self.currency,
            **amounts,
            "source": redacted(self.source),
            "date": self.date,
            "label": self.label,
        }


@declared
@dataclass(frozen=True, init=False)
class HourlyPrice(Price):
    """A machine that is paid by the hour, busy or not.

    `utilisation` is the share of the declared rate that the machine serves on average over the hours paid
    for, in (0, 1]. It has no default: a machine that idles at night costs more a request, and only the buyer
    knows how long it idles.
    """

    amount: Decimal
    utilisation: Decimal

    def __init__(
        self, amount: Quantity | str, *, utilisation: float | str | Decimal, source: str = "", date: str = ""
    ) -> None:
        paid = _amount(amount)
        super().__init__(paid, source=source, date=date)
        share = _decimal(utilisation, what="`utilisation`")
        if not 0 < share <= 1:
            raise DeclarationError(f"`utilisation={utilisation}` is no share above 0 and up to 1, as in 0.55")
        _set(self, amount=paid.number, utilisation=share)

    def per_request(self, rate: Decimal | float) -> Decimal:
        """Cost of one request at `rate` a second, in `currency`: price / (3600 x rate x utilisation)."""
        served = _decimal(rate, what="the rate")
        if served <= 0:
            raise DeclarationError(f"a rate of {rate} requests a second has no cost per request")
        with localcontext(_ARITHMETIC):
            return self.amount / (3600 * served * self.utilisation)

    @property
    def label(self) -> str:
        """The price in words."""
        share = f"{(self.utilisation * 100).normalize():f}"
        return f"{self.amount:f} {self.currency} an hour at {share} % utilisation"

    def describe(self) -> dict[str, Any]:
        """The price as plain JSON data."""
        return self._described("hourly", amount=f"{self.amount:f}", utilisation=f"{self.utilisation:f}")


@declared
@dataclass(frozen=True, init=False)
class RequestPrice(Price):
    """An endpoint that is paid by the request."""

    amount: Decimal

    def __init__(self, amount: Quantity | str, *, source: str = "", date: str = "") -> None:
        paid = _amount(amount)
        super().__init__(paid, source=source, date=date)
        _set(self, amount=paid.number)

    def per_request(self) -> Decimal:
        """Cost of one request, in `currency`."""
        return self.amount

    @property
    def label(self) -> str:
        """The price in words."""
        return f"{self.amount:f} {self.currency} a request"

    def describe(self) -> dict[str, Any]:
        """The price as plain JSON data."""
        return self._described("request", amount=f"{self.amount:f}")


@declared
@dataclass(frozen=True, init=False)
class TokenPrice(Price):
    """An endpoint that is paid by the token: `input` and `output` are the prices of `per` tokens each.

    `cached_input` is the price of input tokens that the endpoint reports as read from its cache; without one
    they cost as much as the others.
    """

    input: Decimal
    output: Decimal
    cached_input: Decimal
    per: int

    def __init__(  # noqa: PLR0913 - keywords only, the lines of a price sheet
        self,
        *,
        input: Quantity | str,  # noqa: A002 - the word on every price list; nothing here reads from a terminal
        output: Quantity | str,
        cached_input: Quantity | str | None = None,
        per: int = 1_000_000,
        source: str = "",
        date: str = "",
    ) -> None:
        asked, answered = _amount(input), _amount(output)
        cached = asked if cached_input is None else _amount(cached_input)
        super().__init__(asked, answered, cached, source=source, date=date)
        if not _is_count(per):
            raise DeclarationError(f"`per={per!r}` is no number of tokens; expected for example 1_000_000")
        _set(self, input=asked.number, output=answered.number, cached_input=cached.number, per=per)

    def per_request(
        self,
        input_tokens: Decimal | float,
        output_tokens: Decimal | float,
        cached_tokens: Decimal | float = 0,
    ) -> Decimal:
        """Cost of a request that takes this many tokens, in `currency`; the cached are among the input.

        Tokens may be fractions: a mean over requests.
        """
        taken = _decimal(input_tokens, what="the number of input tokens")
        given = _decimal(output_tokens, what="the number of output tokens")
        cached = _decimal(cached_tokens, what="the number of cached tokens")
        if taken < 0 or given < 0:
            raise DeclarationError(
                f"{input_tokens} input and {output_tokens} output tokens: expected 0 or more"
            )
        if not 0 <= cached <= taken:
            raise DeclarationError(f"{cached_tokens} cached of {input_tokens} input tokens: expected a part")
        with localcontext(_ARITHMETIC):
            fresh = self.input * (taken - cached)
            return (fresh + self.cached_input * cached + self.output * given) / self.per

    @property
    def label(self) -> str:
        """The price in words."""
        cached = (
            ""
            if self.cached_input == self.input
            else f", {self.cached_input:f} {self.currency} where they are cached,"
        )
        return (
            f"{self.input:f} {self.currency} for {self.per:,} input tokens{cached} "
            f"and {self.output:f} {self.currency} for {self.per:,} output tokens, as the endpoint counts them"
        )

    def describe(self) -> dict[str, Any]:
        """The price as plain JSON data."""
        return self._described(
            "token",
            input=f"{self.input:f}",
            output=f"{self.output:f}",
            cached_input=f"{self.cached_input:f}",
            per=self.per,
        )


@declared
@dataclass(frozen=True, slots=True, init=False)
class Candidate:
    """One offer: the pair of hardware and software that is measured, and its price.

    `backend` is a declared backend or any callable that answers a batch. `max_batch` and `max_wait` override
    the scenario's batch policy, and the report says so. `isolation="process"` runs the backend in a process
    of its own (one for each worker), `"none"` in this one; None leaves it to the suite's ini.
    `memory_limit` is what those processes may hold together. `published` names an MLPerf score that stands
    beside the offer as context.
    """

    name: str
    backend: Backend
    vendor: str
    precision: str
    price: Price | None
    hardware: str
    runtime: str
    max_batch: int | None
    max_wait: Quantity | None
    isolation: str | None
    memory_limit: Quantity | None
    notes: str
    published: PublishedScore | None

    def __init__(  # noqa: PLR0913 - keywords only, one for each thing that an offer states
        self,
        name: str,
        *,
        backend: Backend | Callable[[Any], Any],
        vendor: str = "",
        precision: str = "",
        price: Price | None = None,
        hardware: str = "",
        runtime: str = "",
        max_batch: int | None = None,
        max_wait: Quantity | str | None = None,
        isolation: Literal["process", "none"] | None = None,
        memory_limit: Quantity | str | None = None,
        notes: str = "",
        published: PublishedScore | None = None,
    ) -> None:
        _set(self, name=checked_name(name, what="candidate"), backend=_backend(backend, name))
        stated = {
            "vendor": vendor,
            "precision": precision,
            "hardware": hardware,
            "runtime": runtime,
            "notes": notes,
        }
        for key, value in stated.items():
            _set(self, **{key: checked_text(value, what=f"`{key}` of candidate `{name}`")})
        if price is not None and not isinstance(price, Price):
            raise DeclarationError(
                f"`price` of candidate `{name}` is {price!r}; expected for example an HourlyPrice"
            )
        if published is not None:
            from .mlperf.reference import PublishedScore as Published  # noqa: PLC0415 - only who names one reads it

            of_kind(published, Published, "published", of=f"candidate `{name}`", expected="a PublishedScore")
        if max_batch is not None and not _is_count(max_batch):
            raise DeclarationError(f"`max_batch` of candidate `{name}` is {max_batch!r}; expected 1 or more")
        wait = None if max_wait is None else duration(max_wait, what="max_wait")
        if wait is not None and wait.number < 0:
            raise DeclarationError(f"`max_wait` of candidate `{name}` is {wait}; expected 0 or longer")
        if isolation is not None and isolation not in WAYS:
            raise DeclarationError(f"candidate `{name}`: {unknown('isolation', str(isolation), WAYS)}")
        _set(self, price=price, max_batch=max_batch, max_wait=wait, published=published)
        _set(self, isolation=isolation, memory_limit=_memory(memory_limit, name))

    def describe(self) -> dict[str, Any]:
        """What the offer states, as plain JSON data; the loaded backend describes itself."""
        stated = {
            "vendor": self.vendor,
            "precision": self.precision,
            "price": None if self.price is None else self.price.describe(),
            "hardware": self.hardware,
            "runtime": self.runtime,
            "max_batch": self.max_batch,
            "max_wait": None if self.max_wait is None else str(self.max_wait),
            "memory_limit": None if self.memory_limit is None else str(self.memory_limit),
            "notes": self.notes,
        }
        return {"name": self.name, **redacted_data(stated)}


def _set(frozen: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def _backend(declared: Backend | Callable[[Any], Any], name: str) -> Backend:
    if isinstance(declared, type):
        raise DeclarationError(
            f"`backend` of candidate `{name}` is the class {declared.__name__}; "
            f"expected one made from it, `{declared.__name__}(...)`"
        )
    if isinstance(declared, Backend):
        return declared
    if callable(declared):
        # Late, so that declaring a candidate with its own backend does not load this one.
        from .backends.function import Function  # noqa: PLC0415 - see above

        return Function(declared)
    raise DeclarationError(
        f"`backend` of candidate `{name}` is {declared!r}; "
        "expected a backend such as OnnxRuntime(...), or a callable that answers a batch"
    )


def _amount(value: Quantity | str) -> Quantity:
    amount = value if isinstance(value, Quantity) else money(str(value))
    if not amount.dimension.startswith("money"):
        raise DeclarationError(
            f"`{amount}` is no price; expected an amount and its currency, as in `2.95 USD`"
        )
    if amount.number < 0:
        raise DeclarationError(f"`{amount}` is below nothing; expected a price of 0 or more")
    return amount


def _memory(value: Quantity | str | None, name: str) -> Quantity | None:
    if value is None:
        return None
    limit = value if isinstance(value, Quantity) else Quantity.parse(str(value))
    if limit.dimension != "size" or limit.number <= 0:
        raise DeclarationError(
            f"`memory_limit` of candidate `{name}` is `{limit}`; expected for example `4 GB`"
        )
    return limit


def _decimal(value: Decimal | float | str, *, what: str) -> Decimal:
    try:
        exact = value if isinstance(value, Decimal) else Decimal(str(value))
    except ArithmeticError:
        raise DeclarationError(f"{what} is {value!r}; expected a number") from None
    if not exact.is_finite():
        raise DeclarationError(f"{what} is {value!r}; expected a finite number")
    return exact


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _iso_date(text: str) -> str:
    checked_text(text, what="`date` of a price")
    try:
        if not text or dt.date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise DeclarationError(f"`date={text!r}` is no date; expected year, month, day, as in `2026-11-30`")
