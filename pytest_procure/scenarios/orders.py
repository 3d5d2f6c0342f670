"""Which sample each query asks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError

from .randomness import ORDER, REPEATS, generator
from .traffic import Traffic


def order_of(traffic: Traffic, items: int, total: int) -> NDArray[np.int64]:
    """Choose the samples of a run: `(total,)` int64 in [0, items), `samples_per_query` of them a query.

    By default every item equally often and without replacement (`sample_order`). With a declared
    `repeat_share`, that share of queries asks again, at random, what the run has asked before; with
    `rng="loadgen"` the order is LoadGen's.
    """
    if traffic.loadgen is not None:
        return traffic.loadgen.order(traffic.name, items, total, traffic.samples_per_query)
    if not traffic.repeat_share or not total:
        return sample_order(items, total, traffic.seed)
    random = generator(traffic.seed, REPEATS)
    # Two draws a query, taken together, so that a longer order begins with the shorter one.
    draws = random.random((total, 2))
    again = draws[:, 0] < traffic.repeat_share
    again[0] = False
    asked = np.cumsum(~again)  # how many different queries there were, this one included
    fresh = sample_order(items, int(asked[-1]), traffic.seed)
    order: NDArray[np.int64] = fresh[np.where(again, (draws[:, 1] * asked).astype(np.int64), asked - 1)]
    return order


def sample_order(items: int, total: int, seed: int) -> NDArray[np.int64]:
    """Choose which sample each query asks: `(total,)` int64 in [0, items).

    Every pass over the slice is a fresh permutation, so after any number of queries no sample has been asked
    twice more often than another. A longer order starts with the shorter one.
    """
    passes = -(-total // items)
    table = np.tile(np.arange(items, dtype=np.int64), (passes, 1))
    order: NDArray[np.int64] = generator(seed, ORDER).permuted(table, axis=1).reshape(-1)[:total]
    return order


def conversation_order(
    clusters: NDArray[np.int64], sessions: int, turns: int, seed: int
) -> NDArray[np.int64]:
    """Let each session ask the first `turns` samples of one cluster, in order: `(sessions * turns,)` int64.

    `clusters`: `(n,)` the cluster of each sample, in the order in which its samples are to be asked. Clusters
    that are long enough take turns like samples do elsewhere. Raises `DataError` where none is.
    """
    by_cluster = np.argsort(clusters, kind="stable")
    _, first, sizes = np.unique(clusters[by_cluster], return_index=True, return_counts=True)
    long = first[sizes >= turns]
    if not len(long):
        most = int(sizes.max()) if len(sizes) else 0
        raise DataError(
            f"no cluster of the slice has the {turns} samples that a session asks (`turns=`); "
            f"the largest has {most}"
        )
    firsts = long[sample_order(len(long), sessions, seed)]
    order: NDArray[np.int64] = by_cluster[(firsts[:, None] + np.arange(turns)).reshape(-1)]
    return order


def repeat_share(order: NDArray[np.int64]) -> float:
    """Tell which share of an order asks what it has asked before, rounded to 12 digits; 0 for an empty one.

    A cache of answers, or of prefixes, can serve that share without computing it.
    """
    if not len(order):
        return 0.0
    distinct = int(np.count_nonzero(np.bincount(order)))  # which takes no copy of the order
    return round(1.0 - distinct / len(order), 12)
