"""Cost per request: the price is declared and exact; what it buys is measured."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from pytest_procure.candidates import HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.driver.log import Int64
from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Exact, Means, Measurement, unmeasurable
from .metric import Metric
from .throughput import MINIMUM_LAUNCHES, rates

#: Costs by the token vary with the item; fewer distinct items than this give no verdict.
MINIMUM_ITEMS = 20


def cost_per_request(what: Metric, run: Execution) -> Measurement:
    """Measure what one request costs under this scenario, in the currency of the candidate's price."""
    match run.candidate.price:
        case None:
            return unmeasurable(what, f"candidate `{run.candidate.name}` has no price")
        case RequestPrice() as price:
            return _exact(what, price.per_request(), price.currency, "as priced")
        case TokenPrice() as price:
            return _by_token(what, run, price)
        case HourlyPrice() as price if run.scenario.qps is not None:
            return _exact(what, price.per_request(run.scenario.qps), price.currency, "at the declared rate")
        case HourlyPrice() as price:
            return _by_rate(what, run, price)
        case other:
            return unmeasurable(what, f"a price of kind {type(other).__name__} has no cost per request")


def _exact(what: Metric, amount: Decimal, currency: str, label: str) -> Measurement:
    return Measurement(what, Quantity(amount, currency), 1, "price", Exact(amount, label))


def _by_rate(what: Metric, run: Execution, price: HourlyPrice) -> Measurement:
    """An hour's price over what an hour serves, at the utilisation that the buyer declared."""
    values = rates(run)
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


def _by_token(what: Metric, run: Execution, price: TokenPrice) -> Measurement:
    sent, received = _tokens(run, "input_tokens"), _tokens(run, "output_tokens")
    if sent is None or received is None:
        return unmeasurable(what, "the backend reports no tokens, and the price is by the token")
    each = np.array([float(price.per_request(int(i), int(o))) for i, o in zip(sent, received, strict=True)])
    items = run.items
    by_item = np.array([each[items == item].mean() for item in np.unique(items)])
    return Measurement(
        what,
        Quantity.of(round(float(by_item.mean()), 15), price.currency),
        len(by_item),
        "items",
        Means(by_item, "items", MINIMUM_ITEMS),
    )


def _tokens(run: Execution, column: str) -> Int64 | None:
    columns = [getattr(log, column) for log in run.logs]
    if any(values is None or (values < 0).any() for values in columns):
        return None
    return np.concatenate(columns)
