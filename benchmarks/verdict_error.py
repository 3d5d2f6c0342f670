"""How often does the decision rule accept an offer that is exactly at its bar, and what does a good one need?

    python benchmarks/verdict_error.py [--runs 4000] [--quick]

Simulates offers, lets the product's own judge decide them, and prints Markdown: the share of wrong
acceptances beside other rules' (point value, Wilson, bootstrap, LoadGen's early stopping), the share of right
ones, and the requests that each rule needed. The exit status is 1 if the judge wrongly accepts more than 6 %
+ 2 standard errors anywhere, nominal 5 %. Latency limits are exact: the queue's own distribution
(Pollaczek-Khinchine, by FFT). The full run takes about half an hour of one core; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pytest_procure import Candidate, Dataset
from pytest_procure.decision import Decision, Policy, decide
from pytest_procure.driver.pull import drive
from pytest_procure.metrics import Execution, metric
from pytest_procure.metrics.measurement import Latencies, Measurement
from pytest_procure.metrics.quality import quality
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BARS = tuple(map(Decimal, ("0.9", "0.95", "0.99")))
BETTER = tuple(map(Decimal, ("0.995", "0.999")))  # true shares, against a bar of 0.99
SIZES = (300, 1_000, 2_000, 3_000, 10_000, 20_000, 50_000)
LONGEST = 100_000  # a better offer's run
LONG = 20_000  # beyond it a quarter of the runs
ALLOWED = 0.06
STALLS = 10  # a run that holds fewer, on average, cannot tell how rare they are; no cell of the gate
RIVALS = ("point value", "Wilson", "bootstrap", "LoadGen")
RESAMPLES = 200
ICC = 0.3  # how alike two items of a cluster are
BLOCK = 1_500_000  # values simulated at a time
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
    slow: float = 0.0  # items do not stall each other

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
        "items", inputs=np.zeros((n, 1)), references=np.zeros(n), clusters=clusters
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
        length = math.isqrt(n)
        sums = np.zeros((len(self.latencies), n + 1), dtype=np.int32)
        np.cumsum(self.latencies[:, :n] <= self.limit, axis=1, out=sums[:, 1:])
        blocks = sums[:, length:] - sums[:, :-length]
        starts = rng.integers(n - length + 1, size=(RESAMPLES, n // length))
        shares: Floats = blocks[:, starts].sum(axis=2) / (n // length * length)
        return shares


Offer = Items | Queue
Block = ItemBlock | QueueBlock


def others(block: Block, n: int, bar: Decimal, rng: np.random.Generator) -> list[Flags]:
    """Decide by the other rules, `(runs,)` each, in the order of `RIVALS`; nominal 5 %, LoadGen's 1 %."""
    good, q = block.good(n), float(bar)
    z = float(special.ndtri(RULE.confidence))
    lowest = np.quantile(block.resampled(n, rng), 1 - RULE.confidence, axis=1, method="inverted_cdf")
    return [
        good >= math.ceil(Fraction(bar) * n),
        good / n - q >= z * math.sqrt(q * (1 - q) / n),
        lowest >= q,
        # loadgen/early_stopping.cc: of h within and t over the limit, I_p(h, t + 1) is below 1 - 0.99
        (good > 0) & (special.betainc(np.maximum(good, 1), n - good + 1, q) < 0.01),
    ]


@dataclass
class Cell:
    """One line of the first table. `accepted`: by the judge and by the other rules."""

    offer: Offer
    bar: Decimal
    n: int
    runs: int = 0
    accepted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1 + len(RIVALS), dtype=np.int64))
    rejected: int = 0  # wrongly: at the bar is good enough
    unexempted: int = 0  # accepted by the judge without the exemption
    far: int = 0

    @property
    def gated(self) -> bool:
        """Whether a run of this length can be expected to show how often requests stall."""
        return self.offer.slow == 0.0 or self.n * self.offer.slow >= STALLS

    @property
    def failed(self) -> bool:
        """Whether the judge's rate is above what is allowed."""
        allowed = ALLOWED + 2 * math.sqrt(ALLOWED * (1 - ALLOWED) / self.runs)
        return self.gated and self.accepted[0] / self.runs > allowed


def blocks(
    offer: Offer, share: Decimal, runs: int, n: int, rng: np.random.Generator
) -> Iterator[tuple[int, Block]]:
    """Draw `runs` runs of `n` requests, a few at a time."""
    while runs > 0:
        count = min(runs, max(1, BLOCK // n))
        yield count, offer.draw(rng, count, n, share)
        runs -= count


def at_bar(
    offer: Offer, bar: Decimal, sizes: Sequence[int], runs: int, rng: np.random.Generator
) -> list[Cell]:
    """Judge runs of an offer whose true share is the bar; shorter runs are beginnings of longer ones."""
    cells = {n: Cell(offer, bar, n) for n in sizes}
    few = [n for n in cells if n <= LONG]
    long = max(1, runs // 4) if len(few) < len(cells) else 0
    for wanted, total in ((list(cells), long), (few, runs - long)):
        for count, block in blocks(offer, bar, total, max(wanted), rng):
            for n in wanted:
                cell, ours, far = cells[n], block.judged(n, bar, RULE), block.far(n)
                plain = block.judged(n, bar, replace(RULE, far=math.inf)) if far.any() else ours
                cell.runs += count
                cell.accepted += [int(each.sum()) for each in (ours[0], *others(block, n, bar, rng))]
                cell.rejected += int(ours[1].sum())
                cell.unexempted += int(plain[0].sum())
                cell.far += int(far.sum())
    return list(cells.values())


def needed(
    offer: Offer, share: Decimal, sizes: Sequence[int], runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Judge runs of an offer that is better than its bar of 0.99.

    Returns how often the judge accepts, `(sizes,)`, and for each rule the mean of the first size at which a
    run, as far as it had come, is accepted, `(1 + rivals,)`; a run that never is counts as one of the last.
    """
    bar, first, often = BARS[-1], np.zeros(1 + len(RIVALS)), np.zeros(len(sizes))
    for _, block in blocks(offer, share, runs, max(sizes), rng):
        table = np.array(
            [[block.judged(n, bar, RULE)[0], *others(block, n, bar, rng)] for n in sizes]
        )  # (sizes, rules, runs)
        often += table[:, 0].sum(axis=1)
        table[-1] = True
        first += np.array(sizes)[table.argmax(axis=0)].sum(axis=1)
    return often / runs, first / runs


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
    return found


def print_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print Markdown; the first column is text."""
    names = list(head)
    print("| " + " | ".join(names) + " |\n|---|" + "---:|" * (len(names) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def wrong(cell: Cell) -> list[str]:
    """Write one cell of the first table."""
    rates = [f"{count / cell.runs:.1%}" for count in cell.accepted]
    if cell.failed:
        rates[0] = f"**{rates[0]}**"
    elif not cell.gated:
        rates[0] = f"({rates[0]})"
    return [cell.offer.title, f"{cell.bar:.0%}", f"{cell.n:,}", *rates, f"{cell.rejected / cell.runs:.1%}"]


def at_far_limit(cell: Cell) -> list[str]:
    """Write one cell of the second table."""
    counts = (cell.accepted[0], cell.unexempted, cell.far)
    return [*wrong(cell)[:3], *(f"{count / cell.runs:.1%}" for count in counts)]


def main() -> int:
    """Print the tables; 1 if the judge is too generous anywhere."""
    parser = argparse.ArgumentParser(description="Simulate offers at and above their bars.")
    parser.add_argument("--runs", type=int, default=4_000, help="a cell; a quarter of it for long runs")
    parser.add_argument(
        "--quick", action="store_true", help="200 runs of at most 10,000 requests, about a minute"
    )
    asked = parser.parse_args()
    runs = 200 if asked.quick else asked.runs
    sizes = SIZES[:-2] if asked.quick else SIZES
    ladder = sizes if asked.quick else (*SIZES, LONGEST)
    started = time.monotonic()

    def progress(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    cells: list[Cell] = []
    for i, offer in enumerate(offers()):
        for j, bar in enumerate(BARS):
            progress(f"at the bar: {offer.title}, {bar:.0%}")
            cells += at_bar(offer, bar, sizes, runs, np.random.default_rng([1, i, j]))
    print("Wrongly accepted, and in the last column wrongly rejected: the offer is exactly at the bar.\n")
    print_table(("offer", "bar", "n", "this rule", *RIVALS, "this rule rejects"), map(wrong, cells))
    print("The same where the limit was far above the p90 of any run; elsewhere it was so in none.\n")
    print_table(
        ("offer", "bar", "n", "this rule", "without allowance for far limits", "runs with a far limit"),
        (at_far_limit(cell) for cell in cells if cell.far),
    )

    better: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for i, offer in enumerate(offers()):
        if isinstance(offer, Queue) and (offer.empty or offer.slow):
            continue
        for j, share in enumerate(BETTER):
            progress(f"better than the bar: {offer.title}, {share:.1%}")
            rng = np.random.default_rng([2, i, j])
            better[offer.title, f"{share:.1%}"] = needed(offer, share, ladder, max(1, runs // 4), rng)
    print("Rightly accepted by this rule: the bar is 99%, the true share better; by requests.\n")
    print_table(
        ("offer", "true", *(f"{n:,}" for n in ladder)),
        ([*key, *(f"{each:.0%}" for each in often)] for key, (often, _) in better.items()),
    )
    print(f"Mean requests until a run is accepted, of the sizes above; {ladder[-1]:,} where it never is.\n")
    print_table(
        ("offer", "true", "this rule", *RIVALS),
        ([*key, *(f"{each:,.0f}" for each in first)] for key, (_, first) in better.items()),
    )

    failed = [cell for cell in cells if cell.failed]
    print(f"{len(failed)} of {sum(cell.gated for cell in cells)} cells above 6% + 2 standard errors.")
    progress("done")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
