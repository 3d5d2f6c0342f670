"""The operating characteristic: how often the rule would accept an offer of some quality."""

from __future__ import annotations

import itertools

from pytest_procure.evidence.record import FindingRecord, Record

from . import words
from .axes import Axis
from .plots import LEFT, RIGHT, Plot, Table, polyline
from .visible import shorten

_TOP, _BOTTOM = 34, 190
#: Different curves that are drawn; further ones differ in their bar or their number of requests only.
_DRAWN = 4
_TOLD = (0.01, 0.05, 0.5, 0.9, 0.99)


def curves(record: Record) -> list[Plot]:
    """Draw the curve of each declared bar on a share, one for all candidates with the same one."""
    seen: dict[tuple[str, str, str], Plot] = {}
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            for finding in result["findings"]:
                points = finding.get("characteristic")
                same = (finding["metric"], finding["sense"], finding["bar"]["text"])
                if points and finding["source"] == "declared" and same not in seen and len(seen) < _DRAWN:
                    seen[same] = _curve(finding, points)
    return list(seen.values())


def _curve(finding: FindingRecord, points: list[list[float]]) -> Plot:
    worth = words.plain(finding["n_effective"])
    is_share = finding["kind"] != "latency"
    name = finding["title"] if is_share else f"requests within {finding['bar']['text']}"
    low, high = points[0][0], points[-1][0]
    bar = finding["bar"]["number"] if is_share else float(finding["metric"].rpartition(".p")[2]) / 100
    along = Axis(low, high, LEFT, RIGHT) if high > low else Axis(low - 0.01, high + 0.01, LEFT, RIGHT)
    up = Axis(0.0, 1.0, _BOTTOM, _TOP)
    asked = finding["bar"]["text"] if is_share else words.percent(bar)
    risk = 1 - finding["confidence"]
    plot = Plot(
        title=(
            f"How often an offer would be accepted, {shorten(finding['title'], 60)} {words.asked(finding)}"
        ),
        desc=f"At the bar, {asked}: at most {words.percent(risk)}. {_sentence(points)}",
        caption=(
            f"Chance to accept, over the true share of {name}, for a run worth {worth} independent "
            f"{finding['n_unit']}, as this one was. At the bar it is the consumer's risk; how far right of "
            "the bar it comes near 100 % is how good an offer has to be to be sure of acceptance."
        ),
        height=_BOTTOM + 52,
        table=Table(
            "True share at which an offer would be accepted that often",
            ["Accepted", f"True share of {shorten(name, 60)}"],
            [[words.percent(chance), _at(points, chance)] for chance in _TOLD],
        ),
    )
    plot.up([(up.at(share), words.percent(share)) for share in (0.0, 0.5, 1.0)])
    plot.across([(along.at(tick), words.percent(tick)) for tick in along.ticks()], _TOP, _BOTTOM)
    plot.label("", RIGHT, _BOTTOM + 38, f"true share of {shorten(name, 60)}", anchor="end")
    x = along.at(bar)
    plot.stroke("asked", f"M{x:.1f} {_TOP - 8}V{_BOTTOM}")
    plot.label("asked-text", x, 16, f"bar: {asked}", anchor="middle")
    plot.stroke("s1 curve", polyline([(along.at(share), up.at(chance)) for share, chance in points]))
    return plot


def _sentence(points: list[list[float]]) -> str:
    return f"Accepted 9 times in 10: {_at(points, 0.9)}."


def _at(points: list[list[float]], chance: float) -> str:
    """The true share at which the chance is reached, between points in a straight line."""
    for (share, before), (later, after) in itertools.pairwise(points):
        if min(before, after) <= chance <= max(before, after) and before != after:
            return words.percent(share + (later - share) * (chance - before) / (after - before))
    return (
        "never, at this number of requests" if max(c for _, c in points) < chance else "beyond this drawing"
    )
