import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import jackknife_bounds, launch_mean_bounds

invariant = settings(derandomize=True, max_examples=40)


def grand_mean(groups):
    return float(np.mean(np.concatenate(groups)))


def macro_f1(groups):
    truth, answer = np.concatenate(groups, axis=1)
    scores = []
    for label in (0, 1):
        hits = np.sum((truth == label) & (answer == label))
        scores.append(2 * hits / (np.sum(truth == label) + np.sum(answer == label)))
    return float(np.mean(scores))


@invariant
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_for_a_mean_of_single_items_it_is_students_t(values):
    groups = [np.array([value], dtype=float) for value in values]
    bounds = jackknife_bounds(groups, grand_mean, confidence=0.95)
    assert bounds == pytest.approx(launch_mean_bounds(values, confidence=0.95), rel=1e-9, abs=1e-9)


def test_groups_may_be_of_any_kind():
    bounds = jackknife_bounds(["ab", "c", "def"], lambda rest: float(len("".join(rest))), confidence=0.95)
    assert (bounds.low + bounds.high) / 2 == pytest.approx(6.0)


def test_the_true_macro_f1_is_mostly_covered():
    rng = np.random.default_rng(3)
    # 30 % of label 1; 90 % of each label are answered right.
    f1_one = 2 * 0.27 / (0.30 + 0.27 + 0.07)
    f1_zero = 2 * 0.63 / (0.70 + 0.63 + 0.03)
    missed = 0
    for _ in range(100):
        truth = rng.random(800) < 0.3
        answer = truth ^ (rng.random(800) < 0.1)
        groups = np.split(np.stack([truth, answer]), 40, axis=1)
        bounds = jackknife_bounds(groups, macro_f1, confidence=0.95)
        missed += bounds.low > (f1_one + f1_zero) / 2
    assert missed / 100 <= 0.08


def test_a_metric_that_no_group_moves_is_not_known_exactly():
    assert jackknife_bounds([1, 2, 3], lambda _: 1.0, confidence=0.95) == (-math.inf, math.inf)


def test_groups_are_left_as_they_were():
    groups = [np.array([1.0]), np.array([2.0]), np.array([4.0])]
    jackknife_bounds(groups, grand_mean, confidence=0.95)
    assert [group.tolist() for group in groups] == [[1.0], [2.0], [4.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jackknife_bounds([1], sum, confidence=0.95), r"groups has 1 parts, expected at least 2"),
        (
            lambda: jackknife_bounds([1, 2], sum, confidence=1.0),
            r"confidence is 1.0, expected a number above 0.5",
        ),
        (
            lambda: jackknife_bounds([1, 2], lambda _: math.nan, confidence=0.95),
            r"statistic of all groups is nan, expected a finite number",
        ),
        (
            lambda: jackknife_bounds([1, 2], lambda rest: 1.0 if rest != [1] else math.nan, confidence=0.95),
            r"statistic without group 1 is nan, expected a finite number",
        ),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
