"""A plan: what each bar needs, what the marks give, what that takes, and which number to change to what.

requirement, candidate, slice ──► plan ┬─ a row a bar: needs, has, and whether that decides
                                       ├─ effort: requests, time, money
                                       └─ changes: what the marks would have to say instead

Nothing is measured here. Where a pilot ran, its design effects, times and tokens take the place of guesses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from pytest_procure.candidates import Candidate, HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.decision import Policy
from pytest_procure.evidence.parts import Requirement
from pytest_procure.scenarios import rate
from pytest_procure.units import Quantity

from .needs import BarPlan, Question, Sample, State, needs_of
from .pilots import Pilot


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run takes. None: not known. An offer without a price has no cost.

    `at_most`: it may end earlier (`stopping=`).
    """

    requests: int | None = None
    seconds: Decimal | None = None
    cost: Quantity | None = None
    priced: bool = False
    at_most: bool = False


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


def plan(  # noqa: PLR0913 - what is asked, of whom, at which risks, and what is known
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
    question = Question(scenario, sample, price, policy, producer_risk, pilot)
    rows = tuple(needs_of(bar, question) for bar in requirement.bars)
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
        effort=_effort(question, each, scenario.launches),
        after=_effort(question, max(most, each or 0), launches) if changes else None,
        changes=changes,
        limiting=rows[wanted.index(most)].bar.metric.title if several else "",
        accepts=max(0.0, 1.0 - math.fsum(missed)) if several else None,
        pilot=pilot,
    )


def _items(row: BarPlan, sample: Sample) -> int:
    """Items of a slice that hold as many pieces of evidence as a bar needs."""
    needed = row.needs.samples or 0
    if sample.noun == "clusters" and sample.items and sample.clusters:
        return math.ceil(needed * sample.items / sample.clusters)
    return needed


def _queries(row: BarPlan, question: Question, launches: int) -> int:
    """Queries of a launch that a bar needs."""
    items = math.ceil(_items(row, question.sample) / question.scenario.samples_per_query)
    return max(items, math.ceil((row.needs.requests or 0) / launches))


def _more_samples(items: int, sample: Sample) -> list[str]:
    """Say where a slice of so many samples comes from; nothing where it has them."""
    if sample.items is None or items <= sample.items:
        return []
    if not sample.marked:
        return [f"the slice has all {sample.items:,} samples there are; label {items:,}"]
    change = f"in `dataset_slice`, change `n={sample.items}` to `n={items}`"
    if sample.most is not None and items > sample.most:
        change += f"; the dataset has {sample.most:,} samples, so it takes more labelled ones"
    return [change]


def _changes(rows: Sequence[BarPlan], question: Question, most: int, launches: int) -> list[str]:
    """Say which number of which mark to change to what."""
    scenario, sample, each = question.scenario, question.sample, question.per_launch
    told: list[str] = []
    items = max((_items(row, sample) for row in rows), default=0)
    told += _more_samples(items, sample)
    if launches > scenario.launches:
        told.append(f"in `scenario`, change `launches={scenario.launches}` to `launches={launches}`")
    if most <= (each or 0):
        return told
    declared = rate(scenario)
    if scenario.trace is not None:
        told.append(f"in `scenario`, replay a trace of {most:,} arrivals or more")
    elif scenario.count is not None:
        told.append(f"in `scenario`, change `count={scenario.count}` to `count={-(-most // scenario.turns)}`")
    elif declared is not None:
        needed = (most / Decimal(str(declared))).to_integral_value(ROUND_CEILING)
        told.append(f"in `scenario`, change `duration='{scenario.duration}'` to `duration='{needed} s'`")
    elif scenario.duration is not None:
        told.append(f"in `scenario`, change `duration='{scenario.duration}'` to `count={most}`")
    elif sample.items is None or most > math.ceil(items / scenario.samples_per_query):
        told.append(f"in `scenario`, add `count={most}`")
    return told


def _effort(question: Question, per_launch: int | None, launches: int) -> Effort:
    """Give what so many queries take: the traffic alone, without loading and warming up."""
    requests = None if per_launch is None else per_launch * launches
    seconds = _seconds(question, per_launch, launches)
    return Effort(
        requests,
        seconds,
        _cost(question, requests, seconds),
        priced=question.price is not None,
        at_most=question.scenario.stopping != "fixed",
    )


def _seconds(question: Question, per_launch: int | None, launches: int) -> Decimal | None:
    scenario = question.scenario
    if per_launch is None:
        return None if scenario.duration is None else scenario.duration.base * launches
    declared = rate(scenario)
    if declared is not None:
        return per_launch / Decimal(str(declared))
    if question.pilot is not None and question.pilot.seconds is not None:
        return per_launch * launches * question.pilot.seconds
    return None


def _cost(question: Question, requests: int | None, seconds: Decimal | None) -> Quantity | None:
    amount: Decimal | None = None
    if isinstance(question.price, HourlyPrice):
        amount = None if seconds is None else question.price.amount * seconds / 3600
    elif requests is not None:
        each = question.price.per_request() if isinstance(question.price, RequestPrice) else None
        if isinstance(question.price, TokenPrice) and question.pilot is not None:
            each = question.pilot.cost
        amount = None if each is None else each * requests
    return None if amount is None or question.price is None else Quantity(amount, question.price.currency)
