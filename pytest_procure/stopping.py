"""Stopping early, where that changes no risk: at the first look that settles every bar.

    fixed       the planned number of samples, and one look at the end
    curtailed   the same decision, as soon as no continuation can change it
    anytime     bounds that hold at every look at once (confidence sequence), up to the planned number

Only for bars on right answers, over items that are asked once and stand for themselves, and never under load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .bars import Bar
from .datasets import DatasetSlice
from .driver.pull import Run
from .errors import DataError, DeclarationError
from .interleave import Block, Drive
from .provision import Provisioned
from .scenarios import Scenario, queries, sample_order

#: Looks at a run: often enough to save nearly all that can be saved, and few enough not to matter.
_LOOKS = 40


def check(bars: Sequence[Bar], chosen: DatasetSlice, scenario: Scenario) -> None:
    """Raise `DeclarationError` or `DataError` where stopping early would break the rule's risks."""
    if scenario.stopping == "fixed":
        return
    asked = f"`stopping={scenario.stopping!r}`"
    others = [
        bar.metric.name
        for bar in bars
        if bar.metric.kind != "quality" or bar.metric.of_corpus or bar.metric.stage or bar.against is not None
    ]
    if others or not bars:
        told = ", ".join(others) or "there is none"
        raise DeclarationError(f"{asked} is for declared bars on right answers alone, not for {told}")
    if scenario.launches > 1:
        raise DeclarationError(f"{asked} and `launches=` exclude each other")
    if chosen.clusters is not None:
        raise DataError(f"{asked} takes items that stand for themselves; this dataset has clusters")
    if chosen.groupings:
        repeats = len(chosen) - min(len(np.unique(each)) for each in chosen.groupings)
        raise DataError(
            f"{asked} takes items that stand for themselves; {repeats:,} of the {len(chosen):,} in this "
            "slice repeat another's content"
        )
    if chosen.weights is not None:
        raise DataError(f"{asked} counts each item the same; this slice is weighted")
    if queries(scenario, len(chosen)) > len(chosen):
        raise DataError(f"{asked} asks each item once at most; lower `count` to {len(chosen)}")


def staged(
    backend: Provisioned,
    chosen: DatasetSlice,
    scenario: Scenario,
    drive: Drive,
    settled: Callable[[Sequence[Run]], bool],
) -> list[Run]:
    """Drive the planned samples in stages, and stop after the first that settles everything."""
    order = sample_order(len(chosen), queries(scenario, len(chosen)), scenario.seed)
    runs: list[Run] = []
    for stage in np.array_split(order, min(_LOOKS, len(order))):
        part = replace(scenario, count=len(stage), warmup=0 if runs else scenario.warmup)
        run = drive(backend, Block(chosen, stage), part)
        run.log.samples = stage[run.log.samples]
        runs.append(run)
        if run.broken or run.interrupted or settled(runs):
            break
    return runs
