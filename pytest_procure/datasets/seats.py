"""How many samples of a slice each stratum gets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError, DeclarationError, unknown

if TYPE_CHECKING:  # a dataset makes slices: the import at run time goes the other way
    from .dataset import Dataset

#: A stratum with fewer says nothing of its own spread.
LEAST = 2


def largest_remainder(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Share n seats out in proportion to the sizes; ties go to the first by name."""
    total = sum(sizes.values())
    seats = {name: n * size // total for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(n * sizes[name] % total), name))
    for name in by_remainder[: n - sum(seats.values())]:
        seats[name] += 1
    return seats


def checked_weights(
    dataset: Dataset, there: NDArray[np.int64], weights: Mapping[str, float], stratify: object
) -> dict[str, float]:
    """Check the shares of production: a stratum each, 0 for one that does not occur, 1 in all.

    Raises `DeclarationError`, and `DataError` for a stratum of the data that has none: whoever leaves it out
    has to say so.
    """
    if stratify:
        raise DeclarationError(f"a slice of `{dataset.name}`: `weights=` and `stratify=` exclude each other")
    if dataset.strata is None:
        raise DeclarationError(f"`weights=` but dataset `{dataset.name}` has no strata; give it `strata=`")
    if dataset.clusters is not None:
        raise DeclarationError(
            f"`weights=` of dataset `{dataset.name}`, which has clusters: there is no rule here for both"
        )
    if not isinstance(weights, Mapping) or not weights:
        raise DeclarationError(
            f"`weights={weights!r}` of a slice of `{dataset.name}`; expected stratum -> share, as in "
            "{'billing': 0.7, 'legal': 0.3}"
        )
    known = sorted(set(dataset.strata[there].tolist()))
    for name, share in weights.items():
        if name not in known:
            raise DataError(unknown(f"stratum of dataset `{dataset.name}`", str(name), known))
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise DeclarationError(f"`weights[{name!r}]` is {share!r}; expected a share from 0 to 1")
    if missing := [name for name in known if name not in weights]:
        raise DataError(
            f"`weights` of dataset `{dataset.name}` leave out {', '.join(f'`{name}`' for name in missing)}; "
            "expected a share for each stratum, 0 for one that production does not have"
        )
    whole = sum((Fraction(share) for share in weights.values()), Fraction(0))
    if abs(whole - 1) > Fraction(1, 10**9):
        raise DeclarationError(
            f"`weights` of dataset `{dataset.name}` sum to {sum(weights.values()):g}; expected 1"
        )
    return {name: float(weights[name]) for name in known}


def seats_by_weight(
    dataset: str, sizes: Mapping[str, int], weights: Mapping[str, float], n: int | None
) -> dict[str, int]:
    """Share out n seats by the shares of production; without n, as many as the scarcest stratum allows.

    Raises `DataError` where a stratum has not enough samples, or would get fewer than two.
    """
    parts = {name: Fraction(share) for name, share in weights.items() if share > 0}
    # A seat more than its share is the most that rounding gives anybody.
    most = min(max(int((sizes[name] - 1) / part), 0) for name, part in parts.items())
    least = max(math.ceil(LEAST / part) for part in parts.values())
    asked = most if n is None else n
    scale = 10**15
    seats = largest_remainder({name: int(part * scale) for name, part in parts.items()}, asked)
    for name, count in seats.items():
        if LEAST <= count <= sizes[name]:
            continue
        if least > most:
            raise DataError(_misfit(dataset, sizes, parts, least))
        if count > sizes[name]:
            raise DataError(
                f"{asked} samples of dataset `{dataset}` by production's shares take {count} of `{name}`, "
                f"but there are {sizes[name]}; ask for n={most} or fewer, or label more"
            )
        raise DataError(
            f"{asked} samples of dataset `{dataset}` by production's shares hold {count} of `{name}`, "
            f"which says nothing of it; ask for n={least} or more"
        )
    return seats


def _misfit(dataset: str, sizes: Mapping[str, int], parts: Mapping[str, Fraction], least: int) -> str:
    """Say of which stratum there is too little for any n that holds enough of the others."""
    rarest = min(parts, key=lambda name: (parts[name], name))
    scarcest = min(parts, key=lambda name: (Fraction(sizes[name] - 1) / parts[name], name))
    needed = math.ceil(least * parts[scarcest]) + 1
    return (
        f"no n fits dataset `{dataset}` by production's shares: {LEAST} of `{rarest}` take n={least}, for "
        f"which there are too few of `{scarcest}` ({sizes[scarcest]}); label {needed} of it, or give a "
        "stratum that production does not have the share 0"
    )
