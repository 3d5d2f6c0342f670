"""Numbers of a sample become the type that a model takes, or are refused: none becomes another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.backends.endpoints.tensors import CODES
from pytest_procure.backends.tensor_values import numbers
from pytest_procure.errors import DataError

WHERE = "input `x` of model `m` takes it"


@pytest.mark.parametrize(
    ("datatype", "value", "told"),
    [
        ("UINT8", [300], "holds 300, and input `x` of model `m` takes it; expected 0 to 255"),
        ("UINT8", [7, -1], "holds -1,"),
        ("INT8", [-200], "holds -200,"),
        ("INT32", [2**40], "holds 1099511627776,"),
        ("INT64", [2**63], "holds 9223372036854775808,"),
        ("UINT64", [-1], "holds -1,"),
        ("BOOL", [2], "holds 2, and input `x` of model `m` takes it; expected 0 to 1"),
        ("FP16", [1e6], "holds 1000000.0, and input `x` of model `m` takes it; expected at most 65504"),
        ("FP16", [-100_000], "holds -100000,"),
        ("FP32", [1e300], "holds 1e+300,"),
        ("INT32", np.array([1.0, np.nan]), "holds nan,"),
        ("INT32", np.array([np.inf]), "holds inf,"),
        ("INT64", np.array([2.0**63]), "holds 9.223372036854776e+18,"),
        ("UINT8", np.array([-1.7]), "holds -1.7,"),
        ("UINT8", np.array([256], dtype=np.int64), "holds 256,"),
        ("UINT64", np.array([-1], dtype=np.int8), "holds -1,"),
        ("BOOL", np.array([np.nan]), "holds nan,"),
        ("FP32", np.array([1e300]), "holds 1e+300,"),
    ],
)
def test_a_number_that_the_model_s_type_cannot_hold_is_refused(datatype, value, told):
    with pytest.raises(DataError) as refusal:
        numbers(value, datatype, WHERE, cast=True)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("datatype", "value", "sent"),
    [
        ("UINT8", [0, 255], [0, 255]),
        ("INT64", [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        ("UINT64", [2**64 - 1], [2**64 - 1]),
        ("BOOL", [0, 1, 1], [False, True, True]),
        ("BOOL", np.array([0, 7, -1]), [False, True, True]),
        ("FP16", [65504, 0.5], [65504.0, 0.5]),
        ("INT8", np.array([1.9, -128.9]), [1, -128]),
        ("UINT8", np.array([-0.9]), [0]),
        ("INT64", np.array([-(2.0**63)]), [-(2**63)]),
        ("FP32", [[]], [[]]),
        ("FP64", 3, [3.0]),
    ],
)
def test_a_number_that_it_can_hold_is_sent(datatype, value, sent):
    assert numbers(value, datatype, WHERE, cast=True).tolist() == sent


def test_no_number_is_nan_where_the_type_has_one():
    assert np.isnan(numbers(np.array([np.nan], dtype=np.float64), "FP32", WHERE, cast=True)).all()


@given(st.sampled_from([*CODES]), st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=3))
def test_whole_numbers_stay_what_they_are_or_are_refused(datatype, value):
    try:
        sent = numbers(value, datatype, WHERE, cast=False)
    except DataError:
        return
    if not datatype.startswith("FP"):
        assert sent.tolist() == value
