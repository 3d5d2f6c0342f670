"""How long does it take to keep, seal and verify a long run, and how large is it on disk?

    python benchmarks/evidence.py [--rows 1000000] [--texts] [--folder DIR]

Makes the execution of a server run with one score a sample and one output a sample (labels; with --texts a
text of its own each), writes it as a pack with a manifest, and verifies the pack. Prints the seconds of each
and the bytes a request, output texts aside. The exit status is 1 if writing with sealing, or verifying, takes
more than 5 s, or a request more than 200 bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from judge import BARS, execution

from pytest_procure.candidates import HourlyPrice
from pytest_procure.cases import Case
from pytest_procure.decision import Policy
from pytest_procure.evidence import pack
from pytest_procure.evidence.keeping import Keeper
from pytest_procure.evidence.parts import Requirement
from pytest_procure.evidence.sealed import UNSEALED
from pytest_procure.evidence.session_file import GatePart, SessionFile, record_of
from pytest_procure.gate import Expected, Gate
from pytest_procure.report.outputs import outputs
from pytest_procure.trials import Trial
from pytest_procure.verify import verify

SECONDS, BYTES = 5.0, 200.0


def write(run: object, folder: Path) -> None:
    """Judge the run as a session would, and write its pack."""
    keeper = Keeper(folder)
    name = run.candidate.name
    asked = Requirement("test_x", "Is it quick?", f"test_x[{name}]", name, run.scenario, BARS)
    trial = Trial(asked, Policy(), case=Case(run.candidate, BARS, Policy()))
    trial.case.add(run, declared=True)
    trial.conclude(keeper.run)
    keeper.case(trial.file())
    price = HourlyPrice("1 USD", utilisation=0.5).describe()
    stated = {"name": name, "vendor": "", "precision": "", "price": price, "hardware": "", "notes": ""}
    gate = Gate()
    gate.expect([Expected(asked.id, asked.question, run.scenario.label, asked.test, name)], {name: stated})
    gate.receive(trial.record, {}, trial.right)
    words = dict.fromkeys(
        ("title", "decision", "measured_by", "measured_for", "valid_until", "plugin_version"), ""
    )
    times = dict.fromkeys(("started", "finished"), "2026-11-30T12:00:00Z")
    session = SessionFile(
        format="pytest-procure/session", version=1, **words, **times, command="pytest", policy=Policy(),
        status=1, gate=GatePart.of(gate), sealed=UNSEALED, notes=(),
    )  # fmt: skip
    record = record_of(session, gate.results.values(), {}, right=gate.right)
    files = {file: text.encode() for file, text in outputs(record).items()}
    pack.write(folder, session, record, files)


def timed(call: Callable[..., object], *arguments: object) -> tuple[tuple[float, float], object]:
    """Call, and give ((seconds, of CPU), result)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call(*arguments)
    return (time.perf_counter() - wall, time.process_time() - cpu), result


def main() -> int:
    """Time it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--texts", action="store_true", help="a text of its own for each request")
    parser.add_argument("--folder", type=Path, help="where to write (a temporary folder)")
    asked = parser.parse_args()
    run = execution(asked.rows)
    _ = run.slice.digest  # a session has it before the run
    for log in run.logs:
        numbers = np.arange(len(log.samples))
        log.answers = [f"answer {n}" for n in numbers] if asked.texts else (numbers % 10).tolist()
    with tempfile.TemporaryDirectory() as made:
        folder = (asked.folder or Path(made)) / "procure-report"
        written, _ = timed(write, run, folder)
        verified, found = timed(verify, folder)
        size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.parent.name != "outputs")
    print(
        f"{asked.rows:,} requests: judged, written, sealed in {written[0]:.2f} s ({written[1]:.2f} s of CPU)"
    )
    print(f"verified in {verified[0]:.2f} s ({verified[1]:.2f} s of CPU)")
    print(f"{size / asked.rows:.1f} bytes a request, output texts aside")
    print(f"the pack {'holds' if found.holds else 'DOES NOT HOLD'}")
    for each in found.mismatches[:5]:
        print(" ", each)
    within = max(written[0], verified[0]) <= SECONDS and size / asked.rows <= BYTES
    return 0 if found.holds and within else 1


if __name__ == "__main__":
    sys.exit(main())
