from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.driver.arrivals import Law, law_of
from pytest_procure.driver.arrivals import arrivals_of as arrivals_within
from pytest_procure.driver.limits import Limits
from pytest_procure.scenarios import Scenario, arrivals, queries

LAW = Law.steady(1000)


def arrivals_of(times, law):
    return arrivals_within(times, law, Limits())


def at(gaps):
    """Make times in ns of gaps in ms."""
    return np.concatenate([[0], np.cumsum((np.asarray(gaps) * 1e6).astype(np.int64))])


def exponential(n, seed=1):
    return np.random.default_rng(seed).exponential(1.0, n)


def test_a_generator_that_repeats_each_gap_is_found_by_nothing_but_the_correlation():
    gaps = np.repeat(exponential(6000), 10)
    found = arrivals_of(at(gaps), LAW)
    assert abs(found.rate - 1) < 0.05
    assert abs(found.spread - 1) < 0.05
    assert found.distance < 0.03
    assert found.correlation > 0.8
    assert found.irregular == (
        f"gaps between arrivals follow each other (lag-1 correlation {found.correlation:.2f})",
    )


@given(seed=st.integers(0, 2**64 - 1), n=st.integers(51, 3000), qps=st.sampled_from([0.5, 40, 1000, 1e5]))
def test_our_own_schedules_are_as_declared(seed, n, qps):
    scenario = Scenario.declare("server", qps=qps, count=n, seed=seed)
    assert arrivals_of(arrivals(scenario, n), law_of(scenario)).irregular == ()


@pytest.mark.parametrize("shape", [0.25, 0.5, 1, 4])
def test_the_chance_of_a_false_alarm_is_what_is_asked(shape):
    # However small it is, it matters.
    asked = Limits(arrival_rate=0, arrival_distance=0, arrival_correlation=0, arrival_false_alarm=0.05)
    rng = np.random.default_rng(11)
    law = Law.steady(1000, shape)
    runs = [at(rng.gamma(shape, 1 / shape, 200)) for _ in range(1000)]
    alarms = sum(bool(arrivals_within(times, law, asked).irregular) for times in runs)
    assert 25 <= alarms <= 78  # 50 expected, less or more by 4 standard deviations


@pytest.mark.parametrize(
    ("gaps", "law", "said"),
    [
        (exponential(2000) * 1.2, LAW, "arrivals come at 0.8"),
        (np.ones(2000), LAW, "the gaps between arrivals are not distributed as declared"),
        (np.tile([0.1, 1.9], 1000), LAW, "gaps between arrivals follow each other (lag-1 correlation -"),
        (exponential(2000), Law.steady(1000, 4), "the gaps between arrivals are not distributed as declared"),
        (exponential(2000), Law.steady(1000, math.inf), "the gaps vary by"),
        (np.full(2000, 1.02), Law.steady(1000, math.inf), "arrivals come at 0.98 times the declared rate"),
        (np.zeros(2000), LAW, "arrivals come at"),
    ],
)
def test_what_is_not_as_declared_is_said(gaps, law, said):
    assert any(sentence.startswith(said) for sentence in arrivals_of(at(gaps), law).irregular)


def test_gaps_that_are_meant_to_be_equal_may_be():
    found = arrivals_of(at(np.ones(2000)), Law.steady(1000, math.inf))
    assert (found.irregular, found.declared_spread, found.distance) == ((), 0.0, None)


def test_what_is_significant_but_small_changes_nothing():
    gaps = exponential(400_000) + np.random.default_rng(2).exponential(0.005, 400_000)  # 5 us late
    assert arrivals_of(at(gaps), LAW).irregular == ()


def test_arrivals_at_a_rate_that_changes_are_measured_in_those_expected():
    def rising(times):  # from 0 to 2000 a second in two seconds, and so on
        return times**2 * 0.5e-15

    expected = np.cumsum(exponential(3000))
    times = np.sqrt(expected / 0.5e-15).astype(np.int64)
    assert arrivals_of(times, Law(rising)).irregular == ()
    assert arrivals_of(times, LAW).irregular != ()


def test_few_arrivals_say_nothing():
    assert arrivals_of(at(exponential(49)), LAW) is None
    assert arrivals_of(at(exponential(50)), LAW) is not None


def test_a_long_run_is_looked_at_in_stretches():
    gaps = exponential(300_000)
    gaps[150_000:200_000] = 1.0
    found = arrivals_of(at(gaps), LAW)
    assert found.gaps == 300_000
    assert found.irregular != ()


@pytest.mark.parametrize("name", ["offline", "single_stream", "multi_stream"])
def test_where_no_rate_is_declared_there_is_no_law(name):
    assert law_of(Scenario.declare(name)) is None


CHANGING = {
    "burst": {"base": 20, "peak": 200, "period": "10 s", "duty": 0.3, "duration": "60 s"},
    "ramp": {"start": 10, "end": 200, "duration": "30 s"},
}


GAPS = [{}, {"arrivals": "constant"}, *({"burstiness": shape} for shape in (0.05, 0.5, 4, 1e5))]
LENGTHS = [{"duration": "45 s"}, {"duration": "100 s"}, {"count": 700}]
WITH_A_LAW = [
    *(("server", {"qps": qps, **length}) for qps in (1.3, 40) for length in LENGTHS),
    ("server", {"qps": 1e5, "duration": "30 ms"}),
    *(("server", {"qps": 1e7, **length}) for length in ({"count": 9000}, {"duration": "900 us"})),
    *(
        ("burst", {"base": base, "peak": 50, "duty": duty, "period": period, **length})
        for base in (0, 0.1, 20)
        for duty in (0.05, 0.9)
        for period in ("300 ms", "10 s")
        for length in LENGTHS
    ),
    ("burst", {"base": 0, "peak": 1e7, "period": "300 us", "count": 9000}),
    *(
        ("ramp", {"start": start, "end": end, "duration": "60 s", **steps})
        for start, end in [(100, 0.1), (0.1, 100), (100, 1e-9), (30, 30), (100, 5e-324)]
        for steps in [{}, {"steps": 2}, {"steps": 40}]
    ),
]


@pytest.mark.parametrize("gaps", GAPS, ids=str)
@pytest.mark.parametrize(("name", "given"), WITH_A_LAW, ids=str)
def test_what_we_schedule_is_what_we_find(name, given, gaps):
    for seed in range(3):
        scenario = Scenario.declare(name, **given, **gaps, seed=seed)
        found = arrivals_of(arrivals(scenario, queries(scenario, 1)), law_of(scenario))
        assert found is not None
        assert found.irregular == ()


@pytest.mark.parametrize("name", CHANGING)
def test_arrivals_at_a_changing_rate_are_as_declared(name):
    scenario = Scenario.declare(name, seed=3, **CHANGING[name])
    times = arrivals(scenario, queries(scenario, 1))
    assert arrivals_of(times, law_of(scenario)).irregular == ()


@pytest.mark.parametrize("name", CHANGING)
def test_arrivals_at_a_steady_rate_are_no_changing_rate(name):
    scenario = Scenario.declare(name, seed=3, **CHANGING[name])
    n = queries(scenario, 1)
    times = arrivals(Scenario.declare("server", qps=n / 60, count=n, seed=3), n)
    assert arrivals_of(times, law_of(scenario)).irregular
