"""Corpus metrics, such as macro F1, BLEU, word error rate: one number for all answers together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.datasets.classes import macro_f1, micro_f1
from pytest_procure.datasets.scorers import unlike
from pytest_procure.errors import DataError
from pytest_procure.units import Quantity

from .execution import Execution
from .failures import serial_effect
from .likeness import FEWEST, alike_items
from .measurement import Corpus, Measurement, Rows, unmeasurable
from .metric import Metric

#: Metrics that hold an answer against its label as they are.
_COMPARING = (macro_f1, micro_f1)
#: Groups of the delete-a-group jackknife; items, or clusters of them, are dealt to them in turn.
GROUPS = 40
#: Clusters that are imagined once more, all wrong, one at a time: what a lucky run may just have missed.
MISSED = 8


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
    rows = Rows(*serial_effect(run.failed))
    answered = _Answered(function, outputs, references, name)
    found = [answered.by(labels, value, rows) for labels in alike_items(items, run.slice).ways]
    # Of two ways to group that cross, the one with the larger spread; one with too few groups comes first.
    basis = max(found, key=lambda each: (each.clusters < FEWEST, _spread(each)))
    return Measurement(what, Quantity.of(round(value, 12)), len(items), "samples", basis)


def _spread(basis: Corpus) -> float:
    return sum((each - basis.value) ** 2 for each in basis.without)


@dataclass(frozen=True, slots=True)
class _Answered:
    """All answers with their references, and the function of them."""

    function: Callable[[list[Any], list[Any]], Any]
    outputs: list[Any]
    references: list[Any]
    name: str

    def by(self, labels: NDArray[np.int64], value: float, rows: Rows) -> Corpus:
        """Measure without each of 40 groups of these clusters, and with a cluster more that is all wrong."""
        distinct, ranks = np.unique(labels, return_inverse=True)
        groups = min(GROUPS, len(distinct))
        kept = (np.flatnonzero(ranks % groups != group) for group in range(groups if groups > 1 else 0))
        without = tuple(self._over(places, []) for places in kept)
        doubled = np.unique(np.linspace(0, len(distinct) - 1, MISSED).astype(np.int64))
        everything = np.arange(len(self.outputs))
        try:
            missed = tuple(self._over(everything, np.flatnonzero(ranks == each)) for each in doubled)
        except DataError:  # it takes no None, of which the run held none
            missed = ()
        return Corpus(value, without, len(distinct), rows, missed)

    def _over(self, kept: NDArray[np.intp], wrong: Sequence[int] | NDArray[np.intp]) -> float:
        outputs = [*(self.outputs[i] for i in kept), *(None for _ in wrong)]
        return _number(self.function, outputs, [self.references[i] for i in [*kept, *wrong]], self.name)


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
