"""Metrics of a whole corpus, which no single item has a share in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from pytest_procure.errors import DomainError
from pytest_procure.stats import _distributions as distributions
from pytest_procure.stats import _domain as domain
from pytest_procure.stats.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Group = TypeVar("Group")


def jackknife_bounds(
    groups: Sequence[Group], statistic: Callable[[list[Group]], float], *, confidence: float
) -> Bounds:
    """Delete-a-group jackknife bounds of a corpus metric (macro F1, BLEU, WER, mAP).

    theta -+ t(G-1) * sqrt((G-1)/G * sum((theta without g - theta)^2)), each end one-sided at `confidence`.
    Source: Kott (2001), The delete-a-group jackknife. Where no group moves the metric (every answer right,
    say) there is no spread to measure and the bounds are -inf and inf, never a width of zero.

    groups: G disjoint parts of the corpus, at least 2, by item or cluster; whatever `statistic` takes a list
    of. Returns bounds in the metric's unit. Raises DomainError for fewer groups or a metric that is not
    finite.
    """
    confidence = domain.confidence_level(confidence)
    parts = list(groups)
    count = len(parts)
    if count < 2:
        raise DomainError(f"groups has {count} parts, expected at least 2")
    whole = domain.real("statistic of all groups", statistic(parts))
    squares = 0.0
    for left_out in range(count):
        rest = statistic([*parts[:left_out], *parts[left_out + 1 :]])
        squares += (domain.real(f"statistic without group {left_out}", rest) - whole) ** 2
    if squares == 0.0:
        return Bounds(-math.inf, math.inf)
    error = math.sqrt((count - 1) / count * squares)
    reach = distributions.t_quantile(confidence, count - 1.0) * error
    return Bounds(whole - reach, whole + reach)
