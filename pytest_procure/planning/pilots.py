"""A pilot: a short run that is not judged, and what a plan can learn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from pytest_procure.bars import Bar
from pytest_procure.candidates import TokenPrice
from pytest_procure.decision import Policy, decide
from pytest_procure.metrics import Execution, Measurement, measure
from pytest_procure.metrics.failures import serial_effect
from pytest_procure.metrics.goodput import goodput
from pytest_procure.metrics.measurement import Goodput, Latencies, Share
from pytest_procure.metrics.metric import COST
from pytest_procure.stats import ALL_APART
from pytest_procure.verdict import policy_of


@dataclass(frozen=True, slots=True)
class Pilot:
    """What was seen. `effects`: the design effect by the bar's key, where the run was long enough to tell.

    `seconds` is of a query, where the candidate sets the pace; `cost` of a request, where tokens make it.
    """

    requests: int
    failed: int = 0
    effects: Mapping[tuple[object, ...], float] = field(default_factory=dict)
    seconds: Decimal | None = None
    cost: Decimal | None = None
    stopped: str = ""


def _rows_alone(measured: Measurement, run: Execution) -> Measurement:
    """Leave out how often samples were asked: the plan counts that itself, for the run that it is of."""
    basis = measured.basis
    match basis:
        case Latencies():
            basis = replace(basis, alike=ALL_APART)
        case Goodput(share=share):
            basis = replace(basis, share=Share(share.total, share.n))
        case Share(total=total, n=n):
            basis = Share(total, n, *serial_effect(run.failed))
    return replace(measured, basis=basis)


def pilot_of(run: Execution, bars: Sequence[Bar], policy: Policy) -> Pilot:
    """Read a run. Under load, fewer requests than a verdict takes say nothing of rows: no design effect."""
    scenario = run.scenario
    effects = {}
    for bar in bars if not scenario.is_under_load or run.requests >= policy.min_under_load else ():
        if (
            bar.metric.kind in {"latency", "goodput", "errors"}
            and bar.against is None
            and not bar.metric.stage
        ):
            measured = measure(bar.metric, run) if bar.limits is None else goodput(run, bar.limits)
            if measured.estimate is not None:
                decision = decide(_rows_alone(measured, run), bar.sense, bar.limit, policy_of(bar, policy))
                effects[bar.key] = decision.design_effect
    window = max(1, sum(log.window_ns for log in run.logs))
    cost = measure(COST, run).estimate if isinstance(run.candidate.price, TokenPrice) else None
    return Pilot(
        requests=run.requests,
        failed=int(run.failed.sum()),
        effects=effects,
        seconds=None if scenario.rate_is_declared else Decimal(window) / 10**9 / max(1, run.requests),
        cost=None if cost is None else cost.number,
        stopped=run.stopped,
    )
