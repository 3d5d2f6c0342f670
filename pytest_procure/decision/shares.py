"""Bars on shares: accuracy, failures, goodput, and costs that are divided by a share."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from pytest_procure import stats
from pytest_procure.bars import Sense
from pytest_procure.metrics.measurement import Anytime, CostOfShare, Curtailed, Goodput, Share
from pytest_procure.stats.effects import BATCHES

from .latencies import effective, in_rows, latency_effect
from .policy import Decision, Policy, too_few, undecided
from .tails import by_bounds, share_p


def share(basis: Share, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by Clopper-Pearson bounds at the effective sample size (Korn and Graubard)."""
    n_effective = effective(basis.n, _effect(basis), policy)
    share = basis.total / basis.n
    bounds = stats.round_outward(
        stats.share_bounds(basis.total, basis.n, confidence=policy.confidence, n_effective=n_effective)
    )
    low, high = Decimal(repr(bounds.low)), Decimal(repr(bounds.high))
    p = share_p(share, basis.n, bar, sense, n_effective)
    if why := too_few(basis.clusters, policy):
        return Decision(
            accept=False,
            reject_p=None,
            low=low,
            high=high,
            n_effective=n_effective,
            design_effect=basis.design_effect,
            blocked=why,
        )
    meets = low >= bar if sense == "at least" else high <= bar
    return Decision(meets, p, low, high, n_effective, basis.design_effect)


def _effect(basis: Share) -> stats.Effect:
    return stats.Effect(basis.design_effect, basis.df, basis.clusters)


def curtailed(basis: Curtailed, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide as the planned number will: what was not asked counts against whatever is said."""
    worst = Share(basis.total, basis.planned, basis.design_effect, basis.df)
    best = replace(worst, total=basis.total + basis.planned - basis.n)
    at_worst, at_best = share(worst, sense, bar, policy), share(best, sense, bar, policy)
    against, for_it = (at_worst, at_best) if sense == "at least" else (at_best, at_worst)
    return Decision(
        against.accept,
        for_it.reject_p,
        at_worst.low,
        at_best.high,
        float(basis.n),
        basis.design_effect,
    )


def anytime(basis: Anytime, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide by a confidence sequence, which holds at every look at once."""
    decided = by_bounds(
        lambda confidence: stats.confidence_sequence(basis.successes, basis.n, confidence=confidence),
        sense,
        bar,
        policy,
        n_effective=float(basis.n),
    )
    low, high = decided.low or Decimal(0), decided.high or Decimal(1)
    return replace(decided, low=max(low, Decimal(0)), high=min(high, Decimal(1)))


def goodput(basis: Goodput, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide a joint share as the share it is, at the smaller of its two effective sample sizes."""
    n = len(basis.good)
    if n < min(BATCHES):
        why = f"{n} requests are too few; it takes {min(BATCHES)}"
        return undecided(why)
    found = stats.batch_design_effect(~basis.good, [b for b in BATCHES if b <= n])
    effect, df = (1.0, min(BATCHES) - 1) if found is None else (max(1.0, found[0]), found[1])
    rows = stats.Effect(effect, df)
    if basis.values is not None:
        rows = max(rows, latency_effect(basis.values, basis.limit, policy), key=lambda each: each[0])
    worst = stats.worst_effect(basis.share.n, rows, _effect(basis.share))
    joint = replace(basis.share, design_effect=worst.design_effect, df=worst.df)
    decision = share(joint, sense, bar, policy)
    if basis.under_load and n < policy.min_under_load:
        why = f"{n} requests under load are too few; it takes {policy.min_under_load}"
        return replace(decision, accept=False, reject_p=None, blocked=why)
    if basis.values is not None and decision.accept and n / rows.design_effect < policy.min_effective:
        return replace(decision, accept=False, blocked=in_rows(n, rows.design_effect, policy))
    return decision


def cost_of_share(basis: CostOfShare, sense: Sense, bar: Decimal, policy: Policy) -> Decision:
    """Decide "c / share at most b" as "share at least c / b"; a share has to be between 0 and 1."""
    needed = basis.cost / bar
    shown: Sense = "at least" if sense == "at most" else "at most"
    if not 0 < needed <= 1:
        meets = (needed <= 0) == (shown == "at least")
        return Decision(accept=meets, reject_p=float(meets), exact=True, n_effective=float(basis.share.n))
    decision = share(basis.share, shown, needed, policy)
    low, high = decision.low, decision.high
    return replace(
        decision,
        low=basis.cost / high if high else None,
        high=basis.cost / low if low else None,
    )
