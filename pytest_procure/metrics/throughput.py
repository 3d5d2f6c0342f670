"""Throughput: good answers a second, or their tokens, one value a launch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Means, Measurement, unmeasurable
from .metric import TOKENS, Metric
from .tokens import output_tokens

#: A capacity claim rests on this many fresh launches: within one, all samples share its luck.
MINIMUM_LAUNCHES = 5


def rates(run: Execution) -> NDArray[np.float64]:
    """`(launches,)` good samples a second, from the first scheduled time to the last completion."""
    return np.array(
        [
            int(log.ok.sum()) * log.samples_per_query / (log.window_ns / 1e9) if log.window_ns else 0.0
            for log in run.logs
        ]
    )


def rates_of(what: Metric, run: Execution) -> NDArray[np.float64] | None:
    """`(launches,)` good samples a second, or tokens of good answers; None where tokens are not known."""
    if what.name != TOKENS.name:
        return rates(run)
    tokens = [output_tokens(log) for log in run.logs]
    if any(each is None for each in tokens):
        return None
    good = [
        each[log.by_sample(log.ok)] for each, log in zip(tokens, run.logs, strict=True) if each is not None
    ]
    if any(map(len, good)) and not any(each.any() for each in good):  # embeddings have none
        return None
    return np.array(
        [
            int(each.sum()) / (log.window_ns / 1e9) if log.window_ns else 0.0
            for each, log in zip(good, run.logs, strict=True)
        ]
    )


def throughput(what: Metric, run: Execution) -> Measurement:
    """Measure samples or tokens a second. Not where the rate is declared: there it is a condition."""
    if run.scenario.rate_is_declared:
        return unmeasurable(what, "at a declared rate the rate is a condition, not a result")
    if run.blocks:
        return unmeasurable(what, "the blocks of a comparison are no fresh launches")
    values = rates_of(what, run)
    if values is None:
        return unmeasurable(what, "the backend reports no tokens")
    unit = "1/s" if what.name != TOKENS.name else "tokens/s"
    return Measurement(
        what,
        Quantity.of(round(float(values.mean()), 6), unit),
        len(values),
        "launches",
        Means(values, "launches", MINIMUM_LAUNCHES),
    )
