"""Read whole published rounds: every row, every known label fault, every log, and how long a round takes.

    python benchmarks/mlperf_rounds.py PATH

PATH is a folder that holds `summary/` (the published summary files) and, if at hand, `raw/` (results
checkouts, a folder a round). Exits 1 if anything that is known of these rounds does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from pytest_procure.mlperf import Result, Results, facts, load_results
from pytest_procure.mlperf.reconciling import log_number, misses, reconcile

#: Rows in the published files, and the labels among them that contradict the metric.
ROWS = {
    "v3.1.cm-derived.json": 138,
    "v4.1.cm-derived.json": 63,
    "v4.1.summary_results.json.gz": 937,
    "v5.0-unofficial.summary.csv": 45,
    "v5.0-unofficial.summary.json": 45,
    "v5.0-unofficial.summary_results.json": 45,
    "v5.1.summary_results.json.gz": 1448,
    "v6.0.slice.summary_results.json": 89,
    "v6.1.excerpt.summary.json": 12,
}
LABELS = {
    ("v4.1.cm-derived.json", "mixtral-8x7b", "Offline", "Samples/s"): 16,
    ("v4.1.cm-derived.json", "mixtral-8x7b", "Server", "Queries/s"): 16,
    ("v4.1.summary_results.json.gz", "llama2-70b-99.9", "Offline", "Samples/s"): 3,
    ("v4.1.summary_results.json.gz", "llama2-70b-99.9", "Server", "Queries/s"): 2,
    ("v5.1.summary_results.json.gz", "llama3.1-8b", "Interactive", "Queries/s"): 8,
    ("v5.1.summary_results.json.gz", "whisper", "Offline", "Samples/s"): 37,
    ("v6.0.slice.summary_results.json", "whisper", "Offline", "Samples/s"): 7,
}
#: Findings that take a row away: it repeats another one, or is the power line of one.
ABSORBED = ("duplicate", "contradiction", "unusable-row")


def main() -> int:
    """Check the folder that the command line names and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    failures = [*_rows(path / "summary"), *_speed(path / "summary")]
    if (path / "raw").is_dir():
        failures += _logs(path)
    print("\n".join(f"FAILED: {one}" for one in failures) or "all of it holds")
    return 1 if failures else 0


def _rows(folder: Path) -> list[str]:
    failures = []
    labels: Counter[tuple[str, str, str, str]] = Counter()
    for file in sorted(folder.iterdir()):
        results = load_results(file)
        absorbed = sum(one.code in ABSORBED for one in results.findings) + _joined(results)
        codes = Counter(one.code for one in results.findings)
        print(f"{file.name}: {len(results.rows)} results, {absorbed} rows joined to others, {dict(codes)}")
        expected = ROWS.get(file.name)
        if expected is not None and len(results.rows) + absorbed != expected:
            failures.append(
                f"{file.name} has {expected} rows, {len(results.rows)} + {absorbed} were accounted for"
            )
        labels.update(
            (one.file, one.benchmark, one.scenario, one.label) for one in results.rows if one.label_fault
        )
        failures += [
            f"{one.name} is closed and misses its reference bar" for one in results.rows if _misses(one)
        ]
    failures += [
        f"wrong labels: {key} {labels[key]} of {count}"
        for key, count in LABELS.items()
        if labels[key] != count
    ]
    failures += [
        f"unexpected wrong labels: {key} {count}" for key, count in labels.items() if key not in LABELS
    ]
    return failures


def _joined(results: Results) -> int:
    """Count the power rows that were joined to the row they were measured with, in the copies of v4.1."""
    return sum(
        one.power is not None and one.score is not None
        for one in results.rows
        if one.origin == "copy" and one.round == "v4.1"
    )


def _misses(one: Result) -> bool:
    return one.division == "closed" and one.origin == "summary" and bool(misses(one))


def _speed(folder: Path) -> list[str]:
    file = folder / "v5.1.summary_results.json.gz"
    if not file.exists():
        return []
    facts()
    times, processor = [], time.process_time()
    for _ in range(5):
        start = time.perf_counter()
        load_results(file)
        times.append(time.perf_counter() - start)
    processor = (time.process_time() - processor) / len(times)
    print(
        f"{file.name}: loaded in {min(times):.3f} s at best, {max(times):.3f} s at worst of 5; "
        f"{processor:.3f} s of processor time each"
    )
    return [f"loading took {min(times):.3f} s"] if min(times) >= 0.5 else []


def _logs(path: Path) -> list[str]:
    summaries = [
        file
        for file in sorted((path / "summary").iterdir())
        if "summary_results" in file.name and "unofficial" not in file.name
    ]
    results = load_results(*summaries, path / "raw")
    logged = [one for one in results.rows if one.run is not None and one.run.log is not None]
    print(f"{len(results.runs)} runs, {len(logged)} of them stand in the tables")
    failures = [f"{one.name}: no row stands for this log" for one in results.rows if one.origin == "log"]
    for one in logged:
        found = log_number(one.run, facts().find(one.round, one.benchmark), one.scenario) if one.run else None
        if found is None or any(finding.code == "log-differs" for finding in reconcile(one)):
            failures.append(f"{one.name}: the published number is not the log's")
    sources = Counter(
        found.how.split(" ms")[0][:60]
        for one in logged
        if one.run and (found := log_number(one.run, facts().find(one.round, one.benchmark), one.scenario))
    )
    print("\n".join(f"  {count:3} from {how}" for how, count in sources.most_common()))
    return failures


if __name__ == "__main__":
    sys.exit(main())
