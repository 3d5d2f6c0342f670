"""How much traffic asks of the workers: 1 is all that they can do.

    load = requests a second x seconds that a request takes a worker / workers

The seconds are those of batches that were full, since any others could have held more. A queue that grows may
do so by chance; one whose load is above 1 does so for good, however much of it is answered after the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_procure.scenarios import Scenario, is_steady, rate

from .limits import Limits
from .log import Int64, RequestLog

#: Of fewer full batches there is no standard error worth the name.
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Load:
    """What was asked, over what can be done, with its standard error and the degrees of freedom of that."""

    share: float
    error: float
    freedom: int

    @property
    def excess(self) -> float:
        """By how many standard errors it is above 1."""
        return (self.share - 1.0) / self.error if self.error else math.inf

    def given_back(self, share: float) -> Load:
        """Give the load as if whoever was asked had had this share of the time as well."""
        return Load(self.share * (1.0 - share), self.error * (1.0 - share), self.freedom)

    def is_too_much(self, limits: Limits) -> bool:
        """Whether it cannot go on like this."""
        at_least = self.share - limits.load_errors * self.error
        return self.share - self.error > 1.0 and at_least > limits.sure_load

    def is_surely_too_much(self, limits: Limits) -> bool:
        """The same of a second look at a run, which has to be surer."""
        return self.share - limits.load_errors * self.error > 1.0


def load_of(log: RequestLog, scenario: Scenario, due: int, *, at_end: bool = False) -> Load | None:
    """Measure the load of the first `due` requests; `at_end`: by what the last third of them took.

    None where the candidate sets the pace, behind a URL, and where too few batches were full. A ramp that
    rises is held to the last third of its time; one that falls to all of it, because what its beginning has
    left over is done at its end exactly if the mean of it can be done.
    """
    if not scenario.rate_is_declared or log.wire is not None:
        return None
    took = _full_batches(log, scenario, due - due // 3 if at_end else 0)
    if len(took) < _FEWEST:
        return None
    asked, scatter = offered(log, scenario, due)
    mean = float(took.mean())
    share = asked * mean * 1e-9 / (scenario.max_batch * scenario.workers)
    of_mean = float(took.std(ddof=1)) / (mean * math.sqrt(len(took))) if mean else 0.0
    return Load(share, share * math.hypot(of_mean, scatter), len(took) - 1)


def _full_batches(log: RequestLog, scenario: Scenario, first: int) -> Int64:
    """Give how long each full batch took from the query `first` on, in ns; no column is held twice."""
    heads = log.heads()
    if not len(heads):
        return heads
    full = np.empty(len(heads), dtype=np.bool_)
    np.equal(heads[1:] - heads[:-1], scenario.max_batch, out=full[:-1])
    full[-1] = int(np.flatnonzero(log.batch[heads[-1] :] >= 0)[-1]) + 1 == scenario.max_batch
    full &= heads >= first
    heads = heads[full]
    heads = heads[log.started[heads] >= 0]
    took: Int64 = log.completed[heads]
    took[took < 0] = log.window_ns
    took -= log.started[heads]
    return took


def offered(log: RequestLog, scenario: Scenario, due: int) -> tuple[float, float]:
    """Give how many requests a second are asked, and the relative scatter of that."""
    declared = rate(scenario)
    rises = scenario.start is not None and scenario.end is not None and scenario.start < scenario.end
    falls = scenario.start is not None and not rises
    if declared is not None and (is_steady(scenario) or scenario.trace is not None or falls):
        return declared, 0.0
    times = log.scheduled[:due]
    if rises:
        times = times[times >= times[-1] * 2 // 3]
    seconds = float(times[-1] - times[0]) * 1e-9
    if not seconds:
        return 0.0, 0.0
    return (len(times) - 1) / seconds, 1 / math.sqrt(len(times))
