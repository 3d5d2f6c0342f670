import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset
from pytest_procure.datasets.seats import seats_by_weight
from pytest_procure.errors import DataError, DeclarationError

invariant = settings(derandomize=True, max_examples=100)


@pytest.fixture
def queues():
    strata = ["billing"] * 50 + ["legal"] * 40 + ["spam"] * 10
    return Dataset.from_arrays("q", inputs=np.arange(100), references=np.arange(100), strata=strata)


PRODUCTION = {"billing": 0.2, "legal": 0.8, "spam": 0}


def test_strata_stand_in_the_slice_as_in_production(queues):
    chosen = queues.slice(n=40, seed=3, weights=PRODUCTION)
    assert chosen.describe()["strata"] == {"billing": 8, "legal": 32, "spam": 0}
    assert chosen.rule["seats"] == {"billing": 8, "legal": 32}
    assert chosen.describe()["weights"] == {"billing": 0.2, "legal": 0.8, "spam": 0.0}


def test_without_n_the_scarcest_stratum_decides(queues):
    assert queues.slice(weights=PRODUCTION).describe()["strata"]["legal"] <= 40
    assert len(queues.slice(weights=PRODUCTION)) >= 48


def test_the_same_seed_chooses_the_same(queues):
    one, other = (queues.slice(n=40, seed=3, weights=PRODUCTION) for _ in range(2))
    assert one.digest == other.digest
    assert one.digest != queues.slice(n=40, seed=4, weights=PRODUCTION).digest


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"billing": 0.2, "legal": 0.8}, "leave out `spam`"),
        ({"billing": 0.2, "legal": 0.7, "spam": 0.2}, "sum to 1.1; expected 1"),
        ({"billing": 0.2, "legl": 0.8, "spam": 0}, "did you mean `legal`"),
        ({"billing": -0.2, "legal": 1.2, "spam": 0}, "expected a share from 0 to 1"),
        ({"billing": float("nan"), "legal": 1, "spam": 0}, "expected a share from 0 to 1"),
        ({}, "expected stratum -> share"),
        ({"billing": 0.04, "legal": 0.04, "spam": 0.92}, "no n fits dataset `q` by production's shares"),
        ({"billing": 0.001, "legal": 0.999, "spam": 0}, "too few of `legal` (40); label 1999 of it"),
        ({"billing": 0.2, "legal": 0.2, "spam": 0.6}, "ask for n=15 or fewer"),
    ],
)
def test_weights_that_cannot_be_meant_or_filled_are_refused(queues, weights, told):
    with pytest.raises((DataError, DeclarationError)) as refusal:
        queues.slice(n=40, weights=weights)
    assert told in str(refusal.value)


def test_weights_and_clusters_have_no_rule_together():
    data = Dataset.from_arrays("q", inputs=[1, 2], strata=["a", "b"], clusters=[0, 0])
    with pytest.raises(DeclarationError, match="no rule here for both"):
        data.slice(weights={"a": 0.5, "b": 0.5})


@invariant
@given(
    st.lists(st.tuples(st.integers(2, 200), st.integers(1, 50)), min_size=1, max_size=5),
    st.integers(0, 400),
)
def test_seats_are_within_one_of_the_share_and_never_more_than_there_are(strata, n):
    sizes = {f"s{i}": size for i, (size, _) in enumerate(strata)}
    whole = sum(part for _, part in strata)
    weights = {f"s{i}": part / whole for i, (_, part) in enumerate(strata)}
    try:
        seats = seats_by_weight("q", sizes, weights, n or None)
    except DataError:
        return
    total = sum(seats.values())
    assert total == n or not n
    for name, count in seats.items():
        assert 2 <= count <= sizes[name]
        assert abs(count - total * weights[name]) <= 1


def test_a_slice_that_is_too_small_is_told_an_n_that_fits():
    data = Dataset.from_arrays("q", inputs=np.arange(200), strata=["a"] * 100 + ["b"] * 100)
    with pytest.raises(DataError, match="hold 1 of `b`, which says nothing of it; ask for n=20 or more"):
        data.slice(n=10, weights={"a": 0.9, "b": 0.1})
    assert len(data.slice(n=20, weights={"a": 0.9, "b": 0.1})) == 20


@invariant
@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=4),
    st.lists(st.integers(1, 20), min_size=4, max_size=4),
    st.integers(1, 120),
)
def test_an_n_that_is_asked_for_fits(sizes, shares, n):
    names = "abcd"[: len(sizes)]
    told = dict(zip(names, sizes, strict=True))
    whole = sum(shares[: len(sizes)])
    weights = {name: share / whole for name, share in zip(names, shares, strict=False)}
    try:
        seats_by_weight("q", told, weights, n)
    except DataError as error:
        if "ask for n=" in str(error):
            asked = int(str(error).partition("ask for n=")[2].split()[0])
            assert sum(seats_by_weight("q", told, weights, asked).values()) == asked
