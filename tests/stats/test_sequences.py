import bisect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import confidence_sequence, share_bounds

invariant = settings(derandomize=True, max_examples=40)


@st.composite
def counts(draw, most=5000):
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def test_984_right_answers_show_99_percent_at_any_time():
    assert confidence_sequence(984, 984, confidence=0.95).low >= 0.99
    assert confidence_sequence(983, 983, confidence=0.95).low < 0.99


def test_one_answer_has_a_closed_form():
    # B(2, 1) / p = 1 / (2p) reaches 20 at p = 1/40.
    assert confidence_sequence(1, 1, confidence=0.95) == pytest.approx((0.025, 1.0), abs=1e-12)
    assert confidence_sequence(0, 1, confidence=0.95) == pytest.approx((0.0, 0.975), abs=1e-12)


@invariant
@given(counts(), st.floats(0.6, 0.999))
def test_looking_any_time_costs_width(count, confidence):
    k, n = count
    any_time = confidence_sequence(k, n, confidence=confidence)
    once = share_bounds(k, n, confidence=confidence)
    assert 0.0 <= any_time.low <= once.low <= k / n <= once.high <= any_time.high <= 1.0


@invariant
@given(counts(), st.floats(0.6, 0.99))
def test_more_confidence_widens_and_more_successes_raise(count, confidence):
    k, n = count
    loose = confidence_sequence(k, n, confidence=confidence)
    strict = confidence_sequence(k, n, confidence=confidence + 0.005)
    assert strict.low <= loose.low <= loose.high <= strict.high
    if k < n:
        more = confidence_sequence(k + 1, n, confidence=confidence)
        assert loose.low <= more.low
        assert loose.high <= more.high


def test_looking_again_and_again_keeps_the_risk():
    rng = np.random.default_rng(2)
    looks = np.arange(20, 2001, 20)
    fewest = [
        bisect.bisect_left(range(n), 0.9, key=lambda k, n=n: confidence_sequence(k, n, confidence=0.8).low)
        for n in looks.tolist()
    ]
    right = np.cumsum(rng.random((1000, 2000)) < 0.9, axis=1)
    fooled = np.any(right[:, looks - 1] >= fewest, axis=1)
    assert np.mean(fooled) <= 0.2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: confidence_sequence(0, 0, confidence=0.95),
            r"n is 0, expected a whole number of at least 1",
        ),
        (
            lambda: confidence_sequence(2, 1, confidence=0.95),
            r"successes is 2, expected at most n, which is 1",
        ),
        (lambda: confidence_sequence(0.5, 1, confidence=0.95), r"successes is 0.5, expected a whole number"),
        (
            lambda: confidence_sequence(1, 1, confidence=1.0),
            r"confidence is 1.0, expected a number above 0.5",
        ),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
