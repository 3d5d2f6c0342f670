"""Two candidates on the same items: their ratio or difference, paired, from interleaved blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.stats import percentile
from pytest_procure.units import Quantity

from .execution import Execution
from .failures import serial_effect
from .latency import observed
from .likeness import widest
from .measurement import NEVER, Contrast, Exact, Measurement, Pairs, Rows, unmeasurable
from .metric import Metric
from .scoring import scoring_fault
from .throughput import rates_of
from .tokens import absent

#: Pairs of blocks in a comparison, and the fewest that give a verdict on speed.
BLOCKS = 10
MINIMUM_PAIRS = 5
#: Of its requests, the most that a reference may fail in: against one that is broken anything looks good.
SOUND = 0.01


@dataclass(frozen=True, slots=True)
class Against:
    """The candidate that another is held against; `margin` asks for a difference, otherwise it is a ratio."""

    name: str
    margin: bool = False


def against(what: Metric, other: Against) -> Metric:
    """Name a metric of a comparison: `accuracy / vendor A`, in its own words and dimension."""
    if other.margin:
        return replace(what, name=f"{what.name} - {other.name}", title=f"{what.title}, less {other.name}'s")
    return replace(
        what,
        name=f"{what.name} / {other.name}",
        title=f"{what.title}, as a share of {other.name}'s",
        dimension="number",
    )


def compare(what: Metric, other: Against, ours: Execution, theirs: Execution) -> Measurement:
    """Measure one metric of a candidate against another's. Both have answered the same items."""
    named = against(what, other)
    unsound = _unsound(ours, theirs)
    if unsound:
        return unmeasurable(named, unsound)
    if what.kind == "quality":
        return _scores(what, named, other, ours, theirs)
    if what.kind == "cost":
        return _costs(what, named, ours, theirs)
    mine, its = _per_block(what, ours), _per_block(what, theirs)
    if mine is None or its is None:
        return unmeasurable(named, f"`{what.name}` cannot be compared between candidates")
    if not all(((values > 0) & (values < NEVER)).all() for values in (mine, its)):
        return unmeasurable(named, "a block has too few good answers, so it has no ratio")
    logs = np.log(mine / its)
    ratio = Quantity.of(round(float(np.exp(logs.mean())), 12))
    return Measurement(named, ratio, len(logs), "pairs of blocks", Pairs(logs, MINIMUM_PAIRS))


def _unsound(ours: Execution, theirs: Execution) -> str:
    """Say why the two runs cannot be held against each other, or nothing."""
    for run in (ours, theirs):
        if any(launch.broken for launch in run.launches):
            # What was not asked any more would count for neither, and so hide the failure.
            hung = any(launch.hung for launch in run.launches)
            said = "a call of {} did not return" if hung else "the process of {} ended in the run"
            return said.format(f"`{run.candidate.name}`")
    failed = int(theirs.failed.sum())
    if failed > SOUND * theirs.requests:
        said = f"`{theirs.candidate.name}` failed in {failed:,} of {theirs.requests:,} requests"
        return f"{said}, so it is no measure for others"
    return ""


def _scores(what: Metric, named: Metric, other: Against, ours: Execution, theirs: Execution) -> Measurement:
    if what.name not in ours.scores or what.name not in theirs.scores:
        return unmeasurable(named, f"dataset `{ours.slice.dataset.name}` has no scorer for it")
    if reason := scoring_fault(what.name, ours) or scoring_fault(what.name, theirs):
        return unmeasurable(named, reason)
    mine, its = _by_item(what, ours), _by_item(what, theirs)
    asked = ~(np.isnan(mine) | np.isnan(its))
    if not asked.any():
        return unmeasurable(named, "no item was asked of both")
    mine, its = mine[asked], its[asked]
    if other.margin:
        value = (float(mine.mean()) - float(its.mean())) * 100
        estimate = Quantity.of(round(value, 10), "points")
    elif its.mean() == 0:
        return unmeasurable(named, f"{other.name} got nothing right, so there is no share of it")
    else:
        estimate = Quantity.of(round(float(mine.mean()) / float(its.mean()), 12))
    apart = mine - its
    clusters = widest(apart - apart.mean(), [labels[asked] for labels in ours.slice.groupings])
    rows = Rows(*serial_effect(ours.failed))
    basis = Contrast(mine, its, clusters, as_ratio=not other.margin, rows=rows)
    return Measurement(named, estimate, len(mine), "items", basis)


def _by_item(what: Metric, run: Execution) -> NDArray[np.float64]:
    """`(items,)` mean score of each item of the slice, NaN for one that was not asked."""
    count = np.bincount(run.items, minlength=len(run.slice))
    total = np.bincount(run.items, weights=run.scores[what.name], minlength=len(run.slice))
    result: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def _costs(what: Metric, named: Metric, ours: Execution, theirs: Execution) -> Measurement:
    from .cost import cost_per_request  # noqa: PLC0415 - cost builds on this package's other modules

    mine, its = cost_per_request(what, ours), cost_per_request(what, theirs)
    exact = isinstance(mine.basis, Exact) and isinstance(its.basis, Exact)
    if what.name != "cost_per_request" or not exact:
        return unmeasurable(named, "only costs at a declared rate, or by the request, can be compared")
    assert mine.estimate is not None, "what is exact has a value"
    assert its.estimate is not None, "the same"
    if mine.estimate.unit != its.estimate.unit:
        return unmeasurable(named, f"the prices are in {mine.estimate.unit} and {its.estimate.unit}")
    if its.estimate.number == 0:
        return unmeasurable(named, f"`{theirs.candidate.name}` costs nothing, so there is no share of it")
    ratio = Decimal(mine.estimate.number) / its.estimate.number
    return Measurement(named, Quantity(ratio), 1, "price", Exact(ratio, "at the declared prices"))


def _per_block(what: Metric, run: Execution) -> NDArray[np.float64] | None:
    """`(blocks,)` one value a block: a percentile, or good samples a second."""
    if what.kind == "throughput":
        return rates_of(what, run)
    if what.kind == "latency" and (what.family == "latency" or not any(map(absent, run.logs))):
        q = float(what.q)
        return np.array([percentile(observed(what, log), q, method="nearest-rank") for log in run.logs])
    return None
