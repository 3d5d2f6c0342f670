"""Whether a measurement shows that a bar is met, and whether it shows the opposite.

One function a basis. None of them uses randomness, the clock or the locale; bounds are rounded outward to six
decimals before they are compared, so the same log gives the same decision on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from typing import Any

from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import (
    Anytime,
    Carried,
    Confirmed,
    Contrast,
    Corpus,
    CostOfShare,
    Curtailed,
    Exact,
    Goodput,
    Interval,
    Latencies,
    Means,
    Measurement,
    Pairs,
    Ratio,
    Share,
    Unmeasurable,
)
from pytest_procure.units import Quantity

from .comparisons import contrast, pairs
from .latencies import latencies
from .means import carried, corpus, means, ratio
from .policy import Decision, Policy, undecided
from .shares import anytime, cost_of_share, curtailed, goodput, share

_CONTEXT = Context(prec=50)

__all__ = ["Decision", "Policy", "decide"]


def decide(measured: Measurement, sense: Sense, limit: Quantity, policy: Policy) -> Decision:
    """Decide one bar on one measurement. `limit` has the measurement's dimension."""
    with localcontext(_CONTEXT):  # a caller's decimal settings must not move a verdict
        unit = measured.estimate.unit if measured.estimate is not None else limit.unit
        return _BY_BASIS[type(measured.basis)](measured.basis, sense, limit.to(unit), policy)


def _confirmed(basis: Confirmed, sense: Sense, bar: Decimal, _: Policy) -> Decision:
    """Accept up to what was shown; that a candidate sustains no more is never shown, so nothing rejects."""
    if basis.unshown:
        return undecided(basis.unshown)
    n, why = float(basis.launches), ""
    if basis.launches < basis.minimum:
        why = f"{basis.launches} launch(es) are too few for a claim of capacity; it takes {basis.minimum}"
    elif sense == "at most":
        why = "a fresh run shows what is sustained at least, never at most"
    elif basis.value < bar:
        why = "no higher rate was confirmed"
    return Decision(accept=not why, reject_p=None, low=basis.value, n_effective=n, blocked=why)


def _interval(basis: Interval, sense: Sense, bar: Decimal, _: Policy) -> Decision:
    """Decide by the ends that the author gave, taken at their word."""
    low, high = basis.low, basis.high
    meets, misses = (low >= bar, high < bar) if sense == "at least" else (high <= bar, low > bar)
    return Decision(meets, float(not misses), low, high, 1.0, exact=True)


def _exact(basis: Exact, sense: Sense, bar: Decimal, _: Policy) -> Decision:
    meets = basis.value >= bar if sense == "at least" else basis.value <= bar
    return Decision(meets, float(meets), n_effective=1.0, exact=True)


def _unmeasurable(basis: Unmeasurable, _: Sense, __: Decimal, ___: Policy) -> Decision:
    return undecided(basis.reason)


#: A bar arrives in the unit of the measurement's estimate: shares of 1, ns, the price's currency.
_BY_BASIS: dict[type, Callable[[Any, Sense, Decimal, Policy], Decision]] = {
    Share: share,
    Curtailed: curtailed,
    Anytime: anytime,
    Latencies: latencies,
    Means: means,
    Corpus: corpus,
    Goodput: goodput,
    CostOfShare: cost_of_share,
    Ratio: ratio,
    Contrast: contrast,
    Pairs: pairs,
    Confirmed: _confirmed,
    Carried: carried,
    Interval: _interval,
    Exact: _exact,
    Unmeasurable: _unmeasurable,
}
