"""Disclosed facts as rows, whatever keys they hold."""

import pytest
import sample

from pytest_procure.report.facts import Fact, chosen, facts, groups, machine, set_facts, tokens


def test_nested_facts_are_told_by_their_path():
    told = facts({"cpu": {"cores": 2, "governor": None}, "gpus": [{"name": "a"}, {"name": "b"}]})
    assert told == [
        Fact("cpu / cores", "2"),
        Fact("cpu / governor", "not stated"),
        Fact("gpus / 1 / name", "a"),
        Fact("gpus / 2 / name", "b"),
    ]


def test_values_are_told_as_people_read_them():
    told = {
        fact.name: fact.value for fact in facts({"a": True, "b": 1e-7, "c": 489449, "d": ["x", 2], "e": []})
    }
    assert told == {"a": "yes", "b": "1e-07", "c": "489,449", "d": "x, 2", "e": "none"}


def test_known_conditions_have_names_in_words():
    assert facts({"max_batch": 8, "own_key": 1}) == [Fact("largest batch", "8"), Fact("own key", "1")]


def test_conditions_that_were_not_set_are_left_out():
    assert set_facts({"count": None, "qps": 40.0, "label": "x"}, without=("label",)) == [
        Fact("requests a second", "40")
    ]


def test_nothing_disclosed_makes_no_rows():
    assert facts({}) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "all 797 samples"),
        (
            {"n": 400, "rule": {"order": "random", "seed": 7, "stratify": True, "where": None}},
            "400 samples of 797, chosen at random (seed 7), in proportion to the groups",
        ),
        (
            {"n": 80, "rule": {"order": "dataset", "where": ["0", "8"], "stratify": False}},
            "80 samples of 797, only where 0, 8",
        ),
        ({"rule": "by hand"}, "by hand"),
        ({"rule": None, "n": None}, "not stated"),
    ],
)
def test_a_slice_says_how_it_was_chosen(changed, told):
    assert chosen({**sample.data(), **changed}) == told


def test_a_machine_is_told_as_far_as_it_is_known():
    known = {
        "cpu": {"model": "server CPU", "count": 2},
        "gpus": [{"name": "accelerator"}],
        "os": {"name": "Linux", "kernel": None},
    }
    assert machine(known) == "server CPU, 2 processors, accelerator, Linux"
    assert machine({"gpus": []}) == "no GPU"
    assert machine({"cpu": "unknown"}) == ""


def test_groups_are_told_with_their_sizes():
    assert groups({"strata": {"a": 3, "b": 4}}) == "a: 3, b: 4"
    assert groups({"strata": None}) == "none declared"


def test_an_endpoints_tokens_are_told_by_their_times_and_counts():
    told = dict(tokens(sample.stream()))
    assert told["time to the first token"] == "p50 180 ms, p95 310 ms, p99 402 ms"
    assert told["tokens / of answers, as reported"] == "50,400"
    assert told["failures by class"] == "21 timeout, 3 http"
    assert not [name for name in told if "curve" in name or "pause" in name]
