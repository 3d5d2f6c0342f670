"""Simulated offers for `verdict_error.py`: items, queues and outages whose true share is known.

A block holds some runs of an offer; the product's own judge decides it, run by run (`judged`). Latency limits
are exact: the queue's own distribution (Pollaczek-Khinchine, by FFT).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pytest_procure import Candidate, Dataset
from pytest_procure.decision import Decision, Policy, decide
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.metrics import Execution, metric
from pytest_procure.metrics.failures import error_rate
from pytest_procure.metrics.measurement import Latencies, Measurement
from pytest_procure.metrics.quality import quality
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RESAMPLES = 200
ICC = 0.3  # how alike two items of a cluster are
RULE = Policy()
STEP, STEPS = 1 / 512, 2**20  # the lattice of service and waiting times, in mean services
NS = 1_000_000  # a mean service


def verdicts(decision: Decision) -> tuple[bool, bool]:
    """Whether one bar alone is accepted, and whether it is rejected."""
    return decision.accept, decision.reject_p is not None and decision.reject_p <= RULE.rejection_risk


@dataclass(frozen=True)
class Items:
    """Labelled items in clusters of these sizes, in turn; the chance of a right answer varies by cluster."""

    title: str
    sizes: tuple[int, ...] = (1,)
    icc: float = 0.0

    def events(self, bar: Decimal) -> float:
        """Say that nothing rare decides: items do not stall each other."""
        del bar
        return math.inf

    def draw(self, rng: np.random.Generator, runs: int, n: int, share: Decimal) -> ItemBlock:
        """Draw right answers cluster by cluster: beta-binomial."""
        sizes, right = np.tile(self.sizes, n // sum(self.sizes)), float(share)
        if self.icc == 0.0:
            return ItemBlock(self, rng.binomial(sizes, right, (runs, len(sizes))))
        spread = 1 / self.icc - 1
        each = rng.beta(right * spread, (1 - right) * spread, (runs, len(sizes)))
        return ItemBlock(self, rng.binomial(sizes, each))


@dataclass
class ItemBlock:
    """Runs of `Items`, `right`: `(runs, clusters)` right answers; methods look at `n` items."""

    offer: Items
    right: NDArray[np.int64]
    _known: dict[Any, tuple[bool, bool]] = field(default_factory=dict)

    def good(self, n: int) -> NDArray[np.int64]:
        """Count right answers."""
        good: NDArray[np.int64] = self._clusters(n).sum(axis=1)
        return good

    def judged(self, n: int, bar: Decimal, policy: Policy) -> Flags:
        """Score a run's samples, measure and decide; runs alike, cluster by cluster, once. `(2, runs)`."""
        sizes = self.offer.sizes
        run = logged(n, sizes)
        cluster, place = members(n, sizes)
        decided = []
        for right in self._clusters(n):
            alike = np.sort(right.reshape(-1, len(sizes)).astype(np.uint8), axis=0)
            key = (n, alike.tobytes())
            if key not in self._known:
                item = (place < right[cluster]).astype(np.float64)
                measured = quality(metric("accuracy"), replace(run, scores={"accuracy": item[run.items]}))
                self._known[key] = verdicts(decide(measured, "at least", Quantity(bar), policy))
            decided.append(self._known[key])
        return np.array(decided).T

    def far(self, n: int) -> Flags:
        """Never: that is about time limits."""
        del n
        return np.zeros(len(self.right), dtype=np.bool_)

    def resampled(self, n: int, rng: np.random.Generator) -> Floats:
        """Resample items, or clusters, the same in all runs: `(runs, RESAMPLES)` shares."""
        right = self._clusters(n)
        if self.offer.sizes == (1,):
            return rng.binomial(n, self.good(n)[:, None] / n, (len(right), RESAMPLES)) / n
        clusters = right.shape[1]
        chosen = rng.integers(clusters, size=(RESAMPLES, clusters))
        weights = np.array([np.bincount(each, minlength=clusters) for each in chosen], dtype=np.float64)
        sizes = np.tile(self.offer.sizes, clusters // len(self.offer.sizes))
        shares: Floats = (right @ weights.T) / (weights @ sizes)
        return shares

    def _clusters(self, n: int) -> NDArray[np.int64]:
        sizes = self.offer.sizes
        return self.right[:, : n // sum(sizes) * len(sizes)]


@cache
def members(n: int, sizes: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(n,)` which cluster each item is in, and which of its cluster it is."""
    each = np.tile(sizes, n // sum(sizes))
    cluster = np.repeat(np.arange(len(each)), each)
    return cluster, np.arange(n) - (np.cumsum(each) - each)[cluster]


@cache
def logged(n: int, sizes: tuple[int, ...]) -> Execution:
    """Drive one real run over `n` items in clusters of these sizes. Only its scores are simulated."""
    clusters = None if sizes == (1,) else members(n, sizes)[0]
    chosen = Dataset.from_arrays(
        "items", inputs=np.arange(n), references=np.zeros(n), clusters=clusters
    ).slice()
    candidate = Candidate("offer", backend=lambda inputs: inputs)
    scenario = Scenario.declare("offline", count=n, max_batch=10_000, warmup=0)
    return Execution(
        candidate, scenario, chosen, (drive(candidate.backend.load(Path()), chosen, scenario),), {}
    )


@dataclass(frozen=True)
class Law:
    """Service times of mean 1: how to draw them, and their distribution function."""

    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]
    below: Callable[[Floats], Floats]


def lognormal(sigma: float, slow: float = 0.0, times: float = 1.0) -> Law:
    """A lognormal law; a share `slow` of the requests takes `times` as long."""
    mu = -(sigma**2) / 2 - math.log(1 - slow + slow * times)
    slower = mu + math.log(times)

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        logs: Floats = sigma * rng.standard_normal(shape)
        logs += np.where(rng.random(shape) < slow, slower, mu) if slow else mu
        return np.exp(logs, out=logs)

    def below(x: Floats) -> Floats:
        logs = np.log(np.maximum(x, 1e-300))
        both = [special.ndtr((logs - centre) / sigma) for centre in (mu, slower)]
        return np.where(x > 0, (1 - slow) * both[0] + slow * both[1], 0.0)

    return Law(draw, below)


CONSTANT = Law(lambda _, shape: np.ones(shape), lambda x: (x >= 1).astype(np.float64))
LOGNORMAL = lognormal(math.sqrt(math.log(2)))  # coefficient of variation 1


@dataclass(frozen=True)
class Queue:
    """M/G/1: Poisson arrivals, one server, first come first served."""

    title: str
    law: Law
    load: float
    empty: bool = False  # the run starts with an empty queue, not with a typical one
    slow: float = 0.0

    def events(self, bar: Decimal) -> float:
        """Count stalls a request; where there are none to wait for, every request tells."""
        del bar
        return self.slow or math.inf

    def draw(self, rng: np.random.Generator, runs: int, n: int, share: Decimal) -> QueueBlock:
        """Simulate by Lindley's recursion, as sums less their running minimum."""
        service = self.law.draw(rng, (runs, n))
        gaps = rng.exponential(1 / self.load, (runs, n - 1))
        walk = np.zeros((runs, n))
        np.cumsum(service[:, :-1] - gaps, axis=1, out=walk[:, 1:])
        least = walk.copy()
        if not self.empty:
            least[:, 0] = -np.searchsorted(self._stationary[0], rng.random(runs)) * STEP
        walk -= np.minimum.accumulate(least, axis=1, out=least)
        walk += service
        walk *= NS
        return QueueBlock(walk.astype(np.int64), round(self._quantile(float(share)) * NS))

    @cached_property
    def _stationary(self) -> tuple[Floats, Floats]:
        """Distribution functions of waiting time and latency, at the upper edges of the lattice's cells."""
        edges = self.law.below((np.arange(-1.0, STEPS) + 0.5) * STEP)
        service = np.diff(edges)
        longer = 1 - (edges[:-1] + edges[1:]) / 2
        longer[0] /= 2  # of the first cell only the half above 0
        residual = np.fft.rfft(longer / longer.sum())
        waiting = (1 - self.load) / (1 - self.load * residual)
        both = [np.fft.irfft(each, STEPS) for each in (waiting, waiting * np.fft.rfft(service))]
        low, high = (np.cumsum(np.maximum(each, 0)) for each in both)
        return low / low[-1], high / high[-1]

    def _quantile(self, share: float) -> float:
        latency = self._stationary[1]
        cell = int(np.searchsorted(latency, share))
        part = (share - latency[cell - 1]) / (latency[cell] - latency[cell - 1])
        return float((cell - 0.5 + part) * STEP)


@dataclass(frozen=True)
class QueueBlock:
    """Runs of a `Queue`, `latencies`: `(runs, n)` ns in send order; `limit` ns."""

    latencies: NDArray[np.int64]
    limit: int

    def good(self, n: int) -> NDArray[np.int64]:
        """Count requests within the limit."""
        good: NDArray[np.int64] = (self.latencies[:, :n] <= self.limit).sum(axis=1)
        return good

    def judged(self, n: int, bar: Decimal, policy: Policy) -> Flags:
        """Decide "this percentile is at most the limit", run by run: `(2, runs)`."""
        what, limit = metric(f"latency.p{(bar * 100).normalize():f}"), Quantity.of(self.limit, "ns")
        decided = [
            verdicts(decide(Measurement(what, limit, n, "requests", basis), "at most", limit, policy))
            for basis in (
                Latencies(values, bar, under_load=True)
                for values in np.ascontiguousarray(self.latencies[:, :n])
            )
        ]
        return np.array(decided).T

    def far(self, n: int) -> Flags:
        """Compare each run's own p90 with the limit: is it so far away that the rule leaves the bulk out?"""
        rank = -(-9 * n // 10) - 1
        p90 = np.partition(self.latencies[:, :n], rank, axis=1)[:, rank]
        far: Flags = p90 * RULE.far <= self.limit
        return far

    def resampled(self, n: int, rng: np.random.Generator) -> Floats:
        """Resample moving blocks of sqrt(n) requests, the same in all runs: `(runs, RESAMPLES)` shares."""
        return in_moving_blocks(self.latencies[:, :n] <= self.limit, rng)


@dataclass(frozen=True)
class Outages:
    """Requests that fail in rows of `length`, at random times."""

    title: str
    length: int

    def events(self, bar: Decimal) -> float:
        """Count rows a request."""
        return float(1 - bar) / self.length

    def draw(self, rng: np.random.Generator, runs: int, n: int, share: Decimal) -> OutageBlock:
        """Draw rows and the gaps between them (geometric); the run begins anywhere, in a row too."""
        good, length = float(share), self.length
        mean = length * good / (1 - good)  # of a gap
        rows = int(n / (mean + length) * 1.5) + 60
        gaps = rng.geometric(1 / (1 + mean), (runs, rows)) - 1
        begins = np.cumsum(gaps + length, axis=1) - length
        amid = rng.random(runs) < 1 - good
        begins -= np.where(amid, gaps[:, 0] + rng.integers(length, size=runs), -1)[:, None]
        failed = np.zeros((runs, n), dtype=np.bool_)
        each, places = np.nonzero(begins < n)
        for step in range(length):
            at = begins[each, places] + step
            inside = (at >= 0) & (at < n)
            failed[each[inside], at[inside]] = True
        return OutageBlock(failed)


@dataclass(frozen=True)
class OutageBlock:
    """Runs of `Outages`, `failed`: `(runs, n)` in send order."""

    failed: Flags

    def good(self, n: int) -> NDArray[np.int64]:
        """Count answers."""
        good: NDArray[np.int64] = n - self.failed[:, :n].sum(axis=1)
        return good

    def judged(self, n: int, bar: Decimal, policy: Policy) -> Flags:
        """Decide "error_rate at most 1 - bar", run by run: `(2, runs)`."""
        run = logged(n, (1,))
        log, limit = run.logs[0], Quantity(1 - bar)
        decided = []
        for failed in self.failed[:, :n]:
            status = np.where(failed, Status.ERROR, Status.OK).astype(np.uint8)
            seen = replace(run.launches[0], log=replace(log, status=status))
            measured = error_rate(metric("error_rate"), replace(run, launches=(seen,)))
            decided.append(verdicts(decide(measured, "at most", limit, policy)))
        return np.array(decided).T

    def far(self, n: int) -> Flags:
        """Never: that is about time limits."""
        del n
        return np.zeros(len(self.failed), dtype=np.bool_)

    def resampled(self, n: int, rng: np.random.Generator) -> Floats:
        """Resample moving blocks, the same in all runs: `(runs, RESAMPLES)` shares."""
        return in_moving_blocks(~self.failed[:, :n], rng)


def in_moving_blocks(good: Flags, rng: np.random.Generator) -> Floats:
    """Resample blocks of sqrt(n) of the `(runs, n)` requests, the same in all runs: shares of good ones."""
    runs, n = good.shape
    length = math.isqrt(n)
    sums = np.zeros((runs, n + 1), dtype=np.int32)
    np.cumsum(good, axis=1, out=sums[:, 1:])
    blocks = sums[:, length:] - sums[:, :-length]
    starts = rng.integers(n - length + 1, size=(RESAMPLES, n // length))
    shares: Floats = blocks[:, starts].sum(axis=2) / (n // length * length)
    return shares


Offer = Items | Queue | Outages
Block = ItemBlock | QueueBlock | OutageBlock


def offers() -> list[Offer]:
    """List what is simulated."""
    found: list[Offer] = [
        Items("independent items"),
        Items("clusters of 10", (10,), ICC),
        Items("clusters of 50", (50,), ICC),
        Items("clusters of 1 to 25", (1, 2, 3, 4, 5, 10, 25), ICC),
    ]
    for name, law in (("lognormal", LOGNORMAL), ("constant", CONSTANT)):
        found += [Queue(f"M/G/1 {load:.0%}, {name}", law, load) for load in (0.5, 0.8)]
    found.append(Queue("M/G/1 80%, constant, from empty", CONSTANT, 0.8, empty=True))
    for slow, times in ((1 / 200, 100), (1 / 1000, 500)):
        title = f"M/G/1 20%, 1 in {1 / slow:,.0f} takes {times}-fold"
        found.append(Queue(title, lognormal(0.3, slow, times), 0.2, slow=slow))
    found += [Outages(f"failures in rows of {length}", length) for length in (1, 5, 20)]
    return found
