"""One measurement of MLPerf LoadGen (the `loadgen` extra), in a process of its own: its state is global.

    python benchmarks/loadgen_side.py WHAT N [QPS] [--fifo]

Prints one line of JSON. LoadGen reports its own throughput; the lag of its issues is taken against the
schedule that its seed gives, from the first issue on, so that what is late in all of them is in its favour.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mlperf_loadgen as loadgen
import numpy as np
from sides import Figures, percentiles, scheduling

_SEED = 7


def measured(what: str, n: int, qps: int) -> Figures:
    """Run one scenario with a system that answers at once."""
    if what == "lag":
        stamps = np.zeros(n, dtype=np.int64)
        _start("Server", n, qps, stamps)
        lag = stamps - _schedule(n, qps)
        return percentiles(lag - lag.min())
    summary = _start("SingleStream" if what == "own_cost" else "Offline", n, n, None)
    if what == "own_cost":
        return {"ns_a_query": 1e9 / _number(summary, "QPS w/ loadgen overhead")}
    return {"samples_per_s": _number(summary, "Samples per second")}


def _start(scenario: str, n: int, qps: int, stamps: np.ndarray | None) -> str:
    """Run LoadGen; give its summary. `stamps` take when each query was issued."""
    settings = loadgen.TestSettings()
    settings.scenario = getattr(loadgen.TestScenario, scenario)
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.min_query_count = settings.max_query_count = n
    settings.min_duration_ms = 0
    settings.single_stream_expected_latency_ns = 1000
    settings.offline_expected_qps = settings.server_target_qps = qps
    settings.server_target_latency_ns = 10**9
    settings.schedule_rng_seed = _SEED
    answer, complete, now = loadgen.QuerySampleResponse, loadgen.QuerySamplesComplete, time.perf_counter_ns
    places = iter(range(n))
    cells = stamps.data if stamps is not None else None

    def answered(samples: Any) -> None:
        complete([answer(sample.id, 0, 0) for sample in samples])

    def stamped(samples: Any) -> None:
        cells[next(places)] = now()
        complete([answer(sample.id, 0, 0) for sample in samples])

    system = loadgen.ConstructSUT(answered if cells is None else stamped, lambda: None)
    library = loadgen.ConstructQSL(1000, 1000, lambda _: None, lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        output = loadgen.LogOutputSettings()
        output.outdir = folder
        output.copy_summary_to_stdout = False
        logs = loadgen.LogSettings()
        logs.log_output = output
        logs.enable_trace = False
        loadgen.StartTestWithLogSettings(system, library, settings, logs)
        return (Path(folder) / "mlperf_log_summary.txt").read_text("utf-8")


def _schedule(n: int, qps: int) -> np.ndarray:
    """Give LoadGen's schedule of a seed: mt19937, two words a number, exponential gaps cut to whole ns."""
    words = np.random.RandomState(_SEED).randint(0, 2**32, size=2 * n, dtype=np.uint64).astype(np.float64)
    uniform = (words[0::2] + words[1::2] * 2.0**32) / 2.0**64
    gaps = (-np.log(1 - uniform[: n - 1]) / qps * 1e9).astype(np.int64)
    return np.concatenate([[0], np.cumsum(gaps)])


def _number(summary: str, label: str) -> float:
    line = next(line for line in summary.splitlines() if line.startswith(label))
    return float(line.rpartition(":")[2])


def main(what: str, n: int, qps: int) -> None:
    """Measure and print."""
    told = scheduling("--fifo" in sys.argv)
    print(json.dumps({"scheduling": told, **measured(what, n, qps)}))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    main(sys.argv[1], numbers[0], [*numbers, 0][1])
