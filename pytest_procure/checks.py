"""Checks of what a requirement is given, before anything runs: samples, labels, stages."""

from __future__ import annotations

from collections.abc import Sequence

from .backends.pipeline import Pipeline
from .bars import Bar
from .candidates import Candidate
from .datasets import Dataset, DatasetSlice
from .errors import DataError, DeclarationError, unknown
from .metrics import Metric
from .metrics.cost import SCORERS


def check_slice(chosen: object) -> None:
    """Raise `DataError` where a suite's own `dataset_slice` fixture gives something else."""
    if not isinstance(chosen, DatasetSlice):
        raise DataError(
            f"the `dataset_slice` fixture gave {type(chosen).__name__}; expected a slice, as `Dataset.slice` "
            "makes one"
        )
    chosen.check_unchanged()  # the digest is of what it is now, before a candidate has it in hand


def check_labels(dataset: Dataset, bars: Sequence[Bar]) -> None:
    """Check before the run that every quality bar can be scored. Raises `DataError`."""
    for bar in bars:
        what = bar.measured or bar.metric
        if what.stage:
            _check_stage_labels(dataset, what)
            continue
        wanted = bar.limits.correct if bar.limits else SCORERS.get(what.name, "")
        wanted = what.name if what.kind == "quality" else wanted
        if not wanted:
            continue
        if dataset.references is None and not what.of_corpus:
            raise DataError(
                f"bar `{bar.metric.name}`: dataset `{dataset.name}` has no references to score against; "
                "give it `references=`, or drop the bar"
            )
        known = [*dataset.scorers, *(f"corpus.{name}" for name in dataset.corpus)]
        if wanted not in known:
            raise DataError(f"dataset `{dataset.name}`: {unknown('scorer', wanted, known)}")


def _check_stage_labels(dataset: Dataset, what: Metric) -> None:
    if what.kind == "quality" and what.stage not in dataset.stages:
        raise DataError(
            f"bar `{what.name}`: dataset `{dataset.name}`: "
            f"{unknown('stage with labels', what.stage, dataset.stages)}; give it `stages=`"
        )


def check_stages(bars: Sequence[Bar], candidate: Candidate) -> None:
    """Check before the run that a pipeline has the stages that bars are put on. Raises `DeclarationError`."""
    if not isinstance(candidate.backend, Pipeline):
        return  # what has no stages at all is not measurable, and says so
    for bar in bars:
        if bar.metric.stage and bar.metric.stage not in candidate.backend.names:
            known = candidate.backend.names
            raise DeclarationError(f"bar `{bar.metric.name}`: {unknown('stage', bar.metric.stage, known)}")
