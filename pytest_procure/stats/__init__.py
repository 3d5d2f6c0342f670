"""Intervals, effective sample sizes, plans: the arithmetic behind a verdict.

Pure functions of numbers: no clock, no random state, no files. `confidence` is one-sided at each end, unless
a function says otherwise: a two-sided 95 % interval is `confidence=0.975`. Bounds are raw floats;
`round_outward` makes what a verdict is decided on. An argument outside a method's domain is a DomainError.
"""

from __future__ import annotations

from pytest_procure.stats._sums import total as exact_sum
from pytest_procure.stats.alike import ALL_APART, Alike, Effect, worst_effect
from pytest_procure.stats.bounds import Bounds, round_outward
from pytest_procure.stats.effects import (
    batch_design_effect,
    cluster_design_effect,
    latency_design_effect,
)
from pytest_procure.stats.jackknife import jackknife_bounds
from pytest_procure.stats.launches import launch_mean_bounds, launch_mean_p_value, skewed_mean_bounds
from pytest_procure.stats.multiplicity import holm
from pytest_procure.stats.pairs import contrast_bounds, newcombe_paired, paired_share_bounds
from pytest_procure.stats.percentiles import nearest_rank, order_statistic_ranks, percentile, upper_rank
from pytest_procure.stats.plans import SharePlan, operating_characteristic, plan_share
from pytest_procure.stats.ratios import fieller_ratio
from pytest_procure.stats.sequences import confidence_sequence
from pytest_procure.stats.shares import (
    effective_n,
    graded_bounds,
    korn_graubard_bounds,
    share_bounds,
    share_p_value,
)
from pytest_procure.stats.steady import mser5
from pytest_procure.stats.strata import StratifiedShare, stratified_mean, stratified_share

__all__ = [
    "ALL_APART",
    "Alike",
    "Bounds",
    "Effect",
    "SharePlan",
    "StratifiedShare",
    "batch_design_effect",
    "cluster_design_effect",
    "confidence_sequence",
    "contrast_bounds",
    "effective_n",
    "exact_sum",
    "fieller_ratio",
    "graded_bounds",
    "holm",
    "jackknife_bounds",
    "korn_graubard_bounds",
    "latency_design_effect",
    "launch_mean_bounds",
    "launch_mean_p_value",
    "mser5",
    "nearest_rank",
    "newcombe_paired",
    "operating_characteristic",
    "order_statistic_ranks",
    "paired_share_bounds",
    "percentile",
    "plan_share",
    "round_outward",
    "share_bounds",
    "share_p_value",
    "skewed_mean_bounds",
    "stratified_mean",
    "stratified_share",
    "upper_rank",
    "worst_effect",
]
