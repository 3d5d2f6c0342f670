"""A shortlist in bands instead of ranks, with everything named that keeps a name off it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from .benchmarks import facts
from .checks import cell, counted, inference, is_twin, reduced
from .errors import MlperfError
from .reconciling import head_room, misses
from .records import Result
from .rules import Applied, apply
from .score import lower_is_better

#: As many groups of one chip and count, filed by three submitters or more, make a spread worth trusting.
ENOUGH_GROUPS = 20


@dataclass(frozen=True, slots=True)
class Filters:
    """Which results to look at. Empty means any; `benchmark` and `scenario` are always needed."""

    benchmark: str
    scenario: str
    round: str = ""
    suite: str = ""
    division: str = "closed"
    availability: str = "available"
    accelerator: str = ""
    submitter: str = ""
    precision: str = ""
    nodes: int | None = None
    accelerators: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A result on the list: the rows that repeat its run, its head-room by limit, and what to disclose."""

    result: Result
    twins: tuple[Result, ...]
    head_room: dict[str, float]
    disclosures: tuple[Applied, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """Results too close to rank: each within the noise of the first. `spread` is first to last, a share.

    `edge` is the share between the last and the next band's first, where that is within the noise too: then
    those two are no more told apart than results of one band.
    """

    entries: tuple[Entry, ...]
    spread: float
    edge: float | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A result kept off the list, and the rule that keeps it off."""

    result: Result
    rule: Applied


@dataclass(frozen=True, slots=True)
class Noise:
    """The median spread between submitters of one chip, as a share, and where it comes from."""

    share: float
    basis: str


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The bands, best first, and everything a reader has to know beside them."""

    filters: Filters
    bands: tuple[Band, ...]
    dropped: tuple[Dropped, ...]
    noise: Noise
    precisions: dict[str, int] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, best first; within a band the order means nothing."""
        return tuple(entry for band in self.bands for entry in band.entries)

    @property
    def single_node(self) -> Entry | None:
        """The first entry that is one node, where the first entry is not."""
        return next((entry for entry in self.entries if entry.result.nodes == 1), None)


def measured_noise(rows: Iterable[Result], round_: str) -> Noise:
    """Measure the spread between submitters of one chip, count, benchmark and scenario in a round.

    Groups of three submitters or more count, each by its largest over its smallest number. With fewer than 20
    groups the figure of the package data stands, because a median of a handful says little.
    """
    groups: dict[tuple[object, ...], dict[str, list[float]]] = {}
    for one in rows:
        usable = one.score is not None and one.accelerator and one.origin == "summary"
        if one.round == round_ and one.division == "closed" and usable and one.score is not None:
            key = (one.accelerator, one.count.best, one.suites, one.benchmark, one.scenario)
            groups.setdefault(key, {}).setdefault(one.submitter, []).append(one.score.number)
    spreads = []
    for by_submitter in groups.values():
        numbers = [number for some in by_submitter.values() for number in some]
        if len(by_submitter) >= 3:
            spreads.append(max(numbers) / min(numbers) - 1)
    if len(spreads) >= ENOUGH_GROUPS:
        return Noise(
            median(spreads), f"median of {len(spreads)} groups of three submitters or more in this round"
        )
    known = facts()
    return Noise(known.noise(round_), f"known median ({known.data['noise']['source']})")


def shortlist(rows: Iterable[Result], filters: Filters) -> Shortlist:
    """List the results that pass the filters in bands; name those dropped by rule and why.

    Raises `MlperfError` where the filters leave more than one round or suite, or no result at all.
    """
    everything = tuple(rows)
    asked = [one for one in everything if cell(one) == (filters.benchmark, filters.scenario)]
    round_ = _only("round", filters.round, (one.round for one in asked), filters)
    suite = _only(
        "suite", filters.suite, (name for one in asked if one.round == round_ for name in one.suites), filters
    )
    asked = [one for one in asked if one.round == round_ and suite in one.suites and _wanted(one, filters)]
    kept, dropped = [], []
    for one in asked:
        rule = _off_list(one, filters)
        if rule is None:
            kept.append(one)
        else:
            dropped.append(Dropped(one, rule))
    noise = measured_noise(everything, round_)
    bands = _bands(kept, everything, noise)
    return Shortlist(
        filters, bands, tuple(dropped), noise, dict(Counter(str(one.precision) for one in kept).most_common())
    )


def _only(what: str, wanted: str, found: Iterable[str], filters: Filters) -> str:
    names = sorted(set(found))
    if wanted:
        names = [name for name in names if name == wanted]
    if len(names) == 1:
        return names[0]
    if names:
        raise MlperfError(
            f"{filters.benchmark} {filters.scenario} stands in several {what}s; choose: {', '.join(names)}"
        )
    raise MlperfError(
        f"no result of {filters.benchmark} {filters.scenario}" + (f" with {what} {wanted}" if wanted else "")
    )


def _wanted(one: Result, filters: Filters) -> bool:
    """Whether the reader asked for this result; what they did not ask for is not `dropped`."""
    return (
        filters.accelerator.casefold() in one.accelerator.casefold()
        and filters.submitter.casefold() in one.submitter.casefold()
        and (not filters.precision or filters.precision in one.precision.kinds)
        and filters.nodes in {None, one.nodes}
        and filters.accelerators in {None, one.count.best}
    )


def _off_list(one: Result, filters: Filters) -> Applied | None:
    """Return the rule that keeps a result off the list, if one does."""
    log = one.run.log if one.run else None
    missed = misses(one)
    reasons = (
        (one.origin == "log", "not_in_published_table", "a log without a published row"),
        (one.origin == "copy", "verified", "republished by a third party: unverified"),
        (one.origin == "unofficial", "verified", "a row of an unofficial round: unverified"),
        (one.score is None, "not_in_published_table", "no usable number in its row"),
        (log is not None and bool(log.fault), "invalid_log", log.fault if log else ""),
        (
            one.division != filters.division,
            "division",
            f"{one.division or 'no'} division" + (f", ran {one.model}" if one.swapped_model else ""),
        ),
        (filters.division != "closed" and one.swapped_model, "open_model", f"ran {one.model}"),
        (
            bool(filters.availability) and one.availability != filters.availability,
            "availability",
            f"{one.availability or 'not stated'}: cannot be bought today",
        ),
        (bool(missed), "quality_target", f"misses the reference bar: {', '.join(missed)}"),
    )
    return next((apply(rule, reason) for off, rule, reason in reasons if off), None)


def _bands(kept: Sequence[Result], everything: Sequence[Result], noise: Noise) -> tuple[Band, ...]:
    scored = [(one.score.number, one) for one in kept if one.score is not None]
    lower = any(one.score is not None and lower_is_better(one.score.unit) for one in kept)
    scored.sort(key=lambda pair: (pair[0] if lower else -pair[0], pair[1].id, pair[1].platform))
    bands: list[Band] = []
    while scored:
        first = scored[0][0]
        inside = [pair for pair in scored if _apart(first, pair[0]) <= noise.share]
        scored = scored[len(inside) :]
        last = inside[-1][0]
        edge = _apart(last, scored[0][0]) if scored else None
        if edge is not None and edge > noise.share:
            edge = None
        bands.append(Band(_entries(inside, everything), _apart(first, last), edge))
    return tuple(bands)


def _apart(best: float, other: float) -> float:
    return max(best, other) / min(best, other) - 1


def _entries(inside: Sequence[tuple[float, Result]], everything: Sequence[Result]) -> tuple[Entry, ...]:
    """Make a band's entries; rows that repeat one run under another variant collapse into one."""
    made: list[Entry] = []
    for _, one in inside:
        twins = tuple(other for other in everything if other is not one and is_twin(one, other))
        notes = [*counted(one), *reduced(one), *inference(one)]
        if not one.precision.kinds or one.precision.doubt:
            notes.append(apply("precision", one.precision.doubt or "unlabelled"))
        if one.label_fault:
            notes.append(apply("unit", one.label_fault, action="disclose"))
        if one.power_submission:
            notes.append(
                apply(
                    "power_vs_performance", "a power submission, tuned for its power run", action="disclose"
                )
            )
        made.append(Entry(one, twins, head_room(one), tuple(notes)))
    return tuple(made)
