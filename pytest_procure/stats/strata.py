"""A share over strata whose parts in production are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_procure.errors import DomainError
from pytest_procure.stats import _domain as domain
from pytest_procure.stats import _sums as sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class StratifiedShare(NamedTuple):
    """A weighted share, the variance of its estimate, and its design effect with degrees of freedom."""

    share: float
    variance: float
    design_effect: float
    df: int


def stratified_share(
    successes: Sequence[int] | npt.NDArray[np.integer],
    n: Sequence[int] | npt.NDArray[np.integer],
    weights: npt.ArrayLike,
) -> StratifiedShare:
    """Share in production: the strata's shares weighted by the parts they have there.

    share = sum(w_h p_h), variance = sum(w_h^2 p_h (1 - p_h) / (n_h - 1)), design effect = variance over
    share (1 - share) / N, N = sum(n_h), df = N - strata; bounds are then `korn_graubard_bounds` with N items.
    Source: Cochran (1977), chapter 5.

    A stratum that is all right or all wrong shows no variance of its own; where one is, the design effect is
    at least what the weights alone cost, N * sum(w_h^2 / n_h) (Kish 1965). Without that, 20 right answers
    that stand for half of production, beside 380 for the rest, were accepted exactly at a bar of 0.95 in 29
    of 100 runs at a nominal 5.

    successes: (H,) 0 to n. n: (H,) items, each at least 2. weights: (H,) at least 0, sum 1.
    Raises DomainError otherwise.
    """
    hits = np.array(
        [domain.whole(f"successes[{h}]", k, 0) for h, k in enumerate(successes)], dtype=np.float64
    )
    items = np.array([domain.whole(f"n[{h}]", size, 2) for h, size in enumerate(n)], dtype=np.float64)
    parts = domain.vector("weights", weights, low=0.0)
    domain.same_length("successes", hits, "weights", parts.size)
    domain.same_length("n", items, "weights", parts.size)
    over = hits > items
    if over.any():
        h = int(np.argmax(over))
        raise DomainError(f"successes[{h}] is {hits[h]:g}, expected at most n[{h}], which is {items[h]:g}")
    if abs(sums.total(parts) - 1.0) > 1e-9:
        raise DomainError(f"weights sums to {sums.total(parts):g}, expected 1")
    shares = hits / items
    # Parts that sum to 1 only up to rounding must not lift the share of an all-right run above 1.
    share = min(sums.total(parts * shares), 1.0)
    variance = sums.total(parts**2 * shares * (1.0 - shares) / (items - 1.0))
    size = sums.total(items)
    independent = share * (1.0 - share) / size
    effect = variance / independent if independent > 0.0 else 0.0
    if ((parts > 0.0) & ((hits == 0.0) | (hits == items))).any():
        effect = max(effect, size * sums.total(parts**2 / items))
    return StratifiedShare(share, variance, effect, int(size) - items.size)


class StratifiedMean(NamedTuple):
    """A weighted mean of scores, its design effect and degrees of freedom."""

    mean: float
    design_effect: float
    df: int


def stratified_mean(values: npt.ArrayLike, strata: npt.ArrayLike, weights: npt.ArrayLike) -> StratifiedMean:
    """Mean in production of scores in [0, 1]: the strata's means weighted by the parts they have there.

    mean = sum(w_h m_h), variance = sum(w_h^2 s_h^2 / n_h), design effect = variance over mean (1 - mean) / n,
    which no scores in [0, 1] exceed; for right and wrong it is `stratified_share`. Where a stratum shows no
    variance of its own, the effect is at least what the weights alone cost, as there.
    Source: Cochran (1977), chapter 5; Kish (1965).

    values: (n,) in [0, 1]. strata: (n,) whole numbers from 0 to H - 1, each twice or more. weights: (H,) at
    least 0, sum 1. Raises DomainError otherwise.
    """
    scores = domain.vector("values", values, at_least=2, low=0.0, high=1.0)
    parts = domain.vector("weights", weights, low=0.0)
    if abs(sums.total(parts) - 1.0) > 1e-9:
        raise DomainError(f"weights sums to {sums.total(parts):g}, expected 1")
    codes = np.asarray(strata)
    if codes.shape != scores.shape or codes.dtype.kind not in "iu":
        raise DomainError(f"strata has shape {codes.shape}, expected a whole number for each value")
    if codes.min() < 0 or codes.max() >= parts.size:
        raise DomainError(f"strata holds {int(codes.max())}, expected 0 to {parts.size - 1}")
    sizes = np.bincount(codes, minlength=parts.size).astype(np.float64)
    if (sizes < 2).any():
        h = int(np.argmax(sizes < 2))
        raise DomainError(f"stratum {h} has {sizes[h]:g} values, expected 2 or more")
    means = sums.by_group(scores, codes) / sizes
    apart = sums.by_group((scores - means[codes]) ** 2, codes) / (sizes - 1.0)
    mean = min(sums.total(parts * means), 1.0)
    variance = sums.total(parts**2 * apart / sizes)
    independent = mean * (1.0 - mean) / scores.size
    effect = variance / independent if independent > 0.0 else 0.0
    if ((parts > 0.0) & (apart == 0.0)).any():
        effect = max(effect, scores.size * sums.total(parts**2 / sizes))
    return StratifiedMean(mean, effect, scores.size - parts.size)
