"""Scorers: whether an output is right, or how good it is."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_procure.errors import DataError, DeclarationError, unknown

from .boxes import iou, mean_average_precision
from .classes import macro_f1, micro_f1
from .retrieval import reciprocal_rank
from .texts import bleu, chrf, exact_match, rouge_l, squad, squad_f1, token_f1, word_error_rate

ScoreFunction = Callable[[Any, Any], Any]
Declared = str | ScoreFunction
#: (outputs, references) -> one number for all of them.
CorpusMetric = Callable[[list[Any], list[Any]], Any]
DeclaredCorpus = str | list[str] | tuple[str, ...] | Mapping[str, CorpusMetric | str]


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores one output against its reference.

    `metric` is the name that a bar uses. `graded` is False when the function promises right or wrong
    (`-> bool`), True when it promises a score (`-> float`), and None when it promises nothing: then the
    scores themselves tell.
    """

    metric: str
    function: ScoreFunction
    graded: bool | None

    @property
    def is_ours(self) -> bool:
        """Whether it is known to score any answer against a reference that it can score itself."""
        return getattr(self.function, "__module__", "").startswith(f"{__package__}.")

    def __call__(self, output: Any, reference: Any) -> float:
        """Give the score, in [0, 1]. Raises `DataError` when the function gives anything else."""
        score = self.function(output, reference)
        if isinstance(score, bool | np.bool_):
            return float(score)
        if isinstance(score, int | float | np.integer | np.floating) and 0 <= score <= 1:
            return float(score)
        raise DataError(
            f"the scorer of `{self.metric}` gave {score!r} for output {_short(output)} and reference "
            f"{_short(reference)}; expected True, False or a number from 0 to 1"
        )


def accuracy(output: Any, reference: Any) -> bool:
    """Whether the output is the reference; arrays are equal when all their elements are."""
    if isinstance(output, np.ndarray) and np.ndim(reference) == 0:
        if output.size == 1:
            return bool(output.item() == reference)
        raise DataError(
            f"an output of shape {output.shape} cannot equal the label {_short(reference)}; "
            "expected the backend to decode it, for example decode='argmax'"
        )
    if not _plain(output):
        raise DataError(
            f"an output of type {type(output).__name__} says itself what it equals; expected plain data: "
            "numbers, text, bytes, arrays of them, or lists and mappings of these"
        )
    if isinstance(output, np.ndarray) or isinstance(reference, np.ndarray):
        return bool(np.array_equal(output, reference))
    return bool(output == reference)


@dataclass(frozen=True, slots=True)
class Unlike:
    """Answers of one kind, references of another, none right; so many would be `right` as numbers."""

    said: str
    expected: str
    right: int

    def __str__(self) -> str:
        """Say so, and what mends it."""
        file = self.expected == "text"
        mend = "`convert=` makes numbers of a CSV file's labels" if file else "decode the answers"
        return (
            f"the labels are {self.expected} and the answers {self.said}, and {self.right:,} of them would "
            f"be right as numbers; {mend}"
        )


def unlike(wrong: Sequence[tuple[Any, Any]]) -> Unlike | None:
    """Tell that of (output, reference) one is text and the other a number, throughout.

    Labels of a file are text where nothing converts them, and a classifier answers with numbers.
    """
    kinds = {(_kind(output), _kind(reference)) for output, reference in wrong}
    if len(kinds) != 1:
        return None
    ((said, expected),) = kinds
    if "" in {said, expected} or said == expected:
        return None
    return Unlike(said, expected, sum(_same_number(*pair) for pair in wrong))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, str):
        return "text"
    return "numbers" if isinstance(value, int | float | np.number | np.bool_) else ""


def _same_number(output: Any, reference: Any) -> bool:
    try:
        return float(output) == float(reference)
    except (ValueError, TypeError, OverflowError):
        return False


_PLAIN = {bool, int, float, complex, str, bytes, type(None)}


def _plain(value: Any) -> bool:
    """Whether comparing a value runs no code of the candidate's."""
    kind = type(value)
    if kind in _PLAIN or kind in {list, tuple, set, frozenset}:
        return kind in _PLAIN or all(map(_plain, value))
    if kind is dict:
        return all(_plain(key) and _plain(held) for key, held in value.items())
    if kind is np.ndarray:
        return bool(value.dtype.kind != "O")
    return kind.__module__ == "numpy" and isinstance(value, np.generic)


_NAMED: dict[str, ScoreFunction] = {
    "accuracy": accuracy,
    "exact_match": exact_match(),
    "iou": iou,
    "reciprocal_rank": reciprocal_rank,
    "rouge_l": rouge_l,
    "squad": exact_match(squad),
    "squad_f1": squad_f1,
    "token_f1": token_f1,
}
_CORPUS: dict[str, CorpusMetric] = {
    "bleu": bleu,
    "chrf": chrf,
    "macro_f1": macro_f1,
    "map": mean_average_precision,
    "micro_f1": micro_f1,
    "wer": word_error_rate,
}


#: Names that bars and results give to what is measured already, whole or as the first word of one.
_MEASURED = frozenset({
    "accuracy", "alive", "capacity", "corpus", "cost", "cost_per_accepted", "cost_per_correct",
    "cost_per_request", "energy", "energy_per_request", "error_rate", "errors", "goodput", "gpu_memory_peak",
    "itl", "latency", "own", "quality", "stage", "sustained_rate", "throughput", "tokens_per_second", "tpot",
    "ttft",
})  # fmt: skip


def scorers(declared: Declared | Mapping[str, Declared]) -> dict[str, Scorer]:
    """Read what an author may write for `scorer=`: metric -> scorer.

    `"accuracy"` is its own metric; that of another name from here is `quality.<name>`, as that of a function
    is `quality.<its name>`; a mapping names its functions itself. Raises `DeclarationError`.
    """
    if isinstance(declared, Mapping):
        found = [_scorer(one, name) for name, one in declared.items()]
    else:
        found = [_scorer(declared, None)]
    if not found:
        raise DeclarationError("`scorer={}` names no scorer; expected for example 'accuracy'")
    return {scorer.metric: scorer for scorer in found}


def scorer_of(declared: Declared, metric: str) -> Scorer:
    """Read one scorer, a name or a function, under the name of a metric. Raises `DeclarationError`."""
    found = _scorer(declared, "of_a_stage")  # a function needs no name of its own here
    return Scorer(metric, found.function, found.graded)


def corpus_metrics(declared: DeclaredCorpus) -> dict[str, CorpusMetric]:
    """Read what an author may write for `corpus=`: name -> function of (outputs, references).

    Names from here (`"macro_f1"`, or a list of them), or a mapping. Raises `DeclarationError`.
    """
    names = (declared,) if isinstance(declared, str) else declared
    if not isinstance(names, Mapping):
        names = {name: name for name in names}
    found: dict[str, CorpusMetric] = {}
    for name, given in names.items():
        if isinstance(given, str):
            if given not in _CORPUS:
                raise DeclarationError(unknown("corpus metric", given, _CORPUS))
            found[_checked(name)] = _CORPUS[given]
            continue
        if not callable(given):
            raise DeclarationError(
                f"the corpus metric `{name}` is {given!r}; expected a function of outputs and references"
            )
        found[_checked(name)] = given
    return found


def _scorer(declared: Declared, name: str | None) -> Scorer:
    if isinstance(declared, str):
        if declared not in _NAMED:
            raise DeclarationError(unknown("scorer", declared, _NAMED))
        function = _NAMED[declared]
        plain = name in {None, declared} and declared == "accuracy"
        metric = "accuracy" if plain else f"quality.{_checked(name or declared)}"
    elif callable(declared):
        function = declared
        metric = f"quality.{_checked(name if name is not None else getattr(declared, '__name__', None))}"
    else:
        raise DeclarationError(
            f"`scorer={declared!r}`; expected 'accuracy' or a function of output and reference"
        )
    return Scorer(metric, function, _promised(function))


def _checked(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        shown = "this scorer has no name" if name is None else f"`{name}` cannot name a metric"
        raise DeclarationError(
            f"{shown}; expected a named function, or a mapping as in scorer={{'exact': ...}}"
        )
    if name in _MEASURED:
        raise DeclarationError(
            f"a scorer or corpus metric named `{name}` would be taken for what is measured under that name "
            f"already; rename it, as in scorer={{'own_{name}': ...}}"
        )
    return name


def _promised(function: ScoreFunction) -> bool | None:
    try:
        result = typing.get_type_hints(function).get("return")
    except (TypeError, NameError, AttributeError):
        return None
    if result is bool:
        return False
    return True if result is float else None


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
