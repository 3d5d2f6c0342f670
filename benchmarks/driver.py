"""The drivers beside others: what a query costs, how late it is sent, how true the times are that it tells.

    python benchmarks/driver.py [--pairs 11] [--quick] [--normal] [--only NAME]

Each figure is measured in a process of its own, ours and LoadGen's in turn and in alternating order, and
the ratio of each pair is taken; the median of the ratios counts, printed with the least and the most. Both
run under SCHED_FIFO where that is permitted, which takes neighbours out (`--normal`: as everything else).
LoadGen is the `loadgen` extra (`pip install 'pytest-procure[loadgen]'`); without it our own figures alone are
printed. Then the driver is held against a simulation of the same queue with the service times it measured:
with processors that are kept awake (`awake.py`), and, shown only, as the machine lets them sleep. At the end
the endpoint driver stands beside a bare client (`endpoint.py`), and beside other tools where the variable
`PROCURE_PEERS` says where they are (`peers.py`).

The exit status is 1 if a figure misses what is asked of it; lags at p99 are asked for under SCHED_FIFO only.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from awake import awake

_HERE = Path(__file__).parent
_LIMIT = 120  # seconds for one measurement; LoadGen hangs where an answer is lost


@dataclass(frozen=True)
class Comparison:
    """One figure of both sides. `ask`: the largest ratio of ours to LoadGen's; None: shown only."""

    title: str
    own: str
    theirs: str
    figure: str
    qps: int = 0
    ask: float | None = None

    @property
    def queries(self) -> int:
        """Two seconds of traffic, or enough for a tenth of a second in our fastest loop."""
        return 2 * self.qps or 200_000

    @property
    def fifo_only(self) -> bool:
        """Whether neighbours decide it unless they are taken out."""
        return self.figure == "p99_us"


COMPARISONS = {
    "own_cost": Comparison("SingleStream, ns a query", "own_cost", "own_cost", "ns_a_query", ask=0.15),
    "pull": Comparison("one worker, all due, ns a query", "pull", "own_cost", "ns_a_query", ask=0.25),
    "offline": Comparison("Offline, samples/s", "offline_batch_1", "offline", "samples_per_s"),
    "offline_32": Comparison("Offline, 32 a batch", "offline_batch_32", "offline", "samples_per_s"),
    "lag_1k_p50": Comparison("lag at 1,000/s, p50 us", "lag", "lag", "p50_us", 1_000, 1.0),
    "lag_1k_p99": Comparison("lag at 1,000/s, p99 us", "lag", "lag", "p99_us", 1_000, 1.0),
    "lag_10k_p50": Comparison("lag at 10,000/s, p50 us", "lag", "lag", "p50_us", 10_000, 1.0),
    "lag_10k_p99": Comparison("lag at 10,000/s, p99 us", "lag", "lag", "p99_us", 10_000, 1.0),
}
#: Our own loops that LoadGen has no counterpart of.
ALONE = ("pull_batch_8", "pull_batch_32", "pull_2_workers")
REPLAYS = {
    "replay_half": "M/D/1 at 50 % load",
    "replay": "M/D/1 at 80 % load",
    "replay_batches": "8 a batch, 5 ms wait, 2 workers, 800/s",
}
REPLAYED = 1_600  # queries
ALLOWED_US = 250.0  # p99 of the difference from the simulation


class Bench:
    """Runs measurements, each once for all figures that are taken from it."""

    def __init__(self, pairs: int, quick: int, *, fifo: bool) -> None:
        self._pairs = pairs
        self._quick = quick
        self._flags = ["--fifo"] if fifo else []
        self.fifo = False
        self.missed: list[str] = []

    def compare(self, asked: dict[str, Comparison]) -> None:
        """Measure both sides in pairs, and print a line a figure."""
        runs = list(dict.fromkeys((each.own, each.theirs, each.queries, each.qps) for each in asked.values()))
        found: dict[object, list[tuple[dict[str, float], dict[str, float]]]] = {run: [] for run in runs}
        for pair in range(self._pairs):
            for run in runs:
                own, theirs, n, qps = run
                sides = [("own_side.py", own), ("loadgen_side.py", theirs)]
                order = sides if pair % 2 == 0 else sides[::-1]
                told = {file: self.measure(file, what, n // self._quick, qps) for file, what in order}
                found[run].append((told["own_side.py"], told["loadgen_side.py"]))
        print(f"{'':34}{'ours':>12}{'LoadGen':>12}{'ratio':>9}{'least':>9}{'most':>9}   asked")
        for each in asked.values():
            self._line(each, found[each.own, each.theirs, each.queries, each.qps])

    def _line(self, each: Comparison, pairs: list[tuple[dict[str, float], dict[str, float]]]) -> None:
        ours, theirs = ([side[each.figure] for side in sides] for sides in zip(*pairs, strict=True))
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        ratio = statistics.median(ratios)
        said = "" if each.ask is None else f"<= {each.ask:g}"
        if each.ask is not None and ratio > each.ask and (self.fifo or not each.fifo_only):
            self.missed.append(each.title)
            said += " MISSED"
        print(
            f"{each.title:34}{statistics.median(ours):12,.6g}{statistics.median(theirs):12,.6g}"
            f"{ratio:9.4f}{min(ratios):9.4f}{max(ratios):9.4f}   {said}"
        )

    def alone(self, loops: list[str], n: int) -> None:
        """Print what a query costs in our own loops."""
        print(f"\n{'ns a query':34}{'median':>12}{'least':>12}{'most':>9}{'waited':>9}")
        for loop in loops:
            runs = [self.measure("own_side.py", loop, n // self._quick, 0) for _ in range(self._pairs)]
            cost = [run["ns_a_query"] for run in runs]
            waited = statistics.median(run["run_delay_share"] for run in runs)
            print(f"{loop:34}{statistics.median(cost):12.0f}{min(cost):12.0f}{max(cost):9.0f}{waited:9.1%}")

    def replay(self) -> None:
        """Print how far the driver is from the simulation."""
        for is_awake in (True, False):
            told = "processors kept awake" if is_awake else "as the machine lets them sleep"
            head = f"against the simulated queue, {told}"
            print(f"\n{head:62}{'p50 us':>9}{'p99 us':>9}{'least':>9}   same batches")
            with awake() if is_awake else nullcontext():
                for what, title in REPLAYS.items():
                    self._replayed(what, title, is_asked=is_awake)

    def _replayed(self, what: str, title: str, *, is_asked: bool) -> None:
        runs = [self.measure("own_side.py", what, REPLAYED // self._quick, 0) for _ in range(self._pairs)]
        p50, p99 = ([run[key] for run in runs] for key in ("p50_us", "p99_us"))
        same, formed = (sum(run[key] for run in runs) for key in ("batches_as_simulated", "batches"))
        missed = is_asked and self.fifo and (statistics.median(p99) > ALLOWED_US or same < formed)
        if missed:
            self.missed.append(title)
        print(
            f"{title:62}{statistics.median(p50):9.1f}{statistics.median(p99):9.1f}{min(p99):9.1f}   "
            f"{same:,.0f} of {formed:,.0f}{' MISSED' if missed else ''}",
            flush=True,
        )

    def endpoint(self) -> None:
        """Print how the endpoint driver does beside a bare client and other tools, which are shown only."""
        for file, *arguments in (("endpoint.py", str(self._pairs)), ("peers.py",)):
            print(f"\n{file}", flush=True)
            command = [sys.executable, str(_HERE / file), *arguments]
            done = subprocess.run(command, env=_environment(), check=False)  # noqa: S603 - our own scripts
            if done.returncode:
                self.missed.append(file)

    def measure(self, file: str, what: str, n: int, qps: int) -> dict[str, float]:
        """Run one side once."""
        with tempfile.TemporaryDirectory() as folder:  # LoadGen reads an `audit.config` where it runs
            ended = subprocess.run(  # noqa: S603 - our own scripts
                [sys.executable, str(_HERE / file), what, str(n), str(qps), *self._flags],
                cwd=folder,
                env=_environment(),
                capture_output=True,
                text=True,
                timeout=_LIMIT,
                check=True,
            )
        told: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
        scheduling = str(told.pop("scheduling"))
        self.fifo = scheduling == "SCHED_FIFO"
        return told


def _environment() -> dict[str, str]:
    """Give an environment in which this checkout is what is imported."""
    path = os.pathsep.join(filter(None, (str(_HERE.parent), os.environ.get("PYTHONPATH", ""))))
    return os.environ | {"PYTHONPATH": path}


def main() -> int:
    """Measure and print; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="a fifth of the queries")
    parser.add_argument("--normal", action="store_true", help="do not ask for SCHED_FIFO")
    parser.add_argument("--only", choices=[*COMPARISONS, "alone", "replay", "endpoint"], action="append")
    asked = parser.parse_args()
    bench = Bench(asked.pairs, 5 if asked.quick else 1, fifo=not asked.normal)
    chosen = {name: each for name, each in COMPARISONS.items() if not asked.only or name in asked.only}
    loops = list(ALONE)
    if chosen and importlib.util.find_spec("mlperf_loadgen") is None:
        print("LoadGen is not installed (`pip install 'pytest-procure[loadgen]'`): our own figures alone")
        loops = [*dict.fromkeys(each.own for each in chosen.values() if each.own != "lag"), *ALONE]
    elif chosen:
        bench.compare(chosen)
    if not asked.only or "alone" in asked.only:
        bench.alone(loops, 100_000)
    if not asked.only or "replay" in asked.only:
        bench.replay()
    if not asked.only or "endpoint" in asked.only:
        bench.endpoint()
    print(f"\n{asked.pairs} pairs under {'SCHED_FIFO' if bench.fifo else 'normal scheduling'}")
    print(f"missed: {'; '.join(bench.missed)}" if bench.missed else "nothing is missed")
    return int(bool(bench.missed))


if __name__ == "__main__":
    sys.exit(main())
