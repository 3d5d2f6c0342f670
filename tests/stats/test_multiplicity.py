import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import holm

invariant = settings(derandomize=True, max_examples=40)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_four_p_values_in_the_order_given():
    assert holm([0.010, 0.041, 0.020, 0.005]) == pytest.approx([0.03, 0.041, 0.04, 0.02], abs=1e-12)


@invariant
@given(p_values)
def test_adjusting_never_lowers_a_p_value_and_keeps_their_order(values):
    adjusted = holm(values).tolist()
    assert all(before <= after <= 1.0 for before, after in zip(values, adjusted, strict=True))
    ranked = [after for _, after in sorted(zip(values, adjusted, strict=True))]
    assert ranked == sorted(adjusted)


@invariant
@given(p_values, st.floats(0.001, 0.2))
def test_something_is_rejected_exactly_when_the_smallest_passes_bonferroni(values, risk):
    assert (min(holm(values)) <= risk) == (min(values) * len(values) <= risk)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"p_values has 0 values, expected at least 1"),
        ([0.1, 1.1], r"p_values\[1\] is 1.1, expected a number from 0 to 1"),
        ([math.nan], r"p_values\[0\] is nan, expected a number from 0 to 1"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(values, message):
    with pytest.raises(DomainError, match=message):
        holm(values)
