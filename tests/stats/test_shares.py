import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import (
    effective_n,
    graded_bounds,
    korn_graubard_bounds,
    share_bounds,
    share_p_value,
)

invariant = settings(derandomize=True, max_examples=40)
confidences = st.floats(0.6, 0.9999)


@st.composite
def counts(draw, most=2000):
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def test_two_sided_95_interval_of_960_in_1000():
    assert share_bounds(960, 1000, confidence=0.975) == pytest.approx((0.9459273032, 0.9712723747), abs=1e-9)


def test_all_right_is_no_certainty():
    assert share_bounds(100, 100, confidence=0.95) == pytest.approx((0.05 ** (1 / 100), 1.0), abs=1e-12)


def test_all_wrong_is_no_certainty():
    assert share_bounds(0, 100, confidence=0.95) == pytest.approx((0.0, 1 - 0.05 ** (1 / 100)), abs=1e-12)


def test_one_item_says_little():
    assert share_bounds(1, 1, confidence=0.95) == pytest.approx((0.05, 1.0), abs=1e-12)


@pytest.mark.parametrize(("bar", "fewest"), [(0.95, 59), (0.99, 299), (0.999, 2995)])
def test_fewest_requests_that_can_show_a_percentile_bar(bar, fewest):
    assert share_bounds(fewest, fewest, confidence=0.95).low >= bar
    assert share_bounds(fewest - 1, fewest - 1, confidence=0.95).low < bar


@pytest.mark.parametrize(
    ("bar", "over", "total"),
    [
        *((0.99, over, total) for over, total in ((0, 459), (1, 662), (2, 838), (5, 1307), (10, 2010))),
        *((0.9, over, total) for over, total in ((0, 44), (1, 64), (10, 197))),
    ],
)
def test_early_stopping_totals_of_mlperf(bar, over, total):
    assert share_bounds(total - over, total, confidence=0.99).low >= bar
    assert share_bounds(total - over - 1, total - 1, confidence=0.99).low < bar


def test_smallest_count_that_shows_99_percent_of_a_published_reference():
    bar = 0.99 * 0.76456
    assert bar == pytest.approx(0.7569144, abs=1e-12)
    assert share_bounds(7641, 10_000, confidence=0.95).low >= bar
    assert share_bounds(7640, 10_000, confidence=0.95).low < bar


@pytest.mark.parametrize(
    ("n", "true", "accept", "reject"),
    [
        (100, 0.94, 0.015, 0.078),
        (100, 0.95, 0.037, 0.028),
        (300, 0.98, 0.849, 0.000),
        (1000, 0.94, 0.001, 0.363),
        (1000, 0.95, 0.043, 0.038),
        (1000, 0.97, 0.938, 0.000),
    ],
)
def test_three_way_rates_at_a_bar_of_95_percent(n, true, accept, reject):
    accepted = rejected = 0.0
    for k in range(n + 1):
        bounds = share_bounds(k, n, confidence=0.95)
        weight = math.comb(n, k) * true**k * (1 - true) ** (n - k)
        accepted += weight * (bounds.low >= 0.95)
        rejected += weight * (bounds.high < 0.95)
    assert (accepted, rejected) == pytest.approx((accept, reject), abs=5.1e-4)


@invariant
@given(counts(), confidences)
def test_the_estimate_lies_between_the_bounds(count, confidence):
    k, n = count
    bounds = share_bounds(k, n, confidence=confidence)
    assert 0.0 <= bounds.low <= k / n <= bounds.high <= 1.0


@invariant
@given(counts(), confidences)
def test_one_more_success_lowers_neither_bound(count, confidence):
    k, n = count
    assume(k < n)
    fewer, more = (share_bounds(hits, n, confidence=confidence) for hits in (k, k + 1))
    assert fewer.low <= more.low
    assert fewer.high <= more.high


@invariant
@given(counts(500), st.integers(2, 5), confidences)
def test_more_items_at_the_same_share_narrow_the_bounds(count, times, confidence):
    k, n = count
    few = share_bounds(k, n, confidence=confidence)
    many = share_bounds(k * times, n * times, confidence=confidence)
    assert few.low <= many.low
    assert many.high <= few.high


@invariant
@given(counts(), confidences, confidences)
def test_more_confidence_widens_the_bounds(count, one, other):
    loose, strict = (share_bounds(*count, confidence=c) for c in sorted((one, other)))
    assert strict.low <= loose.low
    assert loose.high <= strict.high


@invariant
@given(counts(), confidences)
def test_successes_and_failures_mirror(count, confidence):
    k, n = count
    bounds, mirrored = (
        share_bounds(k, n, confidence=confidence),
        share_bounds(n - k, n, confidence=confidence),
    )
    assert bounds == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


@invariant
@given(counts(), confidences, st.floats(0.01, 0.99), st.floats(0.05, 1.0))
def test_p_value_and_bounds_say_the_same(count, confidence, bar, worth):
    k, n = count
    size = n * worth
    bounds = share_bounds(k, n, confidence=confidence, n_effective=size)
    above = share_p_value(k, n, bar, alternative="greater", n_effective=size)
    below = share_p_value(k, n, bar, alternative="less", n_effective=size)
    assume(min(abs(bounds.low - bar), abs(bounds.high - bar)) > 1e-9)
    assert (above <= 1 - confidence) == (bounds.low >= bar)
    assert (below <= 1 - confidence) == (bounds.high <= bar)


@invariant
@given(counts(), confidences, st.floats(0.0, 1.0))
def test_no_result_is_both_accepted_and_rejected(count, confidence, bar):
    bounds = share_bounds(*count, confidence=confidence)
    assert not (bounds.low >= bar and bounds.high < bar)


@pytest.mark.parametrize(
    ("k", "n", "bar", "alternative", "p"),
    [
        (5, 20, 0.5, "less", sum(math.comb(20, i) for i in range(6)) / 2**20),
        (15, 20, 0.5, "greater", sum(math.comb(20, i) for i in range(6)) / 2**20),
        (0, 20, 0.5, "greater", 1.0),
        (20, 20, 0.5, "less", 1.0),
        (20, 20, 1.0, "greater", 1.0),
        (19, 20, 1.0, "less", 0.0),
        (1, 20, 0.0, "greater", 0.0),
    ],
)
def test_p_value_is_the_binomial_tail(k, n, bar, alternative, p):
    assert share_p_value(k, n, bar, alternative=alternative) == pytest.approx(p, abs=1e-12)


def test_mcnemar_exact_from_the_binomial_tail():
    assert 2 * share_p_value(5, 20, 0.5, alternative="less") == pytest.approx(0.04138946533, abs=1e-10)


def test_design_effect_of_100_over_50_000_requests():
    assert effective_n(50_000, 100.0, 19, confidence=0.95) == pytest.approx(452.4638718, abs=1e-6)
    bounds = korn_graubard_bounds(0.995, 50_000, 100.0, 19, confidence=0.95)
    assert bounds.low == pytest.approx(0.9852966741, abs=1e-9)


@invariant
@given(counts(), confidences, st.floats(0.0, 1.0))
def test_a_design_effect_below_one_counts_as_one(count, confidence, effect):
    k, n = count
    assume(n >= 2)
    exact = share_bounds(k, n, confidence=confidence)
    assert korn_graubard_bounds(k / n, n, effect, n - 1, confidence=confidence) == pytest.approx(
        exact, abs=1e-9
    )


@invariant
@given(st.integers(2, 10_000), st.floats(0.0, 500.0), st.floats(0.0, 500.0), confidences, st.data())
def test_a_larger_design_effect_or_fewer_degrees_of_freedom_never_add_information(
    n, one, other, confidence, data
):
    few, many = sorted(data.draw(st.tuples(st.integers(1, n - 1), st.integers(1, n - 1))))
    small, large = sorted((one, other))
    assert (
        effective_n(n, large, few, confidence=confidence)
        <= effective_n(n, small, many, confidence=confidence) * (1 + 1e-12)
        <= n * (1 + 1e-12)
    )


def test_yes_or_no_scores_get_exact_bounds():
    scores = [1.0] * 90 + [0.0] * 10
    assert graded_bounds(scores, confidence=0.95) == share_bounds(90, 100, confidence=0.95)


def test_items_that_are_their_own_cluster_count_as_independent():
    scores = [1.0] * 90 + [0.0] * 10
    alone = graded_bounds(scores, confidence=0.95, clusters=range(100))
    assert alone == pytest.approx(share_bounds(90, 100, confidence=0.95), abs=1e-12)


def test_an_item_asked_twice_is_one_item():
    once = [1.0] * 90 + [0.0] * 10
    twice = graded_bounds(np.repeat(once, 2), confidence=0.95, clusters=np.repeat(np.arange(100), 2))
    alone = graded_bounds(once, confidence=0.95)
    assert twice == pytest.approx(alone, abs=2e-3)
    assert twice.low <= alone.low + 1e-3


def test_an_item_asked_twice_is_one_item_when_all_are_right():
    twice = graded_bounds([1.0] * 200, confidence=0.95, clusters=np.repeat(np.arange(100), 2))
    assert twice.low <= share_bounds(100, 100, confidence=0.95).low


def test_graded_scores_never_count_for_more_than_yes_or_no():
    assert graded_bounds([0.9] * 100, confidence=0.95) == pytest.approx(
        share_bounds(90, 100, confidence=0.95), abs=1e-12
    )


def test_clustered_scores_use_their_variance_relative_to_yes_or_no():
    clusters = np.repeat(np.arange(30), 10)
    scores = np.clip(0.7 + 0.3 * np.sin(clusters) + 0.01 * (np.arange(300) % 10), 0.0, 1.0)
    mean = scores.mean()
    by_cluster = (scores - mean).reshape(30, 10).sum(axis=1)
    variance = 30 / 29 * np.sum(by_cluster**2) / 300**2
    effect = variance / (mean * (1 - mean) / 299)
    assert effect > 1
    assert graded_bounds(scores, confidence=0.95, clusters=clusters) == pytest.approx(
        korn_graubard_bounds(mean, 300, effect, 29, confidence=0.95), abs=1e-9
    )


@invariant
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=50), st.randoms(use_true_random=False))
def test_the_order_of_independent_items_does_not_matter(scores, random):
    shuffled = random.sample(scores, len(scores))
    assert graded_bounds(shuffled, confidence=0.95) == graded_bounds(scores, confidence=0.95)


@invariant
@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 3)), min_size=4, max_size=50))
def test_clusters_keep_the_mean_inside_and_the_bounds_in_the_unit_interval(rows):
    scores, clusters = zip(*rows, strict=True)
    assume(len(set(clusters)) > 1)
    bounds = graded_bounds(scores, confidence=0.95, clusters=clusters)
    mean = math.fsum(scores) / len(scores)
    assert 0.0 <= bounds.low <= mean + 1e-9
    assert mean - 1e-9 <= bounds.high <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: share_bounds(0, 0, confidence=0.95), r"n is 0, expected a whole number of at least 1"),
        (lambda: share_bounds(1, 2.0, confidence=0.95), r"n is 2.0, expected a whole number of at least 1"),
        (lambda: share_bounds(3, 2, confidence=0.95), r"successes is 3, expected at most n, which is 2"),
        (
            lambda: share_bounds(-1, 2, confidence=0.95),
            r"successes is -1, expected a finite number of at least 0",
        ),
        (lambda: share_bounds(math.nan, 2, confidence=0.95), r"successes is nan, expected a finite number"),
        (lambda: share_bounds("x", 2, confidence=0.95), r"successes is 'x', expected a finite number"),
        (
            lambda: share_bounds(1, 2, confidence=1.0),
            r"confidence is 1.0, expected a number above 0.5 and below 1",
        ),
        (
            lambda: share_bounds(1, 2, confidence=95),
            r"confidence is 95, expected a number above 0.5 and below 1",
        ),
        (lambda: share_bounds(1, 2, confidence=math.nan), r"confidence is nan, expected a number above 0.5"),
        (
            lambda: share_bounds(1, 2, confidence=0.95, n_effective=0),
            r"n_effective is 0, expected .* above 0",
        ),
        (lambda: share_bounds(1, 2, confidence=0.95, n_effective=3), r"n_effective is 3, expected at most n"),
        (lambda: share_p_value(1, 2, 1.2, alternative="less"), r"bar is 1.2, expected a number from 0 to 1"),
        (lambda: share_p_value(1, 2, 0.5, alternative="both"), r"alternative is 'both', expected 'less' or"),
        (lambda: effective_n(1, 1.0, 1, confidence=0.95), r"n is 1, expected a whole number of at least 2"),
        (lambda: effective_n(9, -1.0, 1, confidence=0.95), r"design_effect is -1.0, expected .* at least 0"),
        (lambda: effective_n(9, math.inf, 1, confidence=0.95), r"design_effect is inf, expected a finite"),
        (lambda: effective_n(9, 1.0, 0, confidence=0.95), r"df is 0, expected a finite number above 0"),
        (lambda: effective_n(9, 1.0, 9, confidence=0.95), r"df is 9.0, expected at most n - 1, which is 8"),
        (
            lambda: korn_graubard_bounds(1.1, 9, 1.0, 8, confidence=0.95),
            r"share is 1.1, expected a number from",
        ),
        (lambda: graded_bounds([0.5], confidence=0.95), r"scores has 1 values, expected at least 2"),
        (
            lambda: graded_bounds([0.5, 1.5], confidence=0.95),
            r"scores\[1\] is 1.5, expected a number from 0 to 1",
        ),
        (lambda: graded_bounds([0.5, math.nan], confidence=0.95), r"scores\[1\] is nan, expected a number"),
        (
            lambda: graded_bounds([[0.5, 1.0]], confidence=0.95),
            r"scores has shape \(1, 2\), expected one dim",
        ),
        (lambda: graded_bounds(["a", "b"], confidence=0.95), r"scores is \['a', 'b'\], expected a sequence"),
        (lambda: graded_bounds([0, 1], confidence=0.95, clusters=[1]), r"clusters has 1 values, expected 2"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
