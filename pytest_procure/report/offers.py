"""What an offer costs and which model files it is, for each stage where it has stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DIGESTS = frozenset({"sha256", "digest"})


class Part(NamedTuple):
    """What is told of a stage; `stage` is "" where an offer has none."""

    stage: str
    told: str


def digests(candidate: Mapping[str, Any]) -> list[Part]:
    """Give the digest of each stage's model, as far as it is disclosed: the first that its backend tells."""
    told = [Part(stage, _digest(backend)) for stage, backend, _ in _parts(candidate)]
    return [part for part in told if part.told]


def prices(candidate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the declared prices: that of the whole where there is one, else those of its stages.

    Each holds `stage`, "" for the whole, beside what the price says of itself.
    """
    if candidate["price"]:
        return [{**candidate["price"], "stage": ""}]
    return [{**price, "stage": stage} for stage, _, price in _parts(candidate) if price]


def _parts(candidate: Mapping[str, Any]) -> list[tuple[str, Any, Mapping[str, Any]]]:
    """Give name, disclosed backend and price of each stage; of an offer without stages, its own."""
    stages = candidate["backend"].get("stages")
    if not isinstance(stages, list) or not all(isinstance(stage, Mapping) for stage in stages):
        return [("", candidate["backend"], candidate["price"])]
    return [(str(each.get("name", "")), each.get("backend"), each.get("price") or {}) for each in stages]


def _digest(described: Any) -> str:
    return next(_found(described), "")


def _found(described: Any) -> Iterator[str]:
    inner: Any = ()
    if isinstance(described, Mapping):
        inner = described.values()
        yield from (value for key, value in described.items() if key in _DIGESTS and _is_told(value))
    elif isinstance(described, list):
        inner = described
    for value in inner:
        yield from _found(value)


def _is_told(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
