"""Loading published results: files and checkouts in, one set of records with findings out. No network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_procure.errors import unknown

from .benchmarks import facts
from .checkout import find_divisions, location_key, read_division
from .counting import count_accelerators
from .errors import MlperfError
from .files import Ledger, Report
from .reading import SCENARIOS, as_number, declared_precision, read_summary
from .reconciling import log_number, unit_of
from .records import Finding, Result, Run, System
from .score import Score
from .settling import settle

_SUMMARY = re.compile(r"(^|[._-])(summary_results\.json|summary\.json|summary\.csv)(\.gz)?$")
_PREFERENCE = ("summary_results.json", "summary.json", "summary.csv")


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was read: results first, then what they came from and what is wrong with it."""

    rows: tuple[Result, ...]
    runs: tuple[Run, ...] = ()
    systems: tuple[System, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()

    def select(self, selector: str) -> Result:
        """Return the one result that a selector names: `[ROUND@]SYSTEM/BENCHMARK/SCENARIO[/MODEL]`.

        SYSTEM is an ID, a platform, or `SUBMITTER:PLATFORM`. Raises `MlperfError` naming the nearest valid
        part, or the results that match when there are several.
        """
        found = self.matching(selector)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(f"{one.round}@{one.name}/{one.model}" for one in found[:4])
            raise MlperfError(f"`{selector}` names {len(found)} results; add what tells them apart: {names}")
        raise MlperfError(self._nearest(selector))

    def matching(self, selector: str) -> list[Result]:
        """Return every result that a selector names; published rows hide logs of the same name."""
        round_, system, benchmark, scenario, model = _parts(selector)
        found = [
            one
            for one in self.rows
            if (not round_ or one.round == round_)
            and one.is_of(system)
            and one.benchmark == benchmark
            and one.scenario == scenario
            and model in {"", one.model}
        ]
        return [one for one in found if one.origin != "log"] or found

    def _nearest(self, selector: str) -> str:
        _, system, benchmark, _, _ = _parts(selector)
        of_system = [one for one in self.rows if one.is_of(system)]
        if not of_system:
            text = unknown(
                "system", system, {one.id or f"{one.submitter}:{one.platform}" for one in self.rows}
            )
            return text if len(text) <= 200 else text[:199] + "…"
        of_benchmark = [one for one in of_system if one.benchmark == benchmark]
        if not of_benchmark:
            return f"{system}: " + unknown("benchmark", benchmark, {one.benchmark for one in of_system})
        listed = ", ".join(sorted({one.scenario for one in of_benchmark}))
        return f"`{selector}` names no result; {system} has {benchmark} in {listed}"


def _parts(selector: str) -> tuple[str, str, str, str, str]:
    round_, at, rest = selector.rpartition("@")
    parts = rest.split("/")
    for index in (len(parts) - 1, len(parts) - 2):
        if index >= 2 and parts[index].casefold() in SCENARIOS:
            model = facts().canonical(parts[index + 1]) if index + 1 < len(parts) else ""
            return (
                f"v{round_.removeprefix('v')}" if at else "",
                "/".join(parts[: index - 1]),
                facts().canonical(parts[index - 1]),
                SCENARIOS[parts[index].casefold()],
                model,
            )
    raise MlperfError(
        f"`{selector}` is no selector; expected SYSTEM/BENCHMARK/SCENARIO with one of "
        f"{', '.join(SCENARIOS.values())}, for example 5.1-0069/llama2-70b-99.9/Server"
    )


def load_results(*paths: str | Path) -> Results:
    """Read what MLCommons publishes: summary files of every layout, and results checkouts.

    A folder is read as a checkout, with the best of the summary files that lie directly in it. Rows are
    joined to the logs their Location names; a log that no row names becomes a result of origin `log`, which
    no comparison accepts. Raises `MlperfError` only for a path that does not exist or holds nothing of the
    kind; all else that is wrong becomes a finding with file and key.
    """
    findings = Ledger()
    rows: list[Result] = []
    runs: list[Run] = []
    systems: list[System] = []
    files: list[str] = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise MlperfError(
                f"{given}: no such file or folder; give a published summary or a results checkout"
            )
        summaries = _summaries(path, findings) if path.is_dir() else [path]
        for summary in summaries:
            files.append(summary.name)
            rows += read_summary(summary, summary.name, findings)
        if path.is_dir():
            found = _checkout(path, findings)
            if found is None and not summaries:
                raise MlperfError(
                    f"{given}: neither a summary file nor a folder closed/, open/ or network/ of a checkout"
                )
            runs += found[0] if found else []
            systems += found[1] if found else []
    return Results(
        rows=tuple(_join(settle(rows, findings), runs, systems)),
        runs=tuple(runs),
        systems=tuple(systems),
        findings=findings.close(),
        files=tuple(files),
    )


def _checkout(path: Path, report: Report) -> tuple[list[Run], list[System]] | None:
    """Read every division folder in or below a folder; None if there is none."""
    runs: list[Run] = []
    systems: list[System] = []
    divisions = find_divisions(path)
    for division in divisions:
        try:
            more, described = read_division(division, path, report)
        except OSError as error:
            report(Finding("unreadable", division.name, "", "", f"it cannot be read to its end ({error})"))
            continue
        runs += more
        systems += described
    return (runs, systems) if divisions else None


def _summaries(folder: Path, report: Report) -> list[Path]:
    """Return the summary files of a folder, one a round: the layouts repeat each other's rows."""
    best: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        match = _SUMMARY.search(path.name.casefold())
        if match is None or not path.is_file():
            continue
        stem = path.name[: match.start()]
        other = best.get(stem)
        if other is not None:
            keep, drop = sorted((other, path), key=_preference)
            report(
                Finding("layout", drop.name, "", "", f"{keep.name} has the same rows; not read", fault=False)
            )
            path = keep  # noqa: PLW2901 -- the better of the two takes the place
        best[stem] = path
    return list(best.values())


def _preference(path: Path) -> int:
    return next(index for index, name in enumerate(_PREFERENCE) if name in path.name.casefold())


def _join(rows: Iterable[Result], runs: Iterable[Run], systems: Iterable[System]) -> Iterable[Result]:
    by_place = {(run.round, run.key): run for run in runs}
    described = {(one.round, one.division, one.submitter, one.platform): one for one in systems}
    used = set()
    for row in rows:
        place = (row.round, location_key(row.location))
        run = by_place.get(place)
        if run is not None:
            used.add(place)
        yield replace(row, run=run) if run is not None else row
    for place, run in by_place.items():
        if place not in used:
            yield _unpublished(run, described.get((run.round, run.division, run.submitter, run.platform)))


def _unpublished(run: Run, system: System | None) -> Result:
    """Make the record of a log that no published row stands for."""
    fields = system.fields if system else {}
    benchmark = facts().canonical(run.model.replace("llama3_1-", "llama3.1-"))
    record = facts().find(run.round, benchmark)
    found, unit = log_number(run, record, run.scenario), unit_of(record, run.scenario)
    nodes, per_node = _whole(fields.get("number_of_nodes")), _whole(fields.get("accelerators_per_node"))
    accelerator = fields.get("accelerator_model_name", "")
    software = fields.get("framework", "")
    return Result(
        round=run.round,
        id="",
        submitter=run.submitter,
        division=run.division,
        suites=tuple(
            sorted(part.strip() for part in fields.get("system_type", "").split(",") if part.strip())
        ),
        availability=fields.get("status", "").casefold(),
        platform=run.platform,
        system=fields.get("system_name", ""),
        benchmark=benchmark,
        model=benchmark,
        scenario=run.scenario,
        score=Score(found.number, unit) if found and unit else None,
        label="",
        label_fault="",
        accuracy=dict(run.accuracy),
        nodes=nodes,
        per_node=per_node,
        count=count_accelerators(
            accelerator=accelerator,
            names=(fields.get("system_name", ""), run.platform),
            nodes=nodes,
            per_node=per_node,
            total=None,
        ),
        accelerator=accelerator,
        processor=fields.get("host_processor_model_name", ""),
        software=software,
        notes=fields.get("hw_notes", ""),
        precision=declared_precision(
            run.measurements.get("weight_data_types", ""), run.round, software, record, run.scenario
        ),
        power=None,
        power_submission=False,
        inferred=False,
        location=run.key,
        file=run.log.file if run.log else run.key,
        where="log",
        origin="log",
        run=run,
    )


def _whole(text: str | None) -> int | None:
    number = as_number(text) if text else None
    return int(number) if number and number > 0 and number == int(number) else None
