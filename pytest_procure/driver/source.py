"""Where queries get their inputs."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

from pytest_procure.errors import DataError
from pytest_procure.scenarios import Scenario, conversation_order, sessions

from .log import Int64

#: Inputs up to this size are gathered before the window; beyond it, between queries.
PREPARED_BYTES = 64 << 20
#: Most batches of several to prepare: each costs a Python object beside its data.
PREPARED_BATCHES = 2_000_000
_PART = 10_000


class SampleSource(Protocol):
    """The dataset slice as the driver sees it. With several workers, `take` is called from all of them."""

    def __len__(self) -> int:
        """Count the samples."""
        ...

    def take(self, indices: Int64, /) -> Any:
        """Give a batch of inputs: an array of shape `(b, ...)`, or a list of b items."""
        ...


def conversations(source: SampleSource, scenario: Scenario) -> Int64:
    """Choose the samples of sessions that each ask about one cluster, in the dataset's order.

    Raises `DataError` where the data say nothing of clusters, or none is long enough.
    """
    clusters: Int64 | None = getattr(source, "clusters", None)
    if clusters is None:
        raise DataError(
            "`conversations=True` takes a dataset that says which samples belong together; "
            "give it `clusters=`"
        )
    # A slice may have drawn its samples in random order.
    places = np.argsort(getattr(source, "indices", np.arange(len(clusters))), kind="stable")
    asked = conversation_order(clusters[places], sessions(scenario), scenario.turns, scenario.seed)
    order: Int64 = places[asked]
    return order


def in_order(source: SampleSource, order: Int64) -> Any:
    """Gather all of `order` before the window, so that a batch is a slice; None where it takes too much."""
    probe = source.take(order[:1])
    if not isinstance(probe, (np.ndarray, list)) or len(order) * _bytes(probe) > PREPARED_BYTES:
        return None
    return source.take(order)


def in_batches_of(size: int, source: SampleSource, order: Int64) -> list[Any] | None:
    """Gather `order` in batches of `size` before the window; None where they take too much memory.

    The last batch may be shorter. Batches of one are shared between the queries that ask the same sample.
    """
    if size > 1:
        if -(-len(order) // size) > PREPARED_BATCHES:
            return None
        whole = in_order(source, order)
        return (
            None if whole is None else [whole[first : first + size] for first in range(0, len(order), size)]
        )
    items = np.unique(order)
    if len(items) * _bytes(source.take(order[:1])) > PREPARED_BYTES:
        return None
    single = {item: source.take(items[place : place + 1]) for place, item in enumerate(items.tolist())}
    batches: list[Any] = []
    for start in range(0, len(order), _PART):  # as Python numbers, all of them would take five times as much
        batches.extend(map(single.__getitem__, order[start : start + _PART].tolist()))
    return batches


def _bytes(batch: Any) -> int:
    """Estimate what a batch takes."""
    if isinstance(batch, (list, tuple)):
        return sum(int(getattr(item, "nbytes", sys.getsizeof(item))) for item in batch)
    return int(getattr(batch, "nbytes", sys.getsizeof(batch)))
