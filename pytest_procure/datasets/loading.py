"""Datasets from files: each loader reads its labels at once, and large inputs when they are asked for.

Relative paths start at the conftest that declares the dataset. A file that cannot be used ends in one line
that names the file and the line. Nothing that is read can run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from pytest_procure.calling import declaring
from pytest_procure.errors import DataError, DeclarationError

from . import array_files, arrow_files, images, records
from .lazy import Made
from .places import located
from .records import Convert, Key, Wanted
from .scorers import Declared, DeclaredCorpus

#: Stage of a pipeline -> (key of its label in a record, scorer).
StageKeys = Mapping[str, tuple[str, Any]]


class Stated(TypedDict, total=False):
    """What a dataset states beside its columns; see `Dataset.from_arrays`."""

    scorer: Declared | Mapping[str, Declared]
    corpus: DeclaredCorpus | None
    licence: str
    source: str
    version: str
    caveats: Sequence[str]
    show_samples: bool


class Beside(Stated, total=False):
    """What a dataset takes beside inputs and references; see `Dataset.from_arrays`."""

    strata: Any
    clusters: Any
    stages: Mapping[str, tuple[Any, Declared]] | None


class Stating(Beside, total=False):
    """What a dataset takes beside inputs; see `Dataset.from_arrays`."""

    references: Any


class Loading:
    """The constructors of a dataset that read files; `stated` is what it states beside its columns."""

    __slots__ = ()

    @classmethod
    @declaring
    def from_jsonl(  # noqa: PLR0913 - keywords only, one for each column
        cls,
        name: str,
        path: str | Path,
        *,
        input: Key,  # noqa: A002 - the word for it; nothing here reads from a terminal
        reference: str | None = None,
        stratum: str | None = None,
        cluster: str | None = None,
        stages: StageKeys | None = None,
        lazy: bool | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of a JSON Lines file, an object a line; the arguments name the keys.

        `input` names one key, or a list of them: the sample is then a mapping. Inputs of a file of more than
        64 MiB are read when they are asked for; `lazy` says so for any. Raises `DataError`.
        """
        wanted = _wanted(input, reference, stratum, cluster, stages)
        file = located(path)

        def parse(data: bytes, place: int) -> dict[str, Any]:
            return records.json_record(data, f"{file.name}, record {place}")

        found = records.columns(file, records.json_lines(file), wanted, parse, lazy=lazy)
        return cls._of_columns(name, _staged(found, stages), stated)

    @classmethod
    @declaring
    def from_csv(  # noqa: PLR0913 - the same
        cls,
        name: str,
        path: str | Path,
        *,
        input: Key,  # noqa: A002 - the same
        reference: str | None = None,
        stratum: str | None = None,
        cluster: str | None = None,
        stages: StageKeys | None = None,
        delimiter: str = ",",
        convert: Convert | None = None,
        lazy: bool | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of a CSV file in UTF-8 whose first line names the columns; the rest as `from_jsonl`.

        Values are text; `convert` maps a column to a function, as in `convert={"label": int}`.
        Raises `DataError`.
        """
        wanted = _wanted(input, reference, stratum, cluster, stages)
        table = records.Csv(file := located(path), delimiter, convert)
        found = records.columns(file, table.rows(), wanted, table.parse, lazy=lazy)
        return cls._of_columns(name, _staged(found, stages), stated)

    @classmethod
    @declaring
    def from_parquet(  # noqa: PLR0913 - the same
        cls,
        name: str,
        path: str | Path,
        *,
        input: Key,  # noqa: A002 - the same
        reference: str | None = None,
        stratum: str | None = None,
        cluster: str | None = None,
        stages: StageKeys | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of a Parquet file (extra `[parquet]`); the arguments name its columns.

        Raises `DataError`.
        """
        wanted = _wanted(input, reference, stratum, cluster, stages)
        return cls._of_columns(name, _staged(arrow_files.parquet(located(path), wanted), stages), stated)

    @classmethod
    @declaring
    def from_saved(  # noqa: PLR0913 - the same
        cls,
        name: str,
        folder: str | Path,
        *,
        input: Key,  # noqa: A002 - the same
        reference: str | None = None,
        stratum: str | None = None,
        cluster: str | None = None,
        stages: StageKeys | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of what Hugging Face `datasets` has saved to disk (extra `[parquet]`).

        Its Arrow files are mapped, not read. Raises `DataError`.
        """
        wanted = _wanted(input, reference, stratum, cluster, stages)
        found = arrow_files.saved_folder(located(folder, folder=True), wanted)
        return cls._of_columns(name, _staged(found, stages), stated)

    @classmethod
    @declaring
    def from_npy(
        cls, name: str, *, inputs: str | Path, references: str | Path | None = None, **stated: Unpack[Beside]
    ) -> Self:
        """Make a dataset of `.npy` files, which are mapped, not read; `strata` and the like as columns.

        Raises `DataError` for files that hold pickled objects.
        """
        found = {"inputs": array_files.npy(located(inputs))}
        if references is not None:
            found["references"] = array_files.npy(located(references))
        return cls._of_columns(name, found, stated)

    @classmethod
    @declaring
    def from_npz(  # noqa: PLR0913 - keywords only, one for each column
        cls,
        name: str,
        path: str | Path,
        *,
        inputs: str,
        references: str | None = None,
        strata: str | None = None,
        clusters: str | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of the arrays of an `.npz` file; the arguments name them. Raises `DataError`."""
        named = {"inputs": inputs, "references": references, "strata": strata, "clusters": clusters}
        asked = {column: array for column, array in named.items() if array is not None}
        arrays = array_files.npz(located(path), list(dict.fromkeys(asked.values())))
        return cls._of_columns(name, {column: arrays[array] for column, array in asked.items()}, stated)

    @classmethod
    @declaring
    def from_images(  # noqa: PLR0913 - keywords only, one for each column
        cls,
        name: str,
        folder: str | Path,
        *,
        labels: str | Path | None = None,
        file: str = "file",
        reference: str = "label",
        stratum: str | None = None,
        cluster: str | None = None,
        mode: str = "RGB",
        size: tuple[int, int] | None = None,
        **stated: Unpack[Stated],
    ) -> Self:
        """Make a dataset of pictures (extra `[images]`), decoded when they are asked for.

        Without `labels`, a picture's label is its subfolder's name; with it, a CSV table names files in
        `folder` and their labels in the columns `file` and `reference`. A sample is `(height, width, 3)`
        uint8, `(height, width)` for `mode="L"`; `size` (width, height) resizes. Raises `DataError`.
        """
        form = images.Form(mode, size)
        place = located(folder, folder=True)
        found: dict[str, Any]
        if labels is None:
            if stratum is not None or cluster is not None:
                raise DeclarationError("`stratum=` and `cluster=` name columns of a table; give `labels=`")
            files, found = _labelled(*images.by_subfolder(place))
        else:
            others = {"references": reference, "strata": stratum, "clusters": cluster}
            asked = {column: key for column, key in others.items() if key is not None}
            files, found = images.by_table(place, located(labels), file, asked)
        return cls._of_columns(name, {"inputs": images.Images(files, form), **found}, stated)

    @classmethod
    @declaring
    def from_function(
        cls, name: str, make: Callable[[int], Any], count: int, **columns: Unpack[Stating]
    ) -> Self:
        """Make a dataset of `count` inputs that `make(i)` gives when they are asked for.

        It has to give the same for the same i: the digest is of what it makes, before and after a run.
        `columns` is what `from_arrays` takes beside `inputs`. Raises `DeclarationError`.
        """
        if not callable(make):
            raise DeclarationError(f"`make` of dataset `{name}` is {make!r}; expected a function of a number")
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise DeclarationError(f"`count={count!r}` of dataset `{name}`; expected 1 or more")
        return cls._of_columns(name, {"inputs": Made(make, count, name)}, columns)

    @classmethod
    def _of_columns(cls, name: str, columns: Mapping[str, Any], stated: Mapping[str, Any]) -> Self:
        """Make a dataset of columns that were read."""
        raise NotImplementedError


def _wanted(
    asked: Key, reference: str | None, stratum: str | None, cluster: str | None, stages: StageKeys | None
) -> Wanted:
    keys = [asked] if isinstance(asked, str) else list(asked)
    if not keys or not all(isinstance(key, str) for key in keys):
        raise DeclarationError(f"`input={asked!r}`; expected the name of a key, or a list of names")
    named = {}
    for stage, label in (stages or {}).items():
        if not isinstance(label, tuple) or len(label) != 2 or not isinstance(label[0], str):
            raise DeclarationError(f"`stages[{stage!r}]` is {label!r}; expected (name of a key, scorer)")
        named[stage] = label[0]
    return Wanted(asked if isinstance(asked, str) else keys, reference, stratum, cluster, named)


def _staged(found: dict[str, Any], stages: StageKeys | None) -> dict[str, Any]:
    """Put the labels of stages where `from_arrays` expects them."""
    if stages:
        found["stages"] = {
            stage: (found.pop(f"stage {stage}"), scorer) for stage, (_, scorer) in stages.items()
        }
    return found


def _labelled(files: list[Path], labels: list[str]) -> tuple[list[Path], dict[str, Any]]:
    if len(set(labels)) < 2:
        raise DataError(f"all pictures lie in one subfolder, `{labels[0]}`; expected one subfolder a label")
    return files, {"references": labels}
