"""Conditions that choose samples by what they are, and the search for the one on which answers are worst."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError, DeclarationError, ProvisionError
from pytest_procure.stats import share_bounds

#: Name of a feature -> function of the input that gives a number or a text.
Features = Mapping[str, Callable[[Any], Any]]
#: The feature that a dataset with strata has without being asked for.
STRATUM = "stratum"
#: Of a feature with more different numbers than this, as many of their quantiles are tried as cuts.
_CUTS = 40
_MOST_PARTS = 2
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison: `length >= 212`, `queue == 'billing'`."""

    feature: str
    sense: Literal[">=", "<=", "=="]
    cut: Any

    def __str__(self) -> str:
        return f"{self.feature} {self.sense} {self.cut!r}"

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """`(n,)` for which of these values of the feature it holds."""
        if self.sense == "==":
            return np.array([value == self.cut for value in values.tolist()], dtype=np.bool_)
        found: NDArray[np.bool_] = values >= self.cut if self.sense == ">=" else values <= self.cut
        return found


@dataclass(frozen=True, slots=True)
class Condition:
    """All of its parts at once. It may stand as `where=` of a slice."""

    parts: tuple[Part, ...]
    features: Features = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))

    def __call__(self, given: Any, reference: Any, stratum: str | None) -> bool:
        """Whether it holds for one sample."""
        del reference
        told = {part.feature: _value(self.features, part.feature, given, stratum) for part in self.parts}
        return all(bool(part.holds(np.array([told[part.feature]]))[0]) for part in self.parts)

    def among(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """`(n,)` for which samples it holds; `columns`: feature -> `(n,)` its values."""
        found: NDArray[np.bool_] = np.logical_and.reduce(
            [part.holds(columns[part.feature]) for part in self.parts]
        )
        return found


def columns_of(
    features: Features, inputs: Sequence[Any], strata: NDArray[np.str_] | None
) -> dict[str, NDArray[Any]]:
    """Give each feature of each sample, `(n,)`: numbers or texts. Raises `DataError` for anything else."""
    if not isinstance(features, Mapping) or not all(map(callable, features.values())):
        raise DeclarationError(f"`features={features!r}`; expected names of functions of an input")
    names = [*features, *([] if strata is None or STRATUM in features else [STRATUM])]
    if not names:
        raise DeclarationError("there is no feature to search by; give `features=`, or the dataset `strata=`")
    found = {}
    for name in names:
        groups = [None] * len(inputs) if strata is None else strata.tolist()
        values = [_value(features, name, inputs[i], groups[i]) for i in range(len(inputs))]
        column = np.array(values)
        if column.dtype.kind not in "biufU" or column.ndim != 1 or (column != column).any():  # noqa: PLR0124 - NaN
            raise DataError(
                f"feature `{name}` gives {column.dtype} values; expected a number or text for each"
            )
        found[name] = column
    return found


def worst_condition(
    columns: Mapping[str, NDArray[Any]], scores: NDArray[np.float64], *, least: int, examples: int
) -> tuple[Part, ...]:
    """Search for the condition under which scores are worst, by hypothesis (extra `[hypothesis]`).

    `scores`: `(n,)` in [0, 1]. What is made small is the upper confidence bound of the mean, so that a few
    unlucky samples are no finding. Conditions of one or two parts that hold for `least` samples or more; the
    same data give the same one. Raises `DataError` where none does.
    """
    try:
        hypothesis: Any = importlib.import_module("hypothesis")  # an extra
    except ImportError:
        raise ProvisionError(
            "the search for the worst slice needs hypothesis, which is not installed; run "
            "`pip install 'pytest-procure[hypothesis]'`"
        ) from None
    st = hypothesis.strategies
    parts = st.one_of([st.sampled_from(_parts(name, column)) for name, column in sorted(columns.items())])
    seen: dict[tuple[Part, ...], float] = {}  # condition -> bound; infinite where it holds for too few

    def look(drawn: list[Part]) -> None:
        chosen = tuple(sorted(drawn, key=str))
        if chosen not in seen:
            holds = Condition(chosen).among(columns)
            count, total = int(holds.sum()), float(scores[holds].sum())
            enough = count >= least
            seen[chosen] = share_bounds(total, count, confidence=_CONFIDENCE).high if enough else math.inf
        if seen[chosen] <= 1:
            hypothesis.target(-seen[chosen])

    drawn = st.lists(parts, min_size=1, max_size=_MOST_PARTS, unique_by=lambda part: part.feature)
    settings = hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    settings(hypothesis.given(drawn)(look))()
    high, _, chosen = min((high, str(Condition(chosen)), chosen) for chosen, high in seen.items())
    if high > 1:
        raise DataError(f"no condition holds for {least} samples; ask with a smaller `least=`")
    return chosen


def _parts(name: str, column: NDArray[Any]) -> list[Part]:
    values = np.unique(column)
    if column.dtype.kind in "bU":
        return [Part(name, "==", value) for value in values.tolist()]
    if len(values) > _CUTS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _CUTS + 1), method="lower"))
    return [made for cut in values.tolist() for made in (Part(name, ">=", cut), Part(name, "<=", cut))]


def _value(features: Features, name: str, given: Any, stratum: str | None) -> Any:
    return features[name](given) if name in features else stratum
