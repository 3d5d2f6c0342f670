"""Quality: scores of the answers of the performance run itself, and their share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pytest_procure.scenarios import queries
from pytest_procure.stats import Effect, exact_sum, worst_effect
from pytest_procure.units import Quantity

from .corpus import corpus
from .execution import Execution
from .failures import serial_effect
from .likeness import alike_items
from .measurement import Anytime, Curtailed, Measurement, Share, unmeasurable
from .metric import Metric
from .scoring import scoring_fault
from .weighting import weighted_share, weighting_fault


def quality(what: Metric, run: Execution) -> Measurement:
    """Measure the mean score. Samples of one item, or of one cluster, are one piece of evidence."""
    if what.of_corpus:
        return corpus(what, run)
    scores = run.scores.get(what.name)
    if scores is None:
        known = ", ".join(sorted(run.scores)) or "none"
        return unmeasurable(
            what, f"dataset `{run.slice.dataset.name}` has no scorer for it (it has: {known})"
        )
    if len(scores) == 0:
        return unmeasurable(what, "no request was made")
    fixed = run.scenario.stopping == "fixed"
    if reason := scoring_fault(what.name, run) or (weighting_fault(run) if fixed else ""):
        return unmeasurable(what, reason)
    if not fixed:
        return _looked_at(what, scores, run)
    basis = share_of(scores, run.items, run)
    return Measurement(what, Quantity.of(round(basis.total / basis.n, 12)), len(scores), "samples", basis)


def _looked_at(what: Metric, scores: NDArray[np.float64], run: Execution) -> Measurement:
    """Measure a run that was looked at while it went on."""
    right, n = exact_sum(scores), len(scores)
    planned = queries(run.scenario, len(run.slice))
    basis: Curtailed | Anytime = Curtailed(right, n, planned, *serial_effect(run.failed))
    if run.scenario.stopping == "anytime":
        if not np.isin(scores, (0, 1)).all():
            return unmeasurable(what, 'graded scores have no bounds for `stopping="anytime"`')
        if run.failed.any():
            return unmeasurable(what, 'failures come in rows; `stopping="anytime"` has no bounds for that')
        basis = Anytime(int(right), n)
    return Measurement(what, Quantity.of(round(right / n, 12)), n, "samples", basis)


def share_of(
    scores: NDArray[np.float64],
    items: NDArray[np.int64],
    run: Execution,
    failed: NDArray[np.bool_] | None = None,
) -> Share:
    """Give the share with its design effect; `items`: which item of the slice each score is of.

    `failed`: the requests, or samples, in send order that had no answer; by default those of the run.
    """
    missing = run.failed if failed is None else failed
    if run.slice.weights is not None:
        return weighted_share(scores, items, run.slice, missing)
    # Failures under load come in rows; where there are some, the answers are no independent draws either.
    # A query that fails takes all its samples along.
    rows = serial_effect(np.repeat(missing, len(scores) // len(missing)))
    worst = worst_effect(len(scores), alike_items(items, run.slice).effect(scores), Effect(*rows))
    return Share(exact_sum(scores), len(scores), *worst)


def by_items(measured: Measurement, run: Execution) -> Measurement:
    """Add how many different samples a value is of, and how many the dataset has; no run has more."""
    return replace(measured, items=int(np.count_nonzero(np.bincount(run.items))), most=run.slice.most)
