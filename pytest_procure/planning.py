"""A plan: what each bar needs, what the marks give, what that takes, and which number to change to what.

requirement, candidate, slice ──► plan ┬─ a row a bar: needs, has, and whether that decides
                                       ├─ effort: requests, time, money
                                       └─ changes: what the marks would have to say instead

Nothing is measured here. Where a pilot ran, its design effects, times and tokens take the place of guesses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import NamedTuple

from . import rehearsal, stats
from .bars import Bar
from .candidates import Candidate, HourlyPrice, Price, RequestPrice, TokenPrice
from .decision import Policy, decide
from .errors import DomainError
from .metrics import Execution, Measurement, measure
from .metrics.cost import MINIMUM_ITEMS
from .metrics.goodput import goodput
from .metrics.measurement import Share
from .metrics.metric import COST
from .metrics.throughput import MINIMUM_LAUNCHES
from .scenarios import Scenario, queries
from .stats.effects import BATCHES
from .trials import Requirement
from .units import Quantity
from .verdict import policy_of

#: Kinds of bars whose requests may come in rows: the rule measures the design effect from the run.
_SERIAL = frozenset({"latency", "goodput", "errors"})


class State(StrEnum):
    """What can be said of a bar before a run."""

    DECIDES = "decides"
    TOO_FEW = "too few"
    NOT_KNOWN = "not known"
    NOT_PLANNED = "not planned"
    FIXED = "fixed"


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
class Pilot:
    """What a short run told that is not judged. `effects`: the design effect by the bar's key."""

    requests: int
    failed: int = 0
    effects: Mapping[tuple[object, ...], float] = field(default_factory=dict)
    seconds: Decimal | None = None  # a query, where the candidate sets the pace
    cost: Decimal | None = None  # a request, where the price is by the token
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a bar needs, or the marks give: requests and launches in all, different samples (or clusters)."""

    requests: int | None = None
    samples: int | None = None
    launches: int | None = None

    def __iter__(self) -> Iterator[int | None]:
        return (getattr(self, each.name) for each in fields(self))


class Point(NamedTuple):
    """A true value of the bar's metric, as a share, and the chance that it is accepted."""

    share: float
    accepted: float


@dataclass(frozen=True, slots=True)
class BarPlan:
    """What one bar needs and has. `least`: with fewer nobody is accepted. `note`: why there is no more.

    `curve`: the operating characteristic at what the marks give, or at what is needed where they give
    nothing that is known; the last point but the design value's are the bar's neighbours.
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
    note: str = ""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run takes. None: not known; without a price the cost is None as well."""

    requests: int | None
    seconds: Decimal | None
    cost: Quantity | None
    priced: bool


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
    effort: Effort = Effort(None, None, None, priced=False)
    after: Effort | None = None
    changes: tuple[str, ...] = ()
    limiting: str = ""
    accepts: float | None = None
    asserts: int = 0
    pilot: Pilot | None = None
    problem: str = ""

    @property
    def decides(self) -> bool:
        """Whether nothing planned is too few, or not known."""
        open_rows = {State.TOO_FEW, State.NOT_KNOWN} & {row.state for row in self.rows}
        return not (self.problem or open_rows)


@dataclass(frozen=True, slots=True)
class _Question:
    """All that a row is made of."""

    scenario: Scenario
    sample: Sample
    candidate: Candidate | None
    policy: Policy
    producer_risk: float
    pilot: Pilot | None

    @property
    def per_launch(self) -> int | None:
        """Queries of a launch; None where nobody knows before a run."""
        scenario = self.scenario
        if scenario.is_closed_loop and scenario.duration is not None:
            if self.pilot is None or self.pilot.seconds is None:
                return None
            served = int(scenario.duration.base / self.pilot.seconds)
            return max(1, min(served, queries(scenario, 1)))
        if scenario.count is None and scenario.duration is None and self.sample.items is None:
            return None
        return queries(scenario, self.sample.items or 1)

    @property
    def asked(self) -> Numbers:
        """What the marks give. Every launch asks the same samples."""
        each, items = self.per_launch, self.sample.items
        requests = None if each is None else each * self.scenario.launches
        samples = None
        if each is not None and items is not None:
            samples = min(items, each * self.scenario.samples_per_query)
            if self.sample.clusters is not None:
                samples = min(samples, self.sample.clusters)
        return Numbers(requests, samples, self.scenario.launches)

    @property
    def repeats(self) -> float:
        """How often a piece of evidence is asked, on average; 1 where it is not known."""
        asked = self.asked
        if asked.requests is None or not asked.samples:
            return 1.0
        return max(1.0, asked.requests * self.scenario.samples_per_query / asked.samples)

    def effort(self, per_launch: int | None, launches: int) -> Effort:
        """Give what so many queries take: the traffic alone, without loading and warming up."""
        requests = None if per_launch is None else per_launch * launches
        seconds = self._seconds(per_launch, launches)
        price = None if self.candidate is None else self.candidate.price
        return Effort(requests, seconds, self._cost(price, requests, seconds), price is not None)

    def _seconds(self, per_launch: int | None, launches: int) -> Decimal | None:
        scenario = self.scenario
        if per_launch is not None and scenario.qps is not None:
            return per_launch / Decimal(str(scenario.qps))
        if per_launch is not None and self.pilot is not None and self.pilot.seconds is not None:
            return per_launch * launches * self.pilot.seconds
        return None if scenario.duration is None or per_launch is not None else scenario.duration.base * launches

    def _cost(
        self, price: Price | None, requests: int | None, seconds: Decimal | None
    ) -> Quantity | None:
        amount = None
        if isinstance(price, RequestPrice) and requests is not None:
            amount = price.per_request() * requests
        elif isinstance(price, TokenPrice) and requests is not None and self.pilot is not None:
            amount = None if self.pilot.cost is None else self.pilot.cost * requests
        elif isinstance(price, HourlyPrice) and seconds is not None:
            amount = price.amount * seconds / 3600
        return None if amount is None or price is None else Quantity(amount, price.currency)


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
    question = _Question(scenario, sample, candidate, policy, producer_risk, pilot)
    rows = tuple(_row(bar, question) for bar in requirement.bars)
    launches = max([scenario.launches, *(row.needs.launches or 0 for row in rows)])
    wanted = [_queries(row, question, launches) for row in rows]
    most = max(wanted, default=0)
    changes = _changes(rows, question, launches, most)
    each = question.per_launch
    planned = [row for row in rows if row.curve]
    missed = [1.0 - row.curve[-1].accepted for row in planned]
    return Plan(
        id=requirement.id,
        question=requirement.question,
        traffic=scenario.label,
        candidate=requirement.candidate,
        consumer_risk=policy.consumer_risk,
        producer_risk=producer_risk,
        rows=rows,
        effort=question.effort(each, scenario.launches),
        after=question.effort(max(most, each or 0), launches) if changes and most else None,
        changes=changes,
        limiting=rows[wanted.index(most)].bar.metric.title if len(planned) > 1 and most else "",
        accepts=max(0.0, 1.0 - sum(missed)) if len(planned) > 1 else None,
        pilot=pilot,
    )


def pilot_of(run: Execution, bars: Sequence[Bar], policy: Policy) -> Pilot:
    """Read what a plan can use from a short run: no verdict is made of it.

    Under load a run of fewer requests than a verdict takes says nothing of rows, so it gives no effects.
    """
    scenario, answered = run.scenario, max(1, run.requests)
    told = scenario.is_closed_loop or run.requests >= policy.min_under_load
    effects = {}
    for bar in bars:
        if bar.metric.kind in _SERIAL and bar.against is None and told:
            measured = measure(bar.metric, run) if bar.limits is None else goodput(run, bar.limits)
            effects[bar.key] = decide(measured, bar.sense, bar.limit, policy_of(bar, policy)).design_effect
    window = sum(log.window_ns for log in run.logs)
    cost = measure(COST, run).estimate if isinstance(run.candidate.price, TokenPrice) else None
    return Pilot(
        requests=run.requests,
        failed=int(run.failed.sum()),
        effects=effects,
        seconds=None if scenario.rate_is_declared else max(Decimal(1), Decimal(window)) / 10**9 / answered,
        cost=None if cost is None else cost.number,
        stopped=run.stopped,
    )


def _row(bar: Bar, question: _Question) -> BarPlan:
    kind = bar.metric.kind
    try:
        if bar.against is not None:
            why = f"how many it takes depends on how {bar.against.name} does on the same samples"
            return BarPlan(bar, State.NOT_PLANNED, note=why)
        if kind == "quality":
            return _by_samples(bar, question)
        if kind in _SERIAL:
            return _by_requests(bar, question)
        if kind == "cost":
            return _of_cost(bar, question)
        if kind in {"throughput", "energy"}:
            return _by_launches(bar, question)
    except DomainError as error:
        return BarPlan(bar, State.TOO_FEW, note=str(error))
    return BarPlan(bar, State.NOT_PLANNED, note="nothing is known of it before the run")


def _by_samples(bar: Bar, question: _Question) -> BarPlan:
    """Plan a share of independent samples, each of which may be asked several times."""
    policy, limit = policy_of(bar, question.policy), float(bar.limit.base)
    design = None if bar.design is None else float(bar.design.base)
    sure = _plan(limit, 1.0, policy, question).n
    least = _pieces(sure, question, policy)
    size = sure if design is None else _plan(limit, design, policy, question).n
    needs = Numbers(samples=_pieces(size, question, policy))
    has = Numbers(samples=question.asked.samples)
    curve: tuple[Point, ...] = ()
    if design is not None:
        pieces = (has.samples if has.samples is not None else needs.samples) or 0
        shares = _around(limit, design)
        allowed = _allowed(bar, pieces, question, policy)
        chances = (
            [0.0] * len(shares)
            if allowed < 0
            else stats.operating_characteristic(stats.SharePlan(pieces, allowed), shares).tolist()
        )
        curve = tuple(map(Point, shares, chances))
    return _judged(
        BarPlan(bar, State.DECIDES, needs, has, question.sample.noun, least, design, curve=curve)
    )


def _by_requests(bar: Bar, question: _Question) -> BarPlan:
    """Plan a share of requests that may come in rows: failures, and requests within a limit."""
    policy, what = policy_of(bar, question.policy), bar.metric
    limit = bar.limit.base
    design: Decimal | None = None if bar.design is None else bar.design.base
    timed = what.kind == "latency" or (bar.limits is not None and bar.limits.latency is not None)
    if what.kind == "latency":
        limit = what.q
        stated = bar.design is not None and bar.design.dimension == "number"
        design = design if stated else (1 + limit) / 2
    failing = bar.sense == "at most" and what.kind != "latency"
    good = float(1 - limit if failing else limit)
    rule = rehearsal.Rule(
        good,
        bulk=timed,
        df=None if what.kind == "errors" else min(BATCHES) - 1,
        least=policy.min_effective if timed else 0.0,
    )
    effect = 1.0 if question.pilot is None else question.pilot.effects.get(bar.key, 1.0)
    loaded = what.kind != "errors" and not question.scenario.is_closed_loop
    floor = policy.min_under_load if loaded else min(BATCHES)
    least = max(floor, _fewest(rule, policy, question))
    has = question.asked.requests
    samples: int | None = None
    needed, curve = least, ()
    if design is not None:
        aim = float(1 - design if failing else design)
        needed = math.ceil(rehearsal.needed(rule, aim, policy, question.producer_risk) * effect)
        needed = max(floor, needed)
        n = needed if has is None else has
        shares = _around(good, aim)
        chances = [
            0.0 if n < floor else rehearsal.acceptance(rule, n / effect, share, policy) for share in shares
        ]
        curve = tuple(Point(1 - s if failing else s, c) for s, c in zip(shares, chances, strict=True))
        if bar.limits is not None and bar.limits.correct:
            samples = _pieces(_plan(good, aim, policy, question).n, question, policy)
    return _judged(
        BarPlan(
            bar,
            State.DECIDES,
            Numbers(requests=needed, samples=samples),
            Numbers(requests=has, samples=None if samples is None else question.asked.samples),
            question.sample.noun,
            least,
            None if design is None else float(design),
            effect,
            curve,
        )
    )


def _of_cost(bar: Bar, question: _Question) -> BarPlan:
    """Plan a cost: exact where price and rate are declared, otherwise a mean over launches or samples."""
    price = None if question.candidate is None else question.candidate.price
    if price is None:
        return BarPlan(bar, State.NOT_PLANNED, note="the price is not known before the run")
    if isinstance(price, TokenPrice):
        needs, has = Numbers(samples=MINIMUM_ITEMS), Numbers(samples=question.asked.samples)
        note = "how much the tokens of a request vary is not known before the run"
        return _judged(BarPlan(bar, State.DECIDES, needs, has, least=MINIMUM_ITEMS, note=note))
    rate = question.scenario.qps
    if isinstance(price, HourlyPrice) and rate is None:
        return _by_launches(bar, question)
    assert isinstance(price, HourlyPrice | RequestPrice), "there are three kinds of price"
    if bar.metric.name != COST.name:
        return BarPlan(bar, State.NOT_PLANNED, note="it hangs on the share of good answers")
    amount = price.per_request(rate or 0) if isinstance(price, HourlyPrice) else price.per_request()
    met = "met" if amount <= bar.limit.base else "not met"
    value = Quantity(amount, price.currency)
    return BarPlan(bar, State.FIXED, note=f"{met} by the price alone", fixed=value)


def _by_launches(bar: Bar, question: _Question) -> BarPlan:
    needs, has = Numbers(launches=MINIMUM_LAUNCHES), Numbers(launches=question.scenario.launches)
    note = "how much launches differ is not known before the run"
    return _judged(BarPlan(bar, State.DECIDES, needs, has, least=MINIMUM_LAUNCHES, note=note))


def _judged(row: BarPlan) -> BarPlan:
    """Hold what is there against what is needed. Without a design value it is the floor that is needed."""
    state = State.DECIDES if row.curve else State.NOT_PLANNED
    for need, has in zip(row.needs, row.has, strict=True):
        if need is not None and has is not None and has < need:
            state = State.TOO_FEW
        elif need is not None and has is None and state is not State.TOO_FEW:
            state = State.NOT_KNOWN
    note = row.note
    if state is State.NOT_PLANNED and not note:
        note = "it has no `design=`"
    return replace(row, state=state, note=note)
