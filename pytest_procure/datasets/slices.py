"""Slices: the samples chosen for one test, and the rule that chose them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError, DeclarationError, unknown
from pytest_procure.redaction import redacted_data

from .conditions import Condition
from .digests import Column, digest_of, item_digests
from .lazy import Lazy, Selected
from .seats import checked_weights, largest_remainder, seats_by_weight

if TYPE_CHECKING:  # a dataset makes slices: the import at run time goes the other way
    from .dataset import Dataset, StageLabels

Indices = NDArray[np.int64]
Where = str | Sequence[str] | Callable[[Any, Any, str | None], bool]


@dataclass(frozen=True, eq=False)
class DatasetSlice:
    """Chosen samples, in the order they are numbered by a run: sample i of a run is row i here.

    `inputs`, `references`, `strata` and `clusters` are the dataset's columns at `indices`, `(len,)` int64.
    `weights`: the share of each stratum in production, by which quality is then judged. `salted` makes the
    digest that is published of the digest of an item, where nobody may find an item by trying out guesses.
    """

    dataset: Dataset
    indices: Indices = field(repr=False)
    rule: dict[str, Any]
    inputs: Column = field(repr=False)
    references: Column | None = field(repr=False)
    strata: NDArray[np.str_] | None = field(repr=False)
    clusters: Indices | None = field(repr=False)
    weights: Mapping[str, float] | None = None
    salted: Callable[[bytes], bytes] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Count samples."""
        return len(self.indices)

    def take(self, samples: Sequence[int] | Indices) -> Any:
        """The inputs of these samples of the slice, as a batch: `(b, ...)` for arrays, otherwise a list of b.

        Neighbouring samples of an array are a read-only view, others a copy.
        """
        if not isinstance(self.inputs, np.ndarray):
            return [self.inputs[i] for i in samples]
        first, count = int(samples[0]), len(samples)
        if count == 1 or (
            int(samples[-1]) - first == count - 1 and np.array_equal(samples, np.arange(first, first + count))
        ):
            return self.inputs[first : first + count]
        return self.inputs[samples]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the digests of the samples, in order. Raises `DataError` where one has none."""
        return digest_of([self.digests])

    @cached_property
    def digests(self) -> bytes:
        """The digest of each sample as it is published, 32 bytes each. Raises `DataError` for none."""
        return b"".join(self._published(self.inputs, self.references))

    @cached_property
    def _contents(self) -> Indices | None:
        return _alike(self.digests)

    @cached_property
    def groupings(self) -> tuple[Indices, ...]:
        """Ways in which samples carry the information of one, each `(len,)` int64; none, one, or two.

        Samples of equal content (input and reference) do, whatever they are called, and so do those of a
        cluster. Clusters of equal content are one. Where each content stands in one cluster, or each cluster
        holds one content, the larger groups hold the smaller, and are all there is; otherwise the two ways
        cross, clusters first, and both count. Raises `DataError` as `digest` does.
        """
        alike = self._contents
        if self.clusters is None or alike is None:
            return tuple(each for each in (self.clusters, alike) if each is not None)
        merged = _merged(self.clusters, alike)
        if _within(alike, merged):
            return (merged,)
        return (alike,) if _within(merged, alike) else (merged, alike)

    def _published(self, inputs: Column, references: Column | None) -> Iterator[bytes]:
        found = item_digests(inputs, references)
        return found if self.salted is None else map(self.salted, found)

    def _digested(self, inputs: Column, references: Column | None) -> str:
        return digest_of(self._published(inputs, references))

    def check_unchanged(self) -> None:
        """Raise `DataError` when the samples are no longer those that the digest was made of."""
        before = self.digest
        labels = self._stage_digests
        if self._digested(self.inputs, self.references) != before or self._digest_stages() != labels:
            raise DataError(
                f"the samples of dataset `{self.dataset.name}` were changed during the run; a candidate must "
                "leave its inputs as they are, and nothing more can be measured on them"
            )

    def stage(self, name: str) -> tuple[Column, StageLabels] | None:
        """The references of these samples for a stage of a pipeline, and its labels; None without any."""
        labels = self.dataset.stages.get(name)
        return None if labels is None else (_rows(labels.references, self.indices), labels)

    @cached_property
    def _stage_digests(self) -> dict[str, str]:
        return self._digest_stages()

    def _digest_stages(self) -> dict[str, str]:
        return {
            name: self._digested(_rows(labels.references, self.indices), None)
            for name, labels in sorted(self.dataset.stages.items())
        }

    @property
    def most(self) -> int:
        """How many samples the dataset has."""
        return len(self.dataset)

    def describe(self) -> dict[str, Any]:
        """What was asked, as plain JSON data."""
        data = self.dataset
        told: dict[str, Any] = {} if self.weights is None else {"weights": dict(self.weights)}
        if self._contents is not None:
            told["repeats"] = len(self) - int(self._contents.max()) - 1
        if data.stages:
            told["stage_labels"] = self._stage_digests
        if judges := data.judges:
            told["judges"] = {metric: judge.describe() for metric, judge in judges.items()}
            found = {metric: judge.found() for metric, judge in judges.items()}
            told["judged"] = {metric: each for metric, each in found.items() if each is not None}
        told |= {
            "version": data.version,
            "licence": data.licence,
            "source": data.source,
            "caveats": list(data.caveats),
            "metrics": [*data.scorers, *(f"corpus.{name}" for name in data.corpus)],
            "rule": self.rule,
            "n": len(self),
            "of": len(data),
            "strata": None if self.strata is None else _counts(self.strata, among=data.strata),
            "clusters": None if self.clusters is None else len(np.unique(self.clusters)),
        }
        # What people wrote may hold what nobody is to read.
        return {"name": data.name, **redacted_data(told), "digest": self.digest}


def _alike(digests: bytes) -> Indices | None:
    """Number the contents of samples, `(n,)`, by their digests of 32 bytes; None where all differ."""
    heads = np.sort(np.frombuffer(digests, dtype=np.uint64)[::4])
    if (heads[1:] != heads[:-1]).all():  # a tenth of a second for a million
        return None
    numbers: dict[bytes, int] = {}
    codes = [
        numbers.setdefault(digests[first : first + 32], len(numbers)) for first in range(0, len(digests), 32)
    ]
    return None if len(numbers) == len(codes) else np.array(codes, dtype=np.int64)


def _within(inner: Indices, outer: Indices) -> bool:
    """Whether each inner group lies in one outer group alone."""
    pairs = np.unique(inner * (int(outer.max(initial=0)) + 1) + outer)
    return len(pairs) == len(np.unique(inner))


def _merged(clusters: Indices, alike: Indices) -> Indices:
    """Give clusters that hold the same contents, equally often, one number."""
    order = np.lexsort((alike, clusters))
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    numbers: dict[bytes, int] = {}
    merged = np.empty(len(clusters), dtype=np.int64)
    for members in np.split(order, starts[1:]):
        merged[members] = numbers.setdefault(alike[members].tobytes(), len(numbers))
    return merged


def choose(  # noqa: PLR0913 - keywords only, those of `Dataset.slice`
    dataset: Dataset,
    *,
    n: int | None,
    seed: int,
    stratify: bool,
    where: Where | None,
    weights: Mapping[str, float] | None = None,
) -> DatasetSlice:
    """Choose a slice; see `Dataset.slice`."""
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
        raise DeclarationError(
            f"`n={n!r}` of a slice of `{dataset.name}`; expected a number of samples, 1 or more"
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise DeclarationError(
            f"`seed={seed!r}` of a slice of `{dataset.name}`; expected a whole number, 0 or more"
        )
    if stratify and dataset.strata is None:
        raise DeclarationError(
            f"`stratify=True` but dataset `{dataset.name}` has no strata; give it `strata=`"
        )
    there = _matching(dataset, where)
    if len(there) == 0:
        raise DataError(
            f"no sample of dataset `{dataset.name}` matches {_described(where)!r}; expected at least one"
        )
    if weights is not None:
        shares = checked_weights(dataset, there, weights, stratify)
        drawn = {"n": n, "seed": seed, "stratify": False, "where": _described(where), "order": "random"}
        return _weighted(dataset, there, drawn, shares)
    if n is not None and n > len(there):
        matching = "" if where is None else f" that match {_described(where)!r}"
        raise DataError(
            f"{n} samples of dataset `{dataset.name}` were asked for, but there are {len(there)}{matching}; "
            f"ask for n={len(there)} or fewer, or label more"
        )
    chosen = (
        there if n is None else _random(there, n, seed, dataset.strata if stratify else None, len(dataset))
    )
    rule = {
        "n": n,
        "seed": None if n is None else seed,
        "stratify": stratify,
        "where": _described(where),
        "order": "dataset" if n is None else "random",
    }
    return _made(dataset, chosen, rule, None)


def _weighted(
    dataset: Dataset, there: Indices, rule: dict[str, Any], weights: dict[str, float]
) -> DatasetSlice:
    assert dataset.strata is not None, "weights were checked"
    seats = seats_by_weight(dataset.name, _counts(dataset.strata[there]), weights, rule["n"])
    # As without weights: the seed alone decides who comes first within a stratum, and in which order all are.
    shuffled = _shuffled(there, rule["seed"], len(dataset))
    chosen = _seated(shuffled, dataset.strata[shuffled], seats)
    return _made(dataset, chosen, rule | {"seats": dict(sorted(seats.items()))}, weights)


def _made(
    dataset: Dataset, chosen: Indices, rule: dict[str, Any], weights: Mapping[str, float] | None
) -> DatasetSlice:
    return DatasetSlice(
        dataset=dataset,
        indices=chosen,
        rule=rule,
        weights=weights,
        inputs=_rows(dataset.inputs, chosen),
        references=None if dataset.references is None else _rows(dataset.references, chosen),
        strata=None if dataset.strata is None else dataset.strata[chosen],
        clusters=None if dataset.clusters is None else dataset.clusters[chosen],
    )


def _matching(dataset: Dataset, where: Where | None) -> Indices:
    everything: Indices = np.arange(len(dataset), dtype=np.int64)
    if where is None:
        return everything
    if callable(where):
        references: Any = dataset.references if dataset.references is not None else [None] * len(dataset)
        strata: list[str] | list[None] = (
            [None] * len(dataset) if dataset.strata is None else dataset.strata.tolist()
        )
        _check_takes_three(where)
        kept = np.zeros(len(dataset), dtype=np.bool_)
        for i in range(len(dataset)):
            try:
                kept[i] = bool(where(dataset.inputs[i], references[i], strata[i]))
            except Exception as error:
                said = " ".join(f"{type(error).__name__}: {error}".split())
                raise DataError(
                    f"`where={_described(where)}` failed on sample {i} of dataset `{dataset.name}`: {said}"
                ) from error
        matching: Indices = everything[kept]
        return matching
    if dataset.strata is None:
        raise DeclarationError(
            f"`where={where!r}` names strata but dataset `{dataset.name}` has none; give it `strata=`"
        )
    names = [where] if isinstance(where, str) else list(where)
    known = sorted(set(dataset.strata.tolist()))
    for name in names:
        if name not in known:
            raise DataError(unknown(f"stratum of dataset `{dataset.name}`", name, known))
    return everything[np.isin(dataset.strata, names)]


def _check_takes_three(where: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(where)
    except (TypeError, ValueError):
        return  # a built-in does not tell; it will raise
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise DeclarationError(
            f"`where={_described(where)}` takes {len(signature.parameters)} arguments; expected a function "
            "of three, as in `where=lambda sample, label, stratum: label == 'urgent'`"
        ) from None


def _random(there: Indices, n: int, seed: int, strata: NDArray[np.str_] | None, total: int) -> Indices:
    shuffled = _shuffled(there, seed, total)
    if strata is None:
        return shuffled[:n]
    labels = strata[shuffled]
    return _seated(shuffled, labels, largest_remainder(_counts(labels), n))


def _shuffled(there: Indices, seed: int, total: int) -> Indices:
    # numpy promises that a bit generator's raw stream never changes; it makes no such promise for
    # `permutation` or `choice`, and a slice has to be found again years later.
    keys = np.random.PCG64(seed).random_raw(total)
    order: Indices = there[np.argsort(keys[there], kind="stable")]
    return order


def _seated(shuffled: Indices, labels: NDArray[np.str_], seats: Mapping[str, int]) -> Indices:
    """Keep the first of each stratum, as many as it has seats, in the order they stand in."""
    kept = np.zeros(len(shuffled), dtype=np.bool_)
    for label, count in seats.items():
        kept[np.flatnonzero(labels == label)[:count]] = True
    chosen: Indices = shuffled[kept]
    return chosen


def _rows(column: Column, chosen: Indices) -> Column:
    if isinstance(column, Lazy):
        return Selected(column, chosen)
    if not isinstance(column, np.ndarray):
        return [column[i] for i in chosen]
    if len(chosen) == len(column) and np.array_equal(chosen, np.arange(len(column))):
        return column
    rows = column[chosen]
    rows.flags.writeable = False
    return rows


def _counts(labels: NDArray[np.str_], *, among: NDArray[np.str_] | None = None) -> dict[str, int]:
    names, numbers = np.unique(labels, return_counts=True)
    found = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    return found if among is None else {name: found.get(name, 0) for name in np.unique(among).tolist()}


def _described(where: Where | None) -> Any:
    if where is None or isinstance(where, str):
        return where
    if isinstance(where, Condition):
        return str(where)
    if callable(where):
        return f"{where.__module__}.{getattr(where, '__qualname__', type(where).__qualname__)}"
    return list(where)
