import decimal
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import Bounds, round_outward

invariant = settings(derandomize=True, max_examples=40)
numbers = st.floats(-1e9, 1e9)


def test_low_goes_down_and_high_goes_up():
    assert round_outward(Bounds(0.9459273032, 0.9712723747)) == Bounds(0.945927, 0.971273)


def test_negative_ends_go_outward_too():
    assert round_outward(Bounds(-0.0209565925, -0.0000001)) == Bounds(-0.020957, 0.0)


def test_a_number_that_needs_no_rounding_stays():
    assert round_outward(Bounds(0.57, 0.57)) == Bounds(0.57, 0.57)


def test_infinite_ends_stay():
    assert round_outward(Bounds(-math.inf, math.inf)) == Bounds(-math.inf, math.inf)


def test_zero_has_no_sign():
    assert math.copysign(1.0, round_outward(Bounds(-1.0, -1e-9)).high) == 1.0


def test_decimal_settings_of_the_caller_do_not_matter():
    with decimal.localcontext(prec=2, rounding=decimal.ROUND_HALF_UP):
        assert round_outward(Bounds(0.1234567, 0.1234567)) == Bounds(0.123456, 0.123457)


@pytest.mark.parametrize("value", [1e-300, 1e300, -1e300])
def test_no_size_is_too_small_or_too_large(value):
    rounded = round_outward(Bounds(value, value))
    assert rounded.low <= value <= rounded.high


def test_no_number_is_no_bound():
    with pytest.raises(DomainError, match="bounds is nan, expected two numbers"):
        round_outward(Bounds(0.0, math.nan))


@invariant
@given(numbers, numbers)
def test_rounding_never_narrows_and_twice_is_once(one, other):
    bounds = Bounds(*sorted((one, other)))
    rounded = round_outward(bounds)
    assert rounded.low <= bounds.low
    assert bounds.high <= rounded.high
    assert rounded.high - rounded.low <= bounds.high - bounds.low + 3e-6
    assert round_outward(rounded) == rounded
