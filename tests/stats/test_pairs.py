import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import contrast_bounds, newcombe_paired, paired_share_bounds, pairs

invariant = settings(derandomize=True, max_examples=40)
counts = st.tuples(*[st.integers(0, 200)] * 4).filter(any)
scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=60)


def table(both, only_candidate, only_reference, neither):
    sizes = (both, only_candidate, only_reference, neither)
    return np.repeat([1.0, 1.0, 0.0, 0.0], sizes), np.repeat([1.0, 0.0, 1.0, 0.0], sizes)


def test_newcombes_textbook_table():
    bounds = newcombe_paired(36, 12, 2, 0, confidence=0.975)
    assert bounds == pytest.approx((0.056929584, 0.340427603), abs=1e-8)


def test_non_inferiority_of_15_against_25_in_a_thousand():
    bounds = newcombe_paired(930, 15, 25, 30, confidence=0.95)
    assert bounds.low == pytest.approx(-0.0209565925, abs=1e-9)


def test_no_difference_seen_is_no_proof_of_none():
    bounds = newcombe_paired(90, 0, 0, 10, confidence=0.95)
    assert bounds.low < -0.01
    assert bounds.high > 0.01


def test_all_right_on_both_sides_still_has_width():
    bounds = newcombe_paired(50, 0, 0, 0, confidence=0.95)
    assert bounds.low < -0.04 < 0.04 < bounds.high


@invariant
@given(counts, st.floats(0.6, 0.999))
def test_the_difference_lies_between_and_swapping_sides_mirrors(table, confidence):
    both, only_a, only_b, neither = table
    bounds = newcombe_paired(both, only_a, only_b, neither, confidence=confidence)
    mirrored = newcombe_paired(both, only_b, only_a, neither, confidence=confidence)
    assert -1 - 1e-9 <= bounds.low <= (only_a - only_b) / sum(table) <= bounds.high <= 1 + 1e-9
    assert bounds == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-12)


@invariant
@given(counts, st.floats(0.6, 0.99))
def test_more_confidence_widens_newcombes_bounds(table, confidence):
    loose = newcombe_paired(*table, confidence=confidence)
    strict = newcombe_paired(*table, confidence=confidence + 0.005)
    assert strict.low <= loose.low
    assert loose.high <= strict.high


def test_with_many_differences_the_contrast_is_students_t():
    candidate, reference = table(880, 35, 45, 40)
    contrast = candidate - 0.99 * reference
    error = np.std(contrast, ddof=1) / math.sqrt(1000)
    bounds = contrast_bounds(candidate, reference, 0.99, confidence=0.95)
    # 1.6463803454 is the 0.95 quantile of t with 999 degrees of freedom.
    assert bounds == pytest.approx(
        (contrast.mean() - 1.6463803454 * error, contrast.mean() + 1.6463803454 * error), abs=1e-9
    )


def test_with_few_differences_two_made_up_items_keep_the_width_honest():
    candidate, reference = table(95, 0, 0, 5)
    assert contrast_bounds(candidate, reference, 0.99, confidence=0.95).low < 0
    padded = np.append(candidate, (1, 0)) - 0.99 * np.append(reference, (0, 1))
    expected = padded.mean() - 1.6603911560 * np.std(padded, ddof=1) / math.sqrt(102)
    # 1.6603911560 is the 0.95 quantile of t with 99 degrees of freedom.
    assert contrast_bounds(candidate, reference, 0.99, confidence=0.95).low == pytest.approx(
        expected, abs=1e-9
    )


def test_equal_candidates_pass_at_99_percent_once_the_items_are_many():
    assert contrast_bounds(*table(950, 0, 0, 50), 0.99, confidence=0.95).low > 0


def test_a_candidate_exactly_at_the_ratio_is_seldom_accepted():
    rng = np.random.default_rng(9)
    accepted = 0
    for both, only_c, only_r, neither in rng.multinomial(500, [0.891, 0.0, 0.009, 0.1], size=300):
        rows = table(both, only_c, only_r, neither)
        accepted += contrast_bounds(*rows, 0.99, confidence=0.95).low >= 0
    assert accepted / 300 <= 0.08


@invariant
@given(scores, st.floats(0.5, 1.5), st.randoms(use_true_random=False))
def test_the_order_of_independent_items_does_not_matter(rows, ratio, random):
    shuffled = random.sample(rows, len(rows))
    bounds = contrast_bounds(*zip(*rows, strict=True), ratio, confidence=0.95)
    again = contrast_bounds(*zip(*shuffled, strict=True), ratio, confidence=0.95)
    assert again == pytest.approx(bounds, rel=1e-12, abs=1e-12)


@invariant
@given(scores, st.floats(0.5, 1.5))
def test_items_that_are_their_own_cluster_count_as_independent(rows, ratio):
    ours, theirs = zip(*rows, strict=True)
    alone = contrast_bounds(ours, theirs, ratio, confidence=0.95, clusters=range(len(rows)))
    assert alone == contrast_bounds(ours, theirs, ratio, confidence=0.95)


def test_items_repeated_in_their_cluster_count_once():
    candidate, reference = table(300, 40, 45, 15)
    once = contrast_bounds(candidate, reference, 0.99, confidence=0.95)
    thrice = contrast_bounds(
        np.repeat(candidate, 3),
        np.repeat(reference, 3),
        0.99,
        confidence=0.95,
        clusters=np.repeat(range(400), 3),
    )
    assert thrice == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: newcombe_paired(0, 0, 0, 0, confidence=0.95),
            r"both \+ only_a .* is 0, expected at least 1",
        ),
        (
            lambda: newcombe_paired(1, -1, 0, 0, confidence=0.95),
            r"only_a is -1, expected a whole number of at",
        ),
        (
            lambda: newcombe_paired(1, 1, 0.5, 0, confidence=0.95),
            r"only_b is 0.5, expected a whole number of at",
        ),
        (lambda: newcombe_paired(1, 1, 0, 0, confidence=1), r"confidence is 1, expected a number above 0.5"),
        (
            lambda: contrast_bounds([1], [1], 1, confidence=0.95),
            r"candidate has 1 values, expected at least 2",
        ),
        (
            lambda: contrast_bounds([1, 2], [1, 1], 1, confidence=0.95),
            r"candidate\[1\] is 2.0, expected a num",
        ),
        (
            lambda: contrast_bounds([1, 1], [1, -1], 1, confidence=0.95),
            r"reference\[1\] is -1.0, expected a n",
        ),
        (
            lambda: contrast_bounds([1, 1], [1, 1, 1], 1, confidence=0.95),
            r"reference has 3 values, expected 2",
        ),
        (
            lambda: contrast_bounds([1, 1], [1, 1], 0, confidence=0.95),
            r"ratio is 0, expected a finite number",
        ),
        (
            lambda: contrast_bounds([1, 1], [1, 1], 1, confidence=0.95, clusters=[1, 1]),
            r"clusters has 1 distinct label, expected at least 2",
        ),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()


def test_no_difference_seen_on_a_hundred_items_does_not_show_two_points():
    assert newcombe_paired(50, 0, 0, 50, confidence=0.95).low > -0.02
    assert paired_share_bounds(50, 0, 0, 50, confidence=0.95).low < -0.02


@pytest.mark.parametrize(("n", "both_wrong", "apart"), [(100, 0.5, 0.02), (400, 0.5, 0.02), (50, 0.5, 0.05)])
def test_a_difference_exactly_at_the_margin_is_seldom_shown_to_be_smaller(n, both_wrong, apart):
    neither, accepted = round(n * both_wrong), 0.0
    for only_b in range(n - neither + 1):
        chance = math.comb(n, only_b) * apart**only_b * (1 - apart) ** (n - only_b)
        found = paired_share_bounds(n - neither - only_b, 0, only_b, neither, confidence=0.95)
        accepted += chance * (found.low >= -apart)
    assert accepted <= 0.05


@invariant
@given(counts)
def test_the_wider_of_the_bounds_holds_newcombes_and_turns_around(sizes):
    both, only_a, only_b, neither = sizes
    found, newcombe = (f(*sizes, confidence=0.95) for f in (paired_share_bounds, newcombe_paired))
    assert found.low <= newcombe.low
    assert found.high >= newcombe.high
    turned = paired_share_bounds(both, only_b, only_a, neither, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low), abs=1e-12)


def test_the_score_interval_takes_the_most_likely_share_at_the_difference_tried():
    only_a, only_b, n = 4, 9, 60
    end = pairs._score_end(only_a, only_b, n, 0.95)
    shares = np.linspace(1e-6, 1.0, 400_001)
    other = shares + end
    rest = 1.0 - shares - other
    possible = (other > 0) & (rest > 0)
    likelihood = np.full(len(shares), -np.inf)
    likelihood[possible] = (
        only_b * np.log(shares[possible])
        + only_a * np.log(other[possible])
        + (n - only_a - only_b) * np.log(rest[possible])
    )
    most = shares[np.argmax(likelihood)]
    spread = math.sqrt(n * (2 * most + end - end**2))
    assert (only_a - only_b - n * end) / spread == pytest.approx(1.6448536, abs=1e-3)
