"""What a bar needs, and whether what the marks give is enough.

Share of samples      independent ones have a formula; a sample asked twice, or a cluster, counts about once
Share of requests     latencies and failures: the rule is rehearsed
Mean over launches    a floor only: how much launches differ is not known before a run
Price                 nothing: it is exact
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from pytest_procure import stats
from pytest_procure.bars import Bar, Sense
from pytest_procure.candidates import HourlyPrice, Price, RequestPrice, TokenPrice
from pytest_procure.decision import Policy, decide
from pytest_procure.errors import DomainError
from pytest_procure.metrics import Measurement
from pytest_procure.metrics.cost import MINIMUM_ITEMS
from pytest_procure.metrics.measurement import Anytime, Share
from pytest_procure.metrics.metric import ACCURACY, COST, Kind
from pytest_procure.metrics.throughput import MINIMUM_LAUNCHES
from pytest_procure.scenarios import Scenario, queries, rate
from pytest_procure.stats.effects import BATCHES
from pytest_procure.units import Quantity
from pytest_procure.verdict import policy_of

from . import rehearsal
from .pilots import Pilot


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
    `most`: how many items the dataset has, where that is known.
    """

    items: int | None
    clusters: int | None = None
    marked: bool = False
    most: int | None = None

    @property
    def noun(self) -> str:
        """What one piece of evidence is."""
        return "samples" if self.clusters in {None, self.items} else "clusters"


#: Nothing asked, or nothing given.
NOTHING = Numbers()


@dataclass(frozen=True, slots=True)
class BarPlan:
    """What one bar needs and has. With fewer than `least` nobody is accepted. `note`: why there is no more.

    `curve`: the operating characteristic at what the marks give, or at what is needed where that is not
    known; its last point is the design value. `fixed`: a value that no run changes.
    """

    bar: Bar
    state: State
    needs: Numbers = NOTHING
    has: Numbers = NOTHING
    noun: str = "samples"
    least: int | None = None
    design: float | None = None
    design_effect: float | None = None  # of the pilot
    curve: tuple[Point, ...] = ()
    fixed: Quantity | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Question:
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
        return self.repeats_of(asked.requests or 0, asked.samples)

    def repeats_of(self, requests: int, samples: int | None) -> float:
        """Give how often a piece of evidence is asked by so many requests; at least once."""
        return max(1.0, requests * self.scenario.samples_per_query / samples) if samples else 1.0

    def size(self, bar: float, design: float, policy: Policy) -> stats.SharePlan:
        """Plan for independent pieces of evidence."""
        return stats.plan_share(
            bar, design, consumer_risk=policy.consumer_risk, producer_risk=self.producer_risk
        )


def needs_of(bar: Bar, question: Question) -> BarPlan:
    """Plan one bar."""
    if bar.against is not None:
        why = f"it hangs on how {bar.against.name} does on the same samples"
        return BarPlan(bar, State.NOT_PLANNED, note=why)
    if bar.metric.stage or bar.metric.kind not in _BY_KIND:
        return BarPlan(bar, State.NOT_PLANNED, note="nothing is known of it before a run")
    try:
        return _BY_KIND[bar.metric.kind](bar, question)
    except DomainError as error:  # the design value is so close to the bar that no run tells them apart
        return BarPlan(bar, State.TOO_FEW, note=str(error))


def _by_samples(bar: Bar, question: Question) -> BarPlan:
    """Plan a share of independent samples, each of which may be asked several times."""
    design = None if bar.design is None else float(bar.design.base)
    least = _samples(bar, 1.0, question)
    needed, has = least if design is None else _samples(bar, design, question), question.asked.samples
    row = BarPlan(bar, State.NOT_PLANNED, Numbers(samples=needed), Numbers(samples=has), least=least)
    if design is None:
        return _judged(replace(row, noun=question.sample.noun))
    shares = _around(float(bar.limit.base), design)
    chances = _chances(
        bar.limit,
        bar.sense,
        needed if has is None else has,
        shares,
        question,
        policy_of(bar, question.policy),
    )
    return _judged(
        replace(row, noun=question.sample.noun, design=design, curve=tuple(map(Point, shares, chances)))
    )


def _samples(bar: Bar, design: float, question: Question) -> int:
    """Give the fewest pieces of evidence that accept `design` with 1 - producer's risk."""
    policy = policy_of(bar, question.policy)
    n = question.size(float(bar.limit.base), design, policy).n
    if question.scenario.stopping != "anytime":
        return _pieces(n, question.repeats, policy)
    few, target = n, 1.0 - question.producer_risk  # looking more often takes more

    def enough(n: int) -> bool:
        return _chances(bar.limit, bar.sense, n, [design], question, policy)[0] >= target

    while not enough(n):
        few, n = n, n * 2
    while n - few > 1:
        middle = (few + n) // 2
        few, n = (few, middle) if enough(middle) else (middle, n)
    return n


def _chances(  # noqa: PLR0913, PLR0917 - a bar on a share, the true shares, and what is asked at which risks
    limit: Quantity, sense: Sense, pieces: int, shares: list[float], question: Question, policy: Policy
) -> list[float]:
    """Let the decision rule say how many pieces of evidence may be bad; the rest is the binomial law."""
    n = max(pieces, round(pieces * question.repeats))

    def accepted(bad: int) -> bool:
        basis: Share | Anytime = Share(n * (1.0 - bad / pieces), n)
        if question.scenario.stopping == "anytime":
            basis = Anytime(pieces - bad, pieces)
        elif n > pieces:
            effect = _repeat_effect(pieces, n)
            basis = Share(n * (1.0 - bad / pieces), n, effect, max(1, pieces - 1), pieces)
        measured = Measurement(ACCURACY, Quantity.of(1 - bad / pieces), n, "samples", basis)
        return decide(measured, sense, limit, policy).accept

    if not accepted(0):
        return [0.0] * len(shares)
    good, bad = 0, pieces
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if accepted(middle) else (good, middle)
    curve = stats.operating_characteristic(stats.SharePlan(pieces, good), shares)
    return [float(chance) for chance in curve]


def _pieces(n: int, repeats: float, policy: Policy) -> int:
    """Give how many pieces of evidence are worth `n` independent ones when each is asked several times."""
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


def _by_requests(bar: Bar, question: Question) -> BarPlan:
    """Plan a share of requests that may come in rows: failures, and requests within a limit."""
    policy, errors = policy_of(bar, question.policy), bar.metric.kind == "errors"
    good, design = _as_good(bar)
    timed = bar.metric.kind == "latency" or (bar.limits is not None and bar.limits.latency is not None)
    spread = None if errors else min(BATCHES) - 1
    rule = rehearsal.Rule(good, bulk=timed, df=spread, least=policy.min_effective if timed else 0.0)
    loaded = not errors and question.scenario.is_under_load
    floor = policy.min_under_load if loaded else min(BATCHES)
    least = max(floor, rehearsal.least(rule, policy))
    row = BarPlan(bar, State.NOT_PLANNED, Numbers(least), Numbers(question.asked.requests), least=least)
    row = replace(row, noun=question.sample.noun)
    if design is None:
        return _judged(_with_pieces(row, 1.0, question, policy))
    measured = None if question.pilot is None else question.pilot.effects.get(bar.key)
    effect = measured or 1.0
    needed = max(least, math.ceil(rehearsal.needed(rule, design, policy, question.producer_risk) * effect))
    n = needed if row.has.requests is None else row.has.requests
    shares = _around(good, design)
    chances = [
        rehearsal.acceptance(rule, n / effect, share, policy) if n >= floor else 0.0 for share in shares
    ]
    row = _with_pieces(replace(row, needs=Numbers(needed)), design, question, policy)
    if question.repeats > 1.0 and row.has.samples:
        limit = Quantity.of(str(good))
        alike = _chances(limit, "at least", row.has.samples, shares, question, policy)
        chances = list(map(min, chances, alike))
    told = [round(1.0 - share, 12) if errors else share for share in shares]
    row = replace(row, design=told[-1], curve=tuple(map(Point, told, chances)))
    return _judged(replace(row, design_effect=measured, note=_caveat(bar, effect, question.pilot, policy)))


def _with_pieces(row: BarPlan, design: float, question: Question, policy: Policy) -> BarPlan:
    """Add the samples that it takes where requests ask some more than once.

    What a sample does when it is asked again, it may do each time: fail, take long, be answered wrongly.
    """
    needed, asked = row.needs.requests or 0, question.asked
    known = question.sample.clusters or question.sample.items
    repeats = question.repeats_of(max(needed, asked.requests or 0), known)
    right = row.bar.limits is not None and bool(row.bar.limits.correct)
    if repeats <= 1.0 and not right:
        return row
    good, _ = _as_good(row.bar)
    pieces = _pieces(question.size(good, design, policy).n, repeats, policy)
    return replace(row, needs=Numbers(needed, pieces), has=Numbers(asked.requests, asked.samples))


def _as_good(bar: Bar) -> tuple[float, float | None]:
    """Give bar and design value as shares of good requests; a percentile aims half-way to 1 by default."""
    limit, design = bar.limit.base, None if bar.design is None else bar.design.base
    if bar.metric.kind == "latency":
        limit = bar.metric.q
        if bar.design is None or bar.design.dimension != "number":
            design = (1 + limit) / 2
    if bar.metric.kind == "errors":
        limit, design = 1 - limit, None if design is None else 1 - design
    return float(limit), None if design is None else float(design)


def _caveat(bar: Bar, effect: float, pilot: Pilot | None, policy: Policy) -> str:
    """Say what a plan of requests does not rest on."""
    if pilot is not None and bar.key in pilot.effects and pilot.requests < policy.min_effective * effect:
        longer = math.ceil(policy.min_effective * effect)
        return f"the pilot was short: one of {longer:,} requests or more may find a larger design effect"
    if bar.metric.kind == "latency" and bar.design is not None and bar.design.dimension != "number":
        return f"`design={bar.design}` says nothing of the share within the limit, so half-way to 1 stands in"
    return ""


def _by_launches(bar: Bar, question: Question) -> BarPlan:
    needs, has = Numbers(launches=MINIMUM_LAUNCHES), Numbers(launches=question.scenario.launches)
    note = "how much launches differ is not known before a run"
    return _judged(BarPlan(bar, State.NOT_PLANNED, needs, has, least=MINIMUM_LAUNCHES, note=note))


def _of_cost(bar: Bar, question: Question) -> BarPlan:
    """Plan a cost: exact where price and rate are declared, otherwise a mean over launches or samples."""
    price, declared = question.price, rate(question.scenario)
    if isinstance(price, TokenPrice):
        needs, has = Numbers(samples=MINIMUM_ITEMS), Numbers(samples=question.asked.samples)
        note = "how much the tokens of a request vary is not known before a run"
        return _judged(BarPlan(bar, State.NOT_PLANNED, needs, has, least=MINIMUM_ITEMS, note=note))
    if isinstance(price, HourlyPrice) and declared is not None:
        amount = price.per_request(declared)
    elif isinstance(price, RequestPrice):
        amount = price.per_request()
    elif price is None:
        return BarPlan(bar, State.NOT_PLANNED, note="the price is not known before a run")
    else:
        return _by_launches(bar, question)
    if bar.metric.name != COST.name:
        return BarPlan(bar, State.NOT_PLANNED, note="it hangs on the share of good answers")
    note = "met" if amount <= bar.limit.base else "not met"
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


_BY_KIND: dict[Kind, Callable[[Bar, Question], BarPlan]] = {
    "quality": _by_samples,
    "latency": _by_requests,
    "goodput": _by_requests,
    "errors": _by_requests,
    "throughput": _by_launches,
    "energy": _by_launches,
    "cost": _of_cost,
}
