"""Design effects: how many correlated observations carry the information of one independent one."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_procure.errors import DomainError
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

BATCHES = (5, 10, 20, 40)


def cluster_design_effect(
    values: npt.ArrayLike, clusters: npt.ArrayLike, *, unseen: float = 0.0
) -> tuple[float, int]:
    """Design effect of a mean over clustered items, and its degrees of freedom (clusters - 1).

    The variance of the mean from the clusters' residual sums, G/(G-1) * sum(S_g^2) / n^2, over that of
    independent items, s^2 / n: items that are each their own cluster give exactly 1. It may be below 1.
    Source: Miller (2024), Adding error bars to evals; Kish (1965).

    Values that are all equal show no variance to compare. They are taken as wholly alike within clusters,
    m = sum(m_g^2) / n, the most a design can cost: a cluster of repeats that are all right is one right
    answer.

    Close to 0 or 1 a handful of clusters holds all that differs, and a spread taken from them is a guess that
    is too small when the run was lucky. So many `unseen` clusters more, of the size m in which an item finds
    itself and all wrong (all right), are what such a run may just have missed; the effect with them counts
    where it is larger, up to m. Their weight fades as clusters are seen to differ.
    Source: this project, by simulation (docs/verdict-errors.md); half of one keeps the nominal risk.

    values: (n,) finite, 0/1 or graded; in [0, 1] with `unseen`. clusters: (n,) labels of any kind, at least 2
    distinct ones. unseen: 0 or more. Raises DomainError otherwise.
    """
    unseen = domain.real("unseen", unseen, low=0.0)
    limits = {"low": 0.0, "high": 1.0} if unseen else {}
    scores = domain.vector("values", values, at_least=2, **limits)
    member_of, sizes = domain.grouping(clusters, scores.size)
    most = sums.total(sizes**2) / scores.size
    if np.ptp(scores) == 0.0:
        return most, sizes.size - 1
    totals = sums.by_group(scores, member_of)
    effect = _clustered(scores, totals, sizes)
    if unseen:
        # Whole clusters of 0 or 1 weigh `unseen` each: they change the mean, both variances and the counts.
        imagined = [
            _clustered(scores, totals, sizes, weight=unseen, size=most, value=value) for value in (0.0, 1.0)
        ]
        effect = max(effect, min(most, max(imagined)))
    return effect, sizes.size - 1


def _clustered(  # noqa: PLR0913 - the sums that both sides of the ratio are made of
    scores: npt.NDArray[np.float64],
    totals: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.float64],
    *,
    weight: float = 0.0,
    size: float = 0.0,
    value: float = 0.0,
) -> float:
    """Variance of the mean by clusters over that of independent items, with `weight` clusters made up."""
    n, groups, right = scores.size + weight * size, sizes.size + weight, sums.total(scores)
    mean = (right + weight * size * value) / n
    made_up = weight * size * (value - mean) ** 2
    if ((scores == 0.0) | (scores == 1.0)).all():
        apart = right * (1.0 - mean) ** 2 + (scores.size - right) * mean**2  # the same, 30 times quicker
    else:
        apart = sums.total((scores - mean) ** 2)
    independent = (apart + made_up) / (n - 1) / n
    residuals = totals - mean * sizes
    clustered = groups / (groups - 1) * (sums.total(residuals**2) + size * made_up) / n**2
    return clustered / independent


def batch_design_effect(
    indicator: npt.ArrayLike, batches: Sequence[int] = BATCHES
) -> tuple[float, int] | None:
    """Design effect of a share of serially correlated requests, and its degrees of freedom.

    Batch means in send order: for each b, b consecutive batches of floor(n / b) with the remainder in the
    last; the variance of the share from the batches' residual sums over share * (1 - share) / n. The worst
    over b counts, with b - 1 degrees of freedom (the fewer where two are equal). A b above n is left out.
    Source: batch means (Conway 1963; Law and Kelton 2000).

    indicator: (n,) of 0/1 or bool in send order. batches: whole numbers of at least 2.
    Returns None when every value is the same: such an indicator says nothing of correlation, and 1.0 would
    claim independence. Raises DomainError for other values, or for n below every b.
    """
    flags = _indicator(indicator)
    counts = _batch_counts(batches, "indicator", flags.size)
    n = flags.size
    hits = int(np.count_nonzero(flags))
    if hits in {0, n}:
        return None
    share = hits / n
    worst = (-math.inf, 0)
    for count in sorted(counts):
        size = n // count
        edges = [*range(0, count * size, size), n]
        residuals = [
            int(np.count_nonzero(flags[start:end])) - share * (end - start)
            for start, end in itertools.pairwise(edges)
        ]
        effect = count / (count - 1) * math.fsum(r * r for r in residuals) / (n * share * (1.0 - share))
        if effect > worst[0]:
            worst = (effect, count - 1)
    return worst


def latency_design_effect(
    latencies: npt.ArrayLike, limit: float, batches: Sequence[int] = BATCHES, *, far: float = math.inf
) -> tuple[float, int]:
    """Design effect of the share of requests within `limit`, and its degrees of freedom; never below 1.

    The larger of two batch-means design effects: that of "over the limit" and that of "slower than the run's
    own p90" (nearest rank). The second borrows from the bulk, because a short lucky run holds too few slow
    requests to show how they cluster. Where nothing is slower than p90 (ties at the top), "at least p90"
    stands in. Latencies that are all equal show no correlation: (1.0, most batches - 1).

    Of a bulk that lies more than `far` times below the limit, only what is slower than limit / far counts;
    where nothing is: (1.0, least batches - 1).

    latencies: (n,) in send order, integer ns or float; a failed request is inf or the largest integer, and
    so is over any limit. limit: finite, same unit. far: above 1, inf for none. Raises DomainError for other
    values, for NaN, or for n below every b.
    """
    times = domain.sortable("latencies", latencies)
    limit = domain.real("limit", limit)
    if not far > 1.0:
        raise domain.refusal("far", far, "a number above 1")
    counts = _batch_counts(batches, "latencies", times.size)
    rank = -(-9 * times.size // 10)
    own_p90 = np.partition(times, rank - 1)[rank - 1]
    if own_p90 < limit / far:
        slow, none = times > limit / far, min(counts) - 1
    else:
        slow, none = times > own_p90, max(counts) - 1
        if not slow.any():
            slow = times >= own_p90
    found = [
        effect
        for effect in (batch_design_effect(times > limit, counts), batch_design_effect(slow, counts))
        if effect is not None
    ]
    if not found:
        return 1.0, none
    effect, df = max(found, key=lambda pair: (pair[0], -pair[1]))
    return max(effect, 1.0), df


def _indicator(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    array: npt.NDArray[Any] = np.asarray(values)
    domain.require_length("indicator", array, 1)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iuf":
        raise domain.refusal("indicator", array.dtype.name, "values of 0 or 1")
    flags: npt.NDArray[np.bool_] = array != 0
    wrong = flags & (array != 1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise domain.refusal(f"indicator[{first}]", array[first].item(), "0 or 1")
    return flags


def _batch_counts(batches: Iterable[int], name: str, n: int) -> list[int]:
    """Return the batch counts that a run of `n` can be cut into."""
    counts = [domain.whole("batches", count, 2) for count in batches]
    if not counts:
        raise domain.refusal("batches", (), "at least one number of batches")
    possible = [count for count in counts if count <= n]
    if not possible:
        raise DomainError(f"{name} has {n} values, expected at least {min(counts)}, one for each batch")
    return possible
