"""What was asked that tells the same: an item asked twice, items of a cluster, items of equal content."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_procure.datasets import DatasetSlice
from pytest_procure.stats import Alike, exact_sum

from .execution import Execution

#: Groups that a verdict takes by default.
FEWEST = 20


def alike_items(items: NDArray[np.int64], chosen: DatasetSlice) -> Alike:
    """Group samples by which item of the slice each is, `(n,)`, and by what the items have in common.

    An item has one content and stands in one cluster, so that where there are either they hold its repeats.
    """
    return Alike(tuple(labels[items] for labels in chosen.groupings) or (items,))


def alike_requests(run: Execution) -> Alike:
    """Group the requests of a run, in send order, by the samples that they ask.

    A request of several samples is alike to others in part. All of them together tell at least as much as
    the different samples cut into requests once.
    """
    per, samples = run.scenario.samples_per_query, alike_items(run.items, run.slice)
    if per == 1:
        return samples
    distinct = samples.groups
    return Alike(per=per, samples=distinct)


def widest(residuals: NDArray[np.float64], ways: Sequence[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Give the way to group items, `(n,)` labels, at which these residuals add up to the largest spread.

    A way with fewer groups than a verdict takes comes first, since it allows none. None: no way is given.
    """

    def spread(labels: NDArray[np.int64]) -> tuple[bool, float]:
        _, member_of = np.unique(labels, return_inverse=True)
        sums = np.bincount(member_of, weights=residuals).astype(np.float64)
        groups = len(sums)
        return groups < FEWEST, groups / max(groups - 1, 1) * exact_sum(sums**2)

    return max(ways, key=spread, default=None)
