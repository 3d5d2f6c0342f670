"""Cost per request: the price is declared and exact; what it buys is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.candidates import HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.driver.log import Int64
from pytest_procure.scenarios import rate
from pytest_procure.stats import exact_sum
from pytest_procure.units import Quantity

from .execution import Execution
from .failures import serial_effect
from .likeness import widest
from .measurement import CostOfShare, Exact, Means, Measurement, Ratio, Rows, Share, unmeasurable
from .metric import COST, COST_PER_ACCEPTED, COST_PER_CORRECT, Metric, metric
from .quality import quality
from .throughput import MINIMUM_LAUNCHES, rates

#: Costs by the token vary with the item; fewer distinct items than this give no verdict.
MINIMUM_ITEMS = 20
_NO_TOKENS = "the backend reports no tokens, or 0 for an answer that has some, and the price is by the token"
#: Which score makes an answer one that the cost is divided by.
SCORERS = {COST_PER_CORRECT.name: "accuracy", COST_PER_ACCEPTED.name: "quality.accepted"}


def cost_per_request(what: Metric, run: Execution) -> Measurement:
    """Measure what one request costs under this scenario, in the currency of the candidate's price.

    `cost_per_correct` and `cost_per_accepted` divide by the share of answers that score in `accuracy`, and in
    `quality.accepted`: what is not good is paid for, and asked again until it is.
    """
    price = run.candidate.price
    if price is None:
        return unmeasurable(what, f"candidate `{run.candidate.name}` has no price")
    good = None if what.name == COST.name else _good(what, run)
    if good is not None and not isinstance(good.basis, Share):
        return good
    if isinstance(price, TokenPrice):
        return _by_token(what, run, price, good)
    if isinstance(price, RequestPrice):
        return _fixed(what, price.per_request(), price.currency, "as priced", good)
    assert isinstance(price, HourlyPrice), "there are three kinds of price"
    declared = rate(run.scenario)
    if declared is None:
        return _by_rate(what, run, price, good)
    amount = price.per_request(declared)
    return _fixed(what, amount, price.currency, "at the declared rate", good)


def _good(what: Metric, run: Execution) -> Measurement:
    """Measure the share that a cost is divided by; not measurable where there is none."""
    good = quality(metric(SCORERS[what.name]), run)
    if isinstance(good.basis, Share) and good.basis.total == 0:
        return unmeasurable(what, f"no answer scored by `{SCORERS[what.name]}`, so none has a cost")
    return replace(good, metric=what)


def _fixed(what: Metric, amount: Decimal, currency: str, label: str, good: Measurement | None) -> Measurement:
    if good is None:
        return Measurement(what, Quantity(amount, currency), 1, "price", Exact(amount, label))
    assert isinstance(good.basis, Share), "the caller has checked"
    each = Quantity(amount * good.basis.n / Decimal(repr(good.basis.total)), currency)
    return Measurement(what, each, good.n, good.n_unit, CostOfShare(amount, good.basis))


def _by_rate(what: Metric, run: Execution, price: HourlyPrice, good: Measurement | None) -> Measurement:
    """An hour's price over what an hour serves, at the utilisation that the buyer declared."""
    values = rates(run)
    if run.blocks:
        return unmeasurable(what, "the blocks of a comparison are no fresh launches")
    if good is not None:
        values = values * _good_by_launch(what, run)
    mean = float(values.mean())
    if mean <= 0:
        return unmeasurable(what, "no request was answered, so none has a cost")
    an_hour = price.per_request(1)  # at one request a second
    return Measurement(
        what,
        Quantity.of(round(float(an_hour) / mean, 15), price.currency),
        len(values),
        "launches",
        Means(values, "launches", MINIMUM_LAUNCHES, inverse=an_hour),
    )


def _good_by_launch(what: Metric, run: Execution) -> NDArray[np.float64]:
    """`(launches,)` share of a launch's good samples that score."""
    scores = run.scores[SCORERS[what.name]]
    ends = np.cumsum([len(log.samples) for log in run.logs])[:-1]
    answered = [int(log.ok.sum()) * log.samples_per_query for log in run.logs]
    sums = [exact_sum(part) for part in np.split(scores, ends)]
    return np.array([total / n if n else 0.0 for total, n in zip(sums, answered, strict=True)])


def _by_token(what: Metric, run: Execution, price: TokenPrice, good: Measurement | None) -> Measurement:
    sent, received = _tokens(run, "input_tokens"), _tokens(run, "output_tokens")
    if sent is None or received is None:
        return unmeasurable(what, _without_tokens(run))
    cached = np.minimum(_cached(run), sent)
    asked = float(price.input) * (sent - cached) + float(price.cached_input) * cached
    each = (asked + float(price.output) * received) / price.per
    cost, of = _by_item(each, run), "clusters" if run.slice.groupings else "items"
    ways = [labels[np.unique(run.items)] for labels in run.slice.groupings]
    if good is not None:
        success = _by_item(run.scores[SCORERS[what.name]], run)
        ratio = float(cost.mean() / success.mean())
        labels = widest(cost - ratio * success, ways)
        rows = Rows(*serial_effect(run.failed))
        basis = Ratio(_by_cluster(cost, labels), _by_cluster(success, labels), of, rows)
        return Measurement(what, Quantity.of(round(ratio, 15), price.currency), len(cost), "items", basis)
    estimate = Quantity.of(round(float(cost.mean()), 15), price.currency)
    return Measurement(what, estimate, len(cost), "items", mean_cost(cost, ways))


def mean_cost(cost: NDArray[np.float64], ways: Sequence[NDArray[np.int64]]) -> Means:
    """Give the mean of costs, `(items,)`, over items or over clusters; large ones weigh more, as they do."""
    mean = float(cost.mean())
    values = mean + _by_cluster(cost - mean, widest(cost - mean, ways))
    return Means(values, "clusters" if ways else "items", MINIMUM_ITEMS)


def _cached(run: Execution) -> Int64:
    """`(samples,)` input tokens that are reported as read from a cache; 0 where none are."""
    reported = [log.cached_tokens if log.wire is None else log.wire.cached for log in run.logs]
    return np.concatenate(
        [
            np.zeros(len(log.samples), dtype=np.int64)
            if cached is None
            else np.maximum(cached.astype(np.int64), 0)
            for log, cached in zip(run.logs, reported, strict=True)
        ]
    )


def _by_item(values: NDArray[np.float64], run: Execution) -> NDArray[np.float64]:
    """`(items,)` mean of each item that was asked: an item asked twice is one piece of evidence."""
    _, place = np.unique(run.items, return_inverse=True)
    result: NDArray[np.float64] = np.bincount(place, weights=values) / np.bincount(place)
    return result


def _by_cluster(by_item: NDArray[np.float64], labels: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """`(clusters,)` sums of each cluster over the mean cluster's size; without clusters the items."""
    if labels is None:
        return by_item
    _, place = np.unique(labels, return_inverse=True)
    sums = np.bincount(place, weights=by_item).astype(np.float64)
    return sums * (len(sums) / len(by_item))


def _without_tokens(run: Execution) -> str:
    """Say why a price by the token comes to nothing."""
    silent = 0
    for log in run.logs:
        if log.input_tokens is None or log.output_tokens is None:
            return _NO_TOKENS
        unknown = (log.input_tokens < 0) | (log.output_tokens < 0)
        if (unknown & log.by_sample(log.ok)).any():
            return _NO_TOKENS
        silent += int(unknown.sum())
    return f"{silent:,} failed requests report no tokens, and what they were billed is not known"


def _tokens(run: Execution, column: str) -> Int64 | None:
    columns = [getattr(log, column) for log in run.logs]
    if any(values is None or (values < 0).any() for values in columns):
        return None
    return np.concatenate(columns)
