"""The latency-throughput curve: what more load costs in waiting time, step by step."""

from __future__ import annotations

from pytest_procure.evidence.record import RequirementRecord, SweepPoint, SweepRecord

from . import words
from .axes import Axis, time_axis
from .plots import LEFT, RIGHT, Key, Plot, Table, polyline, series_style
from .visible import shorten

_TOP, _BOTTOM = 40, 250
_BY = {"rate": "requests a second offered", "concurrency": "requests in flight"}


def sweeps(requirement: RequirementRecord, series: dict[str, int]) -> Plot | None:
    """Draw the sweeps of a requirement's candidates over each other; None where nobody was swept."""
    found: list[tuple[str, SweepRecord]] = []
    for result in requirement["results"]:
        found += [(result["candidate"], run["sweep"]) for run in result["runs"] if "sweep" in run][-1:]
    found = [(name, sweep) for name, sweep in found if sweep["points"]]
    if not found:
        return None
    by = found[0][1]["by"]
    found = [(name, sweep) for name, sweep in found if sweep["by"] == by]
    points = [point for _, sweep in found for point in sweep["points"]]
    waits = [ms for point in points if (ms := point["p95"]) is not None] or [1.0]
    along = Axis(0.0, max(point["offered"] for point in points) * 1.05, LEFT, RIGHT)
    up = time_axis(min(waits), max(waits), _BOTTOM, _TOP)
    plot = Plot(
        title=f"What more load costs: {shorten(requirement['question'] or requirement['id'], 100)}",
        desc=" ".join(f"{name}: {sweep['sentence']}" for name, sweep in found),
        caption=(
            f"Waiting time of the slowest 5 in 100 requests (p95), over {_BY[by]}. A full symbol met every "
            "bar of the search at its point value; a hollow one did not, or had no such time and stands at "
            "the top; an upright line is the load that a run of its own confirmed. The points decide nothing."
        ),
        height=_BOTTOM + 56,
        table=Table(
            f"Each short run of the search{_asked([sweep for _, sweep in found])}",
            [
                "Candidate and load",
                "Good answers a second",
                "Half within (p50)",
                "Slowest 5 in 100 from (p95)",
                "Slowest 1 in 100 from (p99)",
                "Failed",
                "Bars of the search",
            ],
            [_row(name, point, by) for name, sweep in found for point in _in_order(sweep)],
        ),
        keys=[Key(series.get(name, 1), name) for name, _ in found],
    )
    plot.up([(up.at(tick), words.milliseconds(tick) if tick else "0") for tick in up.ticks(5)])
    plot.across([(along.at(tick), words.plain(tick)) for tick in along.ticks()], _TOP, _BOTTOM)
    plot.label("", RIGHT, _BOTTOM + 40, _BY[by], anchor="end")
    plot.label("what", LEFT, 20, "slowest 5 in 100 requests from (p95)")
    for name, sweep in found:
        _draw(plot, sweep, series_style(series.get(name, 1)), along, up)
    return plot


def _draw(plot: Plot, sweep: SweepRecord, style: str, along: Axis, up: Axis) -> None:
    places = [
        (along.at(point["offered"]), None if point["p95"] is None else up.at(point["p95"]), point["ok"])
        for point in _in_order(sweep)
    ]
    plot.stroke(f"{style} curve", polyline([None if y is None else (x, y) for x, y, _ in places]))
    for x, y, met in places:
        plot.mark(style, "m-1" if met else "m-5", x, _TOP if y is None else y, size=13)
    if sweep["found"] is not None:
        plot.stroke(f"{style} curve thin", f"M{along.at(sweep['found']):.1f} {_TOP}V{_BOTTOM}")


def _asked(swept: list[SweepRecord]) -> str:
    bars = list(dict.fromkeys(bar for sweep in swept for bar in sweep["bars"]))
    return f"; its bars: {words.listing(bars)}" if bars else ""


def _in_order(sweep: SweepRecord) -> list[SweepPoint]:
    return sorted(sweep["points"], key=lambda point: point["offered"])


def _row(name: str, point: SweepPoint, by: str) -> list[str]:
    unit = "/s" if by == "rate" else " in flight"
    waits = [point["p50"], point["p95"], point["p99"]]
    return [
        f"{shorten(name, 60)}: {words.plain(point['offered'])}{unit}",
        words.plain(point["achieved"]),
        *("never: failed" if ms is None else words.milliseconds(ms) for ms in waits),
        f"{point['failed']:,} of {point['requests']:,}",
        "the harness was late" if point["late"] and not point["ok"] else ("met" if point["ok"] else "missed"),
    ]
