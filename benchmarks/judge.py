"""How long does the judge take over a long run?

    python benchmarks/judge.py [--rows 1000000] [--repeats 3]

Makes the request log of a server run (a queue at half load, a slice that is asked five times over, some wrong
answers, some failures), and times everything from the log to the verdict on six bars: accuracy, failures, two
percentiles, goodput and cost per right answer. Prints the seconds of each repeat and what was found. The exit
status is 1 if the quickest takes longer than a second.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from pytest_procure import Candidate, Dataset, HourlyPrice
from pytest_procure.bars import declare_bar
from pytest_procure.cases import Case
from pytest_procure.decision import Policy
from pytest_procure.driver.audit import audit
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.driver.readings import Readings
from pytest_procure.metrics import Execution
from pytest_procure.scenarios import Scenario, arrivals, sample_order

ALLOWED = 1.0  # seconds
SERVICE = 2_000_000  # ns, on average
TIMES_ASKED = 5
BARS = (
    declare_bar("accuracy", at_least=0.94),
    declare_bar("error_rate", at_most=0.01),
    declare_bar("latency.p95", at_most="20 ms"),
    declare_bar("latency.p99", at_most="30 ms"),
    declare_bar("goodput", at_least=0.9, latency="20 ms", correct=True),
    declare_bar("cost_per_correct", at_most="0.00001 USD"),
)


def execution(rows: int) -> Execution:
    """Make a run of `rows` requests at 250 a second, with one score a sample."""
    rng = np.random.default_rng(7)
    scenario = Scenario.declare("server", qps=250, count=rows, seed=7)
    data = Dataset.from_arrays(
        "items", inputs=np.arange(rows // TIMES_ASKED), references=np.zeros(rows // TIMES_ASKED)
    )
    scheduled = arrivals(scenario, rows)
    service = (rng.standard_exponential(rows) * SERVICE).astype(np.int64)
    served = np.cumsum(service)
    completed = served + np.maximum.accumulate(scheduled - (served - service))  # one after the other
    samples = sample_order(rows // TIMES_ASKED, rows, 7)
    status = np.where(rng.random(rows) < 0.002, Status.ERROR, Status.OK).astype(np.uint8)
    right = rng.random(rows // TIMES_ASKED) < 0.96
    log = RequestLog(
        scheduled=scheduled,
        started=completed - service,
        completed=completed,
        status=status,
        batch=np.arange(rows, dtype=np.int32),
        samples=samples,
        answers=[],  # scored already
        window_ns=int(completed[-1]),
    )
    now = Readings.take()
    run = Run(log, audit(log, scenario, before=now, after=now), conditions={})
    scores = {"accuracy": (right[samples] & (status == Status.OK)).astype(np.float64)}
    candidate = Candidate("acme", backend=len, price=HourlyPrice("2 USD", utilisation=0.5))
    return Execution(candidate, scenario, data.slice(), (run,), scores)


def main() -> int:
    """Judge the run a few times, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    run = execution(asked.rows)
    taken = []
    for _ in range(asked.repeats):
        begun = time.perf_counter()
        case = Case(run.candidate, BARS, Policy())
        case.add(run, declared=True)
        verdict, findings = case.conclude()
        taken.append(time.perf_counter() - begun)
    print(f"{asked.rows:,} rows, {len(findings)} findings: {verdict.value}")
    for finding in findings:
        n_effective = f"{finding.decision.n_effective:,.0f} independent"
        print(f"  {finding.bar.metric.name:16}  {finding.verdict.value:12}  {n_effective}")
    print("seconds:", ", ".join(f"{seconds:.2f}" for seconds in taken))
    return int(min(taken) > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
