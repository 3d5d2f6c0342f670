"""Where queries get their inputs."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

from .log import Int64

#: Inputs up to this size are gathered before the window; beyond it, between queries.
PREPARED_BYTES = 64 << 20
#: Most batches to prepare: each costs a Python object beside its data.
PREPARED_BATCHES = 2_000_000


class SampleSource(Protocol):
    """The dataset slice as the driver sees it. With several workers, `take` is called from all of them."""

    def __len__(self) -> int:
        """Count the samples."""
        ...

    def take(self, indices: Int64, /) -> Any:
        """Give a batch of inputs: an array of shape `(b, ...)`, or a list of b items."""
        ...


def prepare(source: SampleSource, order: Int64, size: int) -> list[Any] | None:
    """Gather `order` in batches of `size` before the window; None where they take too much memory.

    The last batch may be shorter. Batches of one are shared between the queries that ask the same sample.
    """
    batches = -(-len(order) // size)
    distinct = min(batches, len(source)) if size == 1 else batches
    if not batches or batches > PREPARED_BATCHES:
        return None
    if distinct * _bytes(source.take(order[:size])) > PREPARED_BYTES:
        return None
    if size > 1:
        return [source.take(order[first : first + size]) for first in range(0, len(order), size)]
    single = {int(item): source.take(np.array([item])) for item in np.unique(order)}
    return [single[item] for item in order.tolist()]


def _bytes(batch: Any) -> int:
    """Estimate what a batch takes."""
    if isinstance(batch, (list, tuple)):
        return sum(int(getattr(item, "nbytes", sys.getsizeof(item))) for item in batch)
    return int(getattr(batch, "nbytes", sys.getsizeof(batch)))
