"""Cost against quality: each candidate a point, the bars drawn, the region that meets both shaded."""

from __future__ import annotations

from typing import NamedTuple

from pytest_procure.evidence.record import FindingRecord, RequirementRecord, VerdictWord

from . import words
from .axes import Axis, value_axis
from .plots import LEFT, RIGHT, Plot, Table, n
from .visible import shorten

_TOP, _BOTTOM = 34, 270
#: Width of a letter, roughly: the report measures no text.
_LETTER = 7.5


class _Offer(NamedTuple):
    candidate: str
    verdict: VerdictWord
    quality: FindingRecord
    cost: FindingRecord


def tradeoff(requirement: RequirementRecord) -> Plot | None:
    """Draw a requirement that has a bar on quality and one on cost; None for others.

    What was measured is drawn even where it decides nothing, because a cheap offer that answers badly is what
    a committee asks about; its verdict's shape stands at its point.
    """
    offers = _offers(requirement)
    if not offers:
        return None
    quality, cost = offers[0].quality, offers[0].cost
    share = quality["bar"]["text"].endswith("%")
    up = value_axis(
        [quality["bar"]["number"], *(v for o in offers for v in _span(o.quality))], _BOTTOM, _TOP, share=share
    )
    costs = [cost["bar"]["number"], *(v for o in offers for v in _span(o.cost))]
    along = Axis(0.0, max(costs) * 1.15 or 1.0, LEFT, RIGHT)
    x, y = along.at(cost["bar"]["number"]), up.at(quality["bar"]["number"])
    plot = Plot(
        title=f"Cost against quality: {shorten(requirement['question'] or requirement['id'], 100)}",
        desc=" ".join(f"{o.candidate}: {words.numbers(o.quality)}, {words.numbers(o.cost)}." for o in offers),
        caption=(
            "Each shape is an offer; the lines through it are likely ranges. Up is better, left is cheaper; "
            "the shaded region meets what was asked of both."
        ),
        height=_BOTTOM + 54,
        table=Table(
            "Quality and cost of each candidate",
            ["Candidate", words.upper_first(quality["title"]), words.upper_first(cost["title"]), "Result"],
            [
                [
                    shorten(o.candidate, 60),
                    words.numbers(o.quality),
                    words.numbers(o.cost),
                    words.VERDICTS[o.verdict].result,
                ]
                for o in offers
            ],
        ),
    )
    plot.area("meets", LEFT, _TOP, x, y)
    plot.up([(up.at(tick), words.percent(tick) if share else words.plain(tick)) for tick in up.ticks(5)])
    unit = cost["bar"]["unit"]
    plot.across(
        [(along.at(tick), words.plain(tick) if tick else "0") for tick in along.ticks(4)], _TOP, _BOTTOM
    )
    plot.label("", RIGHT, _BOTTOM + 40, f"{cost['title']}, {unit}", anchor="end")
    plot.label("what", LEFT, 14, quality["title"])
    plot.stroke("asked", f"M{LEFT} {n(y)}H{RIGHT}M{n(x)} {_TOP}V{_BOTTOM}")
    plot.label("asked-text", LEFT + 6, y + 16, f"asked: {words.asked(quality)}")
    plot.label("asked-text", x, 14, f"asked: {words.asked(cost)}", anchor="end" if x > 400 else "start")
    taken: list[tuple[float, float, float, float]] = []
    for offer in offers:
        _draw(plot, offer, along, up)
        x, y = along.at(_span(offer.cost)[0]), up.at(_span(offer.quality)[0])
        taken.append((x - 8, y - 8, x + 8, y + 8))
    for offer in offers:
        _name(plot, offer, along, up, taken)
    return plot


def _name(
    plot: Plot, offer: _Offer, along: Axis, up: Axis, taken: list[tuple[float, float, float, float]]
) -> None:
    """Write a name beside its point, where it covers neither a point nor another name."""
    x, y = along.at(_span(offer.cost)[0]), up.at(_span(offer.quality)[0])
    text = shorten(offer.candidate, 30)
    wide = _LETTER * len(text)
    places = [(x + side, y + down) for down in (5, 22, -14, 39, -31) for side in (13, -13 - wide)]
    free = [
        (left, base)
        for left, base in places
        if left > LEFT and left + wide < RIGHT and _TOP + 10 < base < _BOTTOM
        if not any(
            left < right and at_left < left + wide and base - 12 < bottom and top < base + 3
            for at_left, top, right, bottom in taken
        )
    ]
    left, base = free[0] if free else places[0]
    taken.append((left, base - 12, left + wide, base + 3))
    plot.label("offer", left, base, text)


def _draw(plot: Plot, offer: _Offer, along: Axis, up: Axis) -> None:
    style = words.VERDICTS[offer.verdict].style
    x, left, right = (along.at(value) for value in _span(offer.cost))
    y, low, high = (up.at(value) for value in _span(offer.quality))
    plot.stroke(f"{style} range", f"M{n(x)} {n(low)}V{n(high)}M{n(left)} {n(y)}H{n(right)}")
    plot.mark(style, f"v-{style}", x, y, size=15)


def _offers(requirement: RequirementRecord) -> list[_Offer]:
    found = []
    keys: tuple[object, object] | None = None
    for result in requirement["results"]:
        quality = _first(result["findings"], "quality")
        cost = _first(result["findings"], "cost")
        if quality is None or cost is None:
            continue
        same = ((quality["metric"], quality["bar"]), (cost["metric"], cost["bar"]))
        keys = keys or same
        if same == keys:
            found.append(_Offer(result["candidate"], result["verdict"], quality, cost))
    return found


def _first(findings: list[FindingRecord], kind: str) -> FindingRecord | None:
    """Find the first measured finding of a kind whose numbers are of one unit with its bar."""
    return next(
        (
            f
            for f in findings
            if f["kind"] == kind
            and not f["observed_only"]
            and f["estimate"] is not None
            and f["estimate"]["unit"] == f["bar"]["unit"]
            and f["sense"] == ("at least" if kind == "quality" else "at most")
        ),
        None,
    )


def _span(finding: FindingRecord) -> tuple[float, float, float]:
    """Measured value, and the ends of its range; an end that does not exist is the value."""
    value, low, high = finding["estimate"], finding["low"], finding["high"]
    assert value is not None, "only measured ones are drawn"
    return value["number"], (low or value)["number"], (high or value)["number"]
