import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import launch_mean_bounds, launch_mean_p_value, skewed_mean_bounds

invariant = settings(derandomize=True, max_examples=40)
values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def test_interleaved_throughput_as_a_ratio_on_logs():
    ours, theirs = np.array([101.2, 99.8, 103.1, 100.5]), np.array([96.4, 97.0, 98.2, 96.9])
    bounds = launch_mean_bounds(np.log(ours / theirs), confidence=0.975)
    assert (math.exp(bounds.low), math.exp(bounds.high)) == pytest.approx((1.025118378, 1.05791763), abs=1e-8)


def test_paired_difference_of_15_against_25_in_a_thousand():
    difference = [1.0] * 15 + [-1.0] * 25 + [0.0] * 960
    bounds = launch_mean_bounds(difference, confidence=0.975)
    # 1.9623414611 is the 0.975 quantile of t with 999 degrees of freedom.
    assert (bounds.high - bounds.low) / 2 / 1.9623414611 == pytest.approx(0.006319805372, abs=1e-11)
    assert (bounds.low + bounds.high) / 2 == pytest.approx(-0.01, abs=1e-12)


def test_two_launches_say_little():
    # 6.3137515 is the 0.95 quantile of t with 1 degree of freedom.
    assert launch_mean_bounds([99.0, 101.0], confidence=0.95) == pytest.approx((93.6862485, 106.3137515))


@invariant
@given(values, st.randoms(use_true_random=False))
def test_the_order_of_launches_does_not_matter(launches, random):
    shuffled = random.sample(launches, len(launches))
    assert launch_mean_bounds(shuffled, confidence=0.95) == launch_mean_bounds(launches, confidence=0.95)


@invariant
@given(values, st.floats(0.6, 0.99))
def test_more_confidence_widens_the_bounds(launches, confidence):
    loose = launch_mean_bounds(launches, confidence=confidence)
    strict = launch_mean_bounds(launches, confidence=confidence + 0.005)
    assert strict.low <= loose.low <= loose.high <= strict.high


def test_paired_difference_beyond_a_margin_of_two_points():
    difference = [1.0] * 15 + [-1.0] * 25 + [0.0] * 960
    p = launch_mean_p_value(difference, -0.02, alternative="greater")
    # The normal tail is 0.05678744611; t with 999 degrees of freedom is a little heavier.
    assert p == pytest.approx(0.0569457046, abs=1e-9)


@invariant
@given(values, st.floats(-1e6, 1e6), st.floats(0.6, 0.99))
def test_p_value_and_bounds_say_the_same(launches, bar, confidence):
    bounds = launch_mean_bounds(launches, confidence=confidence)
    assume(min(abs(bounds.low - bar), abs(bounds.high - bar)) > 1e-6 * (bounds.high - bounds.low + 1))
    above = launch_mean_p_value(launches, bar, alternative="greater")
    below = launch_mean_p_value(launches, bar, alternative="less")
    assert (above <= 1 - confidence) == (bounds.low >= bar)
    assert (below <= 1 - confidence) == (bounds.high <= bar)


def test_launches_without_spread_are_on_one_side_of_the_bar():
    assert launch_mean_p_value([5.0, 5.0], 4.0, alternative="greater") == 0.0
    assert launch_mean_p_value([5.0, 5.0], 4.0, alternative="less") == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: launch_mean_bounds([5.0], confidence=0.95),
            r"values_per_launch has 1 values, expected at least 2",
        ),
        (
            lambda: launch_mean_bounds([5.0, math.inf], confidence=0.95),
            r"values_per_launch\[1\] is inf, expected",
        ),
        (
            lambda: launch_mean_bounds([5.0, 6.0], confidence=1.0),
            r"confidence is 1.0, expected a number above 0.5",
        ),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()


def test_the_mean_of_skewed_costs_is_bounded_farther_out_than_students_t_bounds_it():
    costs = np.array([1.0] * 19 + [20.0])
    plain, skewed = launch_mean_bounds(costs, confidence=0.95), skewed_mean_bounds(costs, confidence=0.95)
    assert skewed.high > plain.high + 1.0
    assert skewed.low <= plain.low
    turned = skewed_mean_bounds(-costs, confidence=0.95)
    assert (turned.low, turned.high) == pytest.approx((-skewed.high, -skewed.low))


def test_costs_that_are_all_alike_have_no_width():
    assert skewed_mean_bounds([2.0] * 20, confidence=0.95) == (2.0, 2.0)


def test_an_offer_at_its_bar_whose_costs_are_exponential_is_seldom_accepted():
    rng = np.random.default_rng(1)
    accepted = sum(
        skewed_mean_bounds(rng.exponential(1.0, 20), confidence=0.95).high <= 1.0 for _ in range(600)
    )
    assert accepted <= 36 + 2 * 6  # 6 % and two standard errors; Student's t accepts 11 %
