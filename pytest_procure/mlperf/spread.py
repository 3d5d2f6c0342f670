"""One system over its scenarios: is its advantage a throughput or a latency story."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .benchmarks import facts
from .checks import cell
from .errors import MlperfError
from .records import Result
from .rules import Applied, apply

RATED = ("Offline", "Server", "Interactive")


@dataclass(frozen=True, slots=True)
class Spread:
    """A system's rates by scenario, and each as a share of Offline. Ratios are derived, never official."""

    name: str
    rows: dict[str, Result]

    def ratio(self, scenario: str) -> float | None:
        """Return a scenario's rate over the Offline rate, None where either is missing."""
        over, under = self.rows.get(scenario), self.rows.get("Offline")
        if over is None or under is None or over.score is None or under.score is None:
            return None
        return over.score.number / under.score.number


@dataclass(frozen=True, slots=True)
class Lead:
    """How far the first system leads another, by scenario, and what kind of story that is."""

    over: str
    by_scenario: dict[str, float]

    @property
    def story(self) -> str:
        """Say whether the lead grows or shrinks as the latency limits tighten."""
        known = [(name, self.by_scenario[name]) for name in RATED if name in self.by_scenario]
        if len(known) < 2:
            return "one scenario in common: no story to tell"
        (loose, first), (tight, last) = known[0], known[-1]
        if abs(last / first - 1) <= 0.05:
            return f"the lead is the same from {loose} to {tight}: neither"
        if last > first:
            return f"the lead grows from {loose} to {tight}: a latency story"
        return f"the lead shrinks from {loose} to {tight}: a throughput story"


@dataclass(frozen=True, slots=True)
class Spreads:
    """The systems side by side, the limits their scenarios held, and the disclosures that belong to it."""

    benchmark: str
    round: str
    systems: tuple[Spread, ...]
    leads: tuple[Lead, ...]
    limits: dict[str, dict[str, float]]
    disclosures: tuple[Applied, ...]


def scenario_spread(
    rows: Iterable[Result], benchmark: str, systems: Sequence[str], *, round_: str = ""
) -> Spreads:
    """Compare systems scenario by scenario on one benchmark; the first is measured against the others.

    A system is an ID, a platform or `SUBMITTER:PLATFORM`. Raises `MlperfError` for a system without results.
    """
    of_benchmark = [
        one
        for one in rows
        if cell(one)[0] == benchmark
        and one.origin != "log"
        and round_ in {"", one.round}
        and one.score is not None
    ]
    made = [_spread(of_benchmark, name, benchmark) for name in systems]
    rounds = {one.round for spread in made for one in spread.rows.values()}
    if len(rounds) != 1:
        raise MlperfError(f"the systems stand in several rounds ({', '.join(sorted(rounds))}); choose one")
    at = rounds.pop()
    record = facts().find(at, benchmark)
    disclosures = [
        apply(
            "derived_metric",
            "ratios across scenarios and leads are derived, not official, and say nothing about your own "
            "arrival pattern",
        )
    ]
    if facts().speculative(at, benchmark):
        disclosures.append(
            apply(
                "speculative_decoding",
                f"{benchmark} Interactive may use speculative decoding in {at}, Server may not: the ratio "
                "mixes two decoders",
            )
        )
    disclosures += [
        apply("unit", f"{one.name}: {one.label_fault}; read as the metric", action="disclose")
        for spread in made
        for one in spread.rows.values()
        if one.label_fault
    ]
    above = [spread.name for spread in made if (spread.ratio("Server") or 0) > 1]
    if above:
        disclosures.append(apply("noise", f"Server above Offline in {', '.join(above)}: it happens, ask why"))
    return Spreads(
        benchmark,
        at,
        tuple(made),
        tuple(_lead(made[0], other) for other in made[1:]),
        {name: record.limits(name) for name in RATED if record and record.limits(name)},
        tuple(disclosures),
    )


def _spread(rows: Sequence[Result], name: str, benchmark: str) -> Spread:
    found = [one for one in rows if one.is_of(name)]
    if not found:
        raise MlperfError(f"{name} has no result of {benchmark} in what was loaded")
    by_scenario = {cell(one)[1]: one for one in found}
    if len(by_scenario) != len(found):
        raise MlperfError(
            f"{name} has several results of {benchmark} in one scenario; name the system by its ID"
        )
    first = found[0]
    return Spread(
        f"{first.id or first.platform} {first.submitter} {first.chips} ({first.precision})", by_scenario
    )


def _lead(first: Spread, other: Spread) -> Lead:
    by_scenario = {}
    for name in RATED:
        a, b = first.rows.get(name), other.rows.get(name)
        if a is not None and b is not None and a.score is not None and b.score is not None:
            by_scenario[name] = a.score.number / b.score.number
    return Lead(other.name, by_scenario)
