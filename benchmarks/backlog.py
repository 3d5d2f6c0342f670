"""How often is a candidate that keeps up said to fall behind, and one that falls behind not?

    python benchmarks/backlog.py [--runs 1000] [--only inside|endpoint|changing]

Simulates queues, lets the product's own look at a log say whether the backlog grew, and prints Markdown: the
share of runs by load, number of requests and service times, and of these those whose declared rate is
rejected, because the load is that sure and not two thirds were answered in time. `inside`: one worker of this
process. `endpoint`: the same behind a URL, where nobody knows how many serve; of one that serves all at once
the load is 0, and the columns are how long a service takes over the traffic's length. `changing`: traffic
whose rate changes, both ways.

The exit status is 1 if more of the runs at a load of 0.9 or less are said to grow than 1 % and, with few
requests or services that vary, 5 %, or fewer than 95 % of those of 200 requests or more (endpoints: 1,000) at
1.25 or more, of service times that vary no more than exponential ones; two standard errors are allowed for.
Cells of many requests are made of fewer runs. The whole takes about a quarter of an hour of one core.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import math
import sys
import tempfile
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_procure.decision import Policy
from pytest_procure.decision.means import carried
from pytest_procure.driver.endpoint.departures import seen_of_endpoint
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.log import RequestLog
from pytest_procure.driver.seen import Seen, seen
from pytest_procure.metrics.measurement import Carried
from pytest_procure.scenarios import Scenario, arrivals, queries

Times = NDArray[np.int64]
Look = Callable[[RequestLog, Scenario], Seen]
#: How its log is looked at, its service times, how many it serves at once.
Offer = tuple[Look, str, int]
#: Makes a scenario of a length in seconds and a seed.
Declared = Callable[[float, int], Scenario]

LIMITS = Limits()
_QPS = 100.0
_GAP = 1e9 / _QPS
SIZES = (100, 200, 300, 1_000, 3_000, 10_000)
STABLE, OVERLOADED = (0.5, 0.8, 0.9), (1.25, 2.0)
LOADS = STABLE + OVERLOADED
#: Service times over the length of the traffic, where all are served at once.
LENGTHS = (0.01, 0.05, 0.3, 1.0, 3.0)
#: Standard deviation of service times over their mean.
SERVICES = {"constant": 0.0, "exponential": 1.0, "lognormal, 1.5": 1.5, "lognormal, 2": 2.0}
#: Service times, and how many are served at once; 0: all.
ENDPOINTS = {
    "constant": ("constant", 1),
    "exponential": ("exponential", 1),
    "lognormal, 1.5": ("lognormal, 1.5", 1),
    "exponential, 8 at once": ("exponential", 8),
    "lognormal, 1.5, 8 at once": ("lognormal, 1.5", 8),
    "lognormal, 1.5, 64 at once": ("lognormal, 1.5", 64),
    "constant, all at once": ("constant", 0),
    "lognormal, 1.5, all at once": ("lognormal, 1.5", 0),
}
#: Requests of a cell, over all its runs: a simulated one of several servers takes 2 us.
_MOST = 1_000_000
_SURE, _ALLOWED, _FOUND = 0.01, 0.05, 0.95


def services(name: str, mean: float, n: int, rng: np.random.Generator) -> Times:
    """Draw `(n,)` service times in ns."""
    spread = SERVICES[name]
    if name == "exponential":
        drawn = rng.exponential(mean, n)
    elif spread:
        variance = math.log1p(spread**2)
        drawn = mean * rng.lognormal(-variance / 2, math.sqrt(variance), n)
    else:
        drawn = np.full(n, mean)
    return drawn.astype(np.int64) + 1


def poisson(n: int, rng: np.random.Generator) -> Times:
    """Draw `(n,)` arrivals in ns."""
    return np.concatenate([[0.0], np.cumsum(rng.exponential(_GAP, n - 1))]).astype(np.int64)


def served(scheduled: Times, took: Times, servers: int) -> RequestLog:
    """Simulate a run: first in, first out, by so many servers; 0: by as many as it takes."""
    if servers == 1:
        # Lindley: work is done after the latest moment at which nothing was left, and all that came since.
        done = np.cumsum(took)
        completed = done + np.maximum.accumulate(scheduled - (done - took))
    elif servers:
        free, ends = [0] * servers, []
        for due, service in zip(scheduled.tolist(), took.tolist(), strict=True):
            ends.append(max(due, free[0]) + service)
            heapq.heapreplace(free, ends[-1])
        completed = np.array(ends, dtype=np.int64)
    else:
        completed = scheduled + took
    n = len(scheduled)
    return RequestLog(
        scheduled=scheduled,
        started=completed - took,
        completed=completed,
        status=np.ones(n, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[],
        window_ns=int(completed.max()),
    )


def inside(log: RequestLog, scenario: Scenario) -> Seen:
    """Look at a log as at one of this process."""
    return seen(log, scenario, LIMITS)


def outside(log: RequestLog, scenario: Scenario) -> Seen:
    """Look at a log as at an endpoint's."""
    due = (len(log) - 1) / (int(log.scheduled[-1]) * 1e-9)
    return seen_of_endpoint(_plain(len(log), scenario), log, scenario, due, LIMITS)


@functools.lru_cache(maxsize=8)
def _plain(n: int, scenario: Scenario) -> Seen:
    """Give what is the same in all runs: every request was due, sent and answered."""
    return seen(served(np.arange(n, dtype=np.int64), np.ones(n, dtype=np.int64), 1), scenario, LIMITS)


def is_rejected(found: Seen) -> bool:
    """Whether the declared rate is rejected by a load."""
    load = found.overload(LIMITS)
    if load is None or not found.is_gross(LIMITS):
        return False
    basis = Carried(load.share, load.error, load.freedom, looks=2)
    p = carried(basis, "at least", Decimal("0.999"), Policy()).reject_p
    return p is not None and p <= Policy().rejection_risk


def grew(made: Iterable[Seen], runs: int) -> tuple[float, float]:
    """Give the share of runs whose backlog is said to grow, and of those whose rate is rejected."""
    found = [each for each in made if each.backlog_grew(LIMITS)]
    return len(found) / runs, sum(map(is_rejected, found)) / runs


class Table:
    """Prints cells, and counts those that do not hold."""

    def __init__(self, runs: int, *heads: str) -> None:
        self.runs = runs
        self.failed = 0
        print("\n| " + " | ".join(heads) + " |")
        print("|" + "---|" * len(heads), flush=True)

    def runs_of(self, n: int) -> int:
        """Count the runs of a cell of `n` requests each."""
        return max(1, min(self.runs, _MOST // n))

    def row(self, name: str, n: int, cells: list[tuple[float, float]]) -> None:
        """Print a row."""
        told = " | ".join(f"{share:.1%} ({rejected:.1%})" for share, rejected in cells)
        print(f"| {name} | {n:,} | {told} |", flush=True)

    def at_most(self, share: float, most: float, n: int) -> None:
        """Hold a share of runs to an upper limit."""
        self.failed += share > most + 2 * math.sqrt(most * (1 - most) / self.runs_of(n))

    def at_least(self, share: float, least: float, n: int) -> None:
        """Hold a share of runs to a lower limit."""
        self.failed += share < least - 2 * math.sqrt(least * (1 - least) / self.runs_of(n))


def steady(table: Table, name: str, offer: Offer) -> None:
    """Fill the rows of one kind of candidate under Poisson arrivals."""
    look, kind, servers = offer
    for n in SIZES:
        runs, rng = table.runs_of(n), np.random.default_rng(n)
        scenario = Scenario.declare("server", qps=_QPS, count=n)
        means = [each * servers for each in LOADS] if servers else [each * n for each in LENGTHS]
        cells = []
        for mean in means:
            made = (
                look(served(poisson(n, rng), services(kind, mean * _GAP, n, rng), servers), scenario)
                for _ in range(runs)
            )
            cells.append(grew(made, runs))
        table.row(name, n, cells)
        sure = look is inside or servers == 1 or n >= 1_000
        # Runs that are hardly longer than an answer show no rate, and are said to fall behind.
        for share, _ in cells[: len(STABLE)]:
            table.at_most(share, _SURE if sure else _ALLOWED, n)
        for _, rejected in cells[: len(STABLE)] if servers else cells:
            table.at_most(rejected, _SURE, n)
        if 0 < servers <= 8 and n >= (200 if look is inside else 1_000) and SERVICES[kind] <= 1:
            for share, _ in cells[len(STABLE) :]:
                table.at_least(share, _FOUND, n)


def traffic(folder: Path) -> dict[str, Declared]:
    """Give scenarios of about so many seconds, by name: 100 a second on average, a ramp's last third."""
    q = _QPS

    def ramp(start: float, end: float) -> Declared:
        return lambda s, seed: Scenario.declare("ramp", start=start, end=end, duration=f"{s:g} s", seed=seed)

    def bursts(s: float, seed: int) -> Scenario:
        return Scenario.declare(
            "burst", base=0.5 * q, peak=3 * q, duty=0.2, period=f"{s / 3:g} s", duration=f"{s:g} s", seed=seed
        )

    def peak(s: float, seed: int) -> Scenario:
        """Replay a trace whose last tenth is four times as dense as the others."""
        n = round(s * q)
        steps = np.where(np.arange(n) < n * 9 / 13, 1.0, 0.25)
        at = np.cumsum(steps) * s / steps.sum()
        (folder / "trace.csv").write_text("time\n" + "\n".join(f"{t:.6f}" for t in at), "ascii")
        return Scenario.declare("replay", folder, trace="trace.csv", seed=seed)

    return {
        "ramp, rising": ramp(0.15 * q, 1.17 * q),
        "ramp, falling": ramp(1.8 * q, 0.2 * q),
        "three bursts": bursts,
        "replay with a peak at its end": peak,
    }


def changing(table: Table) -> None:
    """Fill the rows of traffic whose rate changes."""
    offers = {
        "one worker, exponential": (inside, "exponential", 1),
        "endpoint, exponential": (outside, "exponential", 1),
        "endpoint, lognormal, 1.5, 8 at once": (outside, "lognormal, 1.5", 8),
        "endpoint, lognormal, 1.5, 64 at once": (outside, "lognormal, 1.5", 64),
        "endpoint, lognormal, 1.5, all at once": (outside, "lognormal, 1.5", 0),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, declared in traffic(Path(folder)).items():
            for told, offer in offers.items():
                for length in (3.0, 10.0):
                    _changing(table, f"{name}: {told}", declared, offer, length)


def _changing(table: Table, name: str, declared: Declared, offer: Offer, length: float) -> None:
    look, kind, servers = offer
    n = round(length * _QPS)
    runs, rng = table.runs_of(3 * n), np.random.default_rng(n)
    scenarios = [declared(length, seed) for seed in range(1 if "replay" in name else runs)]
    asked = [(each, arrivals(each, queries(each, 1))) for each in scenarios]
    means = [each * servers for each in LOADS] if servers else [each * n for each in LENGTHS]
    cells = []
    for mean in means:
        made = []
        for k in range(runs):
            scenario, due = asked[k % len(asked)]
            made.append(look(served(due, services(kind, mean * _GAP, len(due), rng), servers), scenario))
        cells.append(grew(made, runs))
    table.row(name, n, cells)
    for share, rejected in cells[: len(STABLE)] if servers else cells:
        table.at_most(share, _ALLOWED, n)
        table.at_most(rejected, _SURE, n)


def main() -> int:
    """Simulate and print; 1 where the rule does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=("inside", "endpoint", "changing"))
    told = parser.parse_args()
    heads = [f"load {load:g}" for load in LOADS]
    failed = 0
    if told.only in {None, "inside"}:
        table = Table(told.runs, "service times", "requests", *heads)
        for name in SERVICES:
            steady(table, name, (inside, name, 1))
        failed += table.failed
    if told.only in {None, "endpoint"}:
        table = Table(told.runs, "endpoint", "requests", *heads)
        for name, (kind, servers) in ENDPOINTS.items():
            steady(table, name, (outside, kind, servers))
        failed += table.failed
    if told.only in {None, "changing"}:
        table = Table(told.runs, "traffic", "requests", *heads)
        changing(table)
        failed += table.failed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
