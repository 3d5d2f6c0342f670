"""Failed requests: errors, time-outs, lost and empty answers, as a share of all that were scheduled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.stats import Alike, Effect, batch_design_effect, worst_effect
from pytest_procure.stats.effects import BATCHES
from pytest_procure.units import Quantity

from .execution import Execution
from .likeness import alike_requests
from .measurement import Exact, Measurement, Share, unmeasurable
from .metric import Metric


def serial_effect(failed: NDArray[np.bool_]) -> tuple[float, int | None]:
    """Measure how far failures stand in rows: (design effect, df); (1, None) where they need no allowance."""
    effect = batch_design_effect(failed) if len(failed) >= min(BATCHES) else None
    return (1.0, None) if effect is None or effect[0] <= 1.0 else effect


def error_rate(what: Metric, run: Execution) -> Measurement:
    """Measure the share of requests that failed.

    Failures come in rows, and what cannot be answered fails each time it is asked: the worse of the two
    gives the effective n.
    """
    failed = run.failed
    if len(failed) == 0:
        return unmeasurable(what, "no request was made")
    return share_failed(what, failed, alike_requests(run))


def share_failed(what: Metric, failed: NDArray[np.bool_], alike: Alike) -> Measurement:
    """Measure the share of these requests that failed, `(n,)` in send order."""
    worst = worst_effect(len(failed), alike.effect(failed), Effect(*serial_effect(failed)))
    basis = Share(float(failed.sum()), len(failed), *worst)
    return Measurement(what, Quantity.of(round(basis.total / basis.n, 12)), len(failed), "requests", basis)


def sustained(what: Metric, run: Execution) -> Measurement:
    """Measure which share of what was offered was answered before the drain time ended."""
    answered = sum(int(log.answered.sum()) for log in run.logs)
    if run.requests == 0:
        return unmeasurable(what, "no request was made")
    share = Quantity.of(round(answered / run.requests, 12))
    return Measurement(what, share, run.requests, "requests", Exact(share.number, "counted, not sampled"))
