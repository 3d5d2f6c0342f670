"""What an author may write for the scenarios beyond MLPerf's, and what is refused."""

from __future__ import annotations

import json

import pytest

from pytest_procure.errors import DeclarationError
from pytest_procure.scenarios import Scenario, queries
from pytest_procure.units import seconds

declare = Scenario.declare
BURST = {"base": 10, "peak": 50, "period": "10 s"}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("burst", {}, "scenario `burst` has no base, peak and period; expected for example `base=10,"),
        ("burst", {"base": 10, "peak": 50, "duration": "9 s"}, "has no base, peak and period"),
        ("burst", BURST, "scenario `burst` has no end; expected for example `duration='60 s'`"),
        ("burst", {**BURST, "peak": 5}, "`peak=5` is no peak over `base=10`"),
        ("burst", {**BURST, "duty": 0}, "`duty=0`; expected the share of a period that is peak"),
        ("burst", {**BURST, "duty": 1.0}, "`duty=1.0`; expected the share"),
        ("burst", {**BURST, "base": -1}, "`base=-1`; expected requests a second, 0 or more"),
        ("burst", {**BURST, "qps": 4}, "argument `qps` does not belong to scenario `burst`: its rate jumps"),
        ("ramp", {"start": 1, "end": 2}, "scenario `ramp` has no end; expected for example `duration="),
        ("ramp", {"duration": "9 s"}, "scenario `ramp` has no start and end"),
        ("ramp", {"start": 1, "end": 2, "count": 5}, "argument `count` does not belong to scenario `ramp`"),
        ("ramp", {"start": 0, "end": 2, "duration": "9 s"}, "`start=0`; expected requests a second, above 0"),
        ("ramp", {"start": 1, "end": 2, "duration": "9 s", "steps": 1}, "`steps=1`"),
        ("burst", {**BURST, "peak": 1e300}, "`peak=1e+300` is faster than times in whole ns can tell"),
        ("ramp", {"start": 1, "end": 1.1e7, "duration": "9 ms"}, "`end=11000000.0` is faster than times"),
        ("sessions", {"starts": 1e8, "turns": 2, "count": 4}, "`starts=100000000.0` is faster than times"),
        ("closed_loop", {"concurrency": 0}, "`concurrency=0`; expected a whole number from 1 to 100,000"),
        ("closed_loop", {"qps": 5}, "its users wait for their answers before they ask again"),
        ("closed_loop", {"think_time": 4}, "`think_time=4` has no unit of time"),
        ("sessions", {"turns": 3, "count": 4}, "scenario `sessions` has no starts and turns"),
        ("sessions", {"starts": 3, "turns": 3}, "scenario `sessions` has no end"),
        ("sessions", {"starts": 0, "count": 4}, "`starts=0`; expected sessions that begin a second, above 0"),
        ("sessions", {"starts": 1, "turns": 10_000, "count": 10_000}, "asks 100,000,000 samples"),
        ("server", {"qps": 4, "count": 4, "arrivals": "uniform"}, "unknown arrivals `uniform`"),
        ("server", {"qps": 4, "count": 4, "burstiness": 0}, "`burstiness=0`; expected the shape of gamma"),
        ("server", {"qps": 4, "count": 4, "burstiness": 1e-5}, "gamma gaps, 0.001 or more (1 is Poisson)"),
        (
            "server",
            {"qps": 4, "count": 4, "burstiness": 2, "arrivals": "poisson"},
            "`burstiness` is for `arrivals='gamma'`",
        ),
        (
            "server",
            {"qps": 4, "count": 4, "repeat_share": 1},
            "`repeat_share=1`; expected a share of queries",
        ),
        ("server", {"qps": 4, "count": 4, "cut": 4}, "`cut='4'` is all of its traffic, 4 queries in 1 s"),
        ("server", {"qps": 4, "duration": "4 s", "cut": "4 s"}, "`cut='4 s'` is all of its traffic"),
        ("server", {"qps": 4, "count": 4, "cut": 1.5}, "`cut=1.5` has no unit of time"),
        ("offline", {"cut": 4}, "argument `cut` does not belong to scenario `offline`"),
        ("single_stream", {"cut": 4, "stopping": "anytime"}, "`cut` and `stopping=` exclude each other"),
        ("server", {"qps": 4, "count": 4, "rng": "mt"}, "unknown rng `mt`"),
        ("server", {"qps": 4, "count": 4, "qsl_rng_seed": 4}, "`qsl_rng_seed` is LoadGen's; add `rng="),
        (
            "server",
            {"qps": 4, "count": 4, "rng": "loadgen", "arrivals": "constant"},
            "`arrivals` can be 'poisson' only in LoadGen's own schedule",
        ),
        (
            "server",
            {"qps": 4, "count": 4, "rng": "loadgen", "min_query_count": 4},
            "`min_query_count` and `count` say the same",
        ),
        (
            "server",
            {"qps": 4, "count": 4, "rng": "loadgen", "repeat_share": 0.4},
            "`repeat_share` has no place in LoadGen's own order",
        ),
        ("sessions", {"starts": 1, "turns": 2, "count": 4, "history": "yes"}, "expected True or False"),
        ("closed_loop", {"history": True}, "argument `history` does not belong to scenario `closed_loop`"),
        ("burst", {"rng": "loadgen"}, "argument `rng` does not belong to scenario `burst`"),
        ("server", {"qps": 1e7, "duration": "60 s", "rng": "loadgen"}, "makes 600,000,000 queries"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(name, arguments, message):
    with pytest.raises(DeclarationError) as refused:
        declare(name, **arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("scenario", "label"),
    [
        (
            declare("server", qps=40, count=9, burstiness=0.5),
            (
                "Server: 40 requests/s on average, gamma arrivals of shape 0.5 (burstier than "
                "Poisson), 9 requests, "
                "no batching"
            ),
        ),
        (
            declare("burst", **BURST, duty=0.2, duration="60 s", cut="10 s"),
            (
                "Burst: 10 requests/s, 50 during 20 % of every 10 s, Poisson arrivals, for 60 s, "
                "no batching, "
                "the first 10 s not counted"
            ),
        ),
        (
            declare("ramp", start=10, end=100, steps=5, duration="60 s", arrivals="constant", cut=20),
            (
                "Ramp: from 10 to 100 requests/s in 5 steps, evenly spaced arrivals, for 60 s, no batching, "
                "the first 20 requests not counted"
            ),
        ),
        (
            declare("closed_loop", concurrency=16, think_time="2 s", count=800, max_batch=8),
            (
                "Closed loop: 16 users, each with one request at a time, the next 2 s after the "
                "answer to the "
                "last, 800 requests, at most 8 a batch"
            ),
        ),
        (
            declare("sessions", starts=2, turns=5, think_time="4 s", count=30),
            (
                "Sessions (partly a closed loop): 2 sessions/s begin on average, Poisson arrivals, each of 5 "
                "turns, the next 4 s after the answer to the last, each sent as its sample stands, "
                "30 sessions, no batching"
            ),
        ),
        (
            declare("sessions", starts=2, turns=5, count=30, history=True, conversations=True),
            (
                "Sessions (partly a closed loop): 2 sessions/s begin on average, Poisson arrivals, each of 5 "
                "turns about one cluster, the next 0 ms after the answer to the last, each sent with the "
                "questions and answers before it, 30 sessions, no batching"
            ),
        ),
        (
            declare("server", qps=40, count=9, repeat_share=0.25),
            (
                "Server: 40 requests/s on average, Poisson arrivals, 9 requests, no batching, "
                "0.25 of the requests "
                "ask again what was asked before"
            ),
        ),
        (
            declare("server", qps=40, count=9, rng="loadgen"),
            (
                "Server: 40 requests/s on average, Poisson arrivals, 9 requests, no batching, "
                "random numbers as "
                "MLPerf LoadGen draws them"
            ),
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else value.name,
)
def test_a_label_says_what_the_traffic_is(scenario, label):
    assert scenario.label == label


@pytest.mark.parametrize(
    ("scenario", "latency", "throughput", "closed", "loaded", "declared", "blocks"),
    [
        (declare("single_stream"), True, True, True, False, False, True),
        (declare("closed_loop"), True, True, True, False, False, True),
        (declare("closed_loop", concurrency=2), True, True, True, True, False, True),
        (declare("burst", **BURST, count=9), True, False, False, True, True, False),
        (declare("ramp", start=1, end=2, duration="9 s"), True, False, False, True, True, False),
        (declare("sessions", starts=1, turns=2, count=9), True, False, False, True, True, False),
        (declare("offline"), False, True, False, True, False, True),
    ],
    ids=lambda value: value.label if isinstance(value, Scenario) else "",
)
def test_which_bars_mean_something_depends_on_the_scenario(
    *, scenario, latency, throughput, closed, loaded, declared, blocks
):
    assert scenario.allows_latency is latency
    assert scenario.allows_throughput is throughput
    assert scenario.is_closed_loop is closed
    assert scenario.is_under_load is loaded
    assert scenario.rate_is_declared is declared
    assert scenario.allows_blocks is blocks


@pytest.mark.parametrize(
    ("scenario", "n"),
    [
        (declare("closed_loop", concurrency=4), 20),
        (declare("closed_loop", concurrency=4, duration="1 s"), 1_000_000),
        (declare("burst", **BURST, duty=0.2, duration="60 s"), 1080),
        (declare("ramp", start=10, end=100, duration="60 s"), 3300),
        (declare("sessions", starts=2, turns=5, duration="60 s"), 600),
        (declare("sessions", starts=2, turns=5, count=7), 35),
    ],
    ids=lambda value: value.label if isinstance(value, Scenario) else "",
)
def test_the_number_of_queries_is_known_before_the_run(scenario, n):
    assert queries(scenario, 20) == n


def test_conditions_are_plain_data_and_say_everything():
    scenario = declare(
        "server", qps=40, count=9, rng="loadgen", qsl_rng_seed=5, seed=7, warmup="2 s", cut="0.1 s"
    )
    told = json.loads(json.dumps(scenario.conditions()))
    assert told["loadgen"]["qsl_rng_seed"] == 5
    assert told["loadgen"]["schedule_rng_seed"] == 7
    assert told["loadgen"]["min_query_count"] == 9
    assert (told["warmup"], told["cut"]) == ("2 s", "0.1 s")
    assert "with replacement" in told["sample_order"]
    assert json.loads(json.dumps(declare("ramp", start=1, end=2, duration="9 s").conditions()))["start"] == 1


def test_conditions_say_what_a_duration_does_to_the_gaps():
    told = [
        declare("server", qps=4, **more).conditions()["arrivals"]
        for more in ({"count": 9}, {"duration": "9 s"}, {"duration": "9 s", "arrivals": "constant"})
    ]
    assert ["over their sum" in each for each in told] == [False, True, False]


def test_pauses_stretch_the_wall_limit():
    sessions = declare("sessions", starts=1, turns=100, think_time="60 s", count=10)
    assert sessions.wall_limit > seconds(99 * 60)


def test_a_candidates_batch_policy_replaces_that_of_a_closed_loop_with_several_users():
    scenario = declare("closed_loop", concurrency=8)
    assert scenario.replace_batch(4, seconds(1)).max_batch == 4
    assert scenario.replace_batch(4, seconds(1)).max_wait == seconds(1)
