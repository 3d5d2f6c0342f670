"""What a run against an endpoint takes in this process, but for its traffic: the columns are filled here.

    python memory_of_a_run.py SCENARIO REQUESTS PROCESSES

Prints how many bytes a request took at the most, in resident memory, which counts the shared columns and all
copies: from the plan to the audit, beside the token times and a reference to each answer. The buyer counts
the tokens of each question and output too.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from pytest_procure.driver.audit import Worked
from pytest_procure.driver.endpoint.audit import endpoint_audit
from pytest_procure.driver.endpoint.columns import SIZE
from pytest_procure.driver.endpoint.outcome import request_log
from pytest_procure.driver.endpoint.plan import Plan
from pytest_procure.driver.endpoint.recount import Recount
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.readings import Readings
from pytest_procure.scenarios import Scenario

TOKENS, OUTPUT, AT_A_TIME = 2, b"w", 1 << 14
SCENARIOS = {
    "server": {"qps": 1e6},
    "closed_loop": {"concurrency": 8},
    "multi_stream": {"samples_per_query": 2},
}
REPORT = {"cpu_ns": 1, "run_delay_ns": 0, "window_ns": 1, "lateness_ns": [1], "opened": 1, "unasked_for": 0}
REPORT |= {"keeps": True, "resent": 0, "pinned_ns": 0, "short_of": []}


class Texts:
    def __len__(self):
        return 10

    def take(self, indices):
        return ["hi"] * len(indices)


class Endpoint:
    """It is never asked."""

    target = SimpleNamespace(reader="openai_chat")
    around = None

    def __init__(self, processes):
        self.sending = SimpleNamespace(load_processes=processes, connections=10, retries=0, count_tokens=len)

    def body(self, _):
        return b'{"prompt": "hi"}'

    def output(self, _):
        return "w"  # one for all: an answer is a reference here


def resident(name):
    """`VmRSS`: bytes now, `VmHWM`: the most since this program began."""
    return int(Path("/proc/self/status").read_text("ascii").partition(f"{name}:")[2].split()[0]) * 1024


def fill(plan):
    """Stand in for the load processes: every request was answered well, every other after the next."""
    table = plan.table
    counts = [0] * plan.processes
    stores = [
        [os.fdopen(os.dup(store), "wb") for store in stores]
        for stores in (plan.token_stores, plan.output_stores)
    ]
    for first in range(0, plan.rows, AT_A_TIME):
        rows = np.arange(first, min(first + AT_A_TIME, plan.rows))
        if not plan.is_paced:
            table["scheduled"][rows] = rows // plan.scenario.samples_per_query * 1000
            if plan.scenario.samples_per_query == 1:
                table["scheduled"][rows] += 1500 * (rows % 2)
        for name, after in (("sent", 100), ("headers", 200), ("ended", 400)):
            table[name][rows] = table["scheduled"][rows] + after
        for name, value in (("good", 1), ("chunks", TOKENS), ("http", 200), ("output_tokens", TOKENS)):
            table[name][rows] = value
        owners = plan.process_of(rows)
        for process in range(plan.processes):
            own = rows[owners == process]
            places = np.arange(counts[process], counts[process] + len(own))
            counts[process] += len(own)
            table["token_start"][own] = TOKENS * places
            table["output_start"][own] = (SIZE.size + len(OUTPUT)) * places
            stores[0][process].write(bytes(8 * TOKENS * len(own)))
            stores[1][process].write((SIZE.pack(len(OUTPUT)) + OUTPUT) * len(own))
    for store in (*stores[0], *stores[1]):
        store.close()


def run(name, requests, processes):
    traffic = SCENARIOS[name]
    scenario = Scenario.declare(name, **traffic, count=requests // traffic.get("samples_per_query", 1))
    plan = Plan(Endpoint(processes), Texts(), scenario)
    assert (plan.rows, plan.processes) == (requests, processes)
    before = Readings.take()
    fill(plan)
    log = request_log(plan, [[]] * processes, Recount(len), "", 0)
    endpoint_audit(
        log,
        plan,
        before=before,
        after=Readings.take(),
        reports=[REPORT] * processes,
        lost=(),
        worked=Worked(),
        limits=Limits(),
    )
    plan.close()
    assert log.ok.all()
    assert (log.scheduled[1:] >= log.scheduled[:-1]).all()
    assert log.wire.token_starts[-1] == TOKENS * requests


def main(name, requests, processes):
    run(name, 50_000, processes)  # what is there once: modules, pieces of columns
    gc.collect()
    before = resident("VmRSS")
    run(name, requests, processes)
    sys.stdout.write(str((resident("VmHWM") - before) / requests - 8 - 8 * TOKENS))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
