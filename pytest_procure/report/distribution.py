"""How long things took: the share that came within a time, with the bars drawn as corners.

Of an answer, and of an endpoint's tokens: its first, the gaps between them, the time a token.
Geometry only, as numbers and text: `templates/chart_curves.svg.j2` draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pytest_procure.evidence.record import FindingRecord, RequirementRecord, RunRecord

from . import words
from .axes import Axis, time_axis
from .deciding import bar_key, counted, declared_run
from .plots import LEFT, RIGHT, Table, n, polyline
from .visible import shorten

_TOP, _BOTTOM = 40, 270
_POINTS = 60
_MARK = 11  # width of a marker
_MARKED = (0.15, 0.4, 0.65, 0.9)
#: Beyond this share of the requests, a curve decides how wide the drawing is no more.
_DRAWN = 0.99
_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}
#: Columns of the table twin, and the share of the curve that each reads off.
_TOLD = {
    "Half within (p50)": 0.5,
    "Slowest 10 in 100 from (p90)": 0.9,
    "Slowest 5 in 100 from (p95)": 0.95,
    "Slowest 1 in 100 from (p99)": 0.99,
}


class Family(NamedTuple):
    """A kind of times, in words."""

    key: str
    title: str
    counted: str  # what a share of it is a share of
    unit: str  # behind a time in the label of a bar
    caption: str


FAMILIES = (
    Family(
        "latency",
        "Share of requests answered within a time",
        "requests",
        "",
        "The share of requests that were answered within a time, counted from when each was due.",
    ),
    Family(
        "ttft",
        "Share of requests whose first token came within a time",
        "first tokens",
        "",
        "The share of requests whose first token had come within a time, counted from when each was due.",
    ),
    Family(
        "itl",
        "Share of gaps between tokens within a time",
        "gaps between tokens",
        "",
        "The share of the gaps from one arrival of tokens to the next that were no longer than a time.",
    ),
    Family(
        "tpot",
        "Share of requests within a time per output token",
        "requests",
        " a token",
        "The share of requests whose tokens after the first took no longer than a time each, on average.",
    ),
)


class Tick(NamedTuple):
    """A place on an axis and its label."""

    place: str
    label: str


class Line(NamedTuple):
    """A candidate's curve: `path` is SVG path data, `marks` are the corners (x, y) of its markers."""

    series: int  # 1-based; the candidate's colour, dash and marker
    candidate: str
    path: str
    marks: list[tuple[str, str]]


class Corner(NamedTuple):
    """A bar: a curve above and left of its corner meets it."""

    x: str
    y: str
    label: str
    anchor: str  # of the label: "start" or "end"
    line: int  # on which line above the drawing the label stands


@dataclass(frozen=True, slots=True)
class Curves:
    """The share of requests, or of tokens, that came within a time."""

    family: Family
    title: str
    desc: str
    lines: list[Line]
    corners: list[Corner]
    across: list[Tick]
    up: list[Tick]
    log: bool
    height: int
    table: Table
    kind: ClassVar[str] = "curves"
    left: ClassVar[int] = LEFT
    right: ClassVar[int] = RIGHT

    @property
    def name(self) -> str:
        """What is drawn, without the requirement that it is drawn for."""
        return self.family.title


def distributions(requirement: RequirementRecord, series: dict[str, int]) -> list[Curves]:
    """Draw the times that a requirement has bars on, a drawing for each kind of times."""
    drawn = [_curves(requirement, series, family) for family in FAMILIES]
    return [curves for curves in drawn if curves is not None]


def curve_of(run: RunRecord, family: str) -> list[list[float]]:
    """Give [share, ms] of a kind of times, rising; [] where the run has none."""
    if family == "latency":
        return run["curve"]
    kept: Any = run.get("stream", {}).get("curves", {}).get(family, [])
    return [[float(share), float(ms)] for share, ms in kept]


def _curves(requirement: RequirementRecord, series: dict[str, int], family: Family) -> Curves | None:
    bars: dict[tuple[str, str, str, str], FindingRecord] = {}
    curves: dict[str, list[list[float]]] = {}
    for result in requirement["results"]:
        for finding in result["findings"]:
            if finding["metric"].startswith(f"{family.key}.p") and not finding["observed_only"]:
                bars.setdefault(bar_key(finding), finding)
        run = declared_run(result["runs"])
        if run is not None and len(curve := curve_of(run, family.key)) > 1:
            curves[result["candidate"]] = curve
    limits = [
        (f, f["bar"]["number"] * _MS[f["bar"]["unit"]]) for f in bars.values() if f["bar"]["unit"] in _MS
    ]
    if not limits or not curves:
        return None
    ends = [min(_within(curve, _DRAWN), curve[-1][1]) for curve in curves.values()]
    starts = [curve[0][1] for curve in curves.values()]
    top = _TOP + 18 * (len(limits) - 1)
    axis = time_axis(min(starts), max(*ends, *(ms for _, ms in limits)), LEFT, RIGHT)
    shares = Axis(0.0, 1.0, top + _BOTTOM - _TOP, top)
    return Curves(
        family=family,
        title=f"{family.title}: {shorten(requirement['question'], 100)}",
        desc=_desc(requirement, limits, family),
        lines=[_line(name, series.get(name, 1), curve, axis, shares) for name, curve in curves.items()],
        corners=[_corner(f, axis.at(ms), shares, i, family) for i, (f, ms) in enumerate(limits)],
        across=[Tick(n(axis.at(tick)), _time(tick)) for tick in axis.ticks()],
        up=[Tick(n(shares.at(share)), words.percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        log=axis.log,
        height=top + _BOTTOM - _TOP + 40,
        table=_table(curves, family),
    )


def _line(name: str, series: int, curve: list[list[float]], axis: Axis, shares: Axis) -> Line:
    inside = [point for point in curve if point[1] <= axis.high]
    step = max(1, len(inside) // _POINTS)
    kept = inside[::step]
    if inside and kept[-1] is not inside[-1]:
        kept.append(inside[-1])
    path = polyline([(axis.at(ms), shares.at(share)) for share, ms in kept])
    # Series are marked at different shares, so that markers of equal curves do not hide each other.
    marked = [share + 0.05 * ((series - 1) % 3) for share in _MARKED]
    marks = [
        (n(axis.at(ms) - _MARK / 2), n(shares.at(share) - _MARK / 2))
        for share in marked
        if (ms := _within(curve, share)) <= axis.high
    ]
    return Line((series - 1) % 6 + 1, name, path, marks)


def _corner(finding: FindingRecord, x: float, shares: Axis, line: int, family: Family) -> Corner:
    share = float(finding["metric"].rpartition(".p")[2]) / 100
    anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
    asked = f"asked: {words.percent(share)} of {family.counted} within {finding['bar']['text']}{family.unit}"
    return Corner(n(x), n(shares.at(share)), asked, anchor, line)


def _desc(requirement: RequirementRecord, limits: list[tuple[FindingRecord, float]], family: Family) -> str:
    told = [f"Asked: {f['title']} {words.asked(f)}." for f, _ in limits]
    for result in requirement["results"]:
        told += [
            f"{result['candidate']}: {f['title']} {words.numbers(f)}."
            for f in counted(result)
            if f["metric"].startswith(f"{family.key}.p")
        ]
    return " ".join(told)


def _table(curves: dict[str, list[list[float]]], family: Family) -> Table:
    return Table(
        family.title,
        ["Candidate", *_TOLD],
        [
            [
                shorten(name, 60),
                *("never: failed" if ms == math.inf else words.milliseconds(ms) for ms in _read(curve)),
            ]
            for name, curve in curves.items()
        ],
    )


def _read(curve: list[list[float]]) -> list[float]:
    return [_within(curve, share) for share in _TOLD.values()]


def _within(curve: list[list[float]], share: float) -> float:
    """The time within which at least this share was answered; infinite if that many never were."""
    return next((ms for reached, ms in curve if reached >= share), math.inf)


def _time(ms: float) -> str:
    return words.milliseconds(ms) if ms else "0"
