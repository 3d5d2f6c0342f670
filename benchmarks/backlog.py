"""How often is a candidate that keeps up said to fall behind, and one that falls behind not?

    python benchmarks/backlog.py [--runs 2000]

Simulates queues of one worker with Poisson arrivals, lets the product's own look at a log say whether the
backlog grew, and prints Markdown: the share of runs by load, number of requests and service times. The exit
status is 1 if more than 1 % + 2 standard errors of the runs at a load of 0.9 or less are said to grow, or
fewer than 95 % - 2 standard errors of those of 200 requests or more at 1.25 or more, of service times that
vary no more than exponential ones. The whole takes about four minutes of one core.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.limits import Limits
from pytest_procure.driver.log import RequestLog
from pytest_procure.driver.seen import seen
from pytest_procure.scenarios import Scenario

_QPS = 100.0
_GAP = 1e9 / _QPS
SIZES = (100, 200, 300, 1_000, 3_000, 10_000)
STABLE, OVERLOADED = (0.5, 0.8, 0.9), (1.25, 2.0)
#: Standard deviation of service times over their mean.
SERVICES = {"constant": 0.0, "exponential": 1.0, "lognormal, 1.5": 1.5, "lognormal, 2": 2.0}


def services(name: str, load: float, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `(n,)` service times in ns."""
    mean, spread = load * _GAP, SERVICES[name]
    if name == "exponential":
        drawn = rng.exponential(mean, n)
    elif spread:
        variance = math.log1p(spread**2)
        drawn = mean * rng.lognormal(-variance / 2, math.sqrt(variance), n)
    else:
        drawn = np.full(n, mean)
    return drawn.astype(np.int64) + 1


def served(name: str, load: float, n: int, rng: np.random.Generator) -> RequestLog:
    """Simulate a run: first in, first out."""
    scheduled = np.concatenate([[0.0], np.cumsum(rng.exponential(_GAP, n - 1))]).astype(np.int64)
    took = services(name, load, n, rng)
    # Lindley: work is done after the latest moment at which nothing was left, and all that came since.
    done = np.cumsum(took)
    completed = done + np.maximum.accumulate(scheduled - (done - took))
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


def grew(name: str, load: float, n: int, runs: int) -> float:
    """Give the share of runs whose backlog is said to grow."""
    scenario = Scenario.declare("server", qps=_QPS, count=n)
    limit, rng = Limits().backlog_growth, np.random.default_rng(n)
    return sum(seen(served(name, load, n, rng), scenario).backlog_grew(limit) for _ in range(runs)) / runs


def main() -> int:
    """Simulate and print; 1 where the rule does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    loads = STABLE + OVERLOADED
    print("| service times | requests | " + " | ".join(f"load {load:g}" for load in loads) + " |")
    print("|---|---|" + "---|" * len(loads))
    failed = 0
    for name, spread in SERVICES.items():
        for n in SIZES:
            shares = {load: grew(name, load, n, runs) for load in loads}
            print(f"| {name} | {n:,} | " + " | ".join(f"{share:.1%}" for share in shares.values()) + " |")
            failed += sum(shares[load] > 0.01 + 2 * math.sqrt(0.01 * 0.99 / runs) for load in STABLE)
            if n >= 200 and spread <= 1:
                least = 0.95 - 2 * math.sqrt(0.95 * 0.05 / runs)
                failed += sum(shares[load] < least for load in OVERLOADED)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
