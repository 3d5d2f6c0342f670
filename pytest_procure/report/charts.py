"""Charts, one a requirement: where each candidate's answers fall, with what was asked drawn in.

Geometry only, as numbers and text: `templates/chart_*.svg.j2` draw it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, NamedTuple

from pytest_procure.errors import ProcureError
from pytest_procure.evidence.record import Amount, FindingRecord, RequirementRecord, RunRecord, VerdictWord
from pytest_procure.units import Quantity, readable

from . import words
from .axes import Axis, time_axis, value_axis
from .deciding import bar_key, counted
from .visible import shorten

WIDTH = 720
_LEFT, _RIGHT = 66, 684  # of curves: room for "100 %" in the large print of a narrow screen
_DOTS_LEFT = 24
_TOP, _BOTTOM = 40, 270
_ROW = 46  # of dots
_POINTS = 60
_MARKED = (0.15, 0.4, 0.65, 0.9)
#: Beyond this share of the requests, a curve decides how wide the drawing is no more.
_DRAWN = 0.99


class Tick(NamedTuple):
    """A place on an axis and its label."""

    place: str
    label: str


class Line(NamedTuple):
    """A candidate's curve: `path` is SVG path data, `marks` are (x, y) for its marker."""

    series: int  # 1-based; the candidate's colour, dash and marker
    candidate: str
    path: str
    marks: list[tuple[str, str]]


class Corner(NamedTuple):
    """A latency bar: a curve above and left of its corner meets it."""

    x: str
    y: str
    label: str
    anchor: str  # of the label: "start" or "end"
    line: int  # on which line above the drawing the label stands


@dataclass(frozen=True, slots=True)
class Curves:
    """The share of requests answered within a time."""

    title: str
    desc: str
    lines: list[Line]
    corners: list[Corner]
    across: list[Tick]
    up: list[Tick]
    log: bool
    height: int
    kind: ClassVar[str] = "curves"
    left: ClassVar[int] = _LEFT
    right: ClassVar[int] = _RIGHT


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
    anchor: str
    numbers: str  # the row as a sentence


@dataclass(frozen=True, slots=True)
class Dots:
    """One bar of a requirement, a row a candidate."""

    title: str
    desc: str
    dots: list[Dot]
    bar: str
    bar_label: str
    bar_anchor: str
    meets: tuple[str, str]  # x and width of the side that meets the bar
    across: list[Tick]
    height: int
    kind: ClassVar[str] = "dots"
    left: ClassVar[int] = _DOTS_LEFT
    right: ClassVar[int] = _RIGHT


def charts(requirement: RequirementRecord, series: dict[str, int]) -> list[Curves | Dots]:
    """Draw what a requirement was decided on: its first quality bar, and its latencies.

    `series` numbers the candidates; a candidate keeps its number over the whole report. A requirement without
    quality and latency bars gets its first bar that has a value.
    """
    drawn: list[Curves | Dots | None] = [_dots(requirement, {"quality"}), _curves(requirement, series)]
    if not any(drawn):
        drawn = [_dots(requirement, {"throughput", "cost", "errors", "own", "condition"})]
    return [chart for chart in drawn if chart is not None]


def declared_run(runs: Sequence[RunRecord]) -> RunRecord | None:
    """Pick the run of the marked scenario; without one, the first."""
    return next((run for run in runs if run["declared"]), runs[0] if runs else None)


def _curves(requirement: RequirementRecord, series: dict[str, int]) -> Curves | None:
    bars: dict[tuple[str, str, str, str], FindingRecord] = {}
    curves: dict[str, list[list[float]]] = {}
    for result in requirement["results"]:
        for finding in result["findings"]:
            if finding["metric"].startswith("latency.p") and not finding["observed_only"]:
                bars.setdefault(bar_key(finding), finding)
        run = declared_run(result["runs"])
        if run is not None and len(run["curve"]) > 1:
            curves[result["candidate"]] = run["curve"]
    limits = [(f, ms) for f in bars.values() if (ms := _in(f["bar"], "ms")) is not None]
    if not limits or not curves:
        return None
    ends = [min(_within(curve, _DRAWN), curve[-1][1]) for curve in curves.values()]
    starts = [curve[0][1] for curve in curves.values()]
    top = _TOP + 18 * (len(limits) - 1)
    axis = time_axis(min(starts), max(*ends, *(ms for _, ms in limits)), _LEFT, _RIGHT)
    shares = Axis(0.0, 1.0, top + _BOTTOM - _TOP, top)
    return Curves(
        title=f"Share of requests answered within a time: {shorten(requirement['question'], 100)}",
        desc=_curves_desc(requirement, limits),
        lines=[_line(name, series.get(name, 1), curve, axis, shares) for name, curve in curves.items()],
        corners=[_corner(f, ms, axis, shares, i) for i, (f, ms) in enumerate(limits)],
        across=[Tick(_n(axis.at(tick)), _time(tick)) for tick in axis.ticks()],
        up=[Tick(_n(shares.at(share)), words.percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        log=axis.log,
        height=top + _BOTTOM - _TOP + 40,
    )


def _line(name: str, series: int, curve: list[list[float]], axis: Axis, shares: Axis) -> Line:
    inside = [point for point in curve if point[1] <= axis.high]
    step = max(1, len(inside) // _POINTS)
    kept = inside[::step]
    if inside and kept[-1] is not inside[-1]:
        kept.append(inside[-1])
    path = "M" + "L".join(f"{_n(axis.at(ms))} {_n(shares.at(share))}" for share, ms in kept) if kept else ""
    # Series are marked at different shares, so that markers of equal curves do not hide each other.
    marked = [share + 0.05 * ((series - 1) % 3) for share in _MARKED]
    marks = [
        (_n(axis.at(ms)), _n(shares.at(share)))
        for share in marked
        if (ms := _within(curve, share)) <= axis.high
    ]
    return Line((series - 1) % 6 + 1, name, path, marks)


def _corner(finding: FindingRecord, ms: float, axis: Axis, shares: Axis, line: int) -> Corner:
    share = float(finding["metric"].rpartition(".p")[2]) / 100
    x = axis.at(ms)
    anchor = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    label = f"asked: {words.percent(share)} of requests within {finding['bar']['text']}"
    return Corner(_n(x), _n(shares.at(share)), label, anchor, line)


def _curves_desc(requirement: RequirementRecord, limits: list[tuple[FindingRecord, float]]) -> str:
    told = [f"Asked: {f['title']} {words.asked(f)}." for f, _ in limits]
    for result in requirement["results"]:
        told += [
            f"{result['candidate']}: {f['title']} {words.numbers(f)}."
            for f in counted(result)
            if f["metric"].startswith("latency.p")
        ]
    return " ".join(told)


def _within(curve: list[list[float]], share: float) -> float:
    """The time within which at least this share was answered; infinite if that many never were."""
    return next((ms for reached, ms in curve if reached >= share), math.inf)


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
    axis = value_axis(values, _DOTS_LEFT, _RIGHT, share=share and unit == "")
    low_side, place = first["sense"] == "at most", axis.at(bar)
    return Dots(
        title=f"{words.upper_first(first['title'])}: {shorten(requirement['question'], 100)}",
        desc=" ".join(f"{name}: {words.numbers(f)}." for name, f in rows),
        dots=[d for i, (name, f) in enumerate(rows) if (d := _dot(name, f, i, axis, unit)) is not None],
        bar=_n(place),
        bar_label=f"asked: {words.asked(first)}",
        bar_anchor="end" if place > (_DOTS_LEFT + _RIGHT) / 2 else "start",
        meets=(_n(_DOTS_LEFT if low_side else place), _n(place - _DOTS_LEFT if low_side else _RIGHT - place)),
        across=[Tick(_n(axis.at(t)), _labelled(t, unit, share=share)) for t in axis.ticks()],
        height=_TOP + _ROW * len(rows) + 30,
    )


def _dot(name: str, finding: FindingRecord, row: int, axis: Axis, unit: str) -> Dot | None:
    value = _in(finding["estimate"], unit)
    if value is None:
        return None
    low, high = _in(finding["low"], unit), _in(finding["high"], unit)
    left = axis.at(value if low is None else low)
    right = axis.at(value if high is None else high)
    anchor = "start" if right < _RIGHT - 90 else "end"
    return Dot(
        candidate=shorten(name, 48),
        verdict=finding["verdict"],
        y=_TOP + _ROW * row + 26,
        x=_n(axis.at(value)),
        low=_n(left),
        high=_n(right),
        label=words.measured(finding),
        label_x=_n(right + 14 if anchor == "start" else left - 14),
        anchor=anchor,
        numbers=words.numbers(finding),
    )


def _time(ms: float) -> str:
    return words.milliseconds(ms) if ms else "0"


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


def _n(place: float) -> str:
    """A place with one decimal: a tenth of a pixel is the finest that shows."""
    return f"{place:.1f}".removesuffix(".0")
