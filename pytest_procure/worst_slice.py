"""The slice on which a candidate is worst: searched for on one half of a run's items, judged on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from .cases import Case
from .datasets.conditions import Condition, Features, columns_of, worst_condition
from .errors import DataError, DeclarationError, unknown
from .measured import Measured
from .metrics import Execution
from .metrics.scoring import scoring_fault
from .stats import graded_bounds, round_outward

#: Fewer items than this on either half say nothing.
_LEAST = 2


@dataclass(frozen=True, slots=True)
class FoundSlice:
    """A slice that was found: `where` may stand in `dataset_slice(where=...)` of a later test.

    `share` is its mean score on the half that did not find it, `n` items, to hold against a bar; not
    measurable where the scores are those of a judge that nothing may rest on.
    """

    name: str
    where: Condition
    share: Measured
    n: int


class Asked(TypedDict, total=False):
    """How a search is made.

    A condition (`length >= 212 and stratum == 'billing'`) is found on one half of the items, and its share is
    measured on the other, so that the search does not choose its own evidence.
    """

    scores: str  # the scorer's metric by which it is worst; "accuracy"
    name: str  # what a bar on its share names; "own.worst_slice"
    least: int  # items of the first half that a condition has to hold for; 30
    examples: int  # conditions that are tried; 200
    seed: int  # of the halves; clusters stay whole; 0


_DEFAULTS: Asked = {
    "scores": "accuracy",
    "name": "own.worst_slice",
    "least": 30,
    "examples": 200,
    "seed": 0,
}
_SMALLEST = {"least": _LEAST, "examples": 1, "seed": 0}


def found_slice(case: Case, run: Execution, features: Features, asked: Asked) -> FoundSlice:
    """Search one half of the items for the worst condition, and measure it on the other as `own.NAME`.

    By hypothesis (extra `[hypothesis]`). Raises `DeclarationError`, `DataError` and `ProvisionError` for what
    cannot be searched.
    """
    for knob in asked:
        if knob not in _DEFAULTS:
            raise DeclarationError(unknown("argument of a search", knob, _DEFAULTS))
    search: dict[str, Any] = {**_DEFAULTS, **asked}
    if search["scores"] not in run.scores:
        raise DeclarationError(unknown("scorer", search["scores"], run.scores))
    for knob, smallest in _SMALLEST.items():
        value = search[knob]
        if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
            raise DeclarationError(f"`{knob}={value!r}` of a search; expected a number, {smallest} or more")
    items = np.unique(run.items)
    means = (
        np.bincount(run.items, weights=run.scores[search["scores"]])[items] / np.bincount(run.items)[items]
    )
    strata = None if run.slice.strata is None else run.slice.strata[items]
    columns = columns_of(features, [run.slice.inputs[i] for i in items], strata)
    ways = [labels[items] for labels in run.slice.groupings]
    searched = _half(min(ways, key=lambda labels: len(np.unique(labels)), default=items), search["seed"])
    parts = worst_condition(
        _rows(columns, searched), means[searched], least=search["least"], examples=search["examples"]
    )
    condition = Condition(parts, dict(features))
    judged = ~searched & condition.among(columns)
    n = int(judged.sum())
    if n < _LEAST:
        raise DataError(
            f"`{condition}` was found on one half of the items, and holds for {n} of the other; ask with a "
            "larger `least=`"
        )
    if fault := scoring_fault(search["scores"], run):
        return FoundSlice(str(condition), condition, case.leave_unmeasured(search["name"], fault), n)
    share = float(means[judged].mean())
    low, high = _bounds(case, means[judged], [labels[judged] for labels in ways])
    measured = case.measure(
        search["name"],
        round(share, 12),
        "",
        (min(low, share), max(high, share)),
        n=n,
        n_unit=f"items where {condition}, found on other items",
    )
    return FoundSlice(str(condition), condition, measured, n)


def _bounds(
    case: Case, scores: NDArray[np.float64], ways: Sequence[NDArray[np.int64]]
) -> tuple[float, float]:
    """Each end one-sided at the suite's consumer's risk; 0 and 1 where the clusters are too few.

    ways: labels of the items, an array for each way in which they are alike; the widest range counts.
    """
    if any(len(np.unique(labels)) < max(case.policy.min_clusters, _LEAST) for labels in ways):
        return 0.0, 1.0
    each_way: Sequence[NDArray[np.int64] | None] = ways or [None]
    found = [
        round_outward(graded_bounds(scores, confidence=case.policy.confidence, clusters=labels))
        for labels in each_way
    ]
    return min(each.low for each in found), max(each.high for each in found)


def _half(clusters: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """`(n,)` which items are searched: every second cluster in an order that the seed draws."""
    known, place = np.unique(clusters, return_inverse=True)
    keys = np.random.PCG64(seed).random_raw(len(known))
    rank = np.empty(len(known), dtype=np.int64)
    rank[np.argsort(keys, kind="stable")] = np.arange(len(known))
    half: NDArray[np.bool_] = rank[place] % 2 == 0
    return half


def _rows(
    columns: Mapping[str, NDArray[np.generic]], kept: NDArray[np.bool_]
) -> dict[str, NDArray[np.generic]]:
    return {name: column[kept] for name, column in columns.items()}
