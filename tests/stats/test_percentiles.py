import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import order_statistic_ranks, percentile, upper_rank

invariant = settings(derandomize=True, max_examples=40)
shares = st.integers(1, 999).map(lambda thousandths: thousandths / 1000)


@pytest.mark.parametrize(("method", "value"), [("nearest-rank", 99), ("loadgen", 100), ("linear", 99.01)])
def test_the_three_percentiles_of_one_to_a_hundred(method, value):
    assert percentile(range(1, 101), 0.99, method) == value


@invariant
@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=300), shares)
def test_nearest_rank_leaves_the_asked_share_at_or_below(values, q):
    value = percentile(values, q)
    at_or_below = sum(v <= value for v in values)
    below = sum(v < value for v in values)
    assert at_or_below * 1000 >= round(q * 1000) * len(values) > below * 1000


@invariant
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=100), shares)
def test_linear_is_numpys_default(values, q):
    assert percentile(values, q, "linear") == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-6)


@invariant
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=100), shares)
def test_loadgen_is_the_value_at_a_truncated_index(values, q):
    assert percentile(values, q, "loadgen") == sorted(values)[int(len(values) * q)]


def test_a_decimal_share_is_read_as_it_is_written():
    assert 0.07 * 100 > 7
    assert percentile(range(1, 101), 0.07) == 7


def test_failures_sort_last():
    values = [1.0, 2.0, math.inf, math.inf]
    assert percentile(values, 0.5) == 2.0
    assert percentile(values, 0.9) == math.inf
    assert percentile(values, 0.99, "linear") == math.inf
    assert percentile(values, 0.1, "linear") == pytest.approx(1.3)


def test_values_are_left_as_they_were():
    values = np.array([3, 1, 2])
    percentile(values, 0.5)
    assert values.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("n", "ranks"), [(500, (490, 500)), (1000, (983, 997)), (10_000, (9880, 9920)), (100, (97, None))]
)
def test_ranks_that_bound_the_p99_at_95_percent(n, ranks):
    assert order_statistic_ranks(n, 0.99, confidence=0.95) == ranks


def test_a_low_quantile_of_few_values_has_no_lower_rank():
    assert order_statistic_ranks(100, 0.01, confidence=0.95) == (None, 4)


@pytest.mark.parametrize(("n", "rank"), [(298, None), (299, 299), (1000, 996)])
def test_the_one_sided_upper_bound_of_p99_needs_299_values(n, rank):
    assert upper_rank(n, 0.99, confidence=0.95) == rank


@invariant
@given(st.integers(1, 400), shares, st.floats(0.55, 0.999))
def test_the_upper_rank_is_the_smallest_that_covers(n, q, confidence):
    def covered(rank):
        return math.fsum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(rank))

    rank = upper_rank(n, q, confidence=confidence)
    if rank is None:
        assert covered(n) < confidence + 1e-9
    else:
        assert covered(rank) >= confidence - 1e-9
        assert covered(rank - 1) < confidence + 1e-9


@invariant
@given(st.integers(1, 2000), shares, st.floats(0.55, 0.999))
def test_the_percentile_lies_between_its_ranks(n, q, confidence):
    low, high = order_statistic_ranks(n, q, confidence=confidence)
    rank = percentile(range(1, n + 1), q)
    assert low is None or 1 <= low <= rank
    assert high is None or rank <= high <= n


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: percentile([], 0.5), r"values has 0 values, expected at least 1"),
        (lambda: percentile([1, math.nan], 0.5), r"values\[1\] is nan, expected a number or inf"),
        (lambda: percentile(["a"], 0.5), r"values is 'str32', expected integers or floats"),
        (lambda: percentile([1], 0), r"q is 0, expected a number above 0 and below 1"),
        (lambda: percentile([1], 99), r"q is 99, expected a number above 0 and below 1"),
        (lambda: percentile([1], 0.5, "hazen"), r"method is 'hazen', expected 'nearest-rank', 'loadgen' or"),
        (lambda: order_statistic_ranks(0, 0.5, confidence=0.95), r"n is 0, expected a whole number of at"),
        (lambda: order_statistic_ranks(9, 1.0, confidence=0.95), r"q is 1.0, expected a number above 0"),
        (lambda: upper_rank(9, 0.5, confidence=1.0), r"confidence is 1.0, expected a number above 0.5"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
