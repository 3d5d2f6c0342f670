"""One system over its scenarios: is its advantage a throughput or a latency story."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .benchmarks import facts
from .checks import cell, standing
from .comparing import compare
from .errors import MlperfError
from .records import Result
from .rules import Applied, apply
from .score import Score, text_of

RATED = ("Offline", "Server", "Interactive")


@dataclass(frozen=True, slots=True)
class Spread:
    """A system's rates by scenario, and each as a share of Offline. Ratios are derived, never official.

    `refused` holds, by scenario, the rules under which a result may not stand beside the first system's, or
    at all. Such a result has no figure here.
    """

    name: str
    rows: dict[str, Result]
    refused: dict[str, tuple[Applied, ...]]

    def shown(self, scenario: str) -> str:
        """Return a scenario's score for a table, or the rules that refuse it, or nothing without a result."""
        if scenario in self.refused:
            return f"refused: {', '.join(dict.fromkeys(one.rule for one in self.refused[scenario]))}"
        one = self.rows.get(scenario)
        return text_of(one.score) if one is not None else ""

    def ratio(self, scenario: str) -> Score | None:
        """Return a scenario's rate over the Offline rate, None where either is missing or refused."""
        over, under = self.rows.get(scenario), self.rows.get("Offline")
        if over is None or under is None or over.score is None or under.score is None:
            return None
        if self.refused.keys() & {scenario, "Offline"}:
            return None
        return Score(over.score.number / under.score.number, "times")


@dataclass(frozen=True, slots=True)
class Lead:
    """How far the first system leads another, by scenario, and what kind of story that is.

    A scenario in which the two may not be compared has no lead; `refused` names the rules.
    """

    over: str
    by_scenario: dict[str, Score]
    refused: dict[str, tuple[Applied, ...]]

    @property
    def story(self) -> str:
        """Say whether the lead grows or shrinks as the latency limits tighten."""
        known = [(name, self.by_scenario[name].number) for name in RATED if name in self.by_scenario]
        if len(known) < 2:
            return "fewer than two scenarios may be compared: no story to tell"
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
    found = [_rows(of_benchmark, name, benchmark) for name in systems]
    made = [_spread(by_scenario, found[0]) for by_scenario in found]
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
    pairs = [compare(*both) for other in found[1:] for both in _both(found[0], other).values()]
    disclosures += [one for pair in pairs if pair.status != "refused" for one in pair.disclosures]
    above = [one.name for one in made if (ratio := one.ratio("Server")) is not None and ratio.number > 1]
    if above:
        disclosures.append(apply("noise", f"Server above Offline in {', '.join(above)}: it happens, ask why"))
    return Spreads(
        benchmark,
        at,
        tuple(made),
        tuple(_lead(found[0], other) for other in made[1:]),
        {name: record.limits(name) for name in RATED if record and record.limits(name)},
        tuple(dict.fromkeys(disclosures)),
    )


def _rows(rows: Sequence[Result], name: str, benchmark: str) -> dict[str, Result]:
    found = [one for one in rows if one.is_of(name)]
    if not found:
        raise MlperfError(f"{name} has no result of {benchmark} in what was loaded")
    by_scenario = {cell(one)[1]: one for one in found}
    if len(by_scenario) != len(found):
        raise MlperfError(
            f"{name} has several results of {benchmark} in one scenario; name the system by its ID"
        )
    return by_scenario


def _both(first: Mapping[str, Result], other: Mapping[str, Result]) -> dict[str, tuple[Result, Result]]:
    return {name: (first[name], other[name]) for name in RATED if name in first and name in other}


def _spread(rows: dict[str, Result], beside: Mapping[str, Result]) -> Spread:
    """Make the spread of a system, and refuse whatever the rules refuse beside the first system."""
    one = next(iter(rows.values()))
    refused = {name: tuple(standing((result,))) for name, result in rows.items()}
    if rows is not beside:
        refused |= {name: compare(*both).refusals for name, both in _both(beside, rows).items()}
    return Spread(
        f"{one.id or one.platform} {one.submitter} {one.chips} ({one.precision})",
        rows,
        {name: rules for name, rules in refused.items() if rules},
    )


def _lead(first: Mapping[str, Result], other: Spread) -> Lead:
    made = {name: compare(*both) for name, both in _both(first, other.rows).items()}
    return Lead(
        other.name,
        {name: one.ratio for name, one in made.items() if one.ratio is not None},
        {name: one.refusals for name, one in made.items() if one.refusals},
    )
