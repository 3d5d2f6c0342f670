"""A plan: what each bar needs, what the marks give, what that takes, and which number to change to what.

requirement, candidate, slice ──► plan ┬─ a row a bar: needs, has, and whether that decides
                                       ├─ effort: requests, time, money
                                       └─ changes: what the marks would have to say instead

Nothing is measured here. Where a pilot ran, its design effects, times and tokens take the place of guesses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import NamedTuple

from . import rehearsal, stats
from .bars import Bar
from .candidates import Candidate, HourlyPrice, Price, RequestPrice, TokenPrice
from .decision import Policy, decide
from .errors import DomainError
from .metrics import Measurement
from .metrics.cost import MINIMUM_ITEMS
from .metrics.measurement import Share
from .metrics.metric import COST
from .metrics.throughput import MINIMUM_LAUNCHES
from .pilots import Pilot
from .scenarios import Scenario, queries
from .stats.effects import BATCHES
from .trials import Requirement
from .units import Quantity
from .verdict import policy_of


class State(StrEnum):
    """What can be said of a bar before a run."""

    DECIDES = "decides"
    TOO_FEW = "too few"
    NOT_KNOWN = "not known"
    NOT_PLANNED = "not planned"
    FIXED = "fixed"


class Numbers(NamedTuple):
    """What a bar needs, or the marks give: requests and launches in all, different samples (or clusters)."""

    requests: int | None = None
    samples: int | None = None
    launches: int | None = None


class Point(NamedTuple):
    """A true value of the bar's metric, as a share, and the chance that it is accepted."""

    share: float
    accepted: float


@dataclass(frozen=True, slots=True)
class Sample:
    """What is known of the slice: its items, and the clusters among them.

    `marked`: whether the number of items stands in the mark. `items` is None where only a fixture knows.
    """

    items: int | None
    clusters: int | None = None
    marked: bool = False

    @property
    def noun(self) -> str:
        """What one piece of evidence is."""
        return "samples" if self.clusters in {None, self.items} else "clusters"


@dataclass(frozen=True, slots=True)
class BarPlan:
    """What one bar needs and has. With fewer than `least` nobody is accepted. `note`: why there is no more.

    `curve`: the operating characteristic at what the marks give, or at what is needed where that is not
    known; its last point is the design value. `fixed`: a value that no run changes.
    """

    bar: Bar
    state: State
    needs: Numbers = Numbers()
    has: Numbers = Numbers()
    noun: str = "samples"
    least: int | None = None
    design: float | None = None
    design_effect: float = 1.0
    curve: tuple[Point, ...] = ()
    fixed: Quantity | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run takes. None: not known. An offer without a price has no cost."""

    requests: int | None = None
    seconds: Decimal | None = None
    cost: Quantity | None = None
    priced: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one requirement on one candidate.

    `after`: the effort when the changes are made. `accepts`: the least chance that an offer at every design
    value is accepted. `asserts`: how many stand in the test; nothing is known of them before a run.
    """

    id: str
    question: str
    traffic: str
    candidate: str
    consumer_risk: float
    producer_risk: float
    rows: tuple[BarPlan, ...] = ()
    effort: Effort = Effort()
    after: Effort | None = None
    changes: tuple[str, ...] = ()
    limiting: str = ""
    accepts: float | None = None
    asserts: int = 0
    pilot: Pilot | None = None
    problem: str = ""

    @property
    def decides(self) -> bool:
        """Whether nothing is too few, or not known."""
        return not self.problem and not any(
            row.state in {State.TOO_FEW, State.NOT_KNOWN} for row in self.rows
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """All that a row is made of."""

    scenario: Scenario
    sample: Sample
    price: Price | None
    policy: Policy
    producer_risk: float
    pilot: Pilot | None

    @property
    def per_launch(self) -> int | None:
        """Queries of a launch; None where nobody knows before a run."""
        scenario, pilot = self.scenario, self.pilot
        if scenario.is_closed_loop and scenario.duration is not None:
            if pilot is None or pilot.seconds is None:
                return None
            return max(1, min(int(scenario.duration.base / pilot.seconds), queries(scenario, 1)))
        if scenario.count is None and scenario.duration is None and self.sample.items is None:
            return None
        return queries(scenario, self.sample.items or 1)

    @property
    def asked(self) -> Numbers:
        """What the marks give. Every launch asks the same samples."""
        each, items = self.per_launch, self.sample.items
        if each is None:
            return Numbers(launches=self.scenario.launches)
        samples = None
        if items is not None:
            samples = min(items, each * self.scenario.samples_per_query, self.sample.clusters or items)
        return Numbers(each * self.scenario.launches, samples, self.scenario.launches)

    @property
    def repeats(self) -> float:
        """How often a piece of evidence is asked, on average; 1 where it is not known."""
        asked = self.asked
        if asked.requests is None or not asked.samples:
            return 1.0
        return asked.requests * self.scenario.samples_per_query / asked.samples

    def size(self, bar: float, design: float, policy: Policy) -> stats.SharePlan:
        """Plan for independent pieces of evidence."""
        return stats.plan_share(
            bar, design, consumer_risk=policy.consumer_risk, producer_risk=self.producer_risk
        )

    def effort(self, per_launch: int | None, launches: int) -> Effort:
        """Give what so many queries take: the traffic alone, without loading and warming up."""
        requests = None if per_launch is None else per_launch * launches
        seconds = self._seconds(per_launch, launches)
        return Effort(requests, seconds, self._cost(requests, seconds), self.price is not None)

    def _seconds(self, per_launch: int | None, launches: int) -> Decimal | None:
        scenario = self.scenario
        if per_launch is None:
            return None if scenario.duration is None else scenario.duration.base * launches
        if scenario.qps is not None:
            return per_launch / Decimal(str(scenario.qps))
        if self.pilot is not None and self.pilot.seconds is not None:
            return per_launch * launches * self.pilot.seconds
        return None

    def _cost(self, requests: int | None, seconds: Decimal | None) -> Quantity | None:
        amount: Decimal | None = None
        if isinstance(self.price, HourlyPrice):
            amount = None if seconds is None else self.price.amount * seconds / 3600
        elif requests is not None:
            each = self.price.per_request() if isinstance(self.price, RequestPrice) else None
            if isinstance(self.price, TokenPrice) and self.pilot is not None:
                each = self.pilot.cost
            amount = None if each is None else each * requests
        return None if amount is None or self.price is None else Quantity(amount, self.price.currency)


def plan(
    requirement: Requirement,
    candidate: Candidate | None,
    sample: Sample,
    policy: Policy,
    *,
    producer_risk: float = 0.1,
    pilot: Pilot | None = None,
) -> Plan:
    """Plan a requirement on a candidate; None where the suite brings its own and says nothing of its price.

    producer_risk: the chance to turn down an offer at a bar's design value, above 0 and below 1.
    """
    scenario = requirement.scenario
    price = None if candidate is None else candidate.price
    question = _Question(scenario, sample, price, policy, producer_risk, pilot)
    rows = tuple(_row(bar, question) for bar in requirement.bars)
    launches = max([scenario.launches, *(row.needs.launches or 0 for row in rows)])
    wanted = [_queries(row, question, launches) for row in rows]
    most, each = max(wanted, default=0), question.per_launch
    changes = tuple(_changes(rows, question, most, launches))
    missed = [1.0 - row.curve[-1].accepted for row in rows if row.curve]
    several = len(missed) > 1
    return Plan(
        id=requirement.id,
        question=requirement.question,
        traffic=scenario.label,
        candidate=requirement.candidate,
        consumer_risk=policy.consumer_risk,
        producer_risk=producer_risk,
        rows=rows,
        effort=question.effort(each, scenario.launches),
        after=question.effort(max(most, each or 0), launches) if changes else None,
        changes=changes,
        limiting=rows[wanted.index(most)].bar.metric.title if several else "",
        accepts=max(0.0, 1.0 - math.fsum(missed)) if several else None,
        pilot=pilot,
    )


def _row(bar: Bar, question: _Question) -> BarPlan:
    try:
        if bar.against is not None:
            why = f"it hangs on how {bar.against.name} does on the same samples"
            return BarPlan(bar, State.NOT_PLANNED, note=why)
        match bar.metric.kind:
            case "quality":
                return _by_samples(bar, question)
            case "latency" | "goodput" | "errors":
                return _by_requests(bar, question)
            case "throughput" | "energy":
                return _by_launches(bar, question)
            case "cost":
                return _of_cost(bar, question)
            case _:
                return BarPlan(bar, State.NOT_PLANNED, note="nothing is known of it before a run")
    except DomainError as error:  # the design value is so close to the bar that no run tells them apart
        return BarPlan(bar, State.TOO_FEW, note=str(error))


def _by_samples(bar: Bar, question: _Question) -> BarPlan:
    """Plan a share of independent samples, each of which may be asked several times."""
    policy, limit = policy_of(bar, question.policy), float(bar.limit.base)
    design = None if bar.design is None else float(bar.design.base)
    least = _pieces(question.size(limit, 1.0, policy).n, question, policy)
    needed, curve = least, ()
    has = question.asked.samples
    if design is not None:
        needed = _pieces(question.size(limit, design, policy).n, question, policy)
        curve = _samples_curve(bar, design, needed if has is None else has, question)
    row = BarPlan(bar, State.NOT_PLANNED, Numbers(samples=needed), Numbers(samples=has), least=least)
    return _judged(replace(row, noun=question.sample.noun, design=design, curve=curve))


def _samples_curve(bar: Bar, design: float, pieces: int, question: _Question) -> tuple[Point, ...]:
    """Let the decision rule say how many pieces of evidence may be bad; the rest is the binomial law."""
    policy, shares = policy_of(bar, question.policy), _around(float(bar.limit.base), design)
    n = max(pieces, round(pieces * question.repeats))

    def accepted(bad: int) -> bool:
        basis = Share(n * (1.0 - bad / pieces), n)
        if n > pieces:
            effect = _repeat_effect(pieces, n)
            basis = replace(basis, design_effect=effect, df=max(1, pieces - 1), clusters=pieces)
        estimate = Quantity.of(basis.total / n)
        measured = Measurement(bar.metric, estimate, n, "samples", basis)
        return decide(measured, bar.sense, bar.limit, policy).accept

    if not accepted(0):
        return tuple(Point(share, 0.0) for share in shares)
    good, bad = 0, pieces
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if accepted(middle) else (good, middle)
    chances = stats.operating_characteristic(stats.SharePlan(pieces, good), shares).tolist()
    return tuple(Point(share, chance) for share, chance in zip(shares, chances, strict=True))


def _pieces(n: int, question: _Question, policy: Policy) -> int:
    """Give how many pieces of evidence are worth `n` independent ones when each is asked several times."""
    repeats = question.repeats
    if repeats <= 1.0:
        return n
    groups = max(n, policy.min_clusters)
    while True:
        total = round(groups * repeats)
        effect = _repeat_effect(groups, total)
        if stats.effective_n(total, effect, groups - 1, confidence=policy.confidence) >= n:
            return groups
        groups += 1


def _repeat_effect(groups: int, n: int) -> float:
    """Design effect of asking `groups` pieces of evidence n times in all, when repeats are answered alike."""
    if groups < 2:
        return float(n)
    return n / groups * groups / (groups - 1) * (n - 1) / n


def _by_requests(bar: Bar, question: _Question) -> BarPlan:
    """Plan a share of requests that may come in rows: failures, and requests within a limit."""
    policy, errors = policy_of(bar, question.policy), bar.metric.kind == "errors"
    limit, design = bar.limit.base, None if bar.design is None else bar.design.base
    timed = bar.metric.kind == "latency" or (bar.limits is not None and bar.limits.latency is not None)
    if bar.metric.kind == "latency":
        limit = bar.metric.q
        stated = bar.design is not None and bar.design.dimension == "number"
        design = design if stated else (1 + limit) / 2
    rule = rehearsal.Rule(
        float(1 - limit if errors else limit),
        bulk=timed,
        df=None if errors else min(BATCHES) - 1,
        least=policy.min_effective if timed else 0.0,
    )
    loaded = not errors and not question.scenario.is_closed_loop
    floor = policy.min_under_load if loaded else min(BATCHES)
    least = max(floor, rehearsal.least(rule, policy))
    row = BarPlan(bar, State.NOT_PLANNED, Numbers(least), Numbers(question.asked.requests), least=least)
    if design is None:
        return _judged(row)
    aim = float(1 - design if errors else design)
    effect = 1.0 if question.pilot is None else question.pilot.effects.get(bar.key, 1.0)
    needed = max(least, math.ceil(rehearsal.needed(rule, aim, policy, question.producer_risk) * effect))
    n = needed if row.has.requests is None else row.has.requests
    points = [
        Point(share, rehearsal.acceptance(rule, n / effect, share, policy) if n >= floor else 0.0)
        for share in _around(rule.bar, aim)
    ]
    if errors:
        points = [Point(round(1.0 - point.share, 12), point.accepted) for point in points]
    needs, has = Numbers(needed), row.has
    if bar.limits is not None and bar.limits.correct:  # a sample asked twice is right or wrong but once
        pieces = _pieces(question.size(rule.bar, aim, policy).n, question, policy)
        needs, has = Numbers(needed, pieces), Numbers(has.requests, question.asked.samples)
    row = replace(row, needs=needs, has=has, noun=question.sample.noun, design=float(design))
    return _judged(replace(row, design_effect=effect, curve=tuple(points)))


def _by_launches(bar: Bar, question: _Question) -> BarPlan:
    needs, has = Numbers(launches=MINIMUM_LAUNCHES), Numbers(launches=question.scenario.launches)
    note = "how much launches differ is not known before a run"
    return _judged(BarPlan(bar, State.NOT_PLANNED, needs, has, least=MINIMUM_LAUNCHES, note=note))


def _of_cost(bar: Bar, question: _Question) -> BarPlan:
    """Plan a cost: exact where price and rate are declared, otherwise a mean over launches or samples."""
    price, rate = question.price, question.scenario.qps
    if isinstance(price, TokenPrice):
        needs, has = Numbers(samples=MINIMUM_ITEMS), Numbers(samples=question.asked.samples)
        note = "how much the tokens of a request vary is not known before a run"
        return _judged(BarPlan(bar, State.NOT_PLANNED, needs, has, least=MINIMUM_ITEMS, note=note))
    if isinstance(price, HourlyPrice) and rate is None:
        return _by_launches(bar, question)
    if price is None or bar.metric.name != COST.name:
        why = (
            "the price is not known before a run"
            if price is None
            else "it hangs on the share of good answers"
        )
        return BarPlan(bar, State.NOT_PLANNED, note=why)
    assert isinstance(price, HourlyPrice | RequestPrice), "there are three kinds of price"
    amount = price.per_request(rate or 0) if isinstance(price, HourlyPrice) else price.per_request()
    note = f"{'met' if amount <= bar.limit.base else 'not met'} by the price alone"
    return BarPlan(bar, State.FIXED, fixed=Quantity(amount, price.currency), note=note)


def _judged(row: BarPlan) -> BarPlan:
    """Hold what is there against what is needed: without a design value, the floor of the rule."""
    state = State.DECIDES if row.curve else State.NOT_PLANNED
    for need, has in zip(row.needs, row.has, strict=True):
        if need is not None and has is not None and has < need:
            state = State.TOO_FEW
        elif need is not None and has is None and state is not State.TOO_FEW:
            state = State.NOT_KNOWN
    return replace(row, state=state, note=row.note or ("" if row.curve else "it has no `design=`"))


def _around(bar: float, design: float) -> list[float]:
    """True values to ask about: as far below the bar as half-way to the design value, and up to that."""
    half = (design - bar) / 2
    return [round(share, 12) for share in (bar - half, bar, bar + half, design) if share > 0]


def _items(row: BarPlan, sample: Sample) -> int:
    """Items of a slice that hold as many pieces of evidence as a bar needs."""
    needed = row.needs.samples or 0
    if sample.noun == "clusters" and sample.items and sample.clusters:
        return math.ceil(needed * sample.items / sample.clusters)
    return needed


def _queries(row: BarPlan, question: _Question, launches: int) -> int:
    """Queries of a launch that a bar needs."""
    items = math.ceil(_items(row, question.sample) / question.scenario.samples_per_query)
    return max(items, math.ceil((row.needs.requests or 0) / launches))


def _changes(rows: Sequence[BarPlan], question: _Question, most: int, launches: int) -> list[str]:
    """Say which number of which mark to change to what."""
    scenario, sample, each = question.scenario, question.sample, question.per_launch
    told = []
    items = max((_items(row, sample) for row in rows), default=0)
    if sample.items is not None and items > sample.items:
        told.append(
            f"in `dataset_slice`, change `n={sample.items}` to `n={items}`"
            if sample.marked
            else f"the slice has all {sample.items:,} samples there are; label {items:,}"
        )
    if launches > scenario.launches:
        told.append(f"in `scenario`, change `launches={scenario.launches}` to `launches={launches}`")
    if most <= (each or 0):
        return told
    if scenario.count is not None:
        told.append(f"in `scenario`, change `count={scenario.count}` to `count={most}`")
    elif scenario.qps is not None:
        needed = (most / Decimal(str(scenario.qps))).to_integral_value(ROUND_CEILING)
        told.append(f"in `scenario`, change `duration='{scenario.duration}'` to `duration='{needed} s'`")
    elif scenario.duration is not None:
        told.append(f"in `scenario`, change `duration='{scenario.duration}'` to `count={most}`")
    elif sample.items is None or most > math.ceil(items / scenario.samples_per_query):
        told.append(f"in `scenario`, add `count={most}`")
    return told
