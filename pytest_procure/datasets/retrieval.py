"""Scores of ranked lists: recall@k, reciprocal rank, nDCG@k, each for one query in [0, 1].

An output is a list of document ids, the best first; a reference is one id, a list of ids that are all
relevant, or for nDCG a mapping id -> gain. A document that stands twice counts once, at its better rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_procure.errors import DataError, DeclarationError


def recall_at(k: int) -> Callable[[Any, Any], float]:
    """A scorer: the share of the relevant documents that are among the first k."""
    _checked(k)

    def recall(output: Any, reference: Any) -> float:
        relevant = set(_gains(reference))
        return len(relevant.intersection(ranked(output)[:k])) / len(relevant)

    recall.__name__ = f"recall_at_{k}"
    return recall


def reciprocal_rank(output: Any, reference: Any) -> float:
    """1 / rank of the first relevant document, 0 without one; its mean over queries is MRR."""
    relevant = _gains(reference)
    for place, document in enumerate(ranked(output), 1):
        if document in relevant:
            return 1 / place
    return 0.0


def ndcg_at(k: int) -> Callable[[Any, Any], float]:
    """A scorer: discounted cumulative gain of the first k over that of the best order.

    Gain / log2(rank + 1), as Järvelin and Kekäläinen (2002) with linear gains.
    """
    _checked(k)

    def ndcg(output: Any, reference: Any) -> float:
        gains = _gains(reference)
        best = _discounted(sorted(gains.values(), reverse=True)[:k])
        got = _discounted([gains.get(document, 0.0) for document in ranked(output)[:k]])
        return min(got / best, 1.0)  # the same sum in another order

    ndcg.__name__ = f"ndcg_at_{k}"
    return ndcg


def ranked(output: Any) -> list[Any]:
    """The ids of an answer, each once; none for an answer that is no list."""
    ids = output.tolist() if isinstance(output, np.ndarray) else output
    if not isinstance(ids, list | tuple):
        return []
    return list(dict.fromkeys(each for each in map(_id, ids) if each is not None))


def _id(value: Any) -> str | int | None:
    value = value.item() if isinstance(value, np.generic) else value
    return value if type(value) in {str, int} else None


def _gains(reference: Any) -> dict[Any, float]:
    if isinstance(reference, Mapping):
        gains = {_id(document): float(gain) for document, gain in reference.items() if gain}
        if any(not 0 < gain < math.inf for gain in gains.values()):
            raise DataError("a gain of the reference is no number above 0")
    else:
        ids = reference.tolist() if isinstance(reference, np.ndarray) else reference
        listed = list(ids) if isinstance(ids, list | tuple | set | frozenset) else [ids]
        gains = dict.fromkeys(map(_id, listed), 1.0)
    if not gains or None in gains:
        raise DataError(
            f"the reference is {type(reference).__name__}; expected an id, a list of ids, or id -> gain, "
            "with one relevant document or more"
        )
    return gains


def _discounted(gains: list[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def _checked(k: object) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise DeclarationError(f"the number of documents is {k!r}; expected 1 or more")
