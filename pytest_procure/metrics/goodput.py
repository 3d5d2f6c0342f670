"""Goodput: the share of requests that meet every limit at once, which no product of shares tells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_procure.units import Quantity

from .execution import STOPPED, Execution
from .latency import request_latencies
from .likeness import alike_requests
from .measurement import Goodput, Measurement, Share, unmeasurable
from .metric import GOODPUT, Metric
from .quality import by_items, share_of
from .scoring import scoring_fault
from .weighting import weighting_fault


@dataclass(frozen=True, slots=True)
class Limits:
    """What each request has to meet, beside being answered: a time limit, a right answer, or both."""

    latency: Quantity | None = None
    correct: str = ""  # the scorer's metric; a request is right when all its samples score 1

    def __str__(self) -> str:
        told = [] if self.latency is None else [f"within {self.latency}"]
        return " and ".join([*told, *([f"right by `{self.correct}`"] if self.correct else [])])


def goodput_of(limits: Limits) -> Metric:
    """Name goodput by what it asks of each request."""
    return replace(GOODPUT, title=f"requests {limits}")


def goodput(run: Execution, limits: Limits) -> Measurement:
    """Measure the share of requests that meet all limits; failures meet none."""
    what = goodput_of(limits)
    if run.requests == 0 or run.scenario.stopping != "fixed":
        return unmeasurable(what, STOPPED if run.requests else "no request was made")
    if limits.latency is not None and not run.scenario.allows_latency:
        return unmeasurable(what, f"{run.scenario.name} has no latency: all samples are due at once")
    if limits.correct and limits.correct not in run.scores:
        return unmeasurable(what, f"dataset `{run.slice.dataset.name}` has no scorer `{limits.correct}`")
    if limits.correct and (reason := scoring_fault(limits.correct, run) or _unweighable(run)):
        return unmeasurable(what, reason)
    good = ~run.failed
    values = None if limits.latency is None else request_latencies(run)
    if values is not None and limits.latency is not None:
        good &= values <= limits.latency.ns
    if limits.correct:
        right = np.concatenate([[0], np.cumsum(run.scores[limits.correct] < 1)])
        ends = np.minimum(np.arange(1, len(good) + 1) * run.scenario.samples_per_query, len(right) - 1)
        good &= np.diff(right[np.concatenate([[0], ends])]) == 0
    share = _share(good, limits, run)
    limit = 0 if limits.latency is None else limits.latency.ns
    waits = run.scenario.allows_latency and run.scenario.is_under_load
    basis = Goodput(share, good, values, limit, under_load=waits)
    estimate = Quantity.of(round(share.total / share.n, 12))
    return by_items(Measurement(what, estimate, len(good), "requests", basis), run)


def _unweighable(run: Execution) -> str:
    if run.slice.weights is not None and run.scenario.samples_per_query > 1:
        return "a query of several samples has no share of production of its own"
    return weighting_fault(run)


def _share(good: NDArray[np.bool_], limits: Limits, run: Execution) -> Share:
    """Give the share of good requests with the design effect of what they ask."""
    if limits.correct and run.scenario.samples_per_query == 1:  # strata have their weights
        return share_of(good.astype(np.float64), run.items, run)
    return Share(float(good.sum()), len(good), *alike_requests(run).effect(good))
