"""A drawing as numbers and text: what every chart beside the two of `charts` is made of.

Geometry only, in units of the drawing (720 wide): `templates/chart_plot.svg.j2` draws it, and its table twin
tells the same to whoever cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

WIDTH = 720
LEFT, RIGHT = 66, 684


class Area(NamedTuple):
    """A filled rectangle."""

    style: str
    x: str
    y: str
    width: str
    height: str


class Stroke(NamedTuple):
    """A line: SVG path data."""

    style: str
    path: str


class Mark(NamedTuple):
    """A symbol of the page; `x` and `y` are its corner."""

    style: str
    symbol: str
    x: str
    y: str
    size: int


class Label(NamedTuple):
    """Text at a place; `anchor` as SVG has it."""

    style: str
    x: str
    y: str
    anchor: str
    text: str


class Key(NamedTuple):
    """What a series' colour, dash and marker stand for."""

    series: int
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a drawing; each row begins with its name."""

    caption: str
    head: list[str]
    rows: list[list[str]]


@dataclass(slots=True)
class Plot:
    """A drawing. What stands earlier in its lists is drawn first."""

    title: str
    desc: str
    caption: str
    height: int
    table: Table
    areas: list[Area] = field(default_factory=list)
    strokes: list[Stroke] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    kind: ClassVar[str] = "plot"

    @property
    def name(self) -> str:
        """What is drawn, without what it is drawn for."""
        return self.title.partition(": ")[0]

    def area(self, style: str, x: float, y: float, right: float, bottom: float) -> None:
        """Fill from one corner to the other."""
        self.areas.append(Area(style, n(x), n(y), n(right - x), n(bottom - y)))

    def stroke(self, style: str, path: str) -> None:
        """Draw a line."""
        self.strokes.append(Stroke(style, path))

    def mark(self, style: str, symbol: str, x: float, y: float, *, size: int = 11) -> None:
        """Put a symbol in the middle of a place."""
        self.marks.append(Mark(style, symbol, n(x - size / 2), n(y - size / 2), size))

    def label(self, style: str, x: float, y: float, text: str, *, anchor: str = "start") -> None:
        """Write."""
        self.labels.append(Label(style, n(x), n(y), anchor, text))

    def across(
        self, ticks: Sequence[tuple[float, str]], top: float, bottom: float, *, left: float = LEFT
    ) -> None:
        """Draw the axis at the bottom: grid lines, their values, the line itself."""
        grid = "".join(f"M{n(x)} {n(top)}V{n(bottom)}" for x, _ in ticks)
        if grid:
            self.stroke("grid", grid)
        self.stroke("axis", f"M{n(left)} {n(bottom)}H{RIGHT}")
        for x, text in ticks:
            self.label("", x, bottom + 18, text, anchor="middle")

    def up(self, ticks: Sequence[tuple[float, str]]) -> None:
        """Draw the axis at the left: grid lines and their values."""
        grid = "".join(f"M{LEFT} {n(y)}H{RIGHT}" for y, _ in ticks)
        if grid:
            self.stroke("grid", grid)
        for y, text in ticks:
            self.label("", LEFT - 8, y + 4, text, anchor="end")


def n(place: float) -> str:
    """Write a place with one decimal: a tenth of a pixel is the finest that shows.

    >>> n(12.0), n(12.34)
    ('12', '12.3')
    """
    return f"{place:.1f}".removesuffix(".0")


def polyline(points: Sequence[tuple[float, float] | None]) -> str:
    """Write a line through points as path data, in whole units; a None leaves a gap.

    Each step counts from the place before it, which takes half the bytes.

    >>> polyline([(0, 0), (1, 2.6), None, (30, 3), (40, 2)])
    'M0 0l1 3M30 3l10-1'
    """
    told: list[str] = []
    last: tuple[int, int] | None = None
    drawn = False
    for point in points:
        if point is None:
            last = None
            continue
        x, y = round(point[0]), round(point[1])
        if last is None:
            told.append(f"M{x} {y}")
            drawn = False
        else:
            step = f"{x - last[0]} {y - last[1]}".replace(" -", "-")
            told.append(step if drawn and step[0] == "-" else f"{' ' if drawn else 'l'}{step}")
            drawn = True
        last = (x, y)
    return "".join(told)


def series_style(series: int) -> str:
    """Give the style of a candidate's series, which come round after six."""
    return f"s{(series - 1) % 6 + 1}"
