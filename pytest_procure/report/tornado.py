"""What moves the cost most: each input of a cost a fifth down and a fifth up, the others as they are."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from pytest_procure.evidence.record import CandidateRecord, FindingRecord
from pytest_procure.units import Quantity, readable

from . import words
from .axes import Axis
from .plots import RIGHT, Plot, Table, n
from .visible import shorten

_LEFT, _TOP, _HEAD, _ROW = 184, 40, 30, 26
_CHANGE = Decimal("0.2")


class Swing(NamedTuple):
    """An input of a cost, and what the cost would be with less and with more of it."""

    what: str
    low: Decimal
    high: Decimal


def tornado(costs: list[tuple[CandidateRecord, FindingRecord]], question: str) -> Plot | None:
    """Draw the swings of each candidate's cost, the widest first, with the bar; None without any."""
    found = [(offer, finding, swings(offer, finding)) for offer, finding in costs]
    found = [(offer, finding, own) for offer, finding, own in found if own]
    if not found:
        return None
    bar = found[0][1]["bar"]
    most = max(float(max(s.low, s.high)) for _, _, own in found for s in own)
    along = Axis(0.0, max(most, bar["number"]) * 1.08, _LEFT, RIGHT)
    bottom = _TOP + sum(_HEAD + _ROW * len(own) for _, _, own in found)
    plot = Plot(
        title=f"What moves the cost: {shorten(question, 100)}",
        desc=" ".join(f"{o['name']}: {'; '.join(_told(s, f) for s in own)}." for o, f, own in found),
        caption=(
            "The cost with each input 20 % lower and 20 % higher, the others as declared or measured: an "
            "estimate, no measurement. The thin line in a bar is the cost as it stands."
        ),
        height=bottom + 48,
        table=Table(
            "Cost with one input changed",
            ["Candidate and input", "20 % lower", "20 % higher", "Asked"],
            [
                [f"{shorten(o['name'], 60)}: {s.what}", _money(s.low, f), _money(s.high, f), words.asked(f)]
                for o, f, own in found
                for s in own
            ],
        ),
    )
    plot.across(
        [(along.at(tick), words.plain(tick) if tick else "0") for tick in along.ticks(4)],
        _TOP,
        bottom,
        left=_LEFT,
    )
    plot.label("", RIGHT, bottom + 36, f"{found[0][1]['title']}, {bar['unit']}", anchor="end")
    top = _TOP
    for offer, finding, own in found:
        plot.label("offer", 24, top + 22, shorten(offer["name"], 48))
        top += _HEAD
        now = along.at(float(_decides(finding)))
        for swing in own:
            ends = sorted(along.at(float(end)) for end in (swing.low, swing.high))
            # A line and no area: it stands over the grid.
            plot.stroke("swing", f"M{n(ends[0])} {top + 4}H{n(ends[1])}V{top + _ROW - 4}H{n(ends[0])}Z")
            plot.label("", _LEFT - 8, top + 17, swing.what, anchor="end")
            top += _ROW
        plot.stroke("cut", f"M{n(now)} {top - _ROW * len(own) + 2}V{top - 2}")
    x = along.at(bar["number"])
    plot.stroke("asked", f"M{n(x)} 26V{bottom}")
    plot.label(
        "asked-text", x, 18, f"asked: {words.asked(found[0][1])}", anchor="end" if x > 400 else "start"
    )
    return plot


def swings(offer: CandidateRecord, finding: FindingRecord) -> list[Swing]:
    """List what a cost hangs on, the widest swing first.

    An hourly price over rate and utilisation falls as those two rise. A cost per right answer falls with the
    share right as well. Utilisation ends at 100 %.
    """
    if finding["estimate"] is None or finding["estimate"]["unit"] != finding["bar"]["unit"]:
        return []
    cost = _decides(finding)
    less, more = 1 - _CHANGE, 1 + _CHANGE
    found = [Swing("price", cost * less, cost * more)]
    if offer["price"].get("model") == "hourly":
        utilisation = Decimal(str(offer["price"].get("utilisation") or 1))
        capped = min(more, 1 / utilisation)
        found += [
            Swing("utilisation", cost / less, cost / capped),
            Swing("requests a second", cost / less, cost / more),
        ]
    return sorted(found, key=lambda swing: -abs(swing.high - swing.low))


def _decides(finding: FindingRecord) -> Decimal:
    """The number that is held against the bar: the upper end of the range, where there is one."""
    amount = finding["high"] or finding["estimate"]
    assert amount is not None, "the caller has looked"
    return Decimal(repr(amount["number"]))


def _told(swing: Swing, finding: FindingRecord) -> str:
    return f"{swing.what} from {_money(swing.low, finding)} to {_money(swing.high, finding)}"


def _money(value: Decimal, finding: FindingRecord) -> str:
    return readable(Quantity(value, finding["bar"]["unit"]))
