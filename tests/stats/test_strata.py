import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import korn_graubard_bounds, share_bounds, stratified_share

invariant = settings(derandomize=True, max_examples=40)
strata = st.lists(
    st.tuples(st.integers(2, 200), st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=6
).map(
    lambda rows: ([round(n * share) for n, share, _ in rows], [n for n, _, _ in rows], [w for *_, w in rows])
)


def test_three_strata_with_known_parts_in_production():
    share, variance, effect, df = stratified_share([180, 85, 70], [200, 100, 100], [0.5, 0.3, 0.2])
    assert (share, math.sqrt(variance)) == pytest.approx((0.845, 0.01771504734), abs=1e-10)
    assert effect == pytest.approx(variance / (0.845 * 0.155 / 400))
    assert df == 397
    assert (180 + 85 + 70) / 400 == 0.8375


def test_one_stratum_is_a_plain_share():
    share, _, effect, df = stratified_share([90], [100], [1.0])
    assert (share, df) == (0.9, 99)
    assert effect == pytest.approx(100 / 99)


def test_an_all_right_run_keeps_the_cost_of_its_weights():
    share, variance, effect, df = stratified_share([20, 380], [20, 380], [0.5, 0.5])
    assert (share, variance, effect) == (1.0, 0.0, pytest.approx(400 * (0.25 / 20 + 0.25 / 380)))
    assert korn_graubard_bounds(share, 400, effect, df, confidence=0.95).low < 0.97


def test_a_small_stratum_that_is_all_right_is_no_certainty():
    rng = np.random.default_rng(8)
    accepted = 0
    for k in rng.binomial((20, 380), 0.95, size=(500, 2)):
        share, _, effect, df = stratified_share(k, (20, 380), (0.5, 0.5))
        accepted += korn_graubard_bounds(share, 400, effect, df, confidence=0.95).low >= 0.95
    assert accepted / 500 <= 0.05


def test_a_stratum_that_production_does_not_have_costs_nothing_but_its_items():
    without = stratified_share([150, 99], [300, 100], [0.1, 0.9])
    with_it = stratified_share([150, 99, 10], [300, 100, 10], [0.1, 0.9, 0.0])
    assert with_it[:2] == without[:2]
    assert with_it.design_effect == pytest.approx(without.design_effect * 410 / 400)


def test_weights_that_sum_to_one_only_nearly_lift_no_share_above_one():
    assert stratified_share([9, 9], [9, 9], [0.5, 0.5 + 1e-12]).share == 1.0


def test_proportional_strata_that_are_all_right_equal_the_plain_share():
    share, _, effect, df = stratified_share([100, 300], [100, 300], [0.25, 0.75])
    bounds = korn_graubard_bounds(share, 400, effect, df, confidence=0.95)
    assert bounds.low == pytest.approx(share_bounds(400, 400, confidence=0.95).low, abs=1e-4)


@invariant
@given(strata, st.randoms(use_true_random=False))
def test_the_order_of_strata_does_not_matter(table, random):
    successes, n, parts = table
    weights = [part / sum(parts) for part in parts]
    order = random.sample(range(len(n)), len(n))
    shuffled = stratified_share(*([column[h] for h in order] for column in (successes, n, weights)))
    assert shuffled == stratified_share(successes, n, weights)


@invariant
@given(strata)
def test_the_share_lies_between_the_strata(table):
    successes, n, parts = table
    shares = [k / size for k, size in zip(successes, n, strict=True)]
    result = stratified_share(successes, n, [part / sum(parts) for part in parts])
    assert min(shares) - 1e-12 <= result.share <= min(max(shares) + 1e-12, 1.0)
    assert result.variance >= 0.0
    assert math.isfinite(result.design_effect)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: stratified_share([1, 1], [2, 2], [1.5, -0.5]),
            r"weights\[1\] is -0.5, expected a finite number of",
        ),
        (lambda: stratified_share([1, 1], [2, 2], [0.5, 0.4]), r"weights sums to 0.9, expected 1"),
        (
            lambda: stratified_share([1, 1], [2, 1], [0.5, 0.5]),
            r"n\[1\] is 1, expected a whole number of at least 2",
        ),
        (
            lambda: stratified_share([1, 3], [2, 2], [0.5, 0.5]),
            r"successes\[1\] is 3, expected at most n\[1\]",
        ),
        (
            lambda: stratified_share([1, 0.5], [2, 2], [0.5, 0.5]),
            r"successes\[1\] is 0.5, expected a whole number",
        ),
        (
            lambda: stratified_share([1], [2, 2], [0.5, 0.5]),
            r"successes has 1 values, expected 2 as in weights",
        ),
        (lambda: stratified_share([1, 1], [2], [0.5, 0.5]), r"n has 1 values, expected 2 as in weights"),
        (lambda: stratified_share([], [], []), r"weights has 0 values, expected at least 1"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
