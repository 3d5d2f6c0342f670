"""Conditions that choose samples, and the search for the one on which answers are worst."""

import numpy as np
import pytest

from pytest_procure import Dataset
from pytest_procure.datasets.conditions import Condition, Part, columns_of, worst_condition
from pytest_procure.errors import DataError, DeclarationError


def lengths(n):
    return {"length": np.arange(n), "queue": np.array(["billing", "legal"])[np.arange(n) % 2]}


def test_the_planted_condition_is_found():
    columns = lengths(400)
    planted = Condition((Part("length", ">=", 300), Part("queue", "==", "legal")))
    scores = np.where(planted.among(columns), 0.2, 1.0)
    found = Condition(worst_condition(columns, scores, least=20, examples=200))
    assert str(found).startswith("length >= ")
    assert found.among(columns)[planted.among(columns)].mean() > 0.8
    assert scores[found.among(columns)].mean() < 0.4


def test_the_same_data_give_the_same_condition():
    columns = lengths(200)
    scores = np.where(columns["length"] < 60, 0.0, 1.0)
    first, again = (worst_condition(columns, scores, least=20, examples=60) for _ in range(2))
    assert first == again


def test_a_few_unlucky_samples_are_no_condition():
    columns = {"kind": np.array(["rare"] * 2 + ["common"] * 100)}
    scores = np.array([0.0] * 2 + [1.0] * 60 + [0.0] * 40)
    assert worst_condition(columns, scores, least=2, examples=50) == (Part("kind", "==", "common"),)


def test_no_condition_for_so_many_samples_is_told():
    with pytest.raises(DataError, match="no condition holds for 500 samples"):
        worst_condition(lengths(100), np.ones(100), least=500, examples=50)


def test_a_condition_chooses_a_slice_and_names_its_rule():
    data = Dataset.from_arrays("d", inputs=["a", "bbb", "cccc"], references=["x"] * 3, strata=["s", "s", "t"])
    condition = Condition((Part("length", ">=", 3), Part("stratum", "==", "s")), {"length": len})
    chosen = data.slice(where=condition)
    assert list(chosen.inputs) == ["bbb"]
    assert chosen.describe()["rule"]["where"] == "length >= 3 and stratum == 's'"


def test_strata_are_a_feature_by_themselves():
    assert set(columns_of({}, ["a"], np.array(["s"]))) == {"stratum"}
    with pytest.raises(DeclarationError, match="no feature to search by"):
        columns_of({}, ["a"], None)


@pytest.mark.parametrize("value", [None, [1], float("nan")])
def test_a_feature_that_is_no_number_and_no_text_is_told(value):
    with pytest.raises(DataError, match="feature `odd` gives"):
        columns_of({"odd": lambda _: value}, ["a", "b"], None)
