"""Typed values survive the way to JSON and back; what is of another type is refused by its field."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pytest_procure.decision import Policy
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.plain import dumps, from_plain, loads, to_plain
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity


@dataclass(frozen=True)
class Inner:
    word: Literal["a", "b"]
    amount: Decimal


@dataclass(frozen=True)
class Outer:
    names: tuple[str, ...]
    pair: tuple[int, str]
    inner: Inner | None
    groups: set[str]
    by_name: dict[str, float]
    anything: Any
    flag: bool


def through(value):
    return from_plain(type(value), loads(dumps(to_plain(value)).encode(), "x.json"), "x.json: $")


INNER = st.builds(
    Inner,
    word=st.sampled_from(["a", "b"]),
    amount=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15),
)
OUTER = st.builds(
    Outer,
    names=st.lists(st.text()).map(tuple),
    pair=st.tuples(st.integers(-(2**63), 2**63), st.text()),
    inner=st.none() | INNER,
    groups=st.sets(st.text()),
    by_name=st.dictionaries(
        st.text(), st.floats(allow_nan=False, allow_infinity=False, max_value=1e200, min_value=-1e200)
    ),
    anything=st.none() | st.lists(st.integers(-(2**53), 2**53)) | st.text(),
    flag=st.booleans(),
)


@given(OUTER)
def test_a_value_comes_back_as_it_went(value):
    assert through(value) == value


@pytest.mark.parametrize(
    "value",
    [
        Policy(),
        Scenario.declare("server", qps=40, duration="60 s", max_batch=8, max_wait="2 ms"),
        Scenario.declare("multi_stream", seed=2**64 - 1),
        Quantity.of("0.0002", "USD"),
    ],
)
def test_what_a_case_is_made_of_comes_back_as_it_went(value):
    assert through(value) == value


@dataclass(frozen=True)
class Column:
    offsets: NDArray[np.int64]


def test_a_column_comes_back_as_it_went_and_is_read_only():
    column = through(Column(np.array([0, 5, 2**62])))
    assert column.offsets.tolist() == [0, 5, 2**62]
    assert column.offsets.dtype == np.int64
    assert not column.offsets.flags.writeable


@pytest.mark.parametrize("data", [["1"], [1.5], [-1], [2**63], 1])
def test_what_is_no_column_is_refused(data):
    with pytest.raises(EvidenceError, match=r"x\.json: \$\.offsets"):
        from_plain(Column, {"offsets": data}, "x.json: $")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"flag": 1}, r"x.json: \$\.flag: expected bool, not 1"),
        ({"pair": [True, "x"]}, r"\$\.pair\[0\]: expected a whole number"),
        ({"pair": [1]}, r"\$\.pair: expected a list of 2"),
        ({"names": "abc"}, r"\$\.names: expected a list"),
        ({"inner": {"word": "c", "amount": "1"}}, r"\$\.inner\.word: expected one of 'a', 'b'"),
        ({"inner": {"word": "a", "amount": 1}}, r"\$\.inner\.amount: expected an exact number as text"),
        ({"inner": {"word": "a"}}, r"\$\.inner\.amount: the field is missing"),
        ({"more": 1}, r"\$\.more: there is no such field"),
        ({"by_name": {"a": "1"}}, r"\$\.by_name\.a: expected a number"),
    ],
)
def test_what_is_of_another_type_is_named_by_its_field(change, told):
    value = to_plain(Outer((), (1, "x"), None, set(), {}, None, flag=True))
    with pytest.raises(EvidenceError, match=told):
        from_plain(Outer, value | change, "x.json: $")


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{\n "b": 1,\n "a": 1\n}\n',
        b'{\n "a": 1.0e0\n}\n',
        b'{\n "a": "\xc3\x9f"\n}\n',
        b"\xff",
        b"nul",
    ],
)
def test_json_in_any_other_form_is_refused(text):
    with pytest.raises(EvidenceError, match=r"x\.json: "):
        loads(text, "x.json")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"x"])
def test_what_no_pack_can_hold_is_refused(value):
    with pytest.raises(EvidenceError, match="cannot be recorded"):
        to_plain([value])
