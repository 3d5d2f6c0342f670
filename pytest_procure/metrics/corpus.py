"""Corpus metrics, such as macro F1, BLEU, word error rate: one number for all answers together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.datasets.classes import macro_f1, micro_f1
from pytest_procure.datasets.scorers import unlike
from pytest_procure.errors import DataError
from pytest_procure.units import Quantity

from .execution import Execution
from .failures import serial_effect
from .measurement import Corpus, Measurement, Rows, unmeasurable
from .metric import Metric

#: Metrics that hold an answer against its label as they are.
_COMPARING = (macro_f1, micro_f1)
#: Groups of the delete-a-group jackknife; items, or clusters of them, are dealt to them in turn.
GROUPS = 40


def corpus(what: Metric, run: Execution) -> Measurement:
    """Measure the metric on all answers, and without each of 40 groups of items.

    The function sees None for a request that failed, and for an answer on which alone it raises or gives no
    number. Raises `DataError` when it does so otherwise.
    """
    name = what.name.removeprefix("corpus.")
    function = run.slice.dataset.corpus.get(name)
    if function is None:
        known = ", ".join(sorted(run.slice.dataset.corpus)) or "none"
        return unmeasurable(what, f"dataset `{run.slice.dataset.name}` has no such metric (it has: {known})")
    if run.requests == 0:
        return unmeasurable(what, "no request was made")
    outputs = [
        answer if good else None
        for log in run.logs
        for answer, good in zip(log.answers, np.repeat(log.ok, log.samples_per_query), strict=False)
    ]
    items = run.items
    given = run.slice.references
    references = [None if given is None else given[int(item)] for item in items]
    value = _whole(function, outputs, references, name)
    if value == 0 and function in _COMPARING and (reason := _unlike(outputs, references)):
        return unmeasurable(what, reason)
    clusters = items if run.slice.groups is None else run.slice.groups[items]
    distinct, ranks = np.unique(clusters, return_inverse=True)

    def over(kept: NDArray[np.intp]) -> float:
        return _number(function, [outputs[i] for i in kept], [references[i] for i in kept], name)

    groups = min(GROUPS, len(distinct))
    without = [over(np.flatnonzero(ranks % groups != group)) for group in range(groups)] if groups > 1 else []
    basis = Corpus(value, tuple(without), len(distinct), Rows(*serial_effect(run.failed)))
    return Measurement(what, Quantity.of(round(value, 12)), len(items), "samples", basis)


def _unlike(outputs: list[Any], references: list[Any]) -> str:
    """Say that answers are of another kind than the labels throughout, and some right as numbers; or ""."""
    answered = [pair for pair in zip(outputs, references, strict=True) if pair[0] is not None]
    found = unlike(answered) if 2 * len(answered) >= len(outputs) else None
    return str(found) if found is not None and found.right else ""


def _whole(
    function: Callable[[list[Any], list[Any]], Any], outputs: list[Any], references: list[Any], name: str
) -> float:
    """Give the number of all answers; those that end the function by themselves become None in `outputs`.

    Whoever gives the answers chooses them, and must not end the test with one. Where it is not single answers
    that do, or where all of them do, the function is wrong, and its `DataError` is raised.
    """
    try:
        return _number(function, list(outputs), list(references), name)
    except DataError:
        answered = [place for place, output in enumerate(outputs) if output is not None]
        ending = [
            place
            for place in answered
            if _ends(function, outputs[place], references[place], name)
            and not _ends(function, None, references[place], name)
        ]
        if not ending or len(ending) == len(answered):
            raise
        for place in ending:
            outputs[place] = None
        return _number(function, list(outputs), list(references), name)


def _ends(function: Callable[[list[Any], list[Any]], Any], output: Any, reference: Any, name: str) -> bool:
    try:
        _number(function, [output], [reference], name)
    except DataError:
        return True
    return False


def _number(
    function: Callable[[list[Any], list[Any]], Any], outputs: list[Any], references: list[Any], name: str
) -> float:
    try:
        value = float(function(outputs, references))
    except Exception as error:
        raise DataError(f"the corpus metric `{name}` raised {type(error).__name__}: {error}") from error
    if not np.isfinite(value):
        raise DataError(f"the corpus metric `{name}` gave {value}; expected a finite number")
    return value
