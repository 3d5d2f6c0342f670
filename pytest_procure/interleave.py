"""Runs of several candidates in interleaved blocks, so that a drift of the machine falls on all alike.

One after the other, equal candidates come out different 41 % of the time under a drift of 5 % over a session;
in seeded random pairs 5 % of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .datasets import DatasetSlice
from .driver.log import Int64
from .driver.pull import Run
from .errors import DataError, DeclarationError
from .metrics.comparison import BLOCKS
from .provision import Provisioned
from .scenarios import Scenario, queries
from .units import Quantity

Drive = Callable[[Provisioned, Any, Scenario], Run]

_STREAM = 3  # random numbers of a seed; arrivals and sample orders have their own


@dataclass(frozen=True, slots=True)
class Block:
    """Some items of a slice, as a driver asks for them."""

    slice: DatasetSlice
    items: Int64

    def __len__(self) -> int:
        """Count items."""
        return len(self.items)

    def take(self, indices: Int64, /) -> Any:
        """Give a batch of inputs; `indices` count within the block."""
        return self.slice.take(self.items[indices])


def interleaved(
    backends: Mapping[str, Provisioned],
    chosen: DatasetSlice,
    scenarios: Mapping[str, Scenario],
    drive: Drive,
) -> dict[str, list[Run]]:
    """Drive all candidates over the same blocks, each block in an order of its own; the seed decides both.

    `backends`, `scenarios`: by candidate, the same traffic for all; batches are a candidate's own.
    A call that never returns, or a process that ends, ends it with its block, so that all have the same
    blocks behind them. Raises `DataError` for a slice that cannot be cut, and `DeclarationError` for
    `launches`.
    """
    seed = next(iter(scenarios.values())).seed
    if any(scenario.launches > 1 for scenario in scenarios.values()):
        raise DeclarationError("a comparison has blocks instead of `launches=`; leave them out")
    if len(chosen) < BLOCKS:
        raise DataError(
            f"a comparison is cut into {BLOCKS} blocks, and the slice has {len(chosen)} sample(s)"
        )
    generator = np.random.Generator(np.random.PCG64([seed, _STREAM]))
    parts = np.array_split(generator.permutation(len(chosen)).astype(np.int64), BLOCKS)
    runs: dict[str, list[Run]] = {name: [] for name in backends}
    for number, items in enumerate(parts):
        block = Block(chosen, items)
        for place in generator.permutation(len(backends)):
            name = list(backends)[place]
            asked = _of_block(scenarios[name], number, len(chosen), len(items))
            run = drive(backends[name], block, asked)
            run.log.samples = items[run.log.samples]
            runs[name].append(run)
        if any(each[-1].broken for each in runs.values()):
            break
    return runs


def _of_block(scenario: Scenario, number: int, items: int, block: int) -> Scenario:
    """Give the scenario's share of one block, with arrivals of its own."""
    seed = scenario.seed + number
    if scenario.duration is not None and scenario.is_closed_loop:
        part = Quantity(scenario.duration.number / BLOCKS, scenario.duration.unit)
        return replace(scenario, seed=seed, duration=part)
    total = queries(scenario, items)
    if scenario.count is None and scenario.duration is None:
        return replace(scenario, seed=seed, count=-(-block // scenario.samples_per_query))
    return replace(scenario, seed=seed, duration=None, count=max(1, -(-total // BLOCKS)))
