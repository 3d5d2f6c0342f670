"""Shares over strata that count by the parts they have in production."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.datasets import DatasetSlice
from pytest_procure.datasets.seats import LEAST
from pytest_procure.stats import exact_sum, stratified_mean

from .execution import Execution
from .failures import serial_effect
from .likeness import alike_items
from .measurement import Share


def weighting_fault(run: Execution) -> str:
    """Say why a weighted share cannot be told from what was asked, or nothing."""
    if run.slice.weights is None:
        return ""
    names, codes = _strata(run.slice)
    _, first = np.unique(_independent(run.items, run.slice, codes), return_index=True)
    asked = np.bincount(codes[run.items[first]], minlength=len(names))
    for name, count in zip(names, asked.tolist(), strict=True):
        if count < LEAST:
            return f"the run asked {count} samples of `{name}`; a weighted share takes {LEAST} or more"
    return ""


def weighted_share(
    scores: NDArray[np.float64], items: NDArray[np.int64], chosen: DatasetSlice, failed: NDArray[np.bool_]
) -> Share:
    """Give the share in production with its design effect: an item asked often is one, at its mean score.

    So are items of a stratum that have the same content. `n` is the number of different items. Their part of
    the slice is that of production but for rounding, so the effect is near 1; it is never taken as less.
    Where a content stands in several strata, its copies are answered alike, and the effect is at least what
    the contents' weights cost: n * sum(W_c^2), W_c the sum of w_h / n_h over the copies (Kish 1965).
    """
    assert chosen.weights is not None, "the caller has looked"
    names, codes = _strata(chosen)
    asked, first, place = np.unique(
        _independent(items, chosen, codes), return_index=True, return_inverse=True
    )
    means = np.bincount(place, weights=scores) / np.bincount(place)
    parts = [chosen.weights[name] for name in names]
    found = stratified_mean(np.clip(means, 0.0, 1.0), codes[items[first]], parts)
    effect, df = max(found.design_effect, 1.0), found.df
    # Failures under load come in rows, whatever is asked.
    serial, serial_df = serial_effect(np.repeat(failed, len(scores) // len(failed)))
    if serial > effect and serial_df is not None:
        effect, df = serial, serial_df
    n = len(asked)
    contents = alike_items(items[first], chosen).groups
    if contents is not None:
        effect = max(effect, n * _weights_of_contents(items[first], chosen, codes, parts))
    distinct = n if contents is None else contents
    clusters = distinct if distinct < len(scores) else None
    return Share(found.mean * n, n, effect, max(df, 1), clusters, weighted=True)


def _weights_of_contents(
    items: NDArray[np.int64], chosen: DatasetSlice, codes: NDArray[np.intp], parts: list[float]
) -> float:
    """Give the sum of the squares of what each content weighs in the weighted mean."""
    of = codes[items]
    each = (np.array(parts) / np.bincount(of, minlength=len(parts)))[of]
    (contents,) = chosen.groupings
    weights = np.bincount(np.unique(contents[items], return_inverse=True)[1], weights=each).astype(float)
    return exact_sum(weights**2)


def _independent(
    items: NDArray[np.int64], chosen: DatasetSlice, codes: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Number what each item asked counts as: itself, or with others of its stratum and content one."""
    if not chosen.groupings:
        return items
    (contents,) = chosen.groupings  # a weighted slice has no clusters
    told: NDArray[np.int64] = contents[items] * (int(codes.max()) + 1) + codes[items]
    return told


def _strata(chosen: DatasetSlice) -> tuple[list[str], NDArray[np.intp]]:
    assert chosen.strata is not None, "a weighted slice has strata"
    names, codes = np.unique(chosen.strata, return_inverse=True)
    return names.tolist(), codes
