"""Percentiles of times: of latency, from the scheduled time to completion, and of those of tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import Int64, RequestLog
from pytest_procure.stats import Alike, percentile
from pytest_procure.units import Quantity

from .execution import Execution
from .likeness import alike_requests
from .measurement import NEVER, Latencies, Measurement, unmeasurable
from .metric import Metric
from .tokens import UNITS, absent, owners_of, times_of


def latency(what: Metric, run: Execution) -> Measurement:
    """Measure a percentile (nearest rank). A failed request took longer than any limit: ">= 2000 ms"."""
    if not run.scenario.allows_latency:
        return unmeasurable(what, f"{run.scenario.name} has no latency: all samples are due at once")
    if run.requests == 0:
        return unmeasurable(what, "no request was made")
    reason = next((why for log in run.logs if what.family != "latency" and (why := absent(log))), "")
    if reason:
        return unmeasurable(what, reason)
    values = np.concatenate([observed(what, log) for log in run.logs])
    if not len(values):
        return unmeasurable(what, "no answer had two tokens, so there is no time between them")
    at = int(percentile(values, float(what.q), method="nearest-rank"))
    censored = at >= NEVER  # a float on the way
    if censored:
        at = _shortest_failure(run)
    return Measurement(
        what,
        Quantity.of(at, "ns"),
        len(values),
        UNITS[what.family],
        Latencies(values, what.q, run.scenario.is_under_load, _alike(what, run)),
        censored,
    )


def _alike(what: Metric, run: Execution) -> Alike:
    """Group the values by what was asked; the gaps between the tokens of one answer are alike."""
    alike = alike_requests(run)
    if what.family == "latency":
        return alike
    owners, done = [], 0
    for log in run.logs:
        owners.append(done + owners_of(what.family, log))
        done += len(log.samples)
    return alike.among(np.concatenate(owners))


def observed(what: Metric, log: RequestLog) -> Int64:
    """Give the values of a launch that a percentile is of, in send order, ns; `NEVER` for a failure."""
    return request_latencies_of(log) if what.family == "latency" else times_of(what.family, log)


def request_latencies(run: Execution) -> Int64:
    """`(requests,)` ns in send order, over all launches; `NEVER` where the request failed."""
    return np.concatenate([request_latencies_of(log) for log in run.logs])


def request_latencies_of(log: RequestLog) -> Int64:
    """`(n,)` ns of one launch; `NEVER` where the request failed."""
    return np.where(log.ok, log.latency, NEVER)


def _shortest_failure(run: Execution) -> int:
    """All that is known of a percentile among the failures: it is at least the time the quickest one took."""
    waited: NDArray[np.int64] = np.concatenate([log.latency[~log.ok] for log in run.logs])
    return int(waited.min())
