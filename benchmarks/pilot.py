"""How long must a pilot be, so that the run it plans is accepted as often as planned?

    python benchmarks/pilot.py [--runs 200]

Simulates M/G/1 queues (lognormal service, cv 1) with 97.5 % of the requests within the limit of a p95 bar. A
pilot measures the design effect, the plan multiplies by it, and the product's own judge decides runs of the
planned length. Planned for is 90 %.
"""

import argparse
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pytest_procure.decision import Decision, Policy, decide
from pytest_procure.metrics import metric
from pytest_procure.metrics.measurement import Latencies, Measurement
from pytest_procure.planning.rehearsal import Rule, needed
from pytest_procure.units import Quantity

UTILISATIONS = (0.2, 0.5, 0.8)
LENGTHS = (200, 1_000, 5_000)
BAR, DESIGN = 0.95, 0.975
RULE = Policy()
WARM_UP = 6_000  # requests, until the queue is a typical one


def latencies(rng: np.random.Generator, shape: tuple[int, int], utilisation: float) -> NDArray[np.float64]:
    """Simulate times from arrival to completion, `(runs, n)` in mean services, by Lindley's recursion."""
    runs, n = shape
    variance = np.log(2.0)  # of the logarithm: a coefficient of variation of 1
    service = rng.lognormal(-variance / 2, np.sqrt(variance), (runs, n + WARM_UP))
    gaps = rng.exponential(1 / utilisation, (runs, n + WARM_UP))
    walk = np.cumsum(service[:, :-1] - gaps[:, 1:], axis=1)
    walk = np.concatenate([np.zeros((runs, 1)), walk], axis=1)
    wait = walk - np.minimum.accumulate(np.minimum(walk, 0), axis=1)
    return (wait + service)[:, WARM_UP:]


def judged(values: NDArray[np.float64], limit: float) -> Decision:
    """Let the product decide on latencies in mean services."""
    ns = (values * 1e6).astype(np.int64)
    basis = Latencies(ns, Decimal(str(BAR)), under_load=True)
    what = metric("latency.p95")
    at = Quantity.of(int(limit * 1e6), "ns")
    return decide(Measurement(what, at, len(ns), "requests", basis), "at most", at, RULE)


def main() -> None:
    """Print a table: a line a cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(1)
    independent = needed(Rule(BAR, bulk=True, df=4, least=RULE.min_effective), DESIGN, RULE, 0.1)
    print("utilisation  pilot  design effect  worth  planned requests  accepted")
    for utilisation in UTILISATIONS:
        long = np.concatenate([latencies(rng, (10, 200_000), utilisation) for _ in range(4)])
        limit = float(np.quantile(long, DESIGN))
        for length in LENGTHS:
            effects = [
                judged(row, limit).design_effect for row in latencies(rng, (runs, length), utilisation)
            ]
            planned = [max(RULE.min_under_load, int(independent * effect)) for effect in effects]
            accepted = [judged(latencies(rng, (1, n), utilisation)[0], limit).accept for n in planned]
            effect = float(np.median(effects))
            print(
                f"{utilisation:11.0%} {length:6,} {effect:14.1f} {length / effect:6.0f} "
                f"{int(np.median(planned)):17,} {np.mean(accepted):9.0%}"
            )


if __name__ == "__main__":
    main()
