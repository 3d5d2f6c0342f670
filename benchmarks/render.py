"""How long does a long run take to become a report, and how heavy is the page?

    python benchmarks/render.py [--rows 1000000] [--repeats 3]

Takes the run of `benchmarks/judge.py` with its answers, judges it, and times three things: from the request
log to the record (digests, curve, course over time, failures); from the record to the page, the table and the
summary; and `procure report DIR` on the pack, as a user starts it. Prints the seconds of each repeat and the
size of the page. The exit status is 1 if the quickest whole way from log to page, or the quickest command,
takes longer than two seconds, or the page weighs more than 400 KiB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from judge import BARS, execution

from pytest_procure.cases import Case
from pytest_procure.decision import Policy
from pytest_procure.evidence.findings import finding_record
from pytest_procure.evidence.record import FORMAT, VERSION, Record, RunRecord, dumps
from pytest_procure.evidence.runs import run_record
from pytest_procure.evidence.schema import problems
from pytest_procure.metrics import Execution
from pytest_procure.report.outputs import outputs

ALLOWED, HEAVIEST = 2.0, 400 * 1024  # seconds, bytes
QUESTION = "Does it keep up with a million requests?"


def whole(run: Execution, runs: list[RunRecord]) -> Record:
    """Judge a run, and write down a session that consists of it."""
    case = Case(run.candidate, BARS, Policy())
    case.add(run, declared=True)
    verdict, findings = case.conclude()
    stated: dict[str, Any] = run.candidate.describe()
    found = [finding_record(finding, case.policy) for finding in findings]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": "A long run",
        "decision": "",
        "measured_by": "",
        "measured_for": "",
        "started": "2026-11-30T08:00:00Z",
        "finished": "2026-11-30T09:00:00Z",
        "plugin_version": "0",
        "command": "",
        "consumer_risk": 0.05,
        "rejection_risk": 0.05,
        "rule": [],
        "outcome": {
            "accepted": verdict.passes,
            "award": "all",
            "sentence": f"acme: {verdict.value}.",
            "exit_status": int(not verdict.passes),
            "reasons": [],
        },
        "candidates": [
            {
                "name": stated["name"],
                "vendor": "",
                "precision": "",
                "hardware": "",
                "price": stated["price"],
                "backend": {},
                "notes": "",
                "verdict": verdict.value,
                "sentence": verdict.value,
            }
        ],
        "requirements": [
            {
                "id": "long",
                "question": QUESTION,
                "scenario": run.scenario.label,
                "results": [
                    {
                        "candidate": stated["name"],
                        "test": "long",
                        "verdict": verdict.value,
                        "sentence": verdict.value,
                        "problem": "",
                        "findings": found,
                        "not_reached": [],
                        "runs": runs,
                    }
                ],
            }
        ],
        "datasets": [run.slice.describe()],
        "published": [],
        "environment": {},
        "notes": [],
    }


def reported(record: Record) -> float:
    """Time `procure report` on a pack that holds the record, start of the process included, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "verdict.json").write_text(dumps(record), encoding="utf-8")
        command = [
            sys.executable,
            "-c",
            "from pytest_procure.cli import main; raise SystemExit(main())",
            "report",
            folder,
        ]
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
        return time.perf_counter() - begun


def main() -> int:
    """Render the run a few times, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    recording, rendering, commands, size = [], [], [], 0
    for _ in range(asked.repeats):
        run = execution(asked.rows)  # anew: a slice remembers its digest
        run.logs[0].answers.extend(np.zeros(asked.rows).tolist())
        begun = time.perf_counter()
        runs = [run_record(run, declared=True, faults=(), kept=None)]
        recording.append(time.perf_counter() - begun)
        record = whole(run, runs)
        assert problems(record) == [], "the record follows its format"
        begun = time.perf_counter()
        files = outputs(record)
        rendering.append(time.perf_counter() - begun)
        commands.append(reported(record))
        size = len(files["report.html"].encode())
    print(f"{asked.rows:,} requests: a page of {size / 1024:.0f} KiB")
    for step, seconds in (
        ("from log to record", recording),
        ("from record to page", rendering),
        ("of `procure report DIR`", commands),
    ):
        print(f"seconds {step}:", ", ".join(f"{each:.2f}" for each in seconds))
    whole_way = min(map(sum, zip(recording, rendering, strict=True)))
    return int(max(whole_way, min(commands)) > ALLOWED or size > HEAVIEST)


if __name__ == "__main__":
    sys.exit(main())
