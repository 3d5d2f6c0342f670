"""Does leaving the bulk out of the design effect, far from the limit, accept offers exactly at their bar?

    python benchmarks/far_limit.py [--runs 1500]

Simulates M/G/1 queues whose latency percentile is exactly at the limit, lets the product's own judge decide
them with and without the exemption, and prints the share of wrong acceptances, and how often it applied.
"""

import argparse
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.decision import Policy, decide
from pytest_procure.metrics import metric
from pytest_procure.metrics.measurement import Latencies, Measurement
from pytest_procure.units import Quantity

UTILISATIONS = (0.2, 0.5, 0.8, 0.9)
SIZES = (300, 600, 1_000, 2_000, 5_000, 20_000)
WARM_UP = 6_000
SCALE = 1e6  # ns a mean service


def latencies(
    rng: np.random.Generator, shape: tuple[int, int], utilisation: float, cv2: float
) -> NDArray[np.float64]:
    """Times from arrival to completion, `shape` = (runs, n), in mean services; Lindley's recursion."""
    runs, n = shape
    sigma2 = np.log(1 + cv2)
    service = rng.lognormal(-sigma2 / 2, np.sqrt(sigma2), (runs, n + WARM_UP))
    gaps = rng.exponential(1 / utilisation, (runs, n + WARM_UP))
    walk = np.cumsum(service[:, :-1] - gaps[:, 1:], axis=1)
    walk = np.concatenate([np.zeros((runs, 1)), walk], axis=1)
    wait = walk - np.minimum.accumulate(np.minimum(walk, 0), axis=1)
    return (wait + service)[:, WARM_UP:]


def main() -> None:
    """Print a table: a line a cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_500)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(1)
    rule = Policy()
    without = replace(rule, far=float("inf"))  # no limit is ever far
    print("cv2  utilisation  metric        n  wrongly accepted  without exemption  exemption applied")
    for cv2 in (1.0, 4.0):
        for utilisation in UTILISATIONS:
            long = np.concatenate([latencies(rng, (20, 200_000), utilisation, cv2) for _ in range(6)])
            limits = {q: np.quantile(long, q) * SCALE for q in (0.9, 0.95, 0.99)}
            for n in SIZES:
                count = runs if n <= 5_000 else max(1, runs // 3)
                values = (latencies(rng, (count, n), utilisation, cv2) * SCALE).astype(np.int64)
                for q, limit in limits.items():
                    wrong, wrong_without, applied = 0, 0, 0
                    name = f"latency.p{q * 100:g}"
                    for row in values:
                        basis = Latencies(row, Decimal(str(q)), under_load=True)
                        measured = Measurement(metric(name), Quantity.of(1, "ns"), n, "requests", basis)
                        bar = Quantity.of(int(limit), "ns")
                        wrong += decide(measured, "at most", bar, rule).accept
                        wrong_without += decide(measured, "at most", bar, without).accept
                        applied += np.quantile(row, 0.9) * rule.far <= limit
                    print(
                        f"{cv2:3.0f}  {utilisation:11.1f}  {name:11} {n:6}  {wrong / count:16.3f}  "
                        f"{wrong_without / count:17.3f}  {applied / count:17.4f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
