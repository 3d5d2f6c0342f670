"""Simulated offers exactly at their bars whose evidence repeats, is shared, or is skewed, and their verdicts.

A case draws one run and lets the product's own rule decide it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from pytest_procure.bars import Sense
from pytest_procure.decision import Decision, Policy
from pytest_procure.decision.comparisons import contrast
from pytest_procure.decision.latencies import latencies
from pytest_procure.decision.means import corpus, means
from pytest_procure.decision.shares import share
from pytest_procure.metrics.measurement import Contrast, Corpus, Latencies, Means, Share
from pytest_procure.stats import Alike

RULE = Policy()
NS = 1_000_000
SPREAD = 0.8  # of the logarithms of the times that items take
P95 = Decimal("0.95")
Draw = Callable[[np.random.Generator], Decision]


class Case(NamedTuple):
    """What is drawn, and how a run of it is decided; `gated`: whether the rule is held to its risk there."""

    title: str
    draw: Draw
    gated: bool = True


def times(items: int, often: int, *, clusters: int = 0) -> Draw:
    """Take a time that is each item's own, or its cluster's, give or take 1 %; p95 is at its limit."""
    limit = Decimal(int(NS * np.exp(1.6448536 * SPREAD)))

    def draw(rng: np.random.Generator) -> Decision:
        own = np.exp(SPREAD * rng.standard_normal(clusters or items))
        order = np.concatenate([rng.permutation(items) for _ in range(often)])
        labels = order // (items // clusters) if clusters else order
        values = (NS * own[labels] * (1 + 0.01 * rng.standard_normal(len(order)))).astype(np.int64)
        basis = Latencies(values, P95, under_load=False, alike=Alike((labels,)))
        return latencies(basis, "at most", limit, RULE)

    return draw


def shared(clusters: int, common: int) -> Draw:
    """Ask ten questions a cluster, of which `common` are the same in all: 95 in 100 questions are easy."""
    asked = np.arange(clusters * 10)
    question = np.where(asked % 10 < common, asked % 10, 10 + asked)
    alike = Alike((asked // 10, question))

    def draw(rng: np.random.Generator) -> Decision:
        right = (rng.random(10 + len(asked)) < 0.95)[question].astype(np.float64)
        basis = Share(float(right.sum()), len(right), *alike.effect(right))
        return share(basis, "at least", P95, RULE)

    return draw


def micro_f1(n: int, bar: str) -> Draw:
    """Answer `n` items, of which micro F1 is the share of right ones, by the jackknife over 40 groups."""

    def draw(rng: np.random.Generator) -> Decision:
        wrong = np.flatnonzero(rng.random(n) >= float(bar))
        sizes = np.bincount(np.arange(n) % 40)
        each = np.bincount(wrong % 40, minlength=40)
        value, missed = 1 - len(wrong) / n, 1 - (len(wrong) + 1) / (n + 1)
        without = 1 - (len(wrong) - each) / (n - sizes)
        basis = Corpus(value, tuple(without.tolist()), n, missed=(missed,))
        return corpus(basis, "at least", Decimal(bar), RULE)

    return draw


def paired(n: int, points: int) -> Draw:
    """Answer `n` items; half are wrong for both, and the reference is right on so many points more."""
    chances = [0.5 - points / 100, points / 100, 0.5]

    def draw(rng: np.random.Generator) -> Decision:
        both, only_reference, neither = rng.multinomial(n, chances).tolist()
        sizes = (both, only_reference, neither)
        ours, theirs = np.repeat((1.0, 0.0, 0.0), sizes), np.repeat((1.0, 1.0, 0.0), sizes)
        basis = Contrast(ours, theirs, None, as_ratio=False)
        return contrast(basis, "at least", Decimal(-points), RULE)

    return draw


def costs(n: int, variation: float) -> Draw:
    """Give `n` items lognormal costs of mean 1 and this coefficient of variation."""
    spread = float(np.sqrt(np.log(1 + variation**2)))

    def draw(rng: np.random.Generator) -> Decision:
        values = np.exp(spread * rng.standard_normal(n) - spread**2 / 2)
        sense: Sense = "at most"
        return means(Means(values, "items", 20), sense, Decimal(1), RULE)

    return draw


def cases() -> list[Case]:
    """List what is simulated."""
    found = [
        Case(f"p95, time of the item's own: {items} items x {often}", times(items, often))
        for items, often in ((800, 3), (200, 5), (200, 10), (200, 50))
    ]
    found.append(Case("p95, time of the cluster's own: 40 clusters of 50", times(2000, 1, clusters=40)))
    found += [
        Case(f"accuracy, {clusters} clusters of 10 with {common} the same in all", shared(clusters, common))
        for clusters, common in ((60, 9), (60, 5), (200, 3), (200, 1))
    ]
    found += [
        Case(f"micro F1, bar {bar}, {n:,} items", micro_f1(n, bar))
        for n, bar in ((200, "0.95"), (200, "0.985"), (300, "0.99"), (1000, "0.99"), (3000, "0.999"))
    ]
    found += [
        Case(f"{points} points below the reference, {n:,} items", paired(n, points))
        for n, points in ((50, 5), (100, 2), (400, 2), (1000, 2))
    ]
    found += [
        Case(f"cost by the token, variation {variation:g}, {n:,} items", costs(n, variation))
        for variation in (0.5, 1.0)
        for n in (20, 50, 100, 300)
    ]
    # Wilder than a sample of this size can show; docs/verdict.md says so.
    found += [
        Case(f"cost by the token, variation 2, {n:,} items", costs(n, 2.0), gated=False)
        for n in (20, 50, 100, 300)
    ]
    return found
