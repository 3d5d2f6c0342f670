"""What a suite declares, and what is found once it is loaded, as the parts of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_procure.bars import Bar
from pytest_procure.datasets import DatasetSlice
from pytest_procure.units import Quantity

from .canonical import digest, plain
from .functions import function_source
from .items import groups, root, salted
from .series import measured_part
from .spec import SealedBar, SealedCandidate, SealedSlice


def sealed_bar(bar: Bar) -> SealedBar:
    """Write a declared bar as plain data, its values exact."""
    limits = bar.limits
    return {
        "metric": bar.metric.name,
        "sense": bar.sense,
        "value": f"{bar.limit.number:f}",
        "unit": bar.limit.unit,
        "design": _text(bar.design),
        "consumer_risk": bar.consumer_risk,
        "latency": "" if limits is None else _text(limits.latency),
        "correct": "" if limits is None else limits.correct,
        "against": "" if bar.against is None else bar.against.name,
        "text": bar.text,
    }


def sealed_slice(chosen: DatasetSlice, salt: bytes, suite: Path | None = None) -> SealedSlice:
    """Write a slice as plain data, its items by salted digest. Raises `DataError` where one has no digest.

    `suite`: the folder below which its scorers' source is followed.
    """
    return sealed_as_salted(salted_slice(chosen, salt), salt, suite)


def sealed_as_salted(chosen: DatasetSlice, salt: bytes, suite: Path | None = None) -> SealedSlice:
    """Write a slice whose digests are salted already: digesting may mean reading gigabytes."""
    about = chosen.describe()
    about.pop("digest")  # it follows from the items
    about.pop("judged", None)  # found in a run
    told = chosen.digests.hex()
    leaves = [told[place : place + 64] for place in range(0, len(told), 64)]
    functions: dict[str, Any] = {name: scorer.function for name, scorer in chosen.dataset.scorers.items()}
    functions |= {f"corpus.{name}": function for name, function in chosen.dataset.corpus.items()}
    return {
        "about": plain(about),
        "scorers": {name: function_source(function, suite) for name, function in functions.items()},
        "root": root(leaves),
        "items": leaves,
        "groups": groups(salt, chosen.strata, chosen.clusters),
    }


def salted_slice(chosen: DatasetSlice, salt: bytes) -> DatasetSlice:
    """Give a slice that publishes its digests salted, as the spec does, wherever it is recorded."""
    return replace(chosen, salted=partial(salted, salt))


def sealed_candidate(stated: Mapping[str, Any], disclosed: Mapping[str, Any]) -> SealedCandidate:
    """Write an offer as plain data: what it states, and what its backend discloses once loaded."""
    told, found = plain(stated), plain(disclosed)
    return {"stated": told, "disclosed": found, "digest": digest(measured_part(told, found))}


def slice_name(about: Mapping[str, Any]) -> str:
    """Name a slice by its dataset and its rule: `tickets, n=800, seed=7`."""
    rule = about.get("rule")
    rule = rule if isinstance(rule, Mapping) else {}
    told = {key: value for key, value in rule.items() if key != "order" and value is not None}
    said = [f"{key}={value}" for key, value in told.items() if value is not False]
    return ", ".join([str(about.get("name", "")), *said])


def _text(value: Quantity | None) -> str:
    return "" if value is None else f"{value.number:f} {value.unit}".strip()
