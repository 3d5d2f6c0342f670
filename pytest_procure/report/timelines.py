"""A run over time: latency and good answers a second, warm-up shaded, stalls marked; and the arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pytest_procure.evidence.record import RequirementRecord, RunRecord
from pytest_procure.evidence.shown import TimelineRecord

from . import words
from .axes import Axis, time_axis
from .deciding import declared_run
from .plots import LEFT, RIGHT, Key, Plot, Table, n, polyline, series_style
from .visible import shorten

T = TypeVar("T")

_TOP, _MIDDLE, _GAP, _BOTTOM = 40, 180, 38, 290
_PARTS = 5
#: Height of the band of a pause.
_PAUSE = 16
#: The shade of a warm-up is never narrower than this, or nobody would see that there was one.
_SHADE = 14.0
_NAMES = ("first fifth", "second fifth", "third fifth", "fourth fifth", "last fifth")


def over_time(requirement: RequirementRecord, series: dict[str, int]) -> Plot | None:
    """Draw the marked runs of a requirement's candidates over each other; None where none has a timeline."""
    runs = _timed(requirement)
    if not runs:
        return None
    end = max(_end(told) for _, told in runs)
    warm = max(told["warmup"] for _, told in runs)
    least = _SHADE * end / (RIGHT - LEFT - _SHADE)
    along = Axis(-max(warm, least) if warm else 0.0, end, LEFT, RIGHT)
    waits = [ms for _, told in runs for ms in told["slow_ms"] if ms is not None]
    still = _pauses(requirement)
    plot = Plot(
        title=f"Over time: {shorten(requirement['question'] or requirement['id'], 100)}",
        desc=" ".join(_sentence(name, told, still) for name, told in runs),
        caption=_caption(
            warm=bool(warm),
            stalls=any(told["stalls"] for _, told in runs),
            waits=bool(waits),
            pauses=bool(still),
        ),
        height=_BOTTOM + 40 if waits else _MIDDLE + 40,
        table=_table(runs, still),
        keys=[Key(series.get(name, 1), name) for name, _ in runs],
    )
    bottom = _MIDDLE
    if warm:
        shade = along.at(0.0)
        plot.area("warm", LEFT, _TOP, shade, _BOTTOM if waits else _MIDDLE)
        plot.label("", LEFT, 14, f"shaded: warm-up, {words.seconds(warm)}, not counted")
    if waits:
        _draw_waits(plot, runs, series, along, waits)
        for name, pauses in still.items():
            for start, took in pauses:
                x = along.at(start)
                style = f"{series_style(series.get(name, 1))} stall"
                plot.area(style, x, _MIDDLE - _PAUSE, max(along.at(start + took), x + 2), _MIDDLE)
        bottom = _BOTTOM
    _draw_rates(plot, runs, series, along, bottom)
    return plot


def arrivals(requirement: RequirementRecord) -> Plot | None:
    """Draw when the requests of a requirement were due; None where the candidate set the pace."""
    runs = (declared_run(result["runs"]) for result in requirement["results"])
    run = next((run for run in runs if run is not None and _is_open(run)), None)
    if run is None or "timeline" not in run:
        return None
    told = run["timeline"]
    rates = [due / told["step"] for due in told["due"]]
    bottom = 110
    along, up = Axis(0.0, _end(told), LEFT, RIGHT), Axis(0.0, max(rates) * 1.1 or 1.0, bottom, 24)
    plot = Plot(
        title=f"When requests were due: {shorten(requirement['question'] or requirement['id'], 100)}",
        desc=f"{run['label']}. {words.count(sum(told['due']), 'requests')} in {words.seconds(_end(told))}.",
        caption=f"Requests due a second, in steps of {words.seconds(told['step'])}. They wait for no answer.",
        height=bottom + 30,
        table=Table(
            "Requests due a second, on average", ["Part of the run", "Due a second"], _due_rows(told)
        ),
    )
    plot.up([(up.at(tick), words.plain(tick)) for tick in up.ticks(2)])
    width = (RIGHT - LEFT) / len(rates)
    bars = "".join(
        f"M{n(LEFT + i * width)} {bottom}V{n(up.at(rate))}h{n(max(width - 1, 0.6))}V{bottom}"
        for i, rate in enumerate(rates)
        if rate
    )
    plot.stroke("bar-fill", bars)
    plot.across([(along.at(tick), _seconds(tick)) for tick in along.ticks()], bottom, bottom)
    return plot


def _timed(requirement: RequirementRecord) -> list[tuple[str, TimelineRecord]]:
    found = [(r["candidate"], declared_run(r["runs"])) for r in requirement["results"]]
    return [(name, run["timeline"]) for name, run in found if run is not None and "timeline" in run]


def _pauses(requirement: RequirementRecord) -> dict[str, list[list[float]]]:
    """Give the pauses within answers that came as streams, by candidate: [from, how long], in seconds."""
    found = {r["candidate"]: declared_run(r["runs"]) for r in requirement["results"]}
    told = {name: run.get("stream", {}).get("pauses", []) for name, run in found.items() if run is not None}
    return {name: pauses for name, pauses in told.items() if pauses}


def _is_open(run: RunRecord) -> bool:
    """Whether requests came at times of their own: not all at once, and not when an answer let them."""
    if "timeline" not in run or run["conditions"].get("closed_loop"):
        return False
    return len(run["timeline"]["slow_ms"]) > 1


def _end(told: TimelineRecord) -> float:
    return told["step"] * len(told["due"])


def _draw_waits(
    plot: Plot,
    runs: Sequence[tuple[str, TimelineRecord]],
    series: dict[str, int],
    along: Axis,
    waits: list[float],
) -> None:
    up = time_axis(min(waits), max(waits), _MIDDLE, _TOP)
    plot.up([(up.at(tick), words.milliseconds(tick) if tick else "0") for tick in up.ticks(4)])
    plot.label("what", RIGHT, 14, "slowest 5 in 100 requests from (p95)", anchor="end")
    for name, told in runs:
        style = series_style(series.get(name, 1))
        places = [along.at((i + 0.5) * told["step"]) for i in range(len(told["slow_ms"]))]
        points = [
            None if ms is None else (x, up.at(ms)) for x, ms in zip(places, told["slow_ms"], strict=True)
        ]
        plot.stroke(f"{style} curve thin", polyline(points))
        for point in points[len(points) // 8 :: max(1, len(points) // 3)]:
            if point is not None:
                plot.mark(style, f"m-{style[1:]}", *point)
        for start, took in told["stalls"]:
            x = along.at(start)
            plot.area(f"{style} stall", x, _TOP, max(along.at(start + took), x + 2), _MIDDLE)
    plot.stroke("axis", f"M{LEFT} {_MIDDLE}H{RIGHT}")


def _draw_rates(
    plot: Plot, runs: Sequence[tuple[str, TimelineRecord]], series: dict[str, int], along: Axis, bottom: int
) -> None:
    top = _MIDDLE + _GAP if bottom > _MIDDLE else _TOP
    rates = {name: [count / told["step"] for count in told["answered"]] for name, told in runs}
    up = Axis(0.0, max((max(each) for each in rates.values()), default=0.0) * 1.1 or 1.0, bottom, top)
    plot.up([(up.at(tick), words.plain(tick)) for tick in up.ticks(3)])
    plot.label("what", RIGHT, top - 10, "good answers a second", anchor="end")
    for name, told in runs:
        points = [(along.at((i + 0.5) * told["step"]), up.at(rate)) for i, rate in enumerate(rates[name])]
        plot.stroke(f"{series_style(series.get(name, 1))} curve thin", polyline(points))
    ticks = [tick for tick in along.ticks() if tick >= 0]
    plot.across([(along.at(tick), _seconds(tick)) for tick in ticks], bottom, bottom)


def _caption(*, warm: bool, stalls: bool, waits: bool, pauses: bool) -> str:
    told = ["Time runs to the right, from the first request due."]
    if waits:
        told.append("Where a line is broken, too many requests of that moment failed to have such a time.")
    if stalls:
        told.append("An upright band is a stall: requests were due, and nothing was answered.")
    elif warm:
        told.append("There was no stall.")
    if pauses and waits:
        told.append(
            "A low band is a pause: an answer under way stood still for ten times the usual gap or longer."
        )
    return " ".join(told)


def _sentence(name: str, told: TimelineRecord, still: dict[str, list[list[float]]]) -> str:
    said = f"{name}: {words.count(sum(told['answered']), 'requests')} answered well"
    said += f" of {sum(told['due']):,} in {words.seconds(_end(told))}"
    if name in still:
        said += f"; an answer under way stood still for {_spans(still[name])}"
    if told["stalls"]:
        return f"{said}; nothing was answered for {_spans(told['stalls'])}."
    return f"{said}; no stall."


def _spans(spans: list[list[float]]) -> str:
    return words.listing([f"{words.seconds(took)} from {words.seconds(start)} on" for start, took in spans])


def _table(runs: Sequence[tuple[str, TimelineRecord]], still: dict[str, list[list[float]]]) -> Table:
    rows = []
    for name, told in runs:
        shown = shorten(name, 60)
        if told["slow_ms"]:
            worst = [
                max((ms for ms in part if ms is not None), default=None) for part in _fifths(told["slow_ms"])
            ]
            rows.append([f"{shown}: p95, worst step", *(_wait(ms) for ms in worst)])
        answered = [
            sum(part) / (told["step"] * len(part)) if part else 0 for part in _fifths(told["answered"])
        ]
        rows.append([f"{shown}: good answers a second", *(words.plain(rate) for rate in answered)])
        if any(told["failed"]):
            rows.append([f"{shown}: failed", *(f"{sum(part):,}" for part in _fifths(told["failed"]))])
    stood = [_sentence(name, told, still) for name, told in runs if told["stalls"] or name in still]
    caption = " ".join(["In fifths of each run", *stood] if not stood else ["In fifths of each run.", *stood])
    return Table(caption, ["Candidate", *(words.upper_first(name) for name in _NAMES)], rows)


def _due_rows(told: TimelineRecord) -> list[list[str]]:
    return [
        [words.upper_first(name), words.plain(sum(part) / (told["step"] * len(part)) if part else 0)]
        for name, part in zip(_NAMES, _fifths(told["due"]), strict=True)
    ]


def _fifths(values: Sequence[T]) -> list[Sequence[T]]:
    size = len(values)
    return [values[size * i // _PARTS : size * (i + 1) // _PARTS] for i in range(_PARTS)]


def _wait(ms: float | None) -> str:
    return "none" if ms is None else words.milliseconds(ms)


def _seconds(value: float) -> str:
    return words.seconds(value) if value else "0"
