"""The real LoadGen against `rng="loadgen"`: arrivals, loaded set and sample order, bit for bit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_procure.scenarios import Scenario, arrivals, order_of, queries

#: Of a published round: beyond 32 bits, of which the lower ones act.
SEEDS = {
    "qsl_rng_seed": 2085463073848966840,
    "sample_index_rng_seed": 2747215439041700203,
    "schedule_rng_seed": 16159082839903944936,
}
START = re.compile(r'"name":"Sample","cat":"default","ph":"b","pid":\d+,"id":(\d+),"ts":(\d+)\.(\d{3})')


def real(folder, **settings):
    """Run LoadGen: the loaded set, the samples in order, and the scheduled times in ns from the first."""
    pytest.importorskip("mlperf_loadgen", reason="needs the extra [loadgen]")
    program = Path(__file__).with_name("loadgen_run.py")
    done = subprocess.run(
        [sys.executable, str(program), json.dumps(settings | SEEDS), str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,  # it reads an `audit.config` where it runs
        timeout=120,
        check=True,
    )
    told = json.loads(done.stdout)
    trace = START.findall((folder / "mlperf_log_trace.json").read_text("utf-8"))
    times = [int(us) * 1000 + int(ns) for _, us, ns in sorted(trace, key=lambda row: int(row[0]))]
    samples = [sample for query in told["issued"] for sample in query]
    return told["loaded"], samples, [time - times[0] for time in times]


@pytest.mark.parametrize(
    ("total", "loaded", "milliseconds", "least", "equal"),
    [
        *((20, 15, 50, 40, equal) for equal in (False, True)),
        *((37, 37, 0, 60, equal) for equal in (False, True)),
        *((300, 100, 30, 1, equal) for equal in (False, True)),
        *((64, 64, 20, 64, equal) for equal in (False, True)),
        (1, 1, 10, 5, True),
        (70_000, 70_000, 0, 99, False),  # too many for two swaps a draw
    ],
)
def test_a_servers_arrivals_and_samples_are_loadgens(tmp_path, *, total, loaded, milliseconds, least, equal):
    set_, samples, times = real(
        tmp_path,
        scenario="Server",
        total=total,
        performance_sample_count=loaded,
        server_target_qps=2000,
        min_duration_ms=milliseconds,
        min_query_count=least,
        sample_concatenate_permutation=equal,
    )
    length = (
        {"duration": f"{milliseconds} ms", "min_query_count": least} if milliseconds else {"count": least}
    )
    scenario = Scenario.declare(
        "server",
        qps=2000,
        rng="loadgen",
        performance_sample_count=loaded,
        sample_concatenate_permutation=equal,
        **length,
        **SEEDS,
    )
    n = queries(scenario, total)
    assert n == len(samples)
    assert arrivals(scenario, n).tolist() == times
    assert scenario.loadgen.loaded(total).tolist() == set_
    assert order_of(scenario, total, n).tolist() == samples


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize(
    ("name", "total", "loaded", "least", "per"),
    [
        ("SingleStream", 20, 15, 40, 1),
        ("SingleStream", 37, 37, 74, 1),
        ("SingleStream", 2, 1, 5, 1),
        ("MultiStream", 20, 15, 40, 8),
        ("MultiStream", 33, 33, 30, 4),
        ("MultiStream", 33, 33, 66, 8),
        ("Offline", 20, 15, 40, 1),
        ("Offline", 33, 33, 30, 1),
    ],
)
def test_the_other_scenarios_samples_are_loadgens(tmp_path, *, name, total, loaded, least, per, equal):
    set_, samples, _ = real(
        tmp_path,
        scenario=name,
        total=total,
        performance_sample_count=loaded,
        min_duration_ms=0,
        min_query_count=least,
        multi_stream_samples_per_query=per,
        single_stream_expected_latency_ns=1_000_000,
        multi_stream_expected_latency_ns=1_000_000,
        offline_expected_qps=1,
        sample_concatenate_permutation=equal,
    )
    more = {"samples_per_query": per} if name == "MultiStream" else {}
    scenario = Scenario.declare(
        name,
        count=least,
        rng="loadgen",
        performance_sample_count=loaded,
        sample_concatenate_permutation=equal,
        **more,
        **SEEDS,
    )
    n = queries(scenario, total) * per
    assert n == len(samples)
    assert order_of(scenario, total, n).tolist() == samples
    assert scenario.loadgen.loaded(total).tolist() == set_[:loaded]  # a multi stream pads its set


def test_without_the_real_one_the_numbers_are_still_its_own():
    """What the real one gave for these seeds: 15 of 20 samples loaded, 2,000 queries a second."""
    scenario = Scenario.declare("server", qps=2000, count=40, rng="loadgen", performance_sample_count=15)
    assert order_of(scenario, 20, 8).tolist() == [4, 1, 4, 14, 10, 1, 0, 8]
    assert arrivals(scenario, 3).tolist() == [0, 449280, 1379082]


def test_only_the_low_32_bits_of_a_seed_act():
    one, two = (
        Scenario.declare("server", qps=9, count=50, rng="loadgen", seed=seed) for seed in (11, (9 << 32) + 11)
    )
    assert arrivals(one, 50).tobytes() == arrivals(two, 50).tobytes()
    assert order_of(one, 7, 50).tobytes() == order_of(two, 7, 50).tobytes()


def test_a_long_schedule_of_a_published_round_has_its_known_length():
    """1,000 queries a second for 600 s with the schedule seed of round v6.1: 600,444 queries."""
    scenario = Scenario.declare("server", qps=1000, duration="600 s", rng="loadgen", **SEEDS)
    assert queries(scenario, 100) == 600_444
