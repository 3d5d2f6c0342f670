"""Figures derived from a published score: labelled, with their basis, and only from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .checks import standing
from .records import Result
from .rules import Applied, apply
from .score import Published, figure

Per = Literal["accelerator", "node", "watt"]
LABEL = "derived, not an official or verified result"


@dataclass(frozen=True, slots=True, eq=False)
class Derived(Published):
    """A derived figure with its basis. It prints as `3,189 tokens/s per accelerator (derived, ...)`."""

    number: float
    unit: str
    basis: str
    rule: Applied

    def __str__(self) -> str:
        return f"{figure(self.number, 6)} {self.unit} ({LABEL}: {self.basis})"


def derive(result: Result, per: Per, *, proxy: str = "") -> Derived | Applied:
    """Divide a score by accelerators, nodes or measured watts, or return the rule that refuses it.

    Watts are the submission's own measured system power. `proxy` names another source of power (TDP, TGP, a
    power supply's rating); it is refused whatever it says.
    """
    unfit = next(standing((result,)), None)
    if unfit is not None or result.score is None:
        return unfit or apply("not_in_published_table", f"{result.name} carries no usable published number")
    if result.score.unit in {"ms", "s"}:
        return apply("derived_metric", "a latency does not divide by anything", action="refuse")
    unit = f"{result.score.unit} per {per}"
    if per == "watt":
        if proxy:
            return apply("power_proxy", f"{proxy} is no measured system power")
        if result.power is None or result.power.unit != "Watts":
            return apply(
                "power_proxy",
                f"{result.name} has no measured system power, and nothing else may stand in for it",
            )
        basis, divisor = f"measured system power of {figure(result.power.number, 6)} W", result.power.number
    elif per == "node":
        basis, divisor = f"{result.nodes} nodes", float(result.nodes or 0)
    else:
        basis, divisor = f"{result.count.best} accelerators", float(result.count.best or 0)
        if result.count.conflict:
            basis += f"; {result.count.conflict}"
    if not divisor:
        return apply("count_source", f"{result.name} does not state how many {per}s it has", action="refuse")
    return Derived(
        result.score.number / divisor, unit, basis, apply("derived_metric", f"{unit}, from {basis}")
    )


def per_count(result: Result) -> list[Derived]:
    """Return the figures per accelerator for every count a filing states: the preferred first."""
    made = derive(result, "accelerator")
    if isinstance(made, Applied) or result.score is None:
        return []
    counts = [count for count in (result.count.best, result.count.declared, result.count.stated) if count]
    return [
        Derived(result.score.number / count, made.unit, f"{count} accelerators", made.rule)
        for count in dict.fromkeys(counts)
    ]
