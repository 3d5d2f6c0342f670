import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import mser5

invariant = settings(derandomize=True, max_examples=40)


def test_a_warm_up_of_ten_values_is_cut():
    warm_up = [100, 90, 80, 70, 60] + [50] * 5
    assert mser5(warm_up + [41, 39, 40, 40, 40] + [40, 42, 38, 41, 39] * 7) == 10


def test_a_run_that_never_settles_is_cut_at_the_half():
    assert mser5(100 * np.exp(-np.arange(2000) / 1000)) == 1000


def test_a_step_is_cut_where_it_is():
    assert mser5([2.0] * 800 + [1.0] * 1200) == 800


def test_a_flat_run_is_left_whole():
    assert mser5([7.0] * 100) == 0


def test_a_huge_start_does_not_hide_a_small_settling():
    tail = [3.0] * 50 + [1.0] * 100
    assert mser5([1e15] * 5 + tail) == 55


@invariant
@given(st.lists(st.integers(0, 100), min_size=10, max_size=200))
def test_the_cut_is_the_one_with_the_least_variance_of_the_mean(values):
    means = np.array(values[: len(values) // 5 * 5], dtype=float).reshape(-1, 5).mean(axis=1)
    spread = [np.var(means[cut:]) / (means.size - cut) for cut in range(means.size // 2 + 1)]
    cut = mser5(values)
    assert cut % 5 == 0
    assert spread[cut // 5] == pytest.approx(min(spread), abs=1e-9)


@invariant
@given(st.lists(st.integers(0, 100), min_size=10, max_size=100), st.integers(1, 64), st.integers(-1000, 1000))
def test_unit_and_origin_do_not_matter(values, factor, origin):
    array = np.array(values)
    assert mser5(array * 2.0**factor) == mser5(array)
    means = array[: array.size // 5 * 5].reshape(-1, 5).sum(axis=1)
    assert mser5(np.repeat(means + origin, 5)) == mser5(np.repeat(means, 5))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0] * 9, r"values has 9 values, expected at least 10"),
        ([1.0] * 9 + [math.inf], r"values\[9\] is inf, expected a finite number"),
        ([math.nan] * 10, r"values\[0\] is nan, expected a finite number"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(values, message):
    with pytest.raises(DomainError, match=message):
        mser5(values)
