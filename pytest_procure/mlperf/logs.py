"""LoadGen's logs and the accuracy scripts' last lines, as figures by label; latencies stay in ns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeVar

from .files import Report
from .reading import as_number
from .records import Finding, Log

_EARLY = re.compile(r"\s*\* Early stopping (\d+(?:\.\d+)?)\s*th percentile estimate\s*:\s*(\d+)\s*$")
Value = TypeVar("Value", str, float)
_DETAIL = ":::MLLOG "
_ACCURACY = re.compile(
    r"""['"]?([A-Za-z][A-Za-z0-9_@ -]{0,40}?)['"]?\s*[:=]\s*(?:mean\s*=\s*)?\[?(?:np\.\w+\()?['"]?"""
    r"""([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"""
)


def parse_log(text: str, file: str, report: Report) -> Log:
    """Read a `mlperf_log_summary.txt`. A figure given twice with two values is reported."""
    words: dict[str, str] = {}
    values: dict[str, float] = {}
    parameters: dict[str, float] = {}
    early: dict[float, float] = {}
    into = values
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("Test Parameters Used"):
            into = parameters
        found = _EARLY.match(line)
        if found:
            early[float(found[1])] = float(found[2])
            continue
        label, colon, value = line.partition(":")
        if not colon:
            continue
        label, value = " ".join(label.split()).casefold(), value.strip()
        figure = as_number(value)
        if figure is None:
            if label in {"scenario", "mode", "result is"}:
                _keep(words, label, value, (file, number), report)
            continue
        _keep(into, label, figure, (file, number), report)
    return Log(
        file=file,
        scenario=words.get("scenario", ""),
        mode=words.get("mode", ""),
        validity=words.get("result is", ""),
        values=values,
        early=early,
        parameters=parameters,
    )


def _keep(into: dict[str, Value], label: str, value: Value, place: tuple[str, int], report: Report) -> None:
    if label not in into:
        into[label] = value
    elif into[label] != value:
        message = f"it stands twice, as {into[label]} and {value}; the first is kept"
        report(Finding("contradiction", place[0], f"line {place[1]}", label, message))


def parse_detail(text: str, file: str, report: Report) -> dict[str, float | str]:
    """Read the `result_*`, `early_stopping_*` and `effective_*` records of a `mlperf_log_detail.txt`."""
    made: dict[str, float | str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith(_DETAIL):
            continue
        try:
            entry = json.loads(line.removeprefix(_DETAIL))
        except (ValueError, RecursionError):
            report(Finding("broken", file, f"line {number}", "", "this record is no complete JSON"))
            continue
        key = entry.get("key") if isinstance(entry, dict) else None
        if not isinstance(key, str) or not key.startswith(("result_", "early_stopping_", "effective_")):
            continue
        value = entry.get("value")
        figure = as_number(value)
        if figure is not None:
            made[key] = figure
        elif isinstance(value, str):
            made[key] = value
    return made


def parse_accuracy(text: str) -> dict[str, float]:
    """Read the figures of an `accuracy.txt` by lower-case label; of two with one label the last stands.

    The scripts print noise first and the metrics last, as `accuracy=76.078%`, as JSON, as a Python dict with
    numbers, quoted numbers or `np.int64(...)`, or as `Accuracy: mean = 0.86`.
    """
    figures: dict[str, float] = {}
    for line in text.splitlines()[-60:]:
        if line.lstrip().startswith("hash="):
            continue
        for label, value in _ACCURACY.findall(line[:20_000]):
            number = as_number(value)
            if number is not None:
                figures[" ".join(label.split()).casefold()] = number
    return figures


#: The published metric's name, where the script's label is another.
LABELS: Mapping[str, tuple[str, ...]] = {
    "acc": ("accuracy",),
    "ACCURACY": ("accuracy",),
    "DICE": ("accuracy",),
    "F1_HIERARCHICAL": ("f1",),
    "mAP": ("map", "total"),
}


def accuracy_of(figures: Mapping[str, float], metric: str) -> float | None:
    """Return a published metric from the figures of an accuracy script, or None."""
    for label in (metric.casefold(), *LABELS.get(metric, ())):
        if label in figures:
            return figures[label]
    return None
