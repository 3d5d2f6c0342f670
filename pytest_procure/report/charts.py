"""Charts, one a requirement: where each candidate's answers fall, with what was asked drawn in.

Geometry only, as numbers and text: `templates/chart_*.svg.j2` draw it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, NamedTuple

from pytest_procure.errors import ProcureError
from pytest_procure.evidence.record import Amount, FindingRecord, RequirementRecord, VerdictWord
from pytest_procure.units import Quantity, readable

from . import words
from .axes import Axis, value_axis
from .deciding import bar_key
from .distribution import Curves, Tick, distributions
from .plots import RIGHT, n
from .visible import shorten

_LEFT = 24
_TOP, _ROW = 40, 46
#: Letters of a name that are shown.
_NAME = 48
#: Widths of a letter, roughly: of a measured value, and of a name in the large print of a narrow screen.
_DIGIT, _LETTER = 8.5, 11.0


class Dot(NamedTuple):
    """A measured value with its likely range, on its own row."""

    candidate: str
    verdict: VerdictWord
    y: int
    x: str
    low: str
    high: str
    label: str
    label_x: str
    label_dy: int
    anchor: str
    numbers: str  # the row as a sentence


@dataclass(frozen=True, slots=True)
class Dots:
    """One bar of a requirement, a row a candidate."""

    title: str
    desc: str
    dots: list[Dot]
    bar: str  # where its line stands
    bar_path: str  # its line, which makes way for the names it would cross
    bar_label: str
    bar_anchor: str
    meets: tuple[str, str]  # x and width of the side that meets the bar
    across: list[Tick]
    height: int
    kind: ClassVar[str] = "dots"
    left: ClassVar[int] = _LEFT
    right: ClassVar[int] = RIGHT

    @property
    def name(self) -> str:
        """What is drawn, without the requirement that it is drawn for."""
        return self.title.partition(": ")[0]


class _Scale(NamedTuple):
    """What a row is drawn on: the axis, its unit, and where the bar stands."""

    axis: Axis
    unit: str
    bar: float


def charts(requirement: RequirementRecord, series: dict[str, int]) -> list[Curves | Dots]:
    """Draw what a requirement was decided on: its first quality bar, its latencies, its tokens' times.

    `series` numbers the candidates; a candidate keeps its number over the whole report. A requirement without
    quality and latency bars gets its first bar that has a value.
    """
    drawn: list[Curves | Dots | None] = [_dots(requirement, {"quality"}), *distributions(requirement, series)]
    if not any(drawn):
        drawn = [_dots(requirement, {"throughput", "cost", "errors", "own", "condition"})]
    return [chart for chart in drawn if chart is not None]


def _dots(requirement: RequirementRecord, kinds: set[str]) -> Dots | None:
    first = next(
        (
            f
            for r in requirement["results"]
            for f in r["findings"]
            if f["kind"] in kinds and f["estimate"] is not None and not f["observed_only"]
        ),
        None,
    )
    if first is None:
        return None
    rows = [
        (result["candidate"], finding)
        for result in requirement["results"]
        for finding in result["findings"]
        if bar_key(finding) == bar_key(first) and finding["estimate"] is not None
    ]
    unit = first["bar"]["unit"]
    bar = first["bar"]["number"]
    values = [bar]
    for _, finding in rows:
        ends = (_in(finding[end], unit) for end in ("low", "estimate", "high"))
        values += [value for value in ends if value is not None]
    share = first["kind"] in {"quality", "errors"} or first["bar"]["text"].endswith("%")
    axis = value_axis(values, _LEFT, RIGHT, share=share and unit == "")
    low_side, place = first["sense"] == "at most", axis.at(bar)
    return Dots(
        title=f"{words.upper_first(first['title'])}: {shorten(requirement['question'], 100)}",
        desc=" ".join(f"{name}: {words.numbers(f)}." for name, f in rows),
        dots=[
            d
            for i, (name, f) in enumerate(rows)
            if (d := _dot(name, f, i, _Scale(axis, unit, place))) is not None
        ],
        bar=n(place),
        bar_path=_bar(place, [name for name, _ in rows]),
        bar_label=f"asked: {words.asked(first)}",
        bar_anchor="end" if place > (_LEFT + RIGHT) / 2 else "start",
        meets=(n(_LEFT if low_side else place), n(place - _LEFT if low_side else RIGHT - place)),
        across=[Tick(n(axis.at(t)), _labelled(t, unit, share=share)) for t in axis.ticks()],
        height=_TOP + _ROW * len(rows) + 30,
    )


def _bar(x: float, names: list[str]) -> str:
    """Draw the line of the bar from above the rows to below them, with a gap where a name stands in it."""
    path, begun = "", 22
    for row, name in enumerate(names):
        y = _TOP + _ROW * row + 26
        if x < _LEFT + _LETTER * min(len(name), _NAME) + 6:
            path += f"M{n(x)} {begun}V{y - 25}"
            begun = y - 8
    return f"{path}M{n(x)} {begun}V{_TOP + _ROW * len(names)}"


def _dot(name: str, finding: FindingRecord, row: int, scale: _Scale) -> Dot | None:
    axis, unit, bar = scale
    value = _in(finding["estimate"], unit)
    if value is None:
        return None
    low, high = _in(finding["low"], unit), _in(finding["high"], unit)
    x = axis.at(value)
    left = x if low is None else axis.at(low)
    right = x if high is None else axis.at(high)
    text = words.measured(finding)
    label_x, above, anchor = _place(name, text, (left, x, right), bar)
    return Dot(
        candidate=shorten(name, _NAME),
        verdict=finding["verdict"],
        y=_TOP + _ROW * row + 26,
        x=n(x),
        low=n(left),
        high=n(right),
        label=text,
        label_x=n(label_x),
        label_dy=-12 if above else 5,
        anchor=anchor,
        numbers=words.numbers(finding),
    )


def _place(name: str, text: str, spots: tuple[float, float, float], bar: float) -> tuple[float, bool, str]:
    """Find where a value can be read: right or left of its range, or above it, clear of bar and name."""
    left, x, right = spots
    wide = _DIGIT * len(text)
    places = [
        (right + 14, right + 14, False, "start"),
        (left - 14, left - 14 - wide, False, "end"),
        (x, x - wide / 2, True, "middle"),
    ]
    for at, begins, above, anchor in places:
        clear = not begins - 6 < bar < begins + wide + 6
        least = _LEFT + (_LETTER * min(len(name), _NAME) if above else 0)
        if clear and begins > least and begins + wide < RIGHT:
            return at, above, anchor
    at, _, above, anchor = places[0] if right + 14 + wide < RIGHT else places[1]
    return at, above, anchor


def _labelled(number: float, unit: str, *, share: bool) -> str:
    try:
        return readable(Quantity.of(number, unit), share=share)
    except ProcureError:  # an author's own unit
        return f"{number:g} {unit}"


def _in(amount: Amount | None, unit: str) -> float | None:
    """The number of an amount in a unit; an author's own unit is only ever compared with itself."""
    if amount is None:
        return None
    if amount["unit"] == unit:
        return amount["number"]
    try:
        return float(Quantity(Decimal(repr(amount["number"])), amount["unit"]).to(unit))
    except (ProcureError, TypeError):
        return None
