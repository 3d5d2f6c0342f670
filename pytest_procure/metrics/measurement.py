"""A measurement: what was seen, with its unit, its count, and the basis on which a bar on it is decided.

Basis
├── Share          k of n (or a mean of scores in [0, 1]); exact binomial bounds at an effective n
├── Curtailed      the same, stopped when no continuation could change the decision
├── Anytime        the same, by bounds that hold at every look at once
├── Corpus         one number of all answers; t bounds by the delete-a-group jackknife
├── Latencies      a percentile: decided as the share of requests within the limit
├── Means          independent repeats, of launches or items; t bounds
├── Goodput        requests that meet several limits at once; the stricter of both effective n
├── CostOfShare    an exact cost over a share of good answers
├── Ratio          a cost that varies over good answers (Fieller)
├── Contrast       scores of two candidates on the same items
├── Pairs          ratios of two candidates in interleaved blocks
├── Confirmed      the highest rate at which a fresh run met all bars; no more is claimed
├── Carried        what can be done of a declared rate: one over the load; t bounds
├── Interval       a value with bounds that its author computed
├── Exact          a value without an interval: a price at a declared rate
└── Unmeasurable   nothing was seen; says why
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.stats import ALL_APART, Alike
from pytest_procure.units import Quantity

from .metric import Metric

#: A failed request is over every limit.
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Share:
    """`total` is the sum of n scores in [0, 1]; `design_effect` and `df` are those of their clustering.

    `clusters`: of how many groups they are; None where each stands for itself.
    """

    total: float
    n: int
    design_effect: float = 1.0
    df: int | None = None  # None: independent items
    clusters: int | None = None
    weighted: bool = False  # strata count by their shares of production


@dataclass(frozen=True, slots=True)
class Rows:
    """How far failures stood in rows: the design effect of their share, and its degrees of freedom."""

    effect: float = 1.0
    df: int | None = None  # None: they did not


ALONE = Rows()


@dataclass(frozen=True, slots=True)
class Curtailed:
    """`total` of the `n` samples that were asked before nothing could change; `planned` in all."""

    total: float
    n: int
    planned: int
    design_effect: float = 1.0  # of failures in rows, as far as there were any
    df: int | None = None


@dataclass(frozen=True, slots=True)
class Anytime:
    """`successes` of `n`, looked at as often as one likes."""

    successes: int
    n: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """`value` of the whole, and `without` each group of items in turn; `clusters` independent items.

    `missed`: the value with one item (cluster) more that is wrong, for some of them in turn.
    """

    value: float
    without: tuple[float, ...]
    clusters: int
    rows: Rows = ALONE
    missed: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Latencies:
    """`values`: `(n,)` int64 ns in send order, `NEVER` where the request failed; `q`: the percentile.

    `alike`: which of them are of the same item, or of items that are alike.
    """

    values: NDArray[np.int64]
    q: Decimal
    under_load: bool
    alike: Alike = ALL_APART


@dataclass(frozen=True, slots=True)
class Means:
    """`values`: `(g,)` one a repeat. With `inverse` = c, what is measured is c / mean(values)."""

    values: NDArray[np.float64]
    of: str  # "launches", "items"
    minimum: int  # fewer repeats give no verdict
    inverse: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Goodput:
    """`share` allows for items that are alike; `values` and `limit` for requests that wait in a queue."""

    share: Share
    good: NDArray[np.bool_]  # (n,) in send order
    values: NDArray[np.int64] | None  # (n,) ns, `NEVER` where the request failed; None without a time limit
    limit: int  # ns
    under_load: bool


@dataclass(frozen=True, slots=True)
class CostOfShare:
    """What is measured is `cost` / share, in the cost's unit."""

    cost: Decimal
    share: Share


@dataclass(frozen=True, slots=True)
class Ratio:
    """`cost`, `success`: `(g,)` one an independent item; what is measured is mean(cost) / mean(success)."""

    cost: NDArray[np.float64]
    success: NDArray[np.float64]
    of: str = "items"  # or "clusters" of them
    rows: Rows = ALONE


@dataclass(frozen=True, slots=True)
class Contrast:
    """`candidate`, `reference`: `(n,)` scores in [0, 1] of the same items."""

    candidate: NDArray[np.float64]
    reference: NDArray[np.float64]
    clusters: NDArray[np.int64] | None
    as_ratio: bool
    rows: Rows = ALONE  # of the candidate's failures

    @property
    def counts(self) -> bool:
        """Whether items are right or wrong and stand for themselves, so that four counts tell everything."""
        whole = np.isin(self.candidate, (0, 1)).all() and np.isin(self.reference, (0, 1)).all()
        return self.clusters is None and bool(whole)


@dataclass(frozen=True, slots=True)
class Pairs:
    """`logs`: `(b,)` logarithms of candidate over reference, one an interleaved pair of blocks."""

    logs: NDArray[np.float64]
    minimum: int


@dataclass(frozen=True, slots=True)
class Confirmed:
    """`value` was shown in a run of its own, over so many fresh `launches`; it takes `minimum` of them.

    `unshown` says why it was not, if it was not.
    """

    value: Decimal
    launches: int
    minimum: int
    unshown: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value whose author says where it likely lies, in the metric's unit."""

    value: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True, slots=True)
class Carried:
    """`load`: what was asked over what can be done, with its standard error and the degrees of freedom."""

    load: float
    error: float
    freedom: int
    looks: int  # at loads, of which this one is the worst


@dataclass(frozen=True, slots=True)
class Exact:
    """A value that no sampling touches, in the metric's unit; `label` says on what condition."""

    value: Decimal
    label: str


@dataclass(frozen=True, slots=True)
class Unmeasurable:
    """Nothing was seen, for this reason."""

    reason: str


Basis = (
    Share
    | Curtailed
    | Anytime
    | Corpus
    | Latencies
    | Means
    | Goodput
    | CostOfShare
    | Ratio
    | Contrast
    | Pairs
    | Confirmed
    | Carried
    | Interval
    | Exact
    | Unmeasurable
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """`estimate` is None where nothing could be measured; `censored` means "at least this much"."""

    metric: Metric
    estimate: Quantity | None
    n: int
    n_unit: str
    basis: Basis
    censored: bool = False
    seconds: float = 0.0  # that the run took; 0 where there was none
    items: int = 0  # different samples that were asked, and
    most: int = 0  # how many the dataset has; 0 where that has nothing to do with it


def unmeasurable(metric: Metric, reason: str) -> Measurement:
    """Say that nothing was seen; never a 0."""
    return Measurement(metric, None, 0, "samples", Unmeasurable(reason))
