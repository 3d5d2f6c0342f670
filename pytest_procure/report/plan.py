"""The plan at the end of `pytest --procure-plan`: plain text, a block a requirement and kind of candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from pytest_procure.planning import BarPlan, Effort, Numbers, Pilot, Plan, State
from pytest_procure.units import Quantity, exactly, readable
from pytest_procure.wording import asked_for

from . import words
from .terminal import wrapped
from .visible import one_line, shorten

_NARROWEST = 40
_GLYPHS = {
    State.DECIDES: "●",
    State.TOO_FEW: "■",
    State.NOT_KNOWN: "◐",
    State.NOT_PLANNED: "○",
    State.FIXED: "◇",
}
_MARKUP = {
    State.DECIDES: {"green": True},
    State.TOO_FEW: {"red": True},
    State.NOT_KNOWN: {"yellow": True},
}
#: Depth of what stands under a requirement, and under a bar.
_OUTER, _INNER = " " * 3, " " * 7
#: Bars on these are planned as if requests were independent, unless a pilot has told.
_SERIAL = {"latency", "goodput", "errors"}
_ROWS = (
    "Latencies and failures are planned as if they did not come in rows. Behind a busy candidate they do, "
    "and it takes more: `--procure-pilot 1000` measures how much."
)
_UNKNOWN = "not known before a pilot"

Line = tuple[str, str, str]  # what begins it, what begins its continuation, its text


def lines(plans: Sequence[Plan], status: int, *, width: int, why: str = "") -> list[str]:
    """Tell plans in lines of at most `width` columns (40 or more); equal ones of a requirement once.

    `why`: why there are none.
    """
    width = max(width, _NARROWEST)
    return [
        line
        for first, rest, text in _told(plans, status, why)
        for line in wrapped(text, width, first=first, rest=rest)
    ]


def markup(line: str) -> dict[str, bool]:
    """Give the arguments with which pytest's terminal writer colours a line; none for the others."""
    for state, glyph in _GLYPHS.items():
        if line.startswith(f"{_OUTER}{glyph} {state.value}"):
            return _MARKUP.get(state, {})
    return {}


def _told(plans: Sequence[Plan], status: int, why: str) -> Iterator[Line]:
    if not plans:
        said = "No test of this run stands for a requirement, so there is nothing to plan"
        yield "", "", f"{said}: {one_line(why)}." if why else f"{said}."
        return
    requirements: dict[str, list[Plan]] = {}
    for plan in plans:
        requirements.setdefault(plan.id, []).append(plan)
    for number, each in enumerate(requirements.values(), start=1):
        head = f"{number}. "
        yield head, " " * len(head), shorten(each[0].question or each[0].id, 160)
        yield _OUTER, _OUTER, one_line(each[0].traffic)
        for alike in _alike(each):
            yield from _block(alike)
    yield "", "", ""
    yield "", "", _risks(plans)
    if any(map(_guessed, plans)):
        yield "", "", _ROWS
    yield "", "", _whole([plan.effort for plan in plans])
    yield "", "", _outcome(plans, status)


def _alike(plans: Sequence[Plan]) -> list[list[Plan]]:
    """Put candidates together whose plans differ in nothing but their prices."""
    found: list[tuple[Plan, list[Plan]]] = []
    for plan in plans:
        rows = tuple(replace(row, fixed=Quantity.of(0), note="") if row.fixed else row for row in plan.rows)
        after = None if plan.after is None else replace(plan.after, cost=None)
        effort = replace(plan.effort, cost=None)
        plain = replace(plan, candidate="", rows=rows, effort=effort, after=after)
        group = next((group for known, group in found if known == plain), None)
        if group is None:
            found.append((plain, [plan]))
        else:
            group.append(plan)
    return [group for _, group in found]


def _each(plans: Sequence[Plan], said: Sequence[str]) -> str:
    """Say something of several candidates, once where it is the same of all."""
    names: dict[str, list[str]] = {}
    for plan, text in zip(plans, said, strict=True):
        names.setdefault(text, []).append(shorten(plan.candidate, 40))
    if len(names) == 1:
        return said[0]
    return "; ".join(f"{text} ({words.listing(each)})" for text, each in names.items())


def _block(plans: Sequence[Plan]) -> Iterator[Line]:
    """Say what alike candidates have in common, and what each costs."""
    plan = plans[0]
    yield _OUTER, _INNER, ", ".join(shorten(each.candidate, 40) for each in plans) + ":"
    if plan.problem:
        yield _head(State.NOT_KNOWN), _INNER, one_line(plan.problem)
    for place, row in enumerate(plan.rows):
        yield _head(row.state), _INNER, _asked(row)
        if row.fixed is None:
            yield from ((_INNER, _INNER, text) for text in _sentences(row))
        else:
            values = [each.rows[place] for each in plans]
            said = [f"{readable(value.fixed or row.fixed)}, {value.note}" for value in values]
            yield _INNER, _INNER, f"by the price alone: {_each(plans, said)}"
    if plan.asserts:
        yield _head(State.NOT_PLANNED), _INNER, f"{words.count(plan.asserts, 'asserts')} in the test"
    yield from ((_OUTER, _INNER, text) for text in _totals(plans))


def _totals(plans: Sequence[Plan]) -> Iterator[str]:
    plan = plans[0]
    if plan.pilot is not None:
        yield _pilot(plan.pilot)
    if plan.limiting:
        yield f"limiting: {plan.limiting}"
    if plan.accepts is not None:
        yield f"at the design value of all bars: accepted {_times(plan.accepts)} times in 100, at least"
    yield f"as marked: {_efforts(plans, [each.effort for each in plans])}"
    yield from (f"to decide: {change}" for change in plan.changes)
    if plan.after is not None:
        yield f"then: {_efforts(plans, [each.after or each.effort for each in plans])}"


def _head(state: State) -> str:
    return f"{_OUTER}{_GLYPHS[state]} {state.value:<11}  "


def _asked(row: BarPlan) -> str:
    bar = row.bar
    limits = f" ({bar.limits})" if bar.limits is not None else ""
    risk = "" if bar.consumer_risk is None else f", at consumer's risk {words.percent(bar.consumer_risk)}"
    return one_line(f"{bar.metric.title}{limits} {bar.sense} {asked_for(bar)}{risk}")


def _sentences(row: BarPlan) -> Iterator[str]:
    """Say what a bar needs and has, what that would accept, and why there is no more to say."""
    needs = _numbers(row.needs, row.noun)
    if row.design is not None:
        within = f" within {exactly(row.bar.limit)}" if row.bar.metric.kind == "latency" else ""
        rows = "" if row.design_effect is None else f", the pilot's design effect of {row.design_effect:.2f}"
        yield f"needs {needs} at a design value of {words.percent(row.design)}{within}{rows}; has {_has(row)}"
        main = row.has.samples if row.needs.requests is None else row.has.requests
        if row.least is not None and main is not None and main < row.least:
            yield f"with fewer than {row.least:,} nobody is accepted"
        else:
            points = (f"{_times(point.accepted)} at {words.percent(point.share)}" for point in row.curve)
            yield f"of 100 tests it accepts {', '.join(points)}"
    elif needs and row.state is not State.NOT_PLANNED:
        yield f"with fewer than {needs} nobody is accepted; has {_has(row)}"
    if row.note:
        yield row.note


def _numbers(numbers: Numbers, noun: str) -> str:
    named = {"requests": numbers.requests, noun: numbers.samples, "launches": numbers.launches}
    return " and ".join(words.count(n, what) for what, n in named.items() if n is not None)


def _has(row: BarPlan) -> str:
    """Give what is there of what is needed, in the same order."""
    pairs = zip(row.needs, row.has, strict=True)
    return " and ".join(
        "an unknown number" if has is None else f"{has:,}" for need, has in pairs if need is not None
    )


def _times(chance: float) -> str:
    """Write a chance as times in 100; what is rare but possible is neither 0 nor 100."""
    if chance == 0:
        return "0"
    if chance < 0.005:
        return "<1"
    return ">99" if chance >= 0.995 else f"{chance * 100:.0f}"


def _pilot(pilot: Pilot) -> str:
    said = [f"pilot of {words.count(pilot.requests, 'requests')}, not judged"]
    if pilot.failed:
        said.append(f"{pilot.failed:,} failed")
    if pilot.seconds is not None:
        said.append(f"{words.seconds(float(pilot.seconds))} a query")
    if pilot.stopped:
        said.append(one_line(pilot.stopped))
    return ", ".join(said)


def _efforts(plans: Sequence[Plan], efforts: Sequence[Effort]) -> str:
    """Say what runs take that differ in their cost alone."""
    effort = efforts[0]
    most = "at most " if effort.at_most else ""
    told = {
        "requests": None if effort.requests is None else most + words.count(effort.requests, "requests"),
        "time": None if effort.seconds is None else _duration(effort.seconds),
        "cost": None,
    }
    if not all(each.priced and each.cost is None for each in efforts):
        told["cost"] = _each(plans, [_cost(each) for each in efforts])
    known = ", ".join(text for text in told.values() if text is not None)
    unknown = words.listing([name for name, text in told.items() if text is None])
    return "; ".join([*([known] if known else []), *([f"{unknown} {_UNKNOWN}"] if unknown else [])])


def _cost(effort: Effort) -> str:
    if effort.cost is not None:
        return readable(effort.cost)
    return f"cost {_UNKNOWN}" if effort.priced else "no price"


def _duration(seconds: Decimal) -> str:
    if seconds < 120:
        return readable(Quantity(seconds, "s"))
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _whole(efforts: Sequence[Effort]) -> str:
    """Add up what is known."""
    requests = sum(effort.requests or 0 for effort in efforts)
    told = [words.count(requests, "requests")]
    times = [effort.seconds for effort in efforts if effort.seconds is not None]
    if times:
        told.append(_duration(sum(times, Decimal(0))))
    costs: dict[str, Decimal] = {}
    for effort in efforts:
        if effort.cost is not None:
            costs[effort.cost.unit] = costs.get(effort.cost.unit, Decimal(0)) + effort.cost.number
    told += [readable(Quantity(total, currency)) for currency, total in costs.items()]
    partly = any(e.requests is None or e.seconds is None or (e.priced and e.cost is None) for e in efforts)
    return f"As marked, in all{' at least' if partly else ''}: {', '.join(told)}."


def _risks(plans: Sequence[Plan]) -> str:
    consumers = [words.percent(risk) for risk in dict.fromkeys(plan.consumer_risk for plan in plans)]
    return (
        f"Each bar at consumer's risk {words.listing(consumers)} (to accept an offer that is exactly at it) "
        f"and producer's risk {words.percent(plans[0].producer_risk)} (to turn down one at the design value)."
    )


def _guessed(plan: Plan) -> bool:
    effects = {} if plan.pilot is None else plan.pilot.effects
    return any(
        row.curve and row.bar.metric.kind in _SERIAL and row.bar.key not in effects for row in plan.rows
    )


def _nothing(plans: Sequence[Plan]) -> str:
    """Say why no bar is planned; nothing where one is."""
    states = {row.state for plan in plans for row in plan.rows}
    if State.DECIDES in states:
        return ""
    if State.NOT_PLANNED in states:
        beside = "beside what the price alone gives, " if State.FIXED in states else ""
        return f"{beside}of no bar is it known before a run how many requests it takes"
    if any(plan.asserts for plan in plans):
        stand = "all other bars stand" if states else "all bars stand"
        return f"{stand} in asserts, of which nothing is known before a run; a mark `bar` is planned"
    if states:
        return "the price alone gives what every bar is about"
    return "no bar stands in a mark, or in an assert of the test"


def _outcome(plans: Sequence[Plan], status: int) -> str:
    failing = sum(not plan.decides for plan in plans)
    if failing:
        why = f"{failing} of {words.count(len(plans), 'plans')} cannot decide at what the marks ask for"
    elif status:
        why = "pytest itself failed"
    elif unplanned := _nothing(plans):
        why = f"there is nothing to plan: {unplanned}"
    else:
        why = "what the marks ask for decides every bar that is planned"
    return f"exit status {status} because {why}"
