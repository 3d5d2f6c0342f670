"""Observations that tell the same: what they are worth as evidence of a share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_procure.stats.effects import cluster_design_effect
from pytest_procure.stats.shares import effective_n

#: Wholly wrong clusters that a lucky run may just have missed, when their spread is taken from it.
UNSEEN = 0.5
#: At which effects are compared; which of two is worse hardly hangs on it.
_CONFIDENCE = 0.95


class Effect(NamedTuple):
    """Design effect of a share, its degrees of freedom, and of how many groups it is.

    `df` is None for independent observations, `groups` where each observation stands for itself.
    """

    design_effect: float = 1.0
    df: int | None = None
    groups: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Which observations tell the same.

    `ways`: `(n,)` labels, an array for each way to group them: none, one, or two that cross. Where an
    observation is of several samples (`per` of them), they have no labels, and `samples` says how many
    different ones (or clusters of them) there are in all; None where each was asked once.
    """

    ways: tuple[npt.NDArray[np.int64], ...] = ()
    per: int = 1
    samples: int | None = None

    def among(self, chosen: npt.NDArray[np.int64]) -> Alike:
        """Keep the observations at these places, `(k,)`."""
        return Alike(tuple(labels[chosen] for labels in self.ways), self.per, self.samples)

    @property
    def groups(self) -> int | None:
        """The fewest groups of any way; None where each observation stands for itself."""
        counts = [(len(labels), _distinct(labels)) for labels in self.ways]
        grouped = [groups for n, groups in counts if groups < n]
        return min(grouped, default=self.samples)

    def effect(self, values: npt.ArrayLike) -> Effect:
        """Measure what the share of these observations, `(n,)` in [0, 1], is worth.

        The design effect of each way to group them, with half a cluster that the run may have missed. Two
        ways that cross add up, less what they have in common (Cameron, Gelbach and Miller 2011), with the
        fewer degrees of freedom. It is never below 1. Observations of one group tell as much as one, and
        those of several samples at least as much as the different samples would make once.
        """
        scores = np.asarray(values, dtype=np.float64)
        n = len(scores)
        if self.samples is not None:
            once = min(self.samples // self.per, n)
            return Effect(max(1.0, n * self.per / self.samples), max(1, once - 1), self.samples)
        found = [each for each in (_grouped(scores, labels) for labels in self.ways) if each.groups]
        if len(found) < 2:
            return found[0] if found else Effect()
        one, other = self.ways
        common = _grouped(scores, _crossed(one, other)).design_effect
        apart = [each.design_effect for each in found]
        return Effect(
            max(*apart, sum(apart) - common),
            min(each.df or 1 for each in found),
            min(each.groups or n for each in found),
        )


#: Each observation stands for itself.
ALL_APART = Alike()


def worst_effect(n: int, *effects: Effect) -> Effect:
    """Give the effect at which `n` observations are worth least, with the fewest groups of any.

    n: at least 2, or nothing can be compared and the first is given.
    """
    if n < 2:
        return effects[0]
    worst = min(effects, key=lambda each: _worth(n, each))
    groups = [each.groups for each in effects if each.groups is not None]
    return worst._replace(groups=min(groups, default=None))


def _worth(n: int, effect: Effect) -> float:
    df = n - 1 if effect.df is None else min(effect.df, n - 1)
    return effective_n(n, effect.design_effect, df, confidence=_CONFIDENCE)


def _grouped(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> Effect:
    n, groups = len(scores), _distinct(labels)
    if groups == n:
        return Effect()
    if groups == 1:
        return Effect(float(n), 1, 1)  # all of them tell as much as one
    effect, df = cluster_design_effect(scores, labels, unseen=UNSEEN)
    return Effect(max(1.0, effect), df, groups)


def _crossed(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number what is alike in both ways."""
    labels: npt.NDArray[np.int64] = np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)[1]
    return labels


def _distinct(labels: npt.NDArray[np.int64]) -> int:
    """Count labels, which are 0 or more and mostly dense: `np.unique` takes a second for a million."""
    if not len(labels):
        return 0
    if int(labels.min()) >= 0 and int(labels.max()) < 64 * len(labels):
        return int(np.count_nonzero(np.bincount(labels)))
    return len(np.unique(labels))
