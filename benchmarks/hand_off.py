"""What a process of its own costs a call: the same backends here and there, in alternating pairs.

    python benchmarks/hand_off.py [--pairs 11] [--calls 2000]

Prints, for a small batch and for 1 MB of floats, the median of a call in this process, in a process of its
own, and their difference, as medians over the pairs with the range from the first to the ninth decile.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.backends.function import Function
from pytest_procure.isolation.hosted import Hosted

BATCHES = {
    "16 B": np.ones((1, 4), dtype=np.float32),
    "1 MB": np.ones((1, 512, 512), dtype=np.float32),
}


def label(inputs: Any) -> Any:
    """Answer with a label each, as a classifier does."""
    return [1] * len(inputs)


def same(inputs: Any) -> Any:
    """Answer with as many bytes as came in."""
    return inputs


def median_us(predict: Callable[[Any], Any], batch: Any, calls: int) -> float:
    """Give the median time of a call, in us."""
    took = []
    for _ in range(calls):
        before = time.perf_counter_ns()
        predict(batch)
        took.append(time.perf_counter_ns() - before)
    return statistics.median(took) / 1e3


def spread(values: list[float]) -> str:
    """Write a median and its deciles."""
    low, *_, high = statistics.quantiles(values, n=10)
    return f"{statistics.median(values):8.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--calls", type=int, default=2000)
    given = parser.parse_args()
    print(f"us a call, medians over {given.pairs} pairs of {given.calls} calls (1st to 9th decile)")
    print(f"{'batch':>6} {'answer':>10} {'in this process':>28} {'in its own':>28} {'difference':>28}")
    for size, batch in BATCHES.items():
        for function, answer in ((label, "a label"), (same, "the batch")):
            here = Function(function).load(Path())
            there = Hosted(Function(function)).load(Path())
            pairs = [
                (median_us(here.predict, batch, given.calls), median_us(there.predict, batch, given.calls))
                for _ in range(given.pairs)
            ]
            there.close()
            columns = ([a for a, _ in pairs], [b for _, b in pairs], [b - a for a, b in pairs])
            print(f"{size:>6} {answer:>10} " + " ".join(f"{spread(column):>28}" for column in columns))


if __name__ == "__main__":
    main()
