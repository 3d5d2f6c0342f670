"""The published summary, in every layout since v3.1: `summary_results.json`, `summary.json`, `summary.csv`.

Two naming schemes carry the same columns (`Submitter`/`Organization`, ...). A row says which one it uses by
`MlperfModel`: where that key stands, `Model` is the model used; elsewhere `Model` is the benchmark and
`UsedModel` the model used. A CSV writes power as a second row that differs in `Result` and `Units` only.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .benchmarks import Benchmark, facts, true_unit
from .counting import count_accelerators
from .files import LONGEST_CELL, PARSED_LIMIT, Report, parse_json, read_text
from .records import Finding, Origin, Power, Precision, Result
from .score import UNITS, Score, lower_is_better

#: The name under which the benchmark's own automation files its test runs; it makes no submission.
UNREVIEWED = "MLCommons"
POWER_UNITS = ("Watts", "millijoules")
SCENARIOS = {
    name.casefold(): name for name in ("SingleStream", "MultiStream", "Server", "Interactive", "Offline")
}
#: No count, score or power of a published system is anywhere near.
MOST = 1e15
LEAST = 1e-9
#: The most rows of one table; the largest real round has 1,448.
MOST_ROWS = 50_000
_ROUND = re.compile(r"v?(\d{1,2}\.\d{1,2})")
#: Other columns that name the round, and how.
_ROUND_IN = {
    "ID": re.compile(r"v?(\d{1,2}\.\d{1,2})-\d"),
    "Details": re.compile(r"inference(?:_results)?_v?(\d{1,2}\.\d{1,2})/"),
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_PAIR = re.compile(r"([A-Za-z_][\w@.-]{0,63}) ?: ?(\S+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One published row as it stands, with the place it stands at and a way to report what is wrong."""

    values: Mapping[str, Any]
    file: str
    where: str
    report: Report

    def fault(self, code: str, key: str, message: str, *, fault: bool = True) -> None:
        """Report a finding at this row."""
        self.report(Finding(code, self.file, self.where, key, message, fault))

    def text(self, *keys: str) -> str:
        """Return the first of these columns as text with plain spaces; a list or object is a fault."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, str):
                if len(value) <= LONGEST_CELL:
                    return " ".join(value.split())
                self.fault("too-long", key, f"a cell of more than {LONGEST_CELL} characters; not read")
                return ""
            if value is None:
                continue
            if isinstance(value, (int, float)):
                return str(value)
            self.fault("wrong-type", key, f"expected text, found {type(value).__name__}")
        return ""

    def number(self, *keys: str) -> float | None:
        """Return the first of these columns as a finite number; anything else but nothing is a fault."""
        for key in keys:
            value = self.values.get(key)
            if value is None or (isinstance(value, str) and not value.strip()):
                continue
            number = as_number(value)
            if number is None:
                self.fault("bad-number", key, f"expected a number, found {str(value)[:60]!r}")
            return number
        return None

    def whole(self, *keys: str) -> int | None:
        """Return the first of these columns as a whole number above zero; zero and empty mean none."""
        number = self.number(*keys)
        if number is None or number == 0:
            return None
        if not 0 < number < MOST or number != int(number):
            self.fault("bad-number", keys[0], f"expected a count, found {number!r}")
            return None
        return int(number)

    def flag(self, key: str) -> bool:
        """Return a column that says yes as true, 1 or "True"."""
        value = self.values.get(key)
        return value == 1 or (isinstance(value, str) and value.strip().casefold() in {"true", "1"})


def as_number(value: object) -> float | None:
    """Return a finite number, also from text that is nothing but a number; None otherwise."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if len(value) > 64 or not _NUMBER.fullmatch(value.strip()):
            return None
        value = float(value)
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if abs(number) < float("inf") else None
    return None


def read_summary(path: Path, shown: str, report: Report) -> list[Result]:
    """Read one summary file. What is wrong in it goes to `report`; what can be read is returned.

    Rows that belong together or contradict each other are left to `settle`.
    """
    text = read_text(path, shown, report, limit=PARSED_LIMIT)
    if text is None:
        return []
    name = path.name.removesuffix(".gz").casefold()
    rows = _csv_rows(text, shown, report) if name.endswith(".csv") else _json_rows(text, shown, report)
    unofficial = any("unofficial" in part.casefold() for part in path.absolute().parts[-3:])
    results = [made for row in rows if (made := _result(row)) is not None]
    return [
        replace(one, origin="unofficial")
        if one.origin == "summary" and (unofficial or one.submitter == UNREVIEWED)
        else one
        for one in results
    ]


def _json_rows(text: str, shown: str, report: Report) -> Iterable[Row]:
    document = parse_json(text, shown, report)
    if document is None:
        return
    if isinstance(document, dict):
        members: Iterable[tuple[object, object]] = document.items()
    elif isinstance(document, list):
        members = enumerate(document)
    else:
        report(Finding("layout", shown, "", "", "a summary is a list of rows or an object of rows"))
        return
    for number, (index, value) in enumerate(members):
        if number == MOST_ROWS:
            report(Finding("too-many", shown, f"row {index}", "", f"only {MOST_ROWS:,} rows are read"))
            return
        if isinstance(value, dict):
            yield Row(value, shown, f"row {index}", report)
        else:
            report(Finding("wrong-type", shown, f"row {index}", "", "a row is an object of columns"))


def _csv_rows(text: str, shown: str, report: Report) -> Iterable[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        header = Counter(reader.fieldnames or ())
        repeated = [name for name, count in header.items() if count > 1]
        for name in repeated:
            message = f"{header[name]} columns have this name; none of them is read"
            report(Finding("repeated-column", shown, "header", name[:60], message))
        for index, values in enumerate(reader):
            where = f"row {index}"
            if index == MOST_ROWS:
                report(Finding("too-many", shown, where, "", f"only {MOST_ROWS:,} rows are read"))
                return
            if None in values or any(value is None for value in values.values()):
                report(Finding("broken", shown, where, "", "it has more or fewer cells than the header"))
                continue
            yield Row(
                {key: value for key, value in values.items() if key not in repeated}, shown, where, report
            )
    except csv.Error as error:
        report(Finding("broken", shown, f"line {reader.line_num}", "", f"it is no readable CSV ({error})"))


def _result(row: Row) -> Result | None:
    """Make the record of one row; a row that cannot be told apart from others is reported and left out."""
    known = facts()
    second = "MlperfModel" in row.values
    submitter = row.text("Submitter", "Organization")
    platform = row.text("Platform")
    benchmark = known.canonical(row.text("MlperfModel" if second else "Model"))
    model = known.canonical(row.text("Model" if second else "UsedModel")) or benchmark
    scenario = SCENARIOS.get(row.text("Scenario").casefold(), "")
    named = {"Submitter": submitter, "Platform": platform, "Model": benchmark, "Scenario": scenario}
    missing = [key for key, value in named.items() if not value]
    if missing:
        row.fault(
            "unusable-row", ", ".join(missing), "a row needs these columns with a known value; left out"
        )
        return None
    round_ = _round(row)
    record = known.find(round_, benchmark)
    label = row.text("Performance_Units", "Units")
    score, label_fault = _score(row, record, label, scenario)
    power = _power(row, label)
    nodes = row.whole("Nodes", "number_of_nodes")
    per_node = row.whole("a#", "accelerators_per_node")
    accelerator = row.text("Accelerator", "accelerator_model_name")
    system = row.text("System", "SystemName")
    origin: Origin = "copy" if "_source_path" in row.values or "git_url" in row.values else "summary"
    software = row.text("Software", "framework")
    return Result(
        round=round_,
        id=row.text("ID"),
        submitter=submitter,
        division=row.text("Category", "Division").casefold(),
        suites=tuple(
            sorted(part.strip() for part in row.text("Suite", "SystemType").split(",") if part.strip())
        ),
        availability=row.text("Availability").casefold(),
        platform=platform,
        system=system,
        benchmark=benchmark,
        model=model,
        scenario=scenario,
        score=score,
        label=label,
        label_fault=label_fault,
        accuracy=_accuracy(row, record, scenario),
        nodes=nodes,
        per_node=per_node,
        count=count_accelerators(
            accelerator=accelerator,
            names=(system, platform),
            nodes=nodes,
            per_node=per_node,
            total=row.whole("Total Accelerators", "total_accelerators"),
        ),
        accelerator=accelerator,
        processor=row.text("Processor", "host_processor_model_name"),
        software=software,
        notes=row.text("Notes", "notes"),
        precision=declared_precision(row.text("weight_data_types"), round_, software, record, scenario),
        power=power,
        power_submission=power is not None or row.flag("has_power"),
        inferred=row.flag("inferred"),
        location=row.text("Location"),
        file=row.file,
        where=row.where,
        origin=origin,
    )


def _round(row: Row) -> str:
    """Return the round as `v5.1`; an ID or a link that names another round is reported."""
    stated = row.text("version")
    found = _ROUND.fullmatch(stated)
    round_ = f"v{found[1]}" if found else ""
    if not round_:
        row.fault("no-round", "version", f"expected a round such as v5.1, found {stated[:40]!r}")
    for key, pattern in _ROUND_IN.items():
        named = row.values.get(key)
        other = pattern.search(named[:LONGEST_CELL]) if isinstance(named, str) else None
        if other and round_ and f"v{other[1]}" != round_:
            row.fault("round-contradicted", key, f"it names v{other[1]}, the version column {round_}")
    return round_


def _score(row: Row, record: Benchmark | None, label: str, scenario: str) -> tuple[Score | None, str]:
    """Return the score in the benchmark's true unit, and why the label contradicts it, if it does."""
    key = "Performance_Units" if "Performance_Units" in row.values else "Units"
    number = row.number("Performance_Result", "Result")
    if label in POWER_UNITS:
        return None, ""
    if number is None or not LEAST < number < MOST:
        row.fault("no-score", "Performance_Result", "the row carries no number above zero that can be real")
        return None, ""
    unit = record.unit(scenario) if record else ""
    if unit in {"", label}:
        return _as_labelled(row, key, number, label, known=bool(unit)), ""
    fault = f"the label says {label or 'nothing'}, the benchmark's metric is {unit}"
    row.fault("unit-label", key, fault)
    latencies = [lower_is_better(true_unit(one)) for one in (label, unit)]
    if any(latencies):
        row.fault("no-score", key, "without its log nothing says which of the two units the number is in")
        return None, fault
    return Score(number, UNITS[unit]), fault


def _as_labelled(row: Row, key: str, number: float, label: str, *, known: bool) -> Score | None:
    """Return the score in the unit of its label, which `known` facts confirm or nothing does."""
    if not known:
        message = f"no facts on this benchmark and scenario; unit as labelled: {label!r}"
        row.fault("no-facts", key, message, fault=False)
    if label not in UNITS:
        row.fault("unit-unknown", key, f"expected one of {', '.join(UNITS)}, found {label!r}")
        return None
    return Score(number, UNITS[label])


def _power(row: Row, label: str) -> Power | None:
    number = row.number("Power_Result", "Result_Power")
    unit = row.text("Power_Units", "Result_Power_Units")
    if label in POWER_UNITS:
        number = row.number("Performance_Result", "Result") if number is None else number
        unit = label
    if number is None:
        return None
    if unit not in POWER_UNITS or not LEAST < number < MOST:
        row.fault(
            "bad-power", "Power_Result", f"expected a power above zero in Watts or millijoules, in {unit!r}"
        )
        return None
    return Power(number, unit)


def _accuracy(row: Row, record: Benchmark | None, scenario: str) -> dict[str, float]:
    """Return accuracy by metric; a bare number counts only where the benchmark has a single metric."""
    stated = row.text("Accuracy")
    pairs = _PAIR.findall(stated)
    if pairs:
        made = {}
        for name, value in pairs:
            number = as_number(value)
            if number is None:
                row.fault("bad-number", "Accuracy", f"{name} is no number: {value[:40]!r}")
            else:
                made[name] = number
        return made
    number = as_number(stated)
    targets = record.targets(scenario) if record else ()
    if number is None:
        row.fault("no-accuracy", "Accuracy", f"no metric with a number in {stated[:40]!r}", fault=False)
    elif len(targets) != 1:
        row.fault(
            "accuracy-unnamed", "Accuracy", "a bare number where the metric cannot be told", fault=False
        )
    elif number <= 1 < (targets[0].low or 0):
        row.fault(
            "accuracy-scale",
            "Accuracy",
            f"{number} looks like a fraction where {targets[0].metric} is in percent",
        )
    else:
        return {targets[0].metric: number}
    return {}


def declared_precision(
    declared: str, round_: str, software: str, record: Benchmark | None, scenario: str
) -> Precision:
    """Return a declared precision with its normal names and what is known against believing it."""
    known = facts()
    kinds = known.precisions(declared)
    unit = record.unit(scenario) if record else ""
    for case in known.data["unreliable_precision"]:
        same = case["round"] == round_ and case["software"] in software and case["declared"] in kinds
        token_model = record is not None and case["task_unit"] in {record.unit("Offline"), unit}
        if same and token_model:
            return Precision(declared, kinds, case["why"])
    return Precision(declared, kinds)
