"""The answers to `shortlist`, `compare`, `movement` and `check` as pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from pytest_procure.errors import unknown

from .benchmarks import facts
from .citing import obligations
from .comparing import KINDS, Comparison, Movement, Movements, compare, movement
from .display import Cell, Page, Table
from .errors import MlperfError
from .reconciling import how_inferred, inferred_from, log_number, reconcile
from .records import Finding, ForeignResult, Result
from .results import Results
from .score import lower_is_better, measure, percent, text_of
from .shortlist import Entry, Filters, Shortlist, shortlist


def shortlist_page(results: Results, filters: Filters, *, retrieved: str = "") -> Page:
    """Answer which offers lead: bands, what was dropped, what to say beside it."""
    filters = _canonical(filters)
    made = shortlist(results.rows, filters)
    page = Page(
        f"{filters.benchmark} {filters.scenario}, {filters.division} division: {len(made.entries)} results "
        f"in {len(made.bands)} band{'s' if len(made.bands) != 1 else ''}. A band is a tie: within "
        f"{made.noise.share:.1%} of its first ({made.noise.basis}). Neighbouring bands may be tied at their "
        "edge as well."
    )
    bands = list(enumerate(made.bands, 1))
    rows = [(number, entry) for number, band in bands for entry in band.entries]
    listed = [_listed(number, entry) for number, entry in rows]
    off = [_off(one.result) | {"rule": one.rule.rule, "why": one.rule.reason} for one in made.dropped]
    page.tables += [Table("", listed), Table("Not on the list", off)]
    page.data = Table("", [_listed_data(*row) for row in rows], header=_LISTED)
    page.notes += _leaders(made)
    for number, band in bands:
        scores = [entry.result.score.number for entry in band.entries if entry.result.score is not None]
        if len(scores) > 2:
            rest = max(scores[1:]) / min(scores[1:]) - 1
            page.notes.append(
                f"band {number}: {len(scores)} results within {band.spread:.2%}; without the first, "
                f"{len(scores) - 1} within {rest:.2%}: treat them as tied"
            )
    page.notes += [
        f"bands {number} and {number + 1} are not told apart at their edge: the last of the one and the "
        f"first of the other lie within {band.edge:.2%} [noise]"
        for number, band in bands
        if band.edge is not None
    ]
    kinds = ", ".join(f"{count} {name}" for name, count in made.precisions.items())
    page.notes.append(f"declared precision, checked by nobody: {kinds or 'none'}")
    dropped = Counter((one.rule.rule, one.rule.reason) for one in made.dropped)
    page.notes += [f"not on the list [{rule}]: {count} x {why}" for (rule, why), count in dropped.items()]
    page.notes += _obliged([entry.result for entry in made.entries[:1]], retrieved)
    return page


def _canonical(filters: Filters) -> Filters:
    """Return the filters with benchmark and scenario under their own names; refuse unknown ones."""
    known = facts()
    benchmark = known.canonical(filters.benchmark)
    names = {model for _, model in known.records}
    if benchmark not in names:
        raise MlperfError(unknown("benchmark", benchmark, names))
    scenarios = {name.casefold(): name for name in known.data["scenario_semantics"]}
    if filters.scenario.casefold() not in scenarios:
        raise MlperfError(unknown("scenario", filters.scenario, scenarios.values()))
    return replace(filters, benchmark=benchmark, scenario=scenarios[filters.scenario.casefold()])


def _off(one: Result) -> dict[str, Cell]:
    return {"ID": one.id, "submitter": one.submitter, "platform": one.platform}


def _listed(number: int, entry: Entry) -> dict[str, Cell]:
    one = entry.result
    room = ", ".join(f"{name} {left:.0%}" for name, left in entry.head_room.items())
    record = facts().find(one.round, one.benchmark)
    has_limit = record is not None and bool(record.limits(one.scenario))
    return {
        "band": number,
        **_off(one),
        "chips": one.chips,
        "nodes": one.nodes,
        "score": text_of(one.score),
        "declared precision": str(one.precision),
        "software": one.software,
        "availability": one.availability,
        "head-room": room or ("no log" if has_limit else "no limit"),
        "same run as": ", ".join(twin.benchmark for twin in entry.twins),
        "disclose": ", ".join(dict.fromkeys(rule.rule for rule in entry.disclosures)),
    }


_LISTED = (
    "band",
    "ID",
    "submitter",
    "platform",
    "chips",
    "accelerators",
    "nodes",
    "score",
    "unit",
    "declared precision",
    "software",
    "availability",
    "head-room",
    "same run as",
    "disclose",
)


def _listed_data(number: int, entry: Entry) -> dict[str, Cell]:
    shown = _listed(number, entry)
    score, unit = measure(entry.result.score)
    shown |= {"score": score, "unit": unit, "accelerators": entry.result.count.best}
    return {name: shown[name] for name in _LISTED}


def _leaders(made: Shortlist) -> list[str]:
    if not made.entries:
        return ["nothing passes the filters"]
    first, single = made.entries[0].result, made.single_node
    notes = [f"first by total: {_named(first)}"]
    if single is not None and single.result is not first:
        notes.append(f"first single node: {_named(single.result)}")
        notes.append(
            "totals of different node and chip counts, chips, precisions and stacks: name all of them"
        )
    return notes


def _named(one: Result) -> str:
    nodes = f"{one.nodes or '?'} node{'s' if one.nodes != 1 else ''}"
    return (
        f"{one.id or one.platform}, {one.submitter}, {one.chips}, {nodes}, "
        f"{text_of(one.score)}, declared "
        f"{one.precision}, {one.software}"
    )


def _obliged(some: Iterable[Result], retrieved: str) -> list[str]:
    return [f"beside any quote {one}" for one in obligations(tuple(some), retrieved=retrieved)]


def compare_page(
    results: Results,
    a: Result | ForeignResult,
    b: Result | ForeignResult,
    *,
    named: Collection[str] = (),
    retrieved: str = "",
) -> tuple[Page, int]:
    """Answer whether two results may stand side by side; a refusal prints its rules and no number."""
    made = compare(a, b, named=named, among=results.rows, retrieved=retrieved)
    refused = made.status == "refused"
    how = f", {KINDS[made.kind]}" if KINDS[made.kind] and not refused else ""
    page = Page(f"{a.name} and {b.name}: {made.status}{how}", data=Table("", [_pair(made)]))
    rows: list[dict[str, Cell]] = [
        {"action": one.action, "rule": one.rule, "reason": one.reason}
        for one in (*made.refusals, *made.disclosures)
    ]
    page.tables.append(Table("", rows))
    page.notes += ["a refused pair has no figure"] if refused else _figures(made, results)
    page.notes += [f"beside any quote {one}" for one in made.obligations]
    return page, int(refused)


def _pair(made: Comparison) -> dict[str, Cell]:
    """Return the pair as one row for machines; a refused one has no number."""
    row: dict[str, Cell] = {"status": made.status, "kind": made.kind}
    for name, one in (("a", made.a), ("b", made.b)):
        score = one.score if made.status != "refused" and isinstance(one, Result) else None
        row |= {name: one.name, f"{name} score": text_of(score)}
    row |= {
        "ratio": measure(made.ratio)[0],
        "change": measure(made.change)[0],
        "change unit": measure(made.change)[1],
        "refused by": ", ".join(dict.fromkeys(one.rule for one in made.refusals)),
        "disclose": ", ".join(dict.fromkeys(one.rule for one in made.disclosures)),
    }
    return row


def _figures(made: Comparison, results: Results) -> list[str]:
    """Return the figures of an allowed pair: both scores, then their ratio or the change between rounds."""
    pair = [one for one in (made.a, made.b) if isinstance(one, Result) and one.score is not None]
    notes = []
    for one in pair:
        how = how_inferred(one, results.rows)
        notes.append(f"{one.name}: {text_of(one.score)}" + (f", inferred: {how}" if how else ""))
    if made.change is not None:
        notes.append(f"movement to the later round: {percent(made.change)}")
    elif made.kind == "comparison" and made.ratio is not None and pair[0].score is not None:
        less = lower_is_better(pair[0].score.unit)
        what = (
            f"takes {made.ratio.number:.2f} times as long as"
            if less
            else f"does {made.ratio.number:.2f} times as much as"
        )
        notes.append(f"the first {what} the second")
    return notes + [str(one) for one in made.derived]


def movement_page(
    results: Results, *, submitter: str = "", platform: str = "", benchmark: str = "", retrieved: str = ""
) -> Page:
    """Answer how submissions moved between rounds."""
    benchmark = facts().canonical(benchmark)
    rows = [
        one
        for one in results.rows
        if submitter in {"", one.submitter}
        and platform in {"", one.platform}
        and benchmark in {"", one.benchmark}
    ]
    if not rows:
        known = {one.submitter for one in results.rows}
        hint = (
            unknown("submitter", submitter, known) if submitter not in {"", *known} else "loosen the filters"
        )
        raise MlperfError(f"no result passes; {hint}")
    made = movement(rows, retrieved=retrieved)
    page = Page(
        f"{len(made.pairs)} results stand in two rounds with the same submitter, platform, chip and count"
    )
    page.tables.append(Table("", [_moved(one) for one in made.pairs]))
    page.data = Table("", [_moved_data(one) for one in made.pairs], header=_MOVED)
    page.notes += _only_once(made)
    page.notes += [f"may be concluded: {Movements.MAY}", f"may not be concluded: {Movements.MAY_NOT}"]
    page.notes += _obliged([side for one in made.pairs[:1] for side in (one.before, one.after)], retrieved)
    return page


def _moved(one: Movement) -> dict[str, Cell]:
    allowed = one.change is not None
    return {
        "submitter": one.after.submitter,
        "platform": one.after.platform,
        "benchmark": one.after.benchmark,
        "scenario": one.after.scenario,
        "from": one.before.round,
        "to": one.after.round,
        "before": text_of(one.before.score) if allowed else "",
        "after": text_of(one.after.score) if allowed else "",
        "change": one.sentence,
        "disclose": "; ".join(f"{rule.rule}: {rule.reason}" for rule in one.disclosures),
    }


_MOVED = (
    "submitter",
    "platform",
    "benchmark",
    "scenario",
    "from",
    "to",
    "before",
    "after",
    "unit",
    "change",
    "change unit",
    "refused by",
    "disclose",
)


def _moved_data(one: Movement) -> dict[str, Cell]:
    before, after = (
        measure(side.score if one.change is not None else None) for side in (one.before, one.after)
    )
    shown = _moved(one)
    shown |= {
        "before": before[0],
        "after": after[0],
        "unit": after[1],
        "change": measure(one.change)[0],
        "change unit": measure(one.change)[1],
        "refused by": ", ".join(rule.rule for rule in one.refusals),
    }
    return {name: shown[name] for name in _MOVED}


def _only_once(made: Movements) -> list[str]:
    by_round: dict[str, dict[str, set[str]]] = {}
    for one in made.only:
        by_round.setdefault(one.round, {}).setdefault(one.benchmark, set()).add(one.scenario)
    return [
        f"only in {round_}, no movement: "
        + ", ".join(f"{name} ({'/'.join(sorted(scenarios))})" for name, scenarios in sorted(names.items()))
        for round_, names in sorted(by_round.items())
    ]


def check_page(results: Results) -> tuple[Page, int]:
    """Reconcile every published row with its log, and list what is wrong in what was read."""
    published = [one for one in results.rows if one.origin != "log"]
    findings = list(results.findings)
    findings += [found for one in published for found in reconcile(one) if found.code != "no-log"]
    findings += [
        Finding("unpublished", one.file, one.name, "", "no row of the loaded summaries stands for this log")
        for one in results.rows
        if one.origin == "log"
    ]
    faults = sum(one.fault for one in findings)
    logged = [one for one in published if one.run is not None and one.run.log is not None]
    page = Page(
        f"{len(published)} published rows, {len(logged)} with their log; {faults} faults, "
        f"{len(findings) - faults} notes"
    )
    sources: Counter[tuple[str, ...]] = Counter(
        (one.round, one.benchmark, one.scenario, one.label, _source(one)) for one in logged
    )
    labels: Counter[tuple[str, ...]] = Counter(
        (one.round, one.benchmark, one.scenario, one.label) for one in published if one.label_fault
    )
    names = ("round", "benchmark", "scenario", "published unit", "log field")
    page.tables += [
        Table("Findings", [_finding(one) for one in sorted(findings, key=lambda one: not one.fault)]),
        Table("Where the published numbers come from", _counted(sources, names)),
        Table("Labels that contradict the metric", _counted(labels, names)),
    ]
    page.data = replace(page.tables[0], header=("kind", "code", "file", "where", "key", "message"))
    return page, 1 if faults else 0


def _finding(one: Finding) -> dict[str, Cell]:
    return {
        "kind": "fault" if one.fault else "note",
        "code": one.code,
        "file": one.file,
        "where": one.where,
        "key": one.key,
        "message": one.message,
    }


def _counted(counts: Counter[tuple[str, ...]], names: tuple[str, ...]) -> list[dict[str, Cell]]:
    return [{**dict(zip(names, key, strict=False)), "rows": count} for key, count in sorted(counts.items())]


def _source(one: Result) -> str:
    found = log_number(one.run, facts().find(one.round, one.benchmark), one.scenario) if one.run else None
    if found is None:
        return "none"
    source = inferred_from(one.run, one.scenario)
    return f"inferred from {source}" if source else found.how
