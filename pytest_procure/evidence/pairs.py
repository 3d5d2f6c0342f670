"""Candidates on the same items: how often one was right where the other was not."""

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


def answered_right(run: Execution) -> dict[str, Any] | None:
    """Give which items of the slice were asked, and answered right each time, as plain data that travels.

    By the first scorer; None where scores are graded, or items come in clusters: Newcombe's method counts
    independent items that are right or wrong.
    """
    if not run.scores or run.slice.clusters is not None:
        return None
    scorer, scores = next(iter(run.scores.items()))
    if not np.isin(scores, (0.0, 1.0)).all():
        return None
    count = len(run.slice)
    asked = np.bincount(run.items, minlength=count)
    hits = np.bincount(run.items, weights=scores, minlength=count)
    return {
        "scorer": scorer,
        "slice": run.slice.digest,
        "items": count,
        "asked": _packed(asked > 0),
        "right": _packed((asked > 0) & (hits == asked)),
    }


def paired(
    requirements: Sequence[RequirementRecord], right: Mapping[str, dict[str, Any]], *, confidence: float
) -> list[PairRecord]:
    """Pair the candidates of each requirement that were asked the same items.

    right: test -> what `answered_right` gave for its marked run. Each end of a range one-sided.
    """
    found: list[PairRecord] = []
    for requirement in requirements:
        own = [(r["candidate"], right[r["test"]]) for r in requirement["results"] if r["test"] in right]
        for (name, ours), (other, theirs) in itertools.combinations(own, 2):
            same = (ours["slice"], ours["scorer"]) == (theirs["slice"], theirs["scorer"])
            if not same or (len(own) > _ALL_PAIRS and other != own[0][0] and name != own[0][0]):
                continue
            both_asked = _unpacked(ours, "asked") & _unpacked(theirs, "asked")
            if both_asked.any():
                found.append(_pair(requirement["id"], (name, ours), (other, theirs), both_asked, confidence))
    return found


def _pair(
    requirement: str,
    one: tuple[str, Mapping[str, Any]],
    other: tuple[str, Mapping[str, Any]],
    both_asked: Bools,
    confidence: float,
) -> PairRecord:
    a, b = (_unpacked(each, "right")[both_asked] for _, each in (one, other))
    n, only_a, only_b, both = len(a), int((a & ~b).sum()), int((b & ~a).sum()), int((a & b).sum())
    bounds = stats.round_outward(
        stats.newcombe_paired(both, only_a, only_b, n - both - only_a - only_b, confidence=confidence)
    )
    return {
        "requirement": requirement,
        "scorer": str(one[1]["scorer"]),
        "candidate": one[0],
        "other": other[0],
        "difference": round((only_a - only_b) / n, 6),
        "low": bounds.low,
        "high": bounds.high,
        "confidence": round(confidence, 6),
        "n": n,
        "only_candidate": only_a,
        "only_other": only_b,
    }


def _packed(flags: Bools) -> str:
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")


def _unpacked(packed: Mapping[str, Any], key: str) -> Bools:
    bits = np.unpackbits(np.frombuffer(base64.b64decode(packed[key]), dtype=np.uint8), count=packed["items"])
    flags: Bools = bits.astype(np.bool_)
    return flags
