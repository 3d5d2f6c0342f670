"""A bar: the metric, at most or at least, the value. What a requirement asks of an offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from .errors import DeclarationError, unknown
from .metrics.comparison import Against, against
from .metrics.goodput import Limits, goodput_of
from .metrics.metric import Metric, metric
from .units import Quantity, duration, kind, quantity, units_of

Sense = Literal["at least", "at most"]
Source = Literal["declared", "asserted", "condition"]

_EXAMPLES = {
    "duration": "80 ms",
    "number": "0.95",
    "rate": "40 1/s",
    "token rate": "500 tokens/s",
    "money": "0.0002 USD",
    "energy": "0.5 J",
    "size": "16 GB",
}
_ARGUMENTS = (
    "at_least",
    "at_most",
    "design",
    "consumer_risk",
    "latency",
    "correct",
    "of",
    "below",
    "margin",
)
_BETTER: dict[str, Sense] = {"low": "at most", "high": "at least"}


@dataclass(frozen=True, slots=True)
class Bar:
    """`latency.p95 at most 80 ms`, where it was written, and how a good offer would do (`design`).

    `limits`: what a request has to meet, for goodput. `against`: the candidate that a comparison is with; the
    metric is then the comparison's own. `consumer_risk`: for this bar; None is the suite's.
    """

    metric: Metric
    sense: Sense
    limit: Quantity
    design: Quantity | None = None
    source: Source = "declared"
    text: str = ""
    where: str = ""
    limits: Limits | None = None
    against: Against | None = None
    measured: Metric | None = None  # of a comparison: the metric that both candidates are measured by
    consumer_risk: float | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Two bars with one key on one measurement ask the same: declared and asserted, it counts once."""
        return (self.metric.name, self.sense, self.limit)


def declare_bar(metric_name: str, /, **asked: Any) -> Bar:
    """Read the arguments of `@pytest.mark.bar`.

    at_least | at_most   the value, with its unit
    design               how a good offer would do
    consumer_risk        the chance to accept an offer that is exactly at this bar
    latency, correct     goodput: what each request has to meet
    of                   the value is a share of this candidate's: `at_least="99 %", of="acme-fp32"`
    below, margin        at most `margin` below this candidate: `below="acme-fp32", margin=0.02`

    Raises `DeclarationError`, which says in one sentence what to write.
    """
    for argument in asked:
        if argument not in _ARGUMENTS:
            raise DeclarationError(f"bar `{metric_name}`: {unknown('argument', argument, _ARGUMENTS)}")
    what = metric(metric_name)
    limits = _limits(what, asked)
    if limits is not None:
        what = goodput_of(limits)
    written = ", ".join([f'"{metric_name}"', *(f"{name}={value!r}" for name, value in asked.items())])
    plain = Bar(
        what,
        "at least",
        Quantity.of(0),
        text=f"bar({written})",
        limits=limits,
        consumer_risk=_risk(what, asked.get("consumer_risk")),
    )
    if "below" in asked or "margin" in asked:
        return _not_below(plain, asked)
    sense, limit, aim = _value(plain, asked)
    if "of" not in asked:
        return replace(plain, sense=sense, limit=limit, design=aim)
    other = _other(what, asked["of"], margin=False)
    return replace(
        plain, metric=against(what, other), measured=what, against=other, sense=sense, limit=limit, design=aim
    )


def _value(bar: Bar, asked: Mapping[str, Any]) -> tuple[Sense, Quantity, Quantity | None]:
    what, name = bar.metric, bar.metric.name
    if (asked.get("at_least") is None) == (asked.get("at_most") is None):
        raise DeclarationError(f"bar `{name}` needs one of `at_least=` and `at_most=`")
    sense: Sense = "at least" if asked.get("at_most") is None else "at most"
    if what.better and sense != _BETTER[what.better]:
        wanted = _BETTER[what.better].replace(" ", "_")
        raise DeclarationError(f"bar `{name}` is about {what.title}, so it is `{wanted}=`, not the other way")
    argument = sense.replace(" ", "_")
    relative = "of" in asked
    limit = _limit(what, asked[argument], argument, relative=relative)
    design = asked.get("design")
    if what.kind == "latency" and design is not None and not relative:
        return sense, limit, _share_within(what, design)
    aim = None if design is None else _limit(what, design, "design", relative=relative)
    if aim is not None and not (aim > limit if sense == "at least" else aim < limit):
        raise DeclarationError(
            f"bar `{name}`: `design={aim}` is how a good offer would do, so it must be better than {limit}"
        )
    return sense, limit, aim


def _limit(what: Metric, value: Any, argument: str, *, relative: bool) -> Quantity:
    asked = "number" if relative else what.dimension
    try:
        limit = quantity(value)
    except (DeclarationError, TypeError) as error:
        said, units, _ = str(error).partition(" Units of ")
        said += f"{units}{units_of(asked)}" if units and asked else str(error)[len(said) :]
        raise DeclarationError(f"bar `{what.name}`, `{argument}={value!r}`: {said}") from None
    if asked and limit.dimension.partition(" in ")[0] != asked:
        example = f'with its unit, as in `{argument}="{_EXAMPLES[asked]}"`'
        if asked == "number":
            example = f'as in `{argument}="99 %"`' if relative else f"as in `{argument}=0.95`"
        expected = asked if asked in {"money", "energy"} else f"a {asked}"
        units = "" if asked == "number" else f" (units of {units_of(asked)})"
        raise DeclarationError(
            f"bar `{what.name}`, `{argument}={value!r}`: that is {kind(limit)}; {expected} was expected, "
            f"{example}{units}"
        )
    if what.shares and not relative and not 0 < limit.base < 1:
        percentage = not limit.unit and 1 < limit.base < 100
        meant = f" (did you mean `{argument}='{limit} %'`?)" if percentage else ""
        raise DeclarationError(
            f"bar `{what.name}`, `{argument}={value!r}`: expected a share between 0 and 1, both excluded: "
            f"no number of requests can show more{meant}"
        )
    if asked and limit.base <= 0:
        raise DeclarationError(f"bar `{what.name}`, `{argument}={value!r}`: expected more than 0")
    return limit


def _share_within(what: Metric, design: Any) -> Quantity:
    """Read the design value of a percentile: the share of requests within the limit."""
    try:
        share = quantity(design)
    except (DeclarationError, TypeError) as error:
        raise DeclarationError(f"bar `{what.name}`, `design={design!r}`: {error}") from None
    if share.dimension != "number" or not what.q < share.base < 1:
        raise DeclarationError(
            f"bar `{what.name}`, `design={design!r}`: expected the share of requests within the limit, "
            f"above {what.q} and below 1, as in `design={(what.q + 1) / 2}`"
        )
    return share


def _limits(what: Metric, asked: Mapping[str, Any]) -> Limits | None:
    given = [name for name in ("latency", "correct") if name in asked]
    if what.kind != "goodput":
        if given:
            raise DeclarationError(f"bar `{what.name}`: `{given[0]}=` is for `goodput`")
        return None
    latency, correct = asked.get("latency"), asked.get("correct", False)
    if not isinstance(correct, (str, bool)):
        raise DeclarationError(f"bar `goodput`, `correct={correct!r}`: expected True, or a scorer's metric")
    if latency is None and not correct:
        raise DeclarationError(
            "bar `goodput` needs what each request has to meet: `latency='80 ms'`, `correct=True`, or both"
        )
    try:
        within = None if latency is None else duration(latency, what="latency")
    except TypeError as error:
        raise DeclarationError(f"bar `goodput`, `latency={latency!r}`: {error}") from None
    return Limits(within, correct if isinstance(correct, str) else "accuracy" * correct)


def _not_below(bar: Bar, asked: Mapping[str, Any]) -> Bar:
    """Read `below=NAME, margin=0.02`: not more than that many points worse."""
    what = bar.metric
    clash = [name for name in ("at_least", "at_most", "of", "design") if name in asked]
    if clash or "below" not in asked or "margin" not in asked:
        raise DeclarationError(f"bar `{what.name}`: expected `below=NAME, margin=0.02` and nothing else")
    if what.kind != "quality":
        raise DeclarationError(
            f"bar `{what.name}`: a margin is for quality; ask for a share, as in `at_most='110 %', of=NAME`"
        )
    margin = _limit(what, asked["margin"], "margin", relative=False)
    other = _other(what, asked["below"], margin=True)
    named = replace(against(what, other), dimension="difference")
    limit = Quantity(-margin.base * 100, "points")
    return replace(bar, metric=named, measured=what, against=other, sense="at least", limit=limit)


def _other(what: Metric, name: Any, *, margin: bool) -> Against:
    if not isinstance(name, str):
        raise DeclarationError(f"bar `{what.name}`: expected a candidate's name, not {name!r}")
    if what.stage or what.of_corpus or what.kind not in {"quality", "latency", "throughput", "cost"}:
        raise DeclarationError(f"bar `{what.name}` cannot be compared between candidates")
    return Against(name, margin)


def _risk(what: Metric, risk: Any) -> float | None:
    if risk is None:
        return None
    if isinstance(risk, bool) or not isinstance(risk, (int, float)) or not 1e-6 <= risk < 0.5:
        raise DeclarationError(
            f"bar `{what.name}`, `consumer_risk={risk!r}`: expected a chance between 0 and 0.5, as in 0.01"
        )
    return float(risk)
