from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.errors import DeclarationError
from pytest_procure.scenarios import MAX_QUERIES, Scenario, arrivals, queries, sample_order
from pytest_procure.units import ms, seconds

declare = Scenario.declare


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("server", "server"),
        ("Server", "server"),
        ("Offline", "offline"),
        ("SingleStream", "single_stream"),
        ("single-stream", "single_stream"),
        ("MULTI_STREAM", "multi_stream"),
    ],
)
def test_mlperfs_spellings_are_read(written, read):
    extra = {"qps": 1, "count": 1} if read == "server" else {}
    assert declare(written, **extra).name == read


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("servr", {}, "unknown scenario `servr`; did you mean `server`?"),
        (4, {}, "scenario `4` is no name; expected one of burst, closed_loop,"),
        ("server", {"qsp": 4}, "scenario `server`: unknown argument `qsp`; did you mean `qps`?"),
        (
            "offline",
            {"qps": 4},
            "argument `qps` does not belong to scenario `offline`: it sends everything at once",
        ),
        ("single_stream", {"max_batch": 4}, "`max_batch` does not belong to scenario `single_stream`"),
        ("server", {"launches": 4}, "`launches` does not belong to scenario `server`: its rate is declared"),
        ("server", {"qps": 0, "count": 1}, "`qps=0`; expected requests a second, above 0, as in `qps=40`"),
        ("server", {"qps": -1, "count": 1}, "`qps=-1`"),
        ("server", {"qps": float("nan"), "count": 1}, "`qps=nan`"),
        ("server", {"qps": float("inf"), "count": 1}, "`qps=inf`"),
        ("server", {"qps": True, "count": 1}, "`qps=True`"),
        ("server", {"qps": "40", "count": 1}, "`qps='40'`"),
        ("server", {"qps": 40}, "scenario `server` has no end; expected for example `duration='60 s'`"),
        ("server", {"count": 40}, "scenario `server` has no rate; expected for example `qps=40`"),
        ("server", {"qps": 40, "duration": 60}, "`duration=60` has no unit of time"),
        ("server", {"qps": 40, "duration": "60"}, "`duration='60'` has no unit of time"),
        ("server", {"qps": 40, "duration": "60 USD"}, "`duration='60 USD'` has no unit of time"),
        ("server", {"qps": 40, "duration": True}, "`duration=True`; expected a time"),
        ("server", {"qps": 40, "duration": "0 s"}, "`duration='0 s'`; expected more than 0 s"),
        ("server", {"qps": 40, "duration": "-1 s"}, "`duration='-1 s'`; expected more than 0 s"),
        ("server", {"qps": 40, "duration": "1 ms"}, "`qps=40` for 1 ms makes 0 queries"),
        (
            "server",
            {"qps": 1e7, "duration": "60 s"},
            "makes 600,000,000 queries; expected 1 to 10,000,000",
        ),
        (
            "server",
            {"qps": 1e12, "count": 5},
            "`qps=1000000000000.0` is faster than times in whole ns can tell; expected 10,000,000 a second",
        ),
        ("server", {"qps": 1e-9, "count": 5}, "expected a week at most"),
        ("server", {"qps": 4, "duration": "6 s", "count": 24}, "has both `duration` and `count`"),
        (
            "server",
            {"qps": 4, "duration": "6 min", "wall_limit": "5 min"},
            "`wall_limit='5 min'` ends the run before",
        ),
        ("offline", {"count": 0}, "`count=0`; expected a whole number from 1 to 10,000,000"),
        ("offline", {"count": 1.5}, "`count=1.5`"),
        ("offline", {"count": True}, "`count=True`"),
        ("offline", {"count": "9"}, "`count='9'`"),
        ("offline", {"max_batch": 0}, "`max_batch=0`"),
        ("offline", {"workers": 0}, "`workers=0`"),
        ("offline", {"launches": 0}, "`launches=0`"),
        ("offline", {"seed": -1}, "`seed=-1`"),
        ("offline", {"warmup": -1}, "`warmup=-1`"),
        ("offline", {"timeout": "0 s"}, "`timeout='0 s'`; expected more than 0 s"),
        ("offline", {"drain": "-1 s"}, "`drain='-1 s'`; expected 0 s or more"),
        ("multi_stream", {"samples_per_query": 0}, "`samples_per_query=0`"),
        ("multi_stream", {"count": 10**6, "samples_per_query": 11}, "11,000,000 samples"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(name, arguments, message):
    with pytest.raises(DeclarationError) as refused:
        declare(name, **arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_numbers_of_numpy_are_numbers():
    scenario = declare("server", qps=np.float32(2.5), count=np.int64(7))
    assert (scenario.qps, scenario.count) == (2.5, 7)
    json.dumps(scenario.conditions())


@pytest.mark.parametrize(
    ("scenario", "label"),
    [
        (
            declare("server", qps=40, duration="60 s", max_batch=8),
            "Server: 40 requests/s on average, Poisson arrivals, for 60 s, at most 8 a batch",
        ),
        (
            declare("server", qps=0.5, count=1200, max_batch=8, max_wait="5 ms", workers=2),
            (
                "Server: 0.5 requests/s on average, Poisson arrivals, 1,200 requests, at most 8 a batch, "
                "a batch waits at most 5 ms, 2 workers"
            ),
        ),
        (declare("offline", launches=5), "Offline: all requests at once, no batching, 5 launches"),
        (
            declare("single_stream"),
            "SingleStream (closed loop): one request at a time, the next when the last is answered",
        ),
        (
            declare("multi_stream", duration="60 s"),
            (
                "MultiStream (closed loop): one query of 8 samples at a time, the next when the last is "
                "answered, for 60 s, at most 125,000 queries"
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_label_says_what_the_traffic_is(scenario, label):
    assert scenario.label == label


def test_which_bars_mean_something_depends_on_the_scenario():
    offline, single, server = declare("offline"), declare("single_stream"), declare("server", qps=1, count=1)
    assert [kind.allows_latency for kind in (offline, single, server)] == [False, True, True]
    assert [kind.allows_throughput for kind in (offline, single, server)] == [True, True, False]
    assert [kind.is_closed_loop for kind in (offline, single, server)] == [False, True, False]
    assert [kind.rate_is_declared for kind in (offline, single, server)] == [False, False, True]


def test_a_longer_deadline_stretches_the_drain_unless_it_is_declared():
    assert declare("offline", timeout="60 s").drain == seconds(60)
    assert declare("offline", timeout="1 s").drain == seconds(10)
    assert declare("offline", timeout="60 s", drain="5 s").drain == seconds(5)


def test_long_traffic_stretches_the_wall_limit():
    assert declare("server", qps=1, duration="1 h").wall_limit > seconds(3610)
    assert declare("server", qps=1, count=3600).wall_limit > seconds(3610)
    assert declare("server", qps=1, count=60).wall_limit == seconds(600)


def test_a_candidates_batch_policy_replaces_the_scenarios():
    server = declare("server", qps=1, count=1, max_batch=2, max_wait="1 ms")
    assert server.replace_batch(16, ms(9)).max_batch == 16
    assert server.replace_batch(16, ms(9)).max_wait == ms(9)
    assert server.replace_batch(16).max_wait == ms(1)
    assert server.replace_batch(None) == server
    assert declare("offline").replace_batch(16, ms(9)).max_batch == 16
    assert declare("offline").replace_batch(16, ms(9)).max_wait == ms(0)
    with pytest.raises(DeclarationError, match="max_batch=0"):
        server.replace_batch(0)


@pytest.mark.parametrize("name", ["single_stream", "multi_stream"])
def test_a_closed_loop_forms_no_batches(name):
    assert declare(name).replace_batch(16, ms(9)) == declare(name)


@pytest.mark.parametrize(
    ("scenario", "n"),
    [
        (declare("offline"), 20),
        (declare("offline", count=50), 50),
        (declare("single_stream"), 20),
        (declare("single_stream", duration="1 s"), 1_000_000),
        (declare("multi_stream"), 3),
        (declare("multi_stream", duration="1 s"), 125_000),
        (declare("server", qps=0.1, duration="30 s"), 3),
        (declare("server", qps=3, duration="1 s"), 3),
        (declare("server", qps=7, duration="1.5 s"), 10),
        (declare("server", qps=7, count=9), 9),
    ],
    ids=lambda value: value.label if isinstance(value, Scenario) else "",
)
def test_the_number_of_queries_is_known_before_the_run(scenario, n):
    assert queries(scenario, 20) == n


@given(st.floats(0.01, 1e6), st.integers(1, 500), st.integers(0, 2**64 - 1))
def test_arrivals_ascend_from_zero(qps, n, seed):
    offsets = arrivals(
        declare("server", qps=qps, count=n, seed=seed) if n / qps < 6e5 else declare("offline"), n
    )
    assert offsets.dtype == np.int64
    assert offsets.shape == (n,)
    assert offsets[0] == 0
    assert (np.diff(offsets) >= 0).all()


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_longer_schedule_begins_with_the_shorter_one(first, second):
    scenario = declare("server", qps=100, count=1)
    short, long = sorted((first, second))
    assert arrivals(scenario, long)[:short].tolist() == arrivals(scenario, short).tolist()


def test_gaps_are_exponential_with_the_declared_mean():
    gaps = np.diff(arrivals(declare("server", qps=1000, count=1), 200_000)) / 1e6
    assert abs(gaps.mean() - 1) < 0.01
    assert abs(gaps.std() - 1) < 0.02
    assert abs((gaps > 2).mean() - np.exp(-2)) < 0.005


def test_offline_queries_are_all_there_at_the_start():
    assert not arrivals(declare("offline"), 5).any()


def test_another_seed_is_another_schedule():
    one, two = (arrivals(declare("server", qps=9, count=9, seed=seed), 9).tolist() for seed in (1, 2))
    assert one != two


def test_arrivals_and_order_are_the_same_in_every_process():
    program = (
        "from pytest_procure.scenarios import *\n"
        "s = Scenario.declare('server', qps=40, count=500, seed=7)\n"
        "print(arrivals(s, 500).tobytes().hex(), sample_order(33, 500, 7).tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    scenario = declare("server", qps=40, count=500, seed=7)
    assert done.stdout.split() == [
        arrivals(scenario, 500).tobytes().hex(),
        sample_order(33, 500, 7).tobytes().hex(),
    ]


def test_arrivals_and_order_are_the_same_in_every_version():
    scenario = declare("server", qps=1000, count=4, seed=1)
    assert arrivals(scenario, 4).tolist() == [0, 566902, 1233189, 3044841]
    assert sample_order(5, 7, 1).tolist() == [4, 1, 0, 3, 2, 3, 1]


@given(st.integers(1, 40), st.integers(0, 200), st.integers(0, 2**32))
def test_no_sample_is_asked_twice_before_all_are_asked(items, total, seed):
    order = sample_order(items, total, seed)
    assert order.shape == (total,)
    for first in range(0, total, items):
        chunk = Counter(order[first : first + items].tolist())
        assert set(chunk.values()) == {1}
        assert set(chunk) <= set(range(items))


@given(st.integers(1, 40), st.integers(0, 200), st.integers(0, 200))
def test_a_longer_order_begins_with_the_shorter_one(items, first, second):
    short, long = sorted((first, second))
    assert sample_order(items, long, 3)[:short].tolist() == sample_order(items, short, 3).tolist()


def test_each_pass_is_shuffled_afresh():
    order = sample_order(50, 100, 0)
    assert order[:50].tolist() != order[50:].tolist()
    assert order[:50].tolist() != list(range(50))


def test_the_longest_run_can_be_declared():
    assert queries(declare("offline", count=MAX_QUERIES), 1) == MAX_QUERIES
