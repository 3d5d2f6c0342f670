"""A results checkout: systems, measurements, user.conf, accuracy and performance logs.

    <division>/<submitter>/systems/<system>.json
    <division>/<submitter>/results/<system>/<model>/<scenario>/performance/run_1/mlperf_log_{summary,detail}.txt
    <division>/<submitter>/results/<system>/<model>/<scenario>/accuracy/accuracy.txt
    <division>/<submitter>/{measurements,results}/<system>/<model>/<scenario>/{*.json,user.conf}

The second form of the last line is that of v6.0 and later. The round is the nearest folder above the division
whose name says one (`inference_results_v5.1`, `v5.1`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .files import LONGEST_CELL, Report, read_json, read_text
from .logs import parse_accuracy, parse_detail, parse_log
from .reading import SCENARIOS
from .records import Finding, Log, Run, System

DIVISIONS = ("closed", "open", "network")
_ROUND = re.compile(r"(?:^|[_-])v?(\d{1,2}\.\d{1,2})$")
_GENERATED = {"cpu_info.json", "os_info.json", "pip_freeze.json"}


def find_divisions(root: Path) -> list[Path]:
    """Return the division folders in or below a folder, at most three levels down, in order."""
    found: list[Path] = []
    for folder, names, _ in os.walk(root):
        here = Path(folder)
        depth = len(here.relative_to(root).parts)
        if here.name in DIVISIONS and any(
            (child / "results").is_dir() or (child / "systems").is_dir() for child in _folders(here)
        ):
            found.append(here)
            names.clear()
        elif depth >= 3:
            names.clear()
        else:
            names[:] = sorted(name for name in names if not name.startswith("."))
    return found


def read_division(division: Path, root: Path, report: Report) -> tuple[list[Run], list[System]]:
    """Read every system and every run of one division folder. What is wrong goes to `report`."""
    round_ = round_of(division)
    if not round_:
        report(
            Finding("no-round", _shown(division, root), "", "", "no folder above says which round this is")
        )
    runs: list[Run] = []
    systems: list[System] = []
    for submitter in _folders(division):
        for path in sorted((submitter / "systems").glob("*.json")):
            system = _system(path, round_, root, report)
            if system is not None:
                systems.append(system)
        for platform in _folders(submitter / "results"):
            for model in _folders(platform):
                runs += [
                    _run(scenario, round_, root, report)
                    for scenario in _folders(model)
                    if scenario.name.casefold() in SCENARIOS
                ]
    return runs, systems


def round_of(division: Path) -> str:
    """Return the round that a folder above a division folder names, as `v5.1`, or nothing."""
    for folder in division.resolve().parents:
        found = _ROUND.search(folder.name)
        if found:
            return f"v{found[1]}"
    return ""


def location_key(location: str) -> str:
    """Return what two spellings of one run directory have in common, as `division/.../scenario`."""
    parts = [part for part in location.replace("\\", "/").split("/") if part not in {"", "."}]
    if len(parts) >= 2 and parts[-2] == "performance":
        parts = parts[:-2]
    return "/".join(parts).casefold()


def _run(folder: Path, round_: str, root: Path, report: Report) -> Run:
    model, platform = folder.parent, folder.parent.parent
    submitter = platform.parent.parent
    side = submitter / "measurements" / platform.name / model.name / folder.name
    return Run(
        key="/".join(folder.parts[-6:]).casefold(),
        round=round_,
        division=submitter.parent.name,
        submitter=submitter.name,
        platform=platform.name,
        model=model.name,
        scenario=SCENARIOS[folder.name.casefold()],
        log=_log(folder / "performance" / "run_1" / "mlperf_log_summary.txt", root, report),
        detail=_detail(folder / "performance" / "run_1" / "mlperf_log_detail.txt", root, report),
        accuracy=_accuracy(folder / "accuracy" / "accuracy.txt", root, report),
        measurements=_measurements(side if side.is_dir() else folder, root, report),
        user_conf=_user_conf(side if side.is_dir() else folder, root, report),
    )


def _log(path: Path, root: Path, report: Report) -> Log | None:
    if not path.exists():
        report(Finding("no-log", _shown(path, root), "", "", "the run has no performance log", fault=False))
        return None
    text = read_text(path, _shown(path, root), report)
    return None if text is None else parse_log(text, _shown(path, root), report)


def _detail(path: Path, root: Path, report: Report) -> dict[str, float | str]:
    text = read_text(path, _shown(path, root), report) if path.exists() else None
    return {} if text is None else parse_detail(text, _shown(path, root), report)


def _accuracy(path: Path, root: Path, report: Report) -> dict[str, float]:
    text = read_text(path, _shown(path, root), report) if path.exists() else None
    return {} if text is None else parse_accuracy(text)


def _measurements(folder: Path, root: Path, report: Report) -> dict[str, str]:
    """Return the declared measurement of a run: the one JSON file there that carries weight_data_types."""
    for path in sorted(folder.glob("*.json")):
        if path.name in _GENERATED:
            continue
        content = read_json(path, _shown(path, root), report)
        if isinstance(content, dict) and "weight_data_types" in content:
            return _flat(content, _shown(path, root), report)
    return {}


def _user_conf(folder: Path, root: Path, report: Report) -> dict[str, str]:
    path = folder / "user.conf"
    text = read_text(path, _shown(path, root), report) if path.exists() else None
    made: dict[str, str] = {}
    for number, line in enumerate((text or "").splitlines(), start=1):
        setting = line.split("#", 1)[0]
        if not setting.strip():
            continue
        key, equals, value = setting.partition("=")
        if not equals:
            report(
                Finding(
                    "broken",
                    _shown(path, root),
                    f"line {number}",
                    "",
                    "expected `model.scenario.key = value`",
                )
            )
        else:
            made[key.strip()] = value.strip()
    return made


def _system(path: Path, round_: str, root: Path, report: Report) -> System | None:
    content = read_json(path, _shown(path, root), report)
    if content is None:
        return None
    if not isinstance(content, dict):
        report(Finding("layout", _shown(path, root), "", "", "a system description is one object"))
        return None
    submitter = path.parent.parent
    return System(
        file=_shown(path, root),
        round=round_,
        division=submitter.parent.name,
        submitter=submitter.name,
        platform=path.stem,
        fields=_flat(content, _shown(path, root), report),
    )


def _flat(content: dict[str, Any], shown: str, report: Report) -> dict[str, str]:
    made: dict[str, str] = {}
    for key, value in content.items():
        text = str(value)
        if len(text) > LONGEST_CELL:
            message = f"a value of more than {LONGEST_CELL} characters; not read"
            report(Finding("too-long", shown, "", key[:60], message))
        else:
            made[key] = " ".join(text.split())
    return made


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the real folders in a folder, in order; links are not followed out of the checkout."""
    if folder.is_dir():
        yield from (child for child in sorted(folder.iterdir()) if child.is_dir() and not child.is_symlink())


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
