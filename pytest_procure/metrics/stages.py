"""One stage of a pipeline: its latency, failures, quality and cost, over the requests that came to it.

What an earlier stage kept away is not this stage's. A request of which nobody knows how far it came (it was
never answered) counts as a failure of every stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.pipeline import Pipeline
from pytest_procure.backends.protocol import Passing
from pytest_procure.candidates import HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.driver.log import Int64, StageLog
from pytest_procure.stats import percentile
from pytest_procure.units import Quantity

from .cost import mean_cost
from .execution import Execution
from .failures import share_failed
from .likeness import alike_items
from .measurement import NEVER, Exact, Latencies, Measurement, unmeasurable
from .metric import COST, ERROR_RATE, Metric
from .quality import share_of
from .scoring import scoring_fault


@dataclass(frozen=True, slots=True)
class Columns:
    """A stage over all launches; columns are `(samples,)` in send order."""

    passing: NDArray[np.uint8]
    ns: Int64
    input_tokens: Int64
    output_tokens: Int64
    cached_tokens: Int64

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Came to the stage, as far as anybody knows."""
        result: NDArray[np.bool_] = self.passing != Passing.NOT_REACHED
        return result

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Came to it and was not answered."""
        result: NDArray[np.bool_] = self.reached & (self.passing != Passing.OK)
        return result


def stage_names(run: Execution) -> list[str]:
    """Name the stages that the run's answers have passed, in order; [] for no pipeline."""
    return list(dict.fromkeys(name for log in run.logs for name in log.stages))


def columns(run: Execution, name: str) -> Columns:
    """Join a stage's columns over all launches."""
    parts = [log.stages.get(name) or StageLog.empty(len(log.samples)) for log in run.logs]
    return Columns(
        np.concatenate([part.passing for part in parts]),
        np.concatenate([part.ns for part in parts]),
        np.concatenate([part.input_tokens for part in parts]),
        np.concatenate([part.output_tokens for part in parts]),
        np.concatenate([part.cached_tokens for part in parts]),
    )


def of_stage(what: Metric, run: Execution) -> Measurement:
    """Measure one metric of a stage."""
    names = stage_names(run)
    if what.stage not in names:
        known = ", ".join(names) or "none"
        return unmeasurable(
            what, f"candidate `{run.candidate.name}` passed no stage `{what.stage}` (it passed: {known})"
        )
    told = columns(run, what.stage)
    if not told.reached.any():
        return unmeasurable(what, "no request came to this stage")
    if what.kind == "latency":
        return _latency(what, run, told)
    if what.of_stage == ERROR_RATE.name:
        return _error_rate(what, run, told)
    if what.of_stage == COST.name:
        return _cost(what, run, told)
    return _quality(what, run, told)


def _latency(what: Metric, run: Execution, told: Columns) -> Measurement:
    """A percentile of the time of the stage's call; a failed one took longer than any limit."""
    values = np.where(told.failed, NEVER, told.ns)[told.reached]
    at = int(percentile(values, float(what.q), method="nearest-rank"))
    censored = at >= NEVER
    if censored:
        known = told.ns[told.failed & (told.ns >= 0)]
        if not len(known):
            return unmeasurable(what, "it falls among requests that were never answered")
        at = int(known.min())
    alike = alike_items(run.items[told.reached], run.slice)
    basis = Latencies(values, what.q, not run.scenario.is_closed_loop, alike)
    return Measurement(what, Quantity.of(at, "ns"), len(values), "requests", basis, censored)


def _error_rate(what: Metric, run: Execution, told: Columns) -> Measurement:
    return share_failed(what, told.failed[told.reached], alike_items(run.items[told.reached], run.slice))


def _quality(what: Metric, run: Execution, told: Columns) -> Measurement:
    """The mean score of what the stage gave, by labels of its own."""
    scores = run.stage_scores.get(what.stage)
    if scores is None:
        return unmeasurable(
            what, f"dataset `{run.slice.dataset.name}` has no labels for it; give it `stages=`"
        )
    kept = told.reached
    passed = int((kept & ~told.failed).sum())
    if reason := scoring_fault(what.name, run, answers=passed, of=int(kept.sum())):
        return unmeasurable(what, reason)
    basis = share_of(scores[kept], run.items[kept], run, told.failed[kept])
    estimate = Quantity.of(round(basis.total / basis.n, 12))
    return Measurement(what, estimate, int(kept.sum()), "samples", basis)


def is_priced_by_stage(run: Execution) -> bool:
    """Whether the offer is a pipeline with a price on every stage."""
    return isinstance(run.candidate.backend, Pipeline) and bool(run.candidate.backend.currency)


def sum_of_stages(what: Metric, run: Execution) -> Measurement:
    """Measure what a request costs in all stages together; a stage that it did not reach costs nothing."""
    declared = run.candidate.backend
    assert isinstance(declared, Pipeline), "the caller has looked"
    if not stage_names(run):
        return unmeasurable(what, "no request was answered, so nobody knows what it cost")
    whole = np.zeros(len(run.items))
    for name in declared.names:
        told = columns(run, name)
        each = _each(declared, name, run, told)
        if isinstance(each, str):
            return unmeasurable(what, each)
        whole += np.where(told.reached, each, 0.0)
    return _mean(what, run, whole, np.ones(len(whole), dtype=np.bool_), declared.currency)


def _cost(what: Metric, run: Execution, told: Columns) -> Measurement:
    declared = run.candidate.backend
    price = declared.stage(what.stage).price if isinstance(declared, Pipeline) else None
    if price is None:
        return unmeasurable(what, f"stage `{what.stage}` has no price; give its `Stage` a `price=`")
    if isinstance(price, RequestPrice):
        return _exact(what, price.per_request(), price.currency, "as priced")
    if isinstance(price, HourlyPrice) and run.scenario.qps is not None:
        return _exact(what, price.per_request(run.scenario.qps), price.currency, "at the declared rate")
    assert isinstance(declared, Pipeline), "it has a price"
    each = _each(declared, what.stage, run, told)
    if isinstance(each, str):
        return unmeasurable(what, each)
    return _mean(what, run, each, told.reached, price.currency)


def _each(declared: Pipeline, name: str, run: Execution, told: Columns) -> NDArray[np.float64] | str:
    """`(samples,)` what each costs in a stage that it reached; or why nobody knows."""
    price = declared.stage(name).price
    count = len(told.passing)
    if isinstance(price, RequestPrice):
        return np.full(count, float(price.per_request()))
    if isinstance(price, HourlyPrice):
        if run.scenario.qps is None:
            return "an hour's price is spread over a declared rate, and there is none"
        return np.full(count, float(price.per_request(run.scenario.qps)))
    assert isinstance(price, TokenPrice), "there are three kinds of price"
    counted = (told.input_tokens >= 0) & (told.output_tokens >= 0)
    if (told.reached & ~counted).any():
        return f"stage `{name}` does not report the tokens of each request"
    cached = np.clip(told.cached_tokens, 0, np.maximum(told.input_tokens, 0))
    asked = float(price.input) * (told.input_tokens - cached) + float(price.cached_input) * cached
    cost = asked + float(price.output) * told.output_tokens
    result: NDArray[np.float64] = cost / price.per
    return result


def _mean(
    what: Metric, run: Execution, each: NDArray[np.float64], kept: NDArray[np.bool_], currency: str
) -> Measurement:
    """The mean over items, or over clusters of them."""
    items, place = np.unique(run.items[kept], return_inverse=True)
    cost = np.bincount(place, weights=each[kept]) / np.bincount(place)
    basis = mean_cost(cost, [labels[items] for labels in run.slice.groupings])
    estimate = Quantity.of(round(float(cost.mean()), 15), currency)
    return Measurement(what, estimate, len(basis.values), basis.of, basis)


def _exact(what: Metric, amount: Decimal, currency: str, label: str) -> Measurement:
    return Measurement(what, Quantity(amount, currency), 1, "price", Exact(amount, label))
