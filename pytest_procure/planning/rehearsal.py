"""How often the rule would accept an offer of known quality, where it measures the design effect itself.

Shares of independent samples have a formula for that (`stats.plan_share`). Latencies and failures have none:
their effective sample size is measured from the run, and even independent requests look a little as if they
came in rows. So the rule is rehearsed on runs of independent requests, with fixed random numbers: the same
question gives the same answer on every machine. Where requests do come in rows, a run of n counts as one of
n / design effect.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.errors import DomainError
from pytest_procure.stats.effects import BATCHES

#: Runs of a rehearsal: what it gives is right to one point in 100 or better.
_RUNS = 2_000
#: Every number of batches divides this, so a run of that many equal cells needs no single requests.
_CELLS = max(BATCHES)
_MOST_REQUESTS = 100_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    """What is decided: "at least `bar` of the requests are good", and how the design effect is measured.

    `bulk`: the slowest tenth stands in for the bar's own requests. `df`: degrees of freedom where a run shows
    no rows at all; None where it then counts in full. `least`: effective requests that acceptance takes.
    """

    bar: float
    bulk: bool
    df: int | None
    least: float = 0.0


@functools.lru_cache(maxsize=4096)
def acceptance(rule: Rule, n: float, share: float, policy: Policy) -> float:
    """Give the share of runs of `n` independent requests that are accepted, when `share` of all are good.

    n is rounded down to a multiple of 40. share: 0 to 1. Source: the rule of `decision`, in batch counts.
    """
    cell = int(n // _CELLS)
    if cell == 0:
        return 0.0
    rng = np.random.Generator(np.random.PCG64(0))
    bad = rng.binomial(cell, 1.0 - share, (_RUNS, _CELLS))
    effect, df = _worst(bad, cell)
    if rule.bulk:
        other, other_df = _worst(_slowest_tenth(rng, bad, cell), cell)
        larger = other > effect
        effect, df = np.where(larger, other, effect), np.where(larger, other_df, df)
    total = cell * _CELLS
    worth = {b - 1: stats.effective_n(total, 1.0, b - 1, confidence=policy.confidence) for b in BATCHES}
    in_full = float(total) if rule.df is None else worth[rule.df]
    by_df = np.select([df == key for key in worth], list(worth.values()), in_full)
    if rule.df is None:
        by_df = np.where(effect <= 1.0, total, by_df)
    effect = np.maximum(effect, 1.0)
    accepted = _shown(1.0 - bad.sum(axis=1) / total, by_df / effect, rule.bar) <= policy.consumer_risk
    return float((accepted & (total / effect >= rule.least)).mean())


@functools.lru_cache(maxsize=1024)
def needed(rule: Rule, design: float, policy: Policy, producer_risk: float) -> int:
    """Give the fewest independent requests, in steps of 40, that accept `design` with 1 - `producer_risk`.

    Raises `DomainError` when that takes more than 100 million.
    """
    plan = stats.plan_share(rule.bar, design, consumer_risk=policy.consumer_risk, producer_risk=producer_risk)
    target = 1.0 - producer_risk
    few = enough = math.ceil(plan.n / _CELLS)
    while acceptance(rule, enough * _CELLS, design, policy) < target:
        few, enough = enough, enough * 2
        if enough * _CELLS > _MOST_REQUESTS:
            raise DomainError(
                f"design is {design!r}, expected a share farther above the bar of {rule.bar!r}: telling the "
                f"two apart takes more than {_MOST_REQUESTS:,} requests"
            )
    while enough - few > 1:
        middle = (few + enough) // 2
        if acceptance(rule, middle * _CELLS, design, policy) < target:
            few = middle
        else:
            enough = middle
    return enough * _CELLS


def least(rule: Rule, policy: Policy) -> int:
    """Give the fewest requests of which any outcome is accepted: all of them good, and in no rows at all."""
    n = max(2, min(BATCHES), math.ceil(rule.least), math.floor(math.log(policy.consumer_risk, rule.bar)))
    while True:
        worth: float | None = None
        if rule.df is not None:
            # Times that are all alike leave the bulk without rows, and then the most batches count.
            df = max(b for b in BATCHES if b <= n) - 1 if rule.bulk else rule.df
            worth = stats.effective_n(n, 1.0, df, confidence=policy.confidence)
        p = stats.share_p_value(n, n, rule.bar, alternative="greater", n_effective=worth)
        if p <= policy.consumer_risk:
            return n
        n += 1


def _worst(counts: NDArray[np.int64], cell: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Design effect from batch means and its df, as `stats.batch_design_effect`; (0, 0) without any row.

    counts: (runs, 40) requests of a kind in consecutive cells of `cell` requests.
    """
    n = cell * _CELLS
    share = counts.sum(axis=1) / n
    worst, df = np.zeros(len(counts)), np.zeros(len(counts), dtype=np.int64)
    constant = (share == 0.0) | (share == 1.0)
    spread = np.where(constant, 1.0, n * share * (1.0 - share))
    for batches in BATCHES:
        residuals = counts.reshape(len(counts), batches, -1).sum(axis=2) - share[:, None] * (n // batches)
        effect = batches / (batches - 1) * (residuals**2).sum(axis=1) / spread
        larger = (effect > worst) & ~constant
        worst, df = np.where(larger, effect, worst), np.where(larger, batches - 1, df)
    return worst, df


def _slowest_tenth(rng: np.random.Generator, bad: NDArray[np.int64], cell: int) -> NDArray[np.int64]:
    """Place the slowest tenth: the bad ones first and, of the others, some at random; (runs, 40) counts."""
    slow = cell * _CELLS // 10
    total = bad.sum(axis=1)
    crowded = total > slow  # then only some of the bad ones are among the slowest tenth
    pool = np.where(crowded[:, None], bad, cell - bad)
    wanted = np.where(crowded, slow, slow - total)
    left = pool.sum(axis=1)
    drawn = np.zeros_like(bad)
    for column in range(_CELLS):
        here = pool[:, column]
        left = left - here
        drawn[:, column] = rng.hypergeometric(here, left, wanted)
        wanted = wanted - drawn[:, column]
    return np.where(crowded[:, None], drawn, bad + drawn)


def _shown(share: NDArray[np.float64], n: NDArray[np.float64], bar: float) -> NDArray[np.float64]:
    """Probability of a share this good from an offer at the bar, as `stats.share_p_value`."""
    special = _special()
    hits = share * n
    return np.where(hits > 0, special.betainc(np.maximum(hits, 1e-300), n - hits + 1.0, bar), 1.0)


def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - a session that plans nothing should not pay for scipy

    return special
