"""Scoring: each answer of a run against its reference, and what no scorer could make anything of.

a scorer raises, or gives no score
├── a judge, which cannot be asked      an error: nobody is judged
├── a scorer of ours, on the reference  an error: the reference is wrong
├── a scorer, on every answer           an error if it raises on the reference too; else nothing rests on it
└── on some answers                     they are wrong, counted, and told
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.protocol import Passing
from pytest_procure.datasets import DatasetSlice, Scorer
from pytest_procure.datasets.judge import Judge
from pytest_procure.datasets.scorers import Unlike, accuracy, unlike
from pytest_procure.driver.board import printable
from pytest_procure.driver.log import RequestLog, StageLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.errors import DataError
from pytest_procure.redaction import redacted

from .execution import Execution
from .judged import judge_fault

#: Where a run's conditions tell what could not be scored: metric -> how many answers, and why the first.
UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of a run, and what could not be scored.

    `values`: `(samples,)` in [0, 1], of which so many were `answered`. `unscored` of these could not be
    scored; `why` the first could not. `error`: none could, nor the reference itself. `unlike`: none is right,
    and all are of another kind than their references.
    """

    values: NDArray[np.float64]
    answered: int = 0
    unscored: int = 0
    why: str = ""
    error: DataError | None = None
    unlike: Unlike | None = None


def score(logs: tuple[RequestLog, ...], chosen: DatasetSlice, scorer: Scorer) -> Scored:
    """Score every sample; a request without a good answer scores 0, and so does one that cannot be scored.

    Raises `DataError` without references, and where a scorer of ours cannot read one.
    """
    if chosen.references is None:
        raise DataError(
            f"dataset `{chosen.dataset.name}` has no references, so `{scorer.metric}` cannot be scored; "
            "give `references=` or put no quality bar on it"
        )
    tally = _Tally(scorer, np.zeros(sum(len(log.samples) for log in logs)), chosen)
    position = 0
    for log in logs:
        good = np.repeat(log.status == Status.OK, log.samples_per_query)[: len(log.samples)]
        for place in np.flatnonzero(good):
            item = int(log.samples[place])
            tally.score(position + int(place), log.answers[place], chosen.references[item], item)
        position += len(log.samples)
    return tally.ended()


def score_stages(logs: tuple[RequestLog, ...], chosen: DatasetSlice) -> dict[str, Scored]:
    """Score what each labelled stage of a pipeline gave, by its name.

    A sample that did not pass the stage scores 0. Raises `DataError` as `score` does.
    """
    found = {}
    for name in chosen.dataset.stages:
        labelled = chosen.stage(name)
        if labelled is None or not any(name in log.stages for log in logs):
            continue
        references, labels = labelled
        tally = _Tally(labels.scorer, np.zeros(sum(len(log.samples) for log in logs)), chosen)
        position = 0
        for log in logs:
            stage = log.stages.get(name) or StageLog.empty(len(log.samples))
            for place in np.flatnonzero(stage.passing == Passing.OK):
                item = int(log.samples[place])
                tally.score(position + int(place), stage.outputs[place], references[item], item)
            position += len(log.samples)
        found[name] = tally.ended()
    return found


def telling(
    launches: Sequence[Run],
    found: Sequence[Mapping[str, Scored]],
    by_stage: Mapping[str, Scored],
    *,
    whole: bool = True,
) -> tuple[Run, ...]:
    """Put what could not be scored into the conditions of each launch, which stand in its record.

    `found`: of each launch, metric -> scores; what stages gave was scored over all of them, and is told with
    the first. Raises `DataError` for a scorer that could score none of at least half of the samples, nor a
    reference; unless the launches are not the `whole` run, of which a candidate may spoil a part.
    """
    staged = {f"stage.{name}.quality": each for name, each in by_stage.items()}
    told: list[dict[str, Any]] = [{} for _ in launches]
    for metric in dict.fromkeys(name for scored in found for name in scored):
        _tell(told, metric, [scored[metric] for scored in found], whole=whole)
    for metric, each in staged.items():
        _tell(told, metric, [each], whole=whole)
    return tuple(
        replace(run, conditions={**run.conditions, UNSCORED: told[place]}) if told[place] else run
        for place, run in enumerate(launches)
    )


def _tell(told: list[dict[str, Any]], metric: str, parts: Sequence[Scored], *, whole: bool) -> None:
    """Tell each launch what of it could not be scored; judge whose fault that is by all of them."""
    answered = [each for each in parts if each.answered]
    samples = sum(len(each.values) for each in parts)
    errors = [each.error for each in answered if each.error is not None]
    most = 2 * sum(each.unscored for each in parts) >= samples
    if whole and errors and len(errors) == len(answered) and most:
        raise errors[0]
    kinds = [each.unlike for each in answered if each.unlike is not None]
    alike = {(each.said, each.expected) for each in kinds}
    mistaken = ""
    if len(kinds) == len(answered) and len(alike) == 1 and (right := sum(each.right for each in kinds)):
        mistaken = str(replace(kinds[0], right=right))
    for place, each in enumerate(parts):
        count, why = (each.answered, mistaken) if mistaken else (each.unscored, each.why)
        if count:
            told[place][metric] = {"answers": count, "why": why}


def unscored(run: Execution) -> dict[str, tuple[int, str]]:
    """Metric -> how many answers of the run could not be scored, and why the first could not."""
    found: dict[str, tuple[int, str]] = {}
    for launch in run.launches:
        told = launch.conditions.get(UNSCORED)
        for metric, each in told.items() if isinstance(told, Mapping) else ():
            if not isinstance(each, Mapping) or not isinstance(each.get("answers"), int):
                continue  # a pack from elsewhere may say anything
            count, why = found.get(metric, (0, str(each.get("why", ""))))
            found[metric] = (count + each["answers"], why)
    return found


def scoring_fault(metric: str, run: Execution, *, answers: int | None = None, of: int | None = None) -> str:
    """Say why nothing may rest on the scores of a metric: its judge may not, or no answer could be scored.

    `answers`: how many there were to score of how many samples, by default the good ones of all. A run that
    failed for the most part is judged by that, whatever the rest of it answered.
    """
    if reason := judge_fault(metric, run):
        return reason
    count, why = unscored(run).get(metric, (0, ""))
    if answers is None:
        answers = sum(int(log.ok.sum()) * log.samples_per_query for log in run.logs)
    if not count or count < answers or 2 * count < (len(run.items) if of is None else of):
        return ""
    return f"none of {count:,} answers could be scored: {why}"


def unscored_notes(run: Execution) -> list[str]:
    """Say how many answers count as wrong because they could not be scored, metric by metric."""
    return [
        f"{count:,} of its answers could not be scored by `{metric}` and count as wrong ({why})"
        for metric, (count, why) in unscored(run).items()
        if not scoring_fault(metric, run)
    ]


class _Tally:
    """Scores under way, and what could not be scored."""

    def __init__(self, scorer: Scorer, values: NDArray[np.float64], chosen: DatasetSlice) -> None:
        self._scorer = scorer
        self._values = values
        self._chosen = chosen
        self._tried = 0
        self._unscored = 0
        self._wrong: list[tuple[Any, Any]] = []  # answers with their references, until one is right
        self._right = False
        self._first: tuple[Exception, Any, int] | None = None  # what was raised first: (it, reference, item)

    def score(self, place: int, output: Any, reference: Any, item: int) -> None:
        """Score one answer to an item of the slice. Raises `DataError` where the suite is wrong."""
        self._tried += 1
        try:
            value = self._scorer(output, reference)
        except Exception as error:
            scorer = self._scorer
            if isinstance(scorer.function, Judge) or (scorer.is_ours and not self._takes(reference)):
                raise self._told(error, item) from error
            self._unscored += 1
            if self._first is None:
                self._first = error, reference, item
            return
        self._values[place] = value
        if value:
            self._right = True
            self._wrong.clear()
        elif not self._right:
            self._wrong.append((output, reference))

    def ended(self) -> Scored:
        """Give the scores."""
        if self._first is None:
            compared = self._scorer.function is accuracy and self._wrong
            return Scored(self._values, self._tried, unlike=unlike(self._wrong) if compared else None)
        error, reference, item = self._first
        mistake = None
        if self._tried == self._unscored and not self._takes(reference):
            mistake = self._told(error, item)
            mistake.__cause__ = error
        return Scored(self._values, self._tried, self._unscored, self._shown(error), mistake)

    def _takes(self, reference: Any) -> bool:
        """Whether the scorer can score the reference itself, as an answer."""
        try:
            self._scorer(reference, reference)
        except Exception:  # noqa: BLE001 - the buyer's code may raise anything
            return False
        return True

    def _told(self, error: Exception, item: int) -> DataError:
        if isinstance(error, DataError):
            return DataError(f"sample {item} of the slice: {error}")
        return DataError(
            f"the scorer of `{self._scorer.metric}` raised {type(error).__name__} on sample {item} of the "
            f"slice: {error}"
        )

    def _shown(self, error: Exception) -> str:
        """Say what was raised; without its words, which may hold an answer, where samples are withheld."""
        kind = "" if isinstance(error, DataError) else f"its scorer raised {type(error).__name__}"
        if not self._chosen.dataset.show_samples:
            return kind or "its scorer gave no score"
        return printable(redacted(": ".join(part for part in (kind, str(error)) if part)))
