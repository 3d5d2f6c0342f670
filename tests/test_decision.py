from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.decision import Policy, decide
from pytest_procure.metrics.measurement import (
    NEVER,
    Exact,
    Interval,
    Latencies,
    Means,
    Measurement,
    Share,
    unmeasurable,
)
from pytest_procure.metrics.metric import metric
from pytest_procure.units import Quantity, money, ms, per_second

POLICY = Policy()
MILLISECOND = 1_000_000


def share(good, n, **more):
    """A share of right answers, ready to be held against a bar."""
    basis = Share(float(good), n, **more)
    return Measurement(metric("accuracy"), Quantity.of(round(good / n, 12)), n, "samples", basis)


def at_least(good, n, bar, **more):
    return decide(share(good, n, **more), "at least", Quantity.of(bar), POLICY)


def p95(values, *, under_load=False, q="0.95"):
    """A 95th percentile of latencies in ns, ready to be held against a bar."""
    values = np.asarray(values, dtype=np.int64)
    basis = Latencies(values, Decimal(q), under_load)
    at = Quantity.of(int(np.sort(values)[-1]), "ns")
    return Measurement(metric("latency.p95"), at, len(values), "requests", basis)


def launches(*values, **more):
    basis = Means(np.array(values, dtype=float), "launches", 5, **more)
    return Measurement(
        metric("throughput"), per_second(float(np.mean(values))), len(values), "launches", basis
    )


def spread(late, n):
    """`n` latencies of 1 ms, of which `late` take 100 ms, evenly spread."""
    values = np.full(n, MILLISECOND)
    values[np.linspace(0, n - 1, late).astype(int)] = 100 * MILLISECOND
    return values


# Shares


def test_a_hundred_right_answers_show_97_percent_and_no_more():
    # 0.05 ** (1 / 100) = 0.97049
    assert at_least(100, 100, 0.9704).accept
    assert not at_least(100, 100, 0.9705).accept


def test_two_hundred_and_ninety_nine_requests_without_failure_show_1_percent():
    # 1 - 0.05 ** (1 / 299) = 0.009969, and 0.010002 for 298
    assert decide(share(0, 299), "at most", Quantity.of(0.01), POLICY).accept
    assert not decide(share(0, 298), "at most", Quantity.of(0.01), POLICY).accept


def test_a_point_value_above_the_bar_is_not_enough():
    decision = at_least(960, 1000, 0.95)
    assert not decision.accept
    assert decision.reject_p > 0.05


def test_a_share_far_below_the_bar_carries_a_small_probability():
    assert at_least(800, 1000, 0.95).reject_p < 1e-6


SHARES = st.integers(min_value=1, max_value=2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
BARS = st.integers(min_value=1, max_value=999).map(lambda thousandths: thousandths / 1000)


@given(SHARES, BARS)
def test_no_share_is_both_accepted_and_rejected(counted, bar):
    decision = at_least(*counted, bar)
    assert not (decision.accept and decision.reject_p <= POLICY.rejection_risk)


@given(SHARES, BARS)
def test_right_at_least_and_wrong_at_most_are_the_same_question(counted, bar):
    good, n = counted
    wrong = decide(share(n - good, n), "at most", Quantity.of(Decimal(1) - Decimal(str(bar))), POLICY)
    assert at_least(good, n, bar).accept == wrong.accept


@given(SHARES, BARS)
def test_more_right_answers_never_turn_an_acceptance_away(counted, bar):
    good, n = counted
    if good < n and at_least(good, n, bar).accept:
        assert at_least(good + 1, n, bar).accept


@given(SHARES)
def test_the_likely_range_holds_the_value_and_has_six_decimals(counted):
    decision = at_least(*counted, 0.5)
    estimate = Decimal(counted[0]) / counted[1]
    assert decision.low <= estimate <= decision.high
    assert decision.low == decision.low.quantize(Decimal("1e-6"))
    assert decision.high == decision.high.quantize(Decimal("1e-6"))


@given(SHARES, BARS, st.floats(min_value=1, max_value=50))
def test_a_design_effect_only_makes_acceptance_harder(counted, bar, effect):
    good, n = counted
    if n > 20 and at_least(good, n, bar, design_effect=effect, df=19).accept:
        assert at_least(good, n, bar).accept


def test_fewer_than_twenty_clusters_decide_nothing():
    decision = at_least(1000, 1000, 0.5, design_effect=2.0, df=18, clusters=19)
    assert (decision.accept, decision.reject_p) == (False, None)
    assert decision.blocked == "19 clusters are too few for a verdict; it takes 20"


def test_a_smaller_consumers_risk_accepts_less():
    measured, bar = share(100, 100), Quantity.of(0.97)
    assert decide(measured, "at least", bar, POLICY).accept
    assert not decide(measured, "at least", bar, Policy(consumer_risk=0.01)).accept


# Latencies


def test_a_percentile_is_accepted_when_enough_requests_are_within_the_limit():
    assert decide(p95(spread(20, 1000)), "at most", ms(50), POLICY).accept


def test_a_percentile_exactly_at_the_limit_is_not_accepted():
    assert not decide(p95(spread(50, 1000)), "at most", ms(50), POLICY).accept


def test_a_percentile_far_over_the_limit_carries_a_small_probability():
    assert decide(p95(spread(200, 1000)), "at most", ms(50), POLICY).reject_p < 1e-6


def test_a_request_that_takes_exactly_the_limit_is_within_it():
    values = np.full(1000, 50 * MILLISECOND)
    assert decide(p95(values), "at most", ms(50), POLICY).accept


def test_late_requests_in_a_row_tell_less_than_spread_ones():
    in_a_row = np.sort(spread(20, 1000))
    assert decide(p95(spread(20, 1000)), "at most", ms(50), POLICY).accept
    assert not decide(p95(in_a_row), "at most", ms(50), POLICY).accept


def test_a_failed_request_is_over_every_limit():
    values = np.full(1000, MILLISECOND)
    values[::10] = NEVER
    decision = decide(p95(values), "at most", Quantity.of(7 * 24, "h"), POLICY)
    assert not decision.accept
    assert decision.reject_p < 0.01
    assert decision.high is None


def test_fewer_than_five_requests_decide_nothing():
    decision = decide(p95([MILLISECOND] * 4), "at most", ms(50), POLICY)
    assert (decision.accept, decision.reject_p, decision.blocked) == (
        False,
        None,
        "4 requests are too few; it takes 5",
    )


def test_fewer_than_two_hundred_requests_under_load_decide_nothing():
    decision = decide(p95(np.full(199, MILLISECOND), under_load=True), "at most", ms(50), POLICY)
    assert (decision.accept, decision.reject_p) == (False, None)
    assert "199 requests under load are too few" in decision.blocked
    assert decide(p95(np.full(200, MILLISECOND), under_load=True), "at most", ms(50), POLICY).accept


def test_acceptance_takes_a_hundred_requests_worth_of_information():
    decision = decide(p95(np.full(99, MILLISECOND), q="0.5"), "at most", ms(50), POLICY)
    assert not decision.accept
    assert "acceptance takes 100" in decision.blocked
    assert decide(p95(np.full(100, MILLISECOND), q="0.5"), "at most", ms(50), POLICY).accept


# Launches


def test_throughput_is_decided_by_student_t_over_launches():
    # mean 12, sd 1.5811, t(0.95, 4) = 2.1318: low = 12 - 2.1318 * 0.70711 = 10.4926
    measured = launches(10, 11, 12, 13, 14)
    assert decide(measured, "at least", per_second("10.4"), POLICY).accept
    assert not decide(measured, "at least", per_second("10.5"), POLICY).accept


def test_fewer_than_five_launches_show_a_range_and_decide_nothing():
    decision = decide(launches(10, 11, 12, 13), "at least", per_second(1), POLICY)
    assert (decision.accept, decision.reject_p) == (False, None)
    assert decision.low < 11 < decision.high


def test_one_launch_has_no_range():
    decision = decide(launches(10), "at least", per_second(1), POLICY)
    assert (decision.accept, decision.low, decision.high) == (False, None, None)
    assert "`launches=5`" in decision.blocked


def test_a_cost_over_a_rate_is_accepted_where_the_rate_is_shown():
    basis = Means(np.array([10.0, 11, 12, 13, 14]), "launches", 5, inverse=Decimal(1))
    measured = Measurement(metric("cost_per_request"), money("0.0833 USD"), 5, "launches", basis)
    assert decide(measured, "at most", money("0.0954 USD"), POLICY).accept  # 1 / 10.4926 = 0.09531
    assert not decide(measured, "at most", money("0.0952 USD"), POLICY).accept
    assert decide(measured, "at most", money("0.01 USD"), POLICY).reject_p < 0.01
    decision = decide(measured, "at most", money("0.01 USD"), POLICY)
    assert decision.low < Decimal("0.0833") < decision.high


def test_a_cost_whose_rate_may_be_zero_has_no_upper_end():
    basis = Means(np.array([0.1, 30, 0.1, 30, 0.1]), "launches", 5, inverse=Decimal(1))
    measured = Measurement(metric("cost_per_request"), money("0.08 USD"), 5, "launches", basis)
    decision = decide(measured, "at most", money("1 USD"), POLICY)
    assert (decision.accept, decision.high) == (False, None)


# What is not sampled


def own(basis, number, unit=""):
    return Measurement(metric("own.x"), Quantity.of(number, unit), 1, "values", basis)


@pytest.mark.parametrize(("value", "accept"), [("4.9", True), ("5", True), ("5.1", False)])
def test_an_exact_value_is_compared_as_it_is(value, accept):
    measured = own(Exact(Decimal(value), "as the test measured it"), value)
    decision = decide(measured, "at most", Quantity.of(5), POLICY)
    assert (decision.accept, decision.reject_p == 0.0, decision.exact) == (accept, not accept, True)


def test_an_exact_value_is_compared_in_the_bars_unit():
    measured = own(Exact(Decimal("2.5"), ""), "2.5", "s")
    assert decide(measured, "at most", ms(2500), POLICY).accept
    assert not decide(measured, "at most", ms(2499), POLICY).accept


@pytest.mark.parametrize(
    ("low", "high", "accept", "rejected"),
    [("4", "5", True, False), ("4", "6", False, False), ("5.5", "6", False, True)],
)
def test_a_range_of_the_authors_own_is_taken_at_its_ends(low, high, accept, rejected):
    measured = own(Interval(Decimal("4.5"), Decimal(low), Decimal(high)), "4.5")
    decision = decide(measured, "at most", Quantity.of(5), POLICY)
    assert (decision.accept, decision.reject_p == 0.0) == (accept, rejected)


def test_what_cannot_be_measured_is_neither_accepted_nor_rejected():
    decision = decide(unmeasurable(metric("accuracy"), "no labels"), "at least", Quantity.of(0.1), POLICY)
    assert (decision.accept, decision.reject_p, decision.blocked) == (False, None, "no labels")


@given(SHARES, BARS)
def test_the_same_evidence_gives_the_same_decision(counted, bar):
    assert at_least(*counted, bar) == at_least(*counted, bar)


# The bulk of latencies, and how far from the limit it lies


def in_two_halves(n):
    """`n` latencies, all quick; the second half a little less so, as when other programs start."""
    return [MILLISECOND] * (n // 2) + [3 * MILLISECOND] * (n // 2)


def test_rows_of_small_delays_do_not_count_far_below_the_limit():
    decision = decide(p95(in_two_halves(2_000)), "at most", ms(1000), POLICY)
    assert decision.accept
    assert decision.design_effect == 1.0


def test_rows_of_small_delays_count_near_the_limit():
    decision = decide(p95(in_two_halves(2_000)), "at most", ms(10), POLICY)
    assert not decision.accept
    assert decision.design_effect > 100


def test_rows_within_sight_of_a_far_limit_count():
    stalls = [100 * MILLISECOND] * 90
    values = [MILLISECOND] * 1_000 + stalls + [MILLISECOND] * 910
    decision = decide(p95(values), "at most", ms(1000), POLICY)
    assert not decision.accept
    assert decision.design_effect > 90
