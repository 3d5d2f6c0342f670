"""Two published results side by side: allowed, allowed with disclosures, or refused without a number."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .benchmarks import facts, release
from .checks import QUESTIONS, Pair, foreign, standing, unmoved
from .citing import obligations
from .deriving import Derived, derive
from .records import ForeignResult, Result
from .rules import Applied, apply
from .score import Score, lower_is_better, percent

#: Further apart than any two results of one benchmark: one of the two is no result.
FARTHEST = 1e9
Kind = Literal["comparison", "movement", "across rounds"]
#: How a kind of pair is named in a sentence.
KINDS: dict[Kind, str] = {
    "comparison": "",
    "movement": "as movement between rounds only",
    "across rounds": "across rounds, which is no movement",
}
Status = Literal["allowed", "allowed with disclosures", "refused"]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What may be said of two results.

    `ratio` is a over b, in times. `kind` is `movement` where one submitter's chips, as many, stand in two
    rounds: then the pair says how a submission moved, not which offer is faster today. Other pairs of two
    rounds are `across rounds`: they show both scores and neither ratio nor change. A refused pair has no
    figure at all.
    """

    a: Result | ForeignResult
    b: Result | ForeignResult
    status: Status
    kind: Kind
    refusals: tuple[Applied, ...]
    disclosures: tuple[Applied, ...]
    obligations: tuple[Applied, ...]
    ratio: Score | None = None
    derived: tuple[Derived, ...] = ()

    def __repr__(self) -> str:
        return f"Comparison({self.a.name} and {self.b.name}: {self.sentence})"

    @property
    def change(self) -> Score | None:
        """The change to the later round in percent, for movement; None otherwise."""
        a, b = self.a, self.b
        if self.kind != "movement" or not isinstance(a, Result) or not isinstance(b, Result):
            return None
        if self.ratio is None:
            return None
        return changed(*(sorted((a, b), key=lambda one: release(one.round))))

    @property
    def sentence(self) -> str:
        """Say in one sentence what came of it; a refusal names its rules and no figure."""
        if self.status == "refused":
            return "refused: " + "; ".join(f"{one.reason} [{one.rule}]" for one in self.refusals)
        what = KINDS[self.kind]
        named = ", ".join(dict.fromkeys(one.rule for one in self.disclosures))
        return " ".join(
            part for part in ("allowed", what, f"with disclosures: {named}" if named else "") if part
        )


def compare(
    a: Result | ForeignResult,
    b: Result | ForeignResult,
    *,
    named: Collection[str] = (),
    among: Iterable[Result] = (),
    retrieved: str = "",
) -> Comparison:
    """Set two results side by side under MLCommons' rules.

    `named` names the ways in which an Open or Network result would not qualify as Closed, of `checks.WAYS`
    (model, accuracy, latency, network); with a visible way unnamed, or none named, the pair is refused.
    `among` are the other results at hand, to recognise a run filed twice. `retrieved` is the date the tables
    were fetched.
    """
    if isinstance(a, ForeignResult) or isinstance(b, ForeignResult):
        applied = [rule for one in (a, b) if isinstance(one, ForeignResult) for rule in foreign(one)]
        return Comparison(a, b, "refused", "comparison", tuple(applied), (), ())
    pair = Pair(a, b, frozenset(named), tuple(among))
    applied = list(dict.fromkeys([*standing((a, b)), *(one for ask in QUESTIONS for one in ask(pair))]))
    refusals = tuple(one for one in applied if one.action == "refuse")
    disclosures = [one for one in applied if one.action == "disclose"]
    kind = _kind(a, b)
    if refusals or a.score is None or b.score is None:
        return Comparison(a, b, "refused", kind, refusals, tuple(disclosures), ())
    ratio = a.score.number / b.score.number
    if not 1 / FARTHEST < ratio < FARTHEST:
        far = apply("not_in_published_table", "the two are too far apart to be results of one benchmark")
        return Comparison(a, b, "refused", kind, (far,), tuple(disclosures), ())
    noise = max(facts().noise(a.round), facts().noise(b.round))
    if kind == "comparison" and abs(ratio - 1) <= noise:
        disclosures.append(
            apply(
                "noise",
                f"closer than {noise:.1%}, the median spread between submitters of one chip: treat as tied",
            )
        )
    derived = _derived(a, b)
    disclosures += [one.rule for one in derived[:1]]
    return Comparison(
        a,
        b,
        "allowed with disclosures" if disclosures else "allowed",
        kind,
        (),
        tuple(disclosures),
        tuple(obligations((a, b), retrieved=retrieved)),
        None if kind == "across rounds" else Score(ratio, "times"),
        derived,
    )


def _kind(a: Result, b: Result) -> Kind:
    if a.round == b.round:
        return "comparison"
    return "across rounds" if unmoved(a, b) else "movement"


def changed(before: Result, after: Result) -> Score | None:
    """Return the change from one result to another in percent of the first, None without both numbers."""
    if before.score is None or after.score is None:
        return None
    ratio = after.score.number / before.score.number
    return Score(100 * (ratio - 1), "%") if 1 / FARTHEST < ratio < FARTHEST else None


def _derived(a: Result, b: Result) -> tuple[Derived, ...]:
    """Return figures per accelerator where the counts differ: totals alone would mislead."""
    if a.count.best == b.count.best:
        return ()
    made = [derive(one, "accelerator") for one in (a, b)]
    return (
        tuple(one for one in made if isinstance(one, Derived))
        if not any(isinstance(one, Applied) for one in made)
        else ()
    )


@dataclass(frozen=True, slots=True, repr=False)
class Movement:
    """One submission in two rounds: the hardware-plus-software pair moved by `change`, in percent."""

    before: Result
    after: Result
    change: Score | None
    refusals: tuple[Applied, ...]
    disclosures: tuple[Applied, ...]

    def __repr__(self) -> str:
        return f"Movement({self.before.name} and {self.after.name}: {self.sentence})"

    @property
    def better(self) -> bool | None:
        """Whether the later round is better, None where nothing may be said."""
        if self.change is None or self.after.score is None:
            return None
        return (self.change.number < 0) == lower_is_better(self.after.score.unit)

    @property
    def sentence(self) -> str:
        """Say how the pair moved, or why nothing is said."""
        if self.change is None:
            return "refused: " + "; ".join(f"{one.reason} [{one.rule}]" for one in self.refusals)
        return percent(self.change)


@dataclass(frozen=True, slots=True)
class Movements:
    """Every pair that moved, and the results that stand in one of the rounds only."""

    pairs: tuple[Movement, ...]
    only: tuple[Result, ...]

    #: What movement licenses, printed under every table of it.
    MAY = "The hardware-plus-software pair moved, with the changes disclosed."
    MAY_NOT = (
        "Not that the chip got faster or slower: the stack moved with it. No forecast for the next round, "
        "and nothing about your own stack or task."
    )


def movement(rows: Iterable[Result], *, retrieved: str = "") -> Movements:
    """Pair results of consecutive rounds that agree in submitter, platform, chip, count, division and task.

    A platform that was renamed is not guessed at. Pairs outside one compatibility group are refused by rule.
    A unit label that contradicts the metric in the same way in both rounds is disclosed, not refused: within
    one submission the true unit of the benchmark table is the same on both sides.
    """
    rounds: dict[tuple[object, ...], list[Result]] = {}
    for one in rows:
        if one.origin != "log":
            key = (
                one.submitter,
                one.platform,
                one.accelerator,
                one.count.best,
                one.division,
                one.suites,
                one.benchmark,
                one.model,
                one.scenario,
            )
            rounds.setdefault(key, []).append(one)
    pairs, only = [], []
    for group in rounds.values():
        ordered = sorted(group, key=lambda one: release(one.round))
        rounds_of = [one.round for one in ordered]
        if len(ordered) < 2 or len(set(rounds_of)) < len(ordered):
            only += ordered  # in one round only, or twice in one round: which of them moved would be a guess
        else:
            pairs += [_moved(before, after, retrieved) for before, after in pairwise(ordered)]
    return Movements(tuple(pairs), tuple(only))


def _moved(before: Result, after: Result, retrieved: str) -> Movement:
    made = compare(before, after, retrieved=retrieved)
    refusals = made.refusals
    disclosures = list(made.disclosures)
    same_label = before.label == after.label and before.label_fault == after.label_fault
    if before.label_fault and same_label and before.score is not None and after.score is not None:
        refusals = tuple(one for one in refusals if one.rule != "unit")
        disclosures.append(
            apply(
                "unit",
                f"both labels are wrong ({before.label}); read in {before.score.unit}",
                action="disclose",
            )
        )
    change = None if refusals else changed(before, after)
    if change is None:
        return Movement(before, after, None, refusals, tuple(disclosures))
    return Movement(before, after, change, (), tuple(disclosures))
