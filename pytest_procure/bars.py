"""A bar: the metric, at most or at least, the value. What a requirement asks of an offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .errors import DeclarationError
from .metrics.metric import Metric, metric
from .units import Number, Quantity, quantity

Sense = Literal["at least", "at most"]
Source = Literal["declared", "asserted", "condition"]

_EXAMPLES = {"duration": "80 ms", "number": "0.95", "rate": "40 1/s", "money": "0.0002 USD"}
_BETTER: dict[str, Sense] = {"low": "at most", "high": "at least"}


@dataclass(frozen=True, slots=True)
class Bar:
    """`latency.p95 at most 80 ms`, where it was written, and how a good offer would do (`design`)."""

    metric: Metric
    sense: Sense
    limit: Quantity
    design: Quantity | None = None
    source: Source = "declared"
    text: str = ""
    where: str = ""

    @property
    def key(self) -> tuple[str, Sense, Quantity]:
        """Two bars with one key ask the same: declared and asserted, it counts once."""
        return (self.metric.name, self.sense, self.limit)


def declare_bar(
    name: str,
    *,
    at_least: Quantity | Number | None = None,
    at_most: Quantity | Number | None = None,
    design: Quantity | Number | None = None,
    where: str = "",
) -> Bar:
    """Check the arguments of `@pytest.mark.bar`; `DeclarationError` says in one sentence what to write."""
    what = metric(name)
    if (at_least is None) == (at_most is None):
        raise DeclarationError(f"bar `{name}` needs one of `at_least=` and `at_most=`")
    sense: Sense = "at least" if at_most is None else "at most"
    if what.better and sense != _BETTER[what.better]:
        asked = _BETTER[what.better].replace(" ", "_")
        raise DeclarationError(f"bar `{name}` is about {what.title}, so it is `{asked}=`, not the other way")
    limit = _limit(what, at_least if at_most is None else at_most, sense.replace(" ", "_"))
    aim = None if design is None else _limit(what, design, "design")
    if aim is not None and not (aim > limit if sense == "at least" else aim < limit):
        raise DeclarationError(
            f"bar `{name}`: `design={aim}` is how a good offer would do, so it must be better than {limit}"
        )
    written = f'bar("{name}", {sense.replace(" ", "_")}="{limit}")'
    return Bar(what, sense, limit, aim, "declared", written, where)


def _limit(what: Metric, value: Quantity | Number | None, argument: str) -> Quantity:
    assert value is not None, "the caller has checked that one of the two is given"
    try:
        limit = quantity(value)
    except DeclarationError as error:
        raise DeclarationError(f"bar `{what.name}`, `{argument}={value!r}`: {error}") from None
    dimension = limit.dimension.partition(" in ")[0]
    if what.dimension and dimension != what.dimension:
        example = f'with its unit, as in `{argument}="{_EXAMPLES[what.dimension]}"`'
        if what.dimension == "number":
            example = f"as in `{argument}=0.95`"
        raise DeclarationError(
            f"bar `{what.name}`, `{argument}={value!r}`: a {what.dimension} was expected, {example}"
        )
    if what.shares and not 0 < limit.base < 1:
        raise DeclarationError(
            f"bar `{what.name}`, `{argument}={value!r}`: expected a share between 0 and 1, both excluded: "
            "no number of requests can show more"
        )
    if what.dimension and limit.base <= 0:
        raise DeclarationError(f"bar `{what.name}`, `{argument}={value!r}`: expected more than 0")
    return limit
