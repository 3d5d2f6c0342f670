"""Candidates on the same items: how often one was right, or better, where the other was not."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure import stats
from pytest_procure.metrics import Execution

from .record import RequirementRecord
from .shown import PairRecord

#: Of more candidates than this, each is paired with the first only: twenty offers would make 190 pairs.
_ALL_PAIRS = 6
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def answered_right(run: Execution) -> dict[str, Any] | None:
    """Give how each item of the slice that was asked was answered, as plain data that travels.

    By the first scorer; None without one, or where its scores are no shares of 1. Items that are right or
    wrong, each by itself, travel as bits: a right one was answered right each time. Graded scores, and items
    in clusters, travel as the mean score of each item, with the clusters.
    """
    if not run.scores:
        return None
    scorer, scores = next(iter(run.scores.items()))
    count = len(run.slice)
    asked = np.bincount(run.items, minlength=count)
    total = np.bincount(run.items, weights=scores, minlength=count)
    told: dict[str, Any] = {"scorer": scorer, "slice": run.slice.digest, "items": count}
    told["asked"] = _packed(asked > 0)
    ways = run.slice.groupings
    if not ways and np.isin(scores, (0.0, 1.0)).all():
        return {**told, "right": _packed((asked > 0) & (total == asked))}
    if scores.min() < 0 or scores.max() > 1:
        return None
    told["scores"] = _numbers(total / np.maximum(asked, 1))
    if ways:  # where two cross, the one with fewer groups
        fewest = min((np.unique(labels, return_inverse=True)[1] for labels in ways), key=np.max)
        told["clusters"] = _numbers(fewest.astype(np.float64))
    return told


def paired(
    requirements: Sequence[RequirementRecord],
    right: Mapping[str, dict[str, Any]],
    *,
    confidence: float,
    least: int = 20,
) -> list[PairRecord]:
    """Pair the candidates of each requirement that were asked the same items.

    right: test -> what `answered_right` gave for its marked run. Each end of a range one-sided. The ranges
    are those that a bar against another candidate is decided by: Newcombe's, widened where few differ, for
    items that are right or wrong by themselves, else Student's t on the differences, by cluster, from `least`
    items (clusters) on.
    """
    found: list[PairRecord] = []
    for requirement in requirements:
        own = [(r["candidate"], right[r["test"]]) for r in requirement["results"] if r["test"] in right]
        for (name, ours), (other, theirs) in itertools.combinations(own, 2):
            same = (ours["slice"], ours["scorer"]) == (theirs["slice"], theirs["scorer"])
            if not same or (len(own) > _ALL_PAIRS and other != own[0][0] and name != own[0][0]):
                continue
            told = _told(ours, theirs, confidence, least)
            if told is not None:
                bounds, difference, (n, better, worse) = told
                found.append(
                    {
                        "requirement": requirement["id"],
                        "scorer": str(ours["scorer"]),
                        "candidate": name,
                        "other": other,
                        "difference": round(difference, 6),
                        "low": bounds.low,
                        "high": bounds.high,
                        "confidence": round(confidence, 6),
                        "n": n,
                        "only_candidate": better,
                        "only_other": worse,
                    }
                )
    return found


def _told(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], confidence: float, least: int
) -> tuple[stats.Bounds, float, tuple[int, int, int]] | None:
    """Give bounds, difference, and how many items there are, how many went better and worse; or None."""
    both_asked = _unpacked(ours, "asked") & _unpacked(theirs, "asked")
    if not both_asked.any():
        return None
    a, b = (_scores(each)[both_asked] for each in (ours, theirs))
    n, better, worse = len(a), int((a > b).sum()), int((a < b).sum())
    if "right" in ours and "right" in theirs:
        both = int((a.astype(np.bool_) & b.astype(np.bool_)).sum())
        neither = n - both - better - worse
        bounds = stats.paired_share_bounds(both, better, worse, neither, confidence=confidence)
    else:
        clusters = _floats(ours["clusters"])[both_asked] if "clusters" in ours else None
        if (n if clusters is None else len(np.unique(clusters))) < least:
            return None
        bounds = stats.contrast_bounds(a, b, 1.0, confidence=confidence, clusters=clusters)
    return stats.round_outward(bounds), stats.exact_sum(a - b) / n, (n, better, worse)


def _scores(told: Mapping[str, Any]) -> Floats:
    return _unpacked(told, "right").astype(np.float64) if "right" in told else _floats(told["scores"])


def _numbers(values: Floats) -> str:
    return base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")


def _floats(packed: str) -> Floats:
    return np.frombuffer(base64.b64decode(packed), dtype="<f8").astype(np.float64)


def _packed(flags: Bools) -> str:
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")


def _unpacked(packed: Mapping[str, Any], key: str) -> Bools:
    bits = np.unpackbits(np.frombuffer(base64.b64decode(packed[key]), dtype=np.uint8), count=packed["items"])
    flags: Bools = bits.astype(np.bool_)
    return flags
