"""The answer to `show`: one result in full, systems over their scenarios, or what was loaded."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.errors import unknown

from .benchmarks import facts
from .checks import cell
from .citing import cite
from .context import CAN, CANNOT
from .deriving import derive, per_count
from .display import Cell, Page, Table
from .distance import Task, distance
from .errors import MlperfError
from .reconciling import head_room, how_inferred, inferred_from, misses, rates, reconcile
from .records import Result
from .results import Results
from .rules import Applied
from .score import figure, measure, text_of
from .spread import RATED, Spreads, scenario_spread


def result_page(
    results: Results, selectors: Sequence[str], task: Path | None, *, retrieved: str = ""
) -> Page:
    """Show single results in full, each with its citation and, for a stated task, its distance."""
    stated = read_task(task) if task is not None else None
    page = Page("; ".join(selectors))
    data: list[dict[str, Cell]] = []
    for selector in selectors:
        one = results.select(selector)
        lines = _lines(one, results)
        page.tables.append(Table(one.name, [{"what": what, "value": value} for what, value in lines]))
        for what, value in lines:
            data.append({"result": one.name, "what": what, "value": value})
        page.notes += _quoted(one, retrieved)
        if stated is not None:
            far = distance(one, stated)
            rows: list[dict[str, Cell]] = [
                {"aspect": row.aspect, "MLPerf": row.published, "yours": row.ours, "verdict": row.verdict}
                for row in far.rows
            ]
            page.tables.append(Table("Distance to your task", rows))
            page.notes += [far.sentence, str(far.refused)]
    page.data = Table("", data)
    page.notes += [f"can be read from it: {one}" for one in CAN]
    page.notes += [f"cannot be read from it: {one}" for one in CANNOT]
    return page


def _quoted(one: Result, retrieved: str) -> list[str]:
    """Return a result's citation, or the rules under which it is not to be quoted."""
    try:
        quote = cite(one, retrieved=retrieved)
    except MlperfError as error:
        return [str(error)]
    return [quote.sentence, quote.footnote]


def _lines(one: Result, results: Results) -> list[tuple[str, str]]:
    """Return everything known of one result, a line each; what is empty is left out."""
    how = how_inferred(one, results.rows)
    score = text_of(one.score) or "no usable number"
    doubt = f"; not reliable: {one.precision.doubt}" if one.precision.doubt else ""
    lines = [
        ("submitter", one.submitter),
        ("system", one.system or one.platform),
        ("division", one.division),
        ("suite", "/".join(one.suites)),
        ("availability", one.availability),
        ("model", one.model),
        ("score", f"{score}, inferred: {how}" if how else score),
        ("published label", one.label),
        *_unit(one),
        *_power(one),
        ("chips", one.chips),
        ("nodes", str(one.nodes or "")),
        ("count", one.count.conflict),
        *(("per accelerator", str(value)) for value in per_count(one)),
        ("declared precision", f"{one.precision}{doubt}"),
        ("software", one.software),
        ("notes", one.notes),
        ("accuracy", ", ".join(f"{name} {value:.6g}" for name, value in one.accuracy.items())),
        *(("misses", text) for text in misses(one)),
        *_task(one),
        *((f"head-room {name}", f"{left:.1%} below the limit") for name, left in head_room(one).items()),
        *(("log", found.message) for found in (reconcile(one) if one.origin != "log" else ())),
    ]
    return [(what, value) for what, value in lines if value]


def _unit(one: Result) -> list[tuple[str, str]]:
    """Return what speaks for or against the published unit: the metric's definition, then the log."""
    log = one.run.log if one.run else None
    lines = []
    if one.label_fault:
        lines.append(
            ("unit", one.label_fault + ("" if log else "; the log was not supplied: do not convert"))
        )
    if log is not None and not log.fault and not inferred_from(one.run, one.scenario):
        record = facts().find(one.round, one.benchmark)
        sample = f", one sample is {record.facts['one_sample_is']}" if record else ""
        for unit, value in rates(log).items():
            lines.append(("log states", f"{figure(value)} {unit}" + ("" if unit == "tokens/s" else sample)))
    return lines


def _power(one: Result) -> list[tuple[str, str]]:
    if one.power is None:
        return []
    per_watt = derive(one, "watt")
    lines = [("measured power", f"{figure(one.power.number, 6)} {one.power.unit}")]
    return lines if isinstance(per_watt, Applied) else [*lines, ("per watt", str(per_watt))]


def _task(one: Result) -> list[tuple[str, str]]:
    record = facts().find(one.round, one.benchmark)
    if record is None:
        return []
    limits = ", ".join(f"{name} {value:g} ms" for name, value in record.limits(one.scenario).items())
    return [
        ("task", f"{record.task}: {record.dataset}"),
        ("latency limits", limits or "none"),
        ("facts from", "; ".join(record.sources)),
    ]


def spread_page(
    results: Results, systems: Sequence[str], benchmarks: Sequence[str], *, round_: str = ""
) -> Page:
    """Show systems scenario by scenario, on the benchmarks named or on all that they share."""
    names = [facts().canonical(name) for name in benchmarks] or _shared(results, systems)
    page = Page(f"{', '.join(systems)} by scenario")
    data: list[dict[str, Cell]] = []
    for name in names:
        made = scenario_spread(results.rows, name, systems, round_=round_)
        _add_spread(page, made)
        data += _spread_data(made)
    page.data = Table("", data)
    page.notes = list(dict.fromkeys(page.notes))
    return page


def _shared(results: Results, systems: Sequence[str]) -> list[str]:
    found = [{cell(one)[0] for one in results.rows if one.is_of(name)} for name in systems]
    names = sorted(set.intersection(*found))
    if not names:
        raise MlperfError(f"{', '.join(systems)} share no benchmark in what was loaded")
    return names


def _spread_data(made: Spreads) -> list[dict[str, Cell]]:
    """Return one row a system and scenario; a refused one has its rules and no number."""
    rows: list[dict[str, Cell]] = []
    for spread in made.systems:
        for scenario, one in spread.rows.items():
            refused = spread.refused.get(scenario, ())
            number, unit = measure(None if refused else one.score)
            rows.append(
                {
                    "benchmark": made.benchmark,
                    "round": made.round,
                    "system": spread.name,
                    "scenario": scenario,
                    "score": number,
                    "unit": unit,
                    "refused": ", ".join(dict.fromkeys(rule.rule for rule in refused)),
                }
            )
    return rows


def _add_spread(page: Page, made: Spreads) -> None:
    rows: list[dict[str, Cell]] = []
    for spread in made.systems:
        row: dict[str, Cell] = {"system": spread.name}
        for name in RATED:
            row[name] = spread.shown(name)
        for name in RATED[1:]:
            ratio = spread.ratio(name)
            row[f"{name}/Offline"] = "" if ratio is None else f"{ratio.number:.4f}"
        rows.append(row)
    page.tables.append(Table(f"{made.benchmark} {made.round}", rows))
    for lead in made.leads:
        each = ", ".join(f"{ratio.number:.2f}x {name}" for name, ratio in lead.by_scenario.items())
        page.notes.append(f"{made.benchmark}: lead over {lead.over}: {each or 'none'}: {lead.story}")
        page.notes += [
            f"{made.benchmark} {name}: no lead over {lead.over}: {rule.reason} [{rule.rule}]"
            for name, refused in lead.refused.items()
            for rule in refused
        ]
    for name, limits in made.limits.items():
        held = ", ".join(f"{what} {value:g} ms" for what, value in limits.items())
        page.notes.append(f"{made.benchmark} {name} held {held} at the 99th percentile")
    page.notes += [str(one) for one in made.disclosures]
    page.notes.append("the spread belongs to the model as much as to the machine: look at a second benchmark")


def overview_page(results: Results) -> Page:
    """Show what was loaded: rounds, divisions, benchmarks, scenarios, and how many results of each."""
    faults = sum(one.fault for one in results.findings)
    page = Page(
        f"{len(results.rows)} results from {', '.join(results.files) or 'logs alone'}; "
        f"{len(results.runs)} runs with logs; {faults} faults, which `procure mlperf check` lists"
    )
    names = ("round", "division", "suite", "benchmark", "scenario")
    counts = Counter(
        (one.round, one.division, "/".join(one.suites), one.benchmark, one.scenario) for one in results.rows
    )
    rows: list[dict[str, Cell]] = [
        {**dict(zip(names, key, strict=True)), "results": n} for key, n in sorted(counts.items())
    ]
    page.tables.append(Table("", rows))
    page.data = Table("", rows, header=(*names, "results"))
    return page


def read_task(path: Path) -> Task:
    """Read a task from TOML, one line an aspect; raise `MlperfError` for anything else."""
    try:
        stated = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MlperfError(
            f'{path}: no readable TOML ({error}); expected lines such as dataset = "ours"'
        ) from error
    for name, value in stated.items():
        if name not in Task.names():
            raise MlperfError(f"{path}: " + unknown("aspect", name, Task.names()))
        if not isinstance(value, str):
            raise MlperfError(f"{path}: {name} is no text; write it in quotes")
    return Task(**stated)
