"""Arrival schedules: what is promised of their rate, their shape and their order."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.scenarios import (
    Scenario,
    arrivals,
    conversation_order,
    is_steady,
    order_of,
    queries,
    rate,
    repeat_share,
)
from pytest_procure.units import seconds

declare = Scenario.declare

BURST = {"base": 10, "peak": 100, "period": "10 s", "duty": 0.2, "duration": "60 s"}
RAMP = {"start": 10, "end": 100, "duration": "60 s"}
EVERY = [
    declare("server", qps=40, duration="60 s"),
    declare("server", qps=40, duration="60 s", arrivals="gamma", burstiness=0.3),
    declare("server", qps=40, duration="60 s", arrivals="constant"),
    declare("burst", **BURST),
    declare("burst", **BURST, arrivals="gamma", burstiness=4),
    declare("burst", **{**BURST, "base": 0}, arrivals="constant"),
    declare("burst", **{**BURST, "base": 0}),
    declare("ramp", **RAMP),
    declare("ramp", start=100, end=10, duration="60 s", arrivals="constant"),
    declare("ramp", start=100, end=0.1, duration="60 s"),
    declare("ramp", **RAMP, steps=5),
    declare("sessions", starts=4, turns=3, think_time="1 s", duration="60 s"),
]


def each():
    return pytest.mark.parametrize("scenario", EVERY, ids=lambda scenario: scenario.label)


@each()
def test_arrivals_ascend_in_whole_nanoseconds_from_the_first_time_that_has_a_rate(scenario):
    offsets = arrivals(scenario, 500)
    assert offsets.dtype == np.int64
    assert offsets[0] == (4_000_000_000 if scenario.base == 0 else 0)
    assert (np.diff(offsets) >= 0).all()


@each()
@given(st.integers(1, 300), st.integers(1, 300))
def test_a_longer_schedule_begins_with_the_shorter_one(scenario, first, second):
    short, long = sorted((first, second))
    assert arrivals(scenario, long)[:short].tobytes() == arrivals(scenario, short).tobytes()


@each()
def test_a_schedule_is_the_same_in_every_process(scenario):
    program = (
        "import pickle, sys\n"
        "from pytest_procure.scenarios import arrivals\n"
        "print(arrivals(pickle.load(sys.stdin.buffer), 300).tobytes().hex())"
    )
    import pickle

    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(scenario), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == arrivals(scenario, 300).tobytes().hex()


GAPS = st.sampled_from(
    [{}, {"arrivals": "constant"}, *({"burstiness": shape} for shape in (0.001, 0.05, 0.5, 4, 1e5))]
)
RATES = st.sampled_from([1e-9, 0.1, 3, 40, 1000])


@st.composite
def of_a_duration(draw):
    """Make a scenario whose duration says how many arrive."""
    name, rates = (
        draw(st.sampled_from(["server", "burst", "ramp", "sessions"])),
        draw(st.tuples(RATES, RATES)),
    )
    given = {"duration": f"{draw(st.integers(1, 9000))} ms", "seed": draw(st.integers(0, 2**32))}
    if name == "server":
        given |= {"qps": rates[0]}
    elif name == "sessions":
        given |= {"starts": rates[0], "turns": 2}
    elif name == "ramp":
        given |= {"start": rates[0], "end": rates[1]}
        given |= draw(st.sampled_from([{}, {"steps": 2}, {"steps": 7}]))
    else:
        base = draw(st.sampled_from([0, rates[0]]))
        given |= {"base": base, "peak": base + rates[1], "duty": draw(st.sampled_from([0.01, 0.3, 0.99]))}
        given |= {"period": draw(st.sampled_from(["5 ms", "1 s", "3 s"]))}
    given |= draw(GAPS) if name != "sessions" else {}
    try:
        return declare(name, **given)
    except DeclarationError:
        reject()  # the duration is too short for one


@given(of_a_duration())
def test_nothing_arrives_when_the_declared_duration_is_over(scenario):
    n = queries(scenario, 1) // scenario.turns
    offsets = arrivals(scenario, n)
    assert offsets.shape == (n,)
    assert (np.diff(offsets) >= 0).all()
    assert offsets[-1] < scenario.duration.ns


@each()
def test_declared_traffic_fills_its_duration(scenario):
    begun = queries(scenario, 1) // scenario.turns
    assert 50 < arrivals(scenario, begun)[-1] / 1e9 < 60


def test_gaps_of_a_duration_scatter_like_those_of_a_count():
    scenario = declare("server", qps=1000, duration="20 s", seed=5)
    offsets = arrivals(scenario, 20_000)
    gaps = np.diff(offsets) / 1e6
    assert abs(gaps.mean() - 1) < 0.001
    assert abs(gaps.std() - 1) < 0.03
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.03


def test_a_burst_from_nothing_has_its_peak_in_the_middle_of_its_period():
    scenario = declare("burst", **{**BURST, "base": 0})
    within = arrivals(scenario, queries(scenario, 1)) / 1e9 % 10
    assert within.min() >= 4
    assert within.max() <= 6


def test_the_wall_limit_reaches_to_the_last_arrival_of_a_counted_burst():
    slow = {"base": 0, "peak": 50, "period": "1 h", "duty": 0.01}
    assert declare("burst", **slow, count=10).wall_limit > seconds(1782)
    with pytest.raises(DeclarationError, match="`wall_limit='60 s'` ends the run before its traffic of 178"):
        declare("burst", **slow, count=10, wall_limit="60 s")


def test_schedules_are_the_same_in_every_version():
    gamma = declare("server", qps=1000, count=4, seed=1, burstiness=0.5)
    assert arrivals(gamma, 4).tolist() == [0, 220278, 735779, 2611095]
    even = declare("ramp", start=10, end=20, duration="10 s", arrivals="constant")
    assert arrivals(even, 4).tolist() == [0, 99504938, 198039027, 295630140]
    burst = declare("burst", **BURST, arrivals="constant")
    assert abs(arrivals(burst, 43)[40:] - [4_000_000_000, 4_010_000_000, 4_020_000_000]).max() <= 1


@pytest.mark.parametrize("shape", [0.25, 1.0, 4.0])
def test_gamma_gaps_have_the_declared_mean_and_spread(shape):
    gaps = np.diff(arrivals(declare("server", qps=1000, count=1, burstiness=shape), 200_000)) / 1e6
    assert abs(gaps.mean() - 1) < 0.02
    assert abs(gaps.std() - shape**-0.5) < 0.05


def test_constant_gaps_are_equal_and_do_not_drift():
    offsets = arrivals(declare("server", qps=3, count=1, arrivals="constant"), 3_000_001)
    assert offsets[-1] == 10**15
    assert set(np.diff(offsets[:10]).tolist()) == {333_333_333, 333_333_334}


def test_a_burst_keeps_its_rates_in_and_out_of_the_peak():
    scenario = declare("burst", base=100, peak=2000, period="10 s", duty=0.2, duration="200 s")
    within = arrivals(scenario, queries(scenario, 1)) / 1e9 % 10
    peak = ((within >= 4) & (within < 6)).sum() / (20 * 2)
    calm = ((within < 4) | (within >= 6)).sum() / (20 * 8)
    assert abs(peak - 2000) < 5 * np.sqrt(2000 / 40)
    assert abs(calm - 100) < 5 * np.sqrt(100 / 160)


@pytest.mark.parametrize(("steps", "rates"), [(None, [325, 775]), (4, [250, 850])])
def test_a_ramp_keeps_its_rate_at_every_time(steps, rates):
    scenario = (
        declare("ramp", start=100, end=1000, duration="200 s", steps=steps)
        if steps
        else declare("ramp", start=100, end=1000, duration="200 s")
    )
    offsets = arrivals(scenario, queries(scenario, 1)) / 1e9
    halves = [(offsets < 100).sum() / 100, (offsets >= 100).sum() / 100]
    for counted, expected in zip(halves, rates, strict=True):
        assert abs(counted - expected) < 5 * np.sqrt(expected / 100)


def test_arrivals_of_a_changing_rate_are_independent_of_each_other():
    """Stretched back to unit rate they are Poisson again: exponential gaps, no memory."""
    scenario = declare("ramp", start=100, end=1000, duration="200 s")
    t = arrivals(scenario, queries(scenario, 1)) / 1e9
    gaps = np.diff(100 * t + 4.5 / 2 * t**2)
    assert abs(gaps.mean() - 1) < 0.01
    assert abs(gaps.std() - 1) < 0.02
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.015


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        (declare("offline"), None),
        (declare("closed_loop", concurrency=4), None),
        (declare("server", qps=40, count=9), 40),
        (declare("burst", **BURST), 28),
        (declare("ramp", **RAMP), 55),
        (declare("ramp", start=10, end=30, steps=3, duration="30 s"), 20),
        (declare("sessions", starts=4, turns=3, count=7), 12),
    ],
    ids=lambda value: value.name if isinstance(value, Scenario) else "",
)
def test_the_declared_rate_is_the_mean_one(scenario, expected):
    assert rate(scenario) == expected


def test_a_third_of_a_ramp_is_not_like_another():
    assert is_steady(declare("server", qps=40, count=9))
    assert not is_steady(declare("ramp", **RAMP))
    assert not is_steady(declare("burst", **BURST))
    assert is_steady(declare("burst", **{**BURST, "duration": "90 s"}))


@given(st.integers(1, 50), st.integers(0, 300), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_a_declared_share_asks_again_what_was_asked(items, total, share, seed):
    scenario = declare("server", qps=1, count=1, repeat_share=share, seed=seed)
    order = order_of(scenario, items, total)
    assert order.shape == (total,)
    fresh = [place for place in range(total) if order[place] not in order[:place]]
    # What is new comes in the order of a run without repeats.
    assert order[fresh].tolist() == order_of(declare("offline", seed=seed), items, len(fresh)).tolist()


def test_the_repeat_share_is_about_the_declared_one():
    scenario = declare("server", qps=1, count=1, repeat_share=0.3)
    assert abs(repeat_share(order_of(scenario, 100_000, 20_000)) - 0.3) < 0.02


@given(st.integers(1, 50), st.integers(1, 200), st.integers(1, 200))
def test_a_longer_order_with_repeats_begins_with_the_shorter_one(items, first, second):
    scenario = declare("server", qps=1, count=1, repeat_share=0.4)
    short, long = sorted((first, second))
    assert order_of(scenario, items, long)[:short].tolist() == order_of(scenario, items, short).tolist()


def test_the_repeat_share_of_an_order_is_counted():
    assert repeat_share(np.array([3, 1, 3, 3])) == 0.5
    assert repeat_share(np.array([], dtype=np.int64)) == 0.0


@pytest.mark.parametrize("scenario", [*EVERY, declare("closed_loop", concurrency=3, duration="9 s")])
def test_a_pilot_has_traffic_of_the_same_kind(scenario):
    short = scenario.shortened(12)
    assert short.name == scenario.name
    assert 11 <= queries(short, 100) <= 13
    assert rate(short) == pytest.approx(rate(scenario)) if rate(scenario) else rate(short) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 4))
def test_a_session_asks_the_samples_of_one_cluster_in_order(clusters, sessions, turns):
    clusters = np.array(clusters)
    sizes = np.bincount(clusters)
    if sizes.max() < turns:
        with pytest.raises(DataError, match=f"the largest has {sizes.max()}"):
            conversation_order(clusters, sessions, turns, 0)
        return
    order = conversation_order(clusters, sessions, turns, 0).reshape(sessions, turns)
    for asked in order.tolist():
        (cluster,) = set(clusters[asked].tolist())
        assert asked == np.flatnonzero(clusters == cluster)[:turns].tolist()
    counts = np.unique(clusters[order[:, 0]], return_counts=True)[1]
    assert counts.max() - counts.min() <= 1 or len(counts) < (sizes >= turns).sum()
