import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import fieller_ratio, launch_mean_bounds, share_bounds

invariant = settings(derandomize=True, max_examples=40)
requests = st.lists(st.tuples(st.floats(0.001, 10), st.sampled_from([0.0, 1.0])), min_size=4, max_size=60)


@invariant
@given(requests, st.floats(0.6, 0.99))
def test_at_each_end_students_t_of_the_difference_is_exactly_critical(rows, confidence):
    costs, successes = map(np.array, zip(*rows, strict=True))
    assume(0 < successes.sum() < len(rows))
    bounds = fieller_ratio(costs, successes, confidence=confidence)
    assume(math.isfinite(bounds.low) and bounds.high < 1e4)
    ratio = costs.mean() / successes.mean()
    assert bounds.low <= ratio * (1 + 1e-9)
    assert ratio <= bounds.high * (1 + 1e-9)
    at_low = launch_mean_bounds(costs - bounds.low * successes, confidence=confidence).low
    at_high = launch_mean_bounds(costs - bounds.high * successes, confidence=confidence).high
    assert (at_low, at_high) == pytest.approx((0.0, 0.0), abs=1e-6 * (1 + bounds.high))


def test_a_success_that_may_be_zero_bounds_nothing():
    assert fieller_ratio([1.0] * 6, [1, 0, 0, 0, 0, 0], confidence=0.95) == (-math.inf, math.inf)


def test_no_failure_seen_is_no_proof_of_none():
    bounds = fieller_ratio([0.002] * 60, [1] * 60, confidence=0.95)
    worst = 0.002 / share_bounds(60, 60, confidence=0.95).low
    assert bounds == pytest.approx((0.002, worst), abs=1e-15)


def test_all_units_successful_keep_the_spread_of_their_cost():
    cost = [1.0, 2.0, 3.0, 2.0]
    bounds = fieller_ratio(cost, [5] * 4, confidence=0.95)
    spread = launch_mean_bounds(cost, confidence=0.95)
    assert bounds.low == pytest.approx(spread.low / 5)
    assert bounds.high == pytest.approx(spread.high / 5 / share_bounds(4, 4, confidence=0.95).low)


@invariant
@given(requests, st.floats(0.001, 1000))
def test_the_currency_does_not_matter(rows, rate):
    costs, successes = map(np.array, zip(*rows, strict=True))
    assume(successes.any())
    bounds = fieller_ratio(costs, successes, confidence=0.95)
    exchanged = fieller_ratio(costs * rate, successes, confidence=0.95)
    assume(not math.isfinite(bounds.high) or bounds.high < 1e4)
    assert exchanged == pytest.approx((bounds.low * rate, bounds.high * rate), rel=1e-6, abs=1e-9)


def test_cost_per_accepted_request_with_retries_does_not_depend_on_the_retries():
    cost, accepted = 0.0027, 0.93
    assert cost * (1 + 0.07) / (1 - 0.07**2) == pytest.approx(0.002903225806, abs=1e-12)
    bounds = fieller_ratio([cost] * 10_000, [1] * 9300 + [0] * 700, confidence=0.95)
    assert bounds.low < cost / accepted < bounds.high


def test_the_true_cost_per_success_is_mostly_covered():
    rng = np.random.default_rng(12)
    missed = 0
    for _ in range(400):
        success = rng.random(200) < 0.9
        cost = rng.lognormal(0.0, 0.5, 200) * np.where(success, 1.0, 1.5)
        bounds = fieller_ratio(cost, success, confidence=0.975)
        missed += not bounds.low <= math.exp(0.125) * 1.05 / 0.9 <= bounds.high
    assert missed / 400 <= 0.08


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fieller_ratio([1], [1], confidence=0.95), r"cost has 1 values, expected at least 2"),
        (
            lambda: fieller_ratio([1, -1], [1, 1], confidence=0.95),
            r"cost\[1\] is -1.0, expected a finite number",
        ),
        (
            lambda: fieller_ratio([1, 1], [1, math.nan], confidence=0.95),
            r"success\[1\] is nan, expected a finite",
        ),
        (
            lambda: fieller_ratio([1, 1], [1, 1, 1], confidence=0.95),
            r"success has 3 values, expected 2 as in cost",
        ),
        (lambda: fieller_ratio([1, 1], [0, 0], confidence=0.95), r"success sums to 0, expected at least one"),
        (
            lambda: fieller_ratio([1, 1], [1, 0], confidence=0.5),
            r"confidence is 0.5, expected a number above 0.5",
        ),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
