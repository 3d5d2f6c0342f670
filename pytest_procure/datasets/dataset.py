"""A dataset: labelled samples of the buyer's own, with where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from pytest_procure.calling import declaring
from pytest_procure.candidates import checked_name, checked_text
from pytest_procure.errors import DataError, DeclarationError

from .digests import Column
from .judge import Judge
from .lazy import Lazy
from .loading import Loading, Stated
from .scorers import CorpusMetric, Declared, DeclaredCorpus, Scorer, corpus_metrics, scorer_of, scorers
from .slices import DatasetSlice, Where, choose


@dataclass(frozen=True, slots=True, eq=False)
class StageLabels:
    """What is right for one stage of a pipeline: a column of n references, and the scorer."""

    references: Column = field(repr=False)
    scorer: Scorer


@dataclass(frozen=True, slots=True, eq=False)
class Dataset(Loading):
    """Samples with what is right for each; made by `from_arrays`, `from_records`, or from files.

    `inputs` and `references` are arrays `(n, ...)`, which are read-only here, or lists of n; `references` is
    None where nothing is right or wrong. `strata` names the group each sample stands for, `(n,)` text;
    `clusters` numbers the samples that belong together and carry the information of one, `(n,)` int64.
    `scorers` maps the metric a bar may name to its scorer, `corpus` that of all answers to its function;
    `stages` maps a stage of a pipeline to its own labels.
    """

    name: str
    inputs: Column = field(repr=False)
    references: Column | None = field(default=None, repr=False)
    strata: NDArray[np.str_] | None = field(default=None, repr=False)
    clusters: NDArray[np.int64] | None = field(default=None, repr=False)
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    corpus: Mapping[str, CorpusMetric] = field(default_factory=dict)
    stages: Mapping[str, StageLabels] = field(default_factory=dict)
    licence: str = ""
    source: str = ""
    version: str = ""
    caveats: tuple[str, ...] = ()
    show_samples: bool = True

    @classmethod
    @declaring
    def from_arrays(  # noqa: PLR0913 - keywords only, one for each column and each thing a dataset states
        cls,
        name: str,
        *,
        inputs: Any,
        references: Any = None,
        strata: Any = None,
        clusters: Any = None,
        scorer: Declared | Mapping[str, Declared] = "accuracy",
        corpus: DeclaredCorpus | None = None,
        stages: Mapping[str, tuple[Any, Declared]] | None = None,
        licence: str = "",
        source: str = "",
        version: str = "",
        caveats: Sequence[str] = (),
        show_samples: bool = True,
    ) -> Dataset:
        """Make a dataset of columns of one length.

        `inputs`: an array `(n, ...)` stays an array and is asked in batches `(b, ...)`; any other sequence is
        kept as a list. Inputs may hold NaN, references may not. `scorer` is a name (`"accuracy"`,
        `"token_f1"`), a function of (output, reference) that gives right or wrong or a score in [0, 1], or a
        mapping of names to these. `corpus` is a name (`"macro_f1"`), a list of them, or maps names to
        functions of (outputs, references) that give one number for all; they see None for a request that
        failed. `stages` maps a stage of a pipeline to (its references, a scorer). `show_samples=False` keeps
        samples, references and answers out of the report's failure gallery.
        Raises `DataError` for columns that cannot be used, `DeclarationError` for the rest.
        """
        checked_name(name, what="dataset")
        asked = _column(inputs, what="inputs", dataset=name)
        count = len(asked)
        if count == 0:
            raise DataError(f"dataset `{name}` has no samples; expected at least one")
        expected = None if references is None else _column(references, what="references", dataset=name)
        for what, column in {"references": expected, "strata": strata, "clusters": clusters}.items():
            if column is not None and len(column) != count:
                raise DataError(
                    f"dataset `{name}` has {count} inputs but {len(column)} {what}; expected one for each"
                )
        if expected is not None:
            _refuse_missing(expected, what="reference", dataset=name)
        if isinstance(caveats, str):
            raise DeclarationError(f"`caveats` of dataset `{name}` is one text; expected a list of texts")
        found = scorers(scorer)
        if expected is None:
            found.pop("accuracy", None)  # the default scorer; without references there is nothing to equal
        return cls(
            name=name,
            inputs=asked,
            references=expected,
            strata=None if strata is None else _labels(strata, what="stratum", dataset=name),
            clusters=None if clusters is None else _codes(clusters, dataset=name),
            scorers=found,
            corpus=corpus_metrics(corpus or {}),
            stages=_stages(stages or {}, count, dataset=name),
            licence=checked_text(licence, what=f"`licence` of dataset `{name}`"),
            source=checked_text(source, what=f"`source` of dataset `{name}`"),
            version=checked_text(version, what=f"`version` of dataset `{name}`"),
            caveats=tuple(checked_text(one, what=f"a caveat of dataset `{name}`") for one in caveats),
            show_samples=_switch(show_samples, dataset=name),
        )

    @classmethod
    @declaring
    def from_records(  # noqa: PLR0913 - keywords only, one for each column
        cls,
        name: str,
        records: Sequence[Mapping[str, Any]],
        *,
        input: str,  # noqa: A002 - the word for it; nothing here reads from a terminal
        reference: str | None = None,
        stratum: str | None = None,
        cluster: str | None = None,
        stages: Mapping[str, tuple[str, Declared]] | None = None,
        **stated: Unpack[Stated],
    ) -> Dataset:
        """Make a dataset of mappings, such as the lines of a JSON Lines file; the arguments name the keys.

        `stated` is what it states beside its columns.
        """

        def column(key: str | None) -> list[Any] | None:
            if key is None:
                return None
            for place, record in enumerate(records):
                if key not in record:
                    raise DataError(
                        f"record {place} of dataset `{name}` has no `{key}`; it has {', '.join(record)}"
                    )
            return [record[key] for record in records]

        return cls.from_arrays(
            name,
            inputs=column(input),
            references=column(reference),
            strata=column(stratum),
            clusters=column(cluster),
            stages={stage: (column(key), scorer) for stage, (key, scorer) in (stages or {}).items()},
            **stated,
        )

    @classmethod
    def _of_columns(cls, name: str, columns: Mapping[str, Any], stated: Mapping[str, Any]) -> Self:
        for column in columns:
            if column in stated:
                raise DeclarationError(
                    f"`{column}` of dataset `{name}` is in its file; leave the argument out"
                )
        return cls.from_arrays(name, **columns, **stated)  # type: ignore[return-value]  # nobody derives from it

    @property
    def judges(self) -> dict[str, Judge]:
        """The language models among its scorers, by metric."""
        return {
            metric: scorer.function
            for metric, scorer in self.scorers.items()
            if isinstance(scorer.function, Judge)
        }

    def __len__(self) -> int:
        """Count samples."""
        return len(self.inputs)

    @declaring
    def slice(
        self,
        *,
        n: int | None = None,
        seed: int = 0,
        stratify: bool = False,
        where: Where | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> DatasetSlice:
        """Choose n samples, without replacement; all of them, in the dataset's order, without `n`.

        The choice is a function of the data, these arguments and nothing else. A larger n with the same seed
        holds the smaller one, unless stratified. The chosen stand in random order, so that a run that ends
        early has asked a fair part of them. `stratify` gives each stratum its share of n, by largest
        remainder; `weights` gives it the share that it has in production, stratum -> share, and quality is
        then judged by these shares. `where` keeps the samples of a stratum, of several, or those for which a
        function of (input, reference, stratum) is true. Raises `DataError` when there are not n such samples.
        """
        return choose(self, n=n, seed=seed, stratify=stratify, where=where, weights=weights)


def _switch(value: object, *, dataset: str) -> bool:
    # Anything but a plain False would show what its author may have meant to withhold.
    if not isinstance(value, bool):
        raise DeclarationError(f"`show_samples={value!r}` of dataset `{dataset}`; expected True or False")
    return value


def _column(values: Any, *, what: str, dataset: str) -> Column:
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise DeclarationError(
            f"`{what}` of dataset `{dataset}` is {type(values).__name__}; expected an array or list"
        )
    if isinstance(values, Lazy):
        return values
    if not isinstance(values, list | tuple) and hasattr(values, "__array__"):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray) or values.dtype.hasobject:
        return list(values)
    if values.ndim == 0:
        raise DeclarationError(
            f"`{what}` of dataset `{dataset}` is one number; expected an array of shape (n, ...)"
        )
    kept = values.view()
    kept.flags.writeable = False  # a backend that works in place must not change the next question
    return kept


def _stages(
    declared: Mapping[str, tuple[Any, Declared]], count: int, *, dataset: str
) -> dict[str, StageLabels]:
    found = {}
    for stage, pair in declared.items():
        what = f"references of stage `{stage}`"
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DeclarationError(
                f"`stages[{stage!r}]` of dataset `{dataset}`; expected (references, scorer) of that stage"
            )
        references = _column(pair[0], what=what, dataset=dataset)
        if len(references) != count:
            raise DataError(
                f"dataset `{dataset}` has {count} inputs but {len(references)} {what}; expected one for each"
            )
        _refuse_missing(references, what=f"reference of stage `{stage}`", dataset=dataset)
        if isinstance(pair[1], Judge):
            raise DeclarationError(
                f"`stages[{stage!r}]` of dataset `{dataset}` is scored by a judge; a judge scores the whole"
            )
        found[stage] = StageLabels(references, scorer_of(pair[1], f"stage.{stage}.quality"))
    return found


def _refuse_missing(column: Column, *, what: str, dataset: str) -> None:
    if isinstance(column, np.ndarray):
        if column.dtype.kind not in "fcmM":
            return
        missing = np.flatnonzero(np.isnan(column).reshape(len(column), -1).any(axis=1))
        place = int(missing[0]) if len(missing) else None
    else:
        place = next((place for place, value in enumerate(column) if _is_missing(value)), None)
    if place is not None:
        raise DataError(
            f"sample {place} of dataset `{dataset}` has no {what} (NaN, NaT or None); leave it out or label "
            "it"
        )


def _is_missing(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fcmM" and bool(np.isnan(value).any())
    if isinstance(value, float | complex | np.inexact | np.datetime64 | np.timedelta64):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ == "NaTType"  # pandas has a class for it


def _labels(values: Any, *, what: str, dataset: str) -> NDArray[np.str_]:
    labels = _column(values, what=what, dataset=dataset)
    _refuse_missing(labels, what=what, dataset=dataset)
    return np.array([str(label) for label in labels], dtype=np.str_)


def _codes(values: Any, *, dataset: str) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    labels = _labels(values, what="cluster", dataset=dataset)
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels.tolist()], dtype=np.int64)
