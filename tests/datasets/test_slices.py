import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset
from pytest_procure.errors import DataError, DeclarationError

invariant = settings(derandomize=True, max_examples=60)

STRATA = ["red"] * 60 + ["green"] * 30 + ["blue"] * 10


@pytest.fixture
def colours():
    inputs = np.arange(300, dtype=np.float32).reshape(100, 3)
    return Dataset.from_arrays(
        "colours",
        inputs=inputs,
        references=np.arange(100),
        strata=STRATA,
        clusters=[i // 2 for i in range(100)],
        licence="internal",
        version="2",
        source="form scanner",
        caveats=["one site only"],
    )


def test_everything_in_its_own_order_is_the_default(colours):
    chosen = colours.slice()
    assert chosen.indices.tolist() == list(range(100))
    assert chosen.rule == {"n": None, "seed": None, "stratify": False, "where": None, "order": "dataset"}


def test_columns_follow_the_indices(colours):
    chosen = colours.slice(n=20, seed=3)
    assert len(chosen) == 20
    for place, index in enumerate(chosen.indices):
        assert chosen.take([place])[0].tolist() == colours.inputs[index].tolist()
        assert chosen.references[place] == index
        assert chosen.strata[place] == STRATA[index]
        assert chosen.clusters[place] == index // 2


def test_the_choice_is_the_same_in_every_release_of_numpy(colours):
    assert colours.slice(n=5, seed=7).indices.tolist() == [37, 6, 32, 96, 98]


def test_another_seed_chooses_others(colours):
    assert colours.slice(n=20, seed=1).indices.tolist() != colours.slice(n=20, seed=2).indices.tolist()


@invariant
@given(n=st.integers(1, 99), more=st.integers(1, 99), seed=st.integers(0, 2**64))
def test_a_larger_slice_begins_with_the_smaller_one_and_repeats_nothing(n, more, seed):
    data = Dataset.from_arrays("a", inputs=np.arange(200))
    small, large = data.slice(n=n, seed=seed).indices, data.slice(n=n + more, seed=seed).indices
    assert large[:n].tolist() == small.tolist()
    assert len(set(large.tolist())) == n + more


@invariant
@given(
    sizes=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1),
    share=st.floats(0.01, 1),
    seed=st.integers(0, 9),
)
def test_strata_get_their_share_to_the_nearest_seat(sizes, share, seed):
    labels = [name for name, size in sizes.items() for _ in range(size)]
    n = max(1, int(len(labels) * share))
    chosen = Dataset.from_arrays("a", inputs=np.arange(len(labels)), strata=labels).slice(
        n=n, seed=seed, stratify=True
    )
    assert len(set(chosen.indices.tolist())) == n
    for name, count in Counter(chosen.strata.tolist()).items():
        assert abs(count - n * sizes[name] / len(labels)) < 1


def test_the_seat_left_over_goes_to_the_largest_remainder():
    data = Dataset.from_arrays("a", inputs=np.arange(10), strata=["a"] * 3 + ["b"] * 7)
    assert data.slice(n=4, stratify=True).describe()["strata"] == {"a": 1, "b": 3}  # of 1.2 and 2.8


def test_a_tie_of_strata_goes_to_the_first_by_name():
    data = Dataset.from_arrays("a", inputs=np.arange(4), strata=["b", "b", "a", "a"])
    assert data.slice(n=1, stratify=True).describe()["strata"] == {"a": 1, "b": 0}


def test_a_stratified_slice_mixes_its_strata(colours):
    strata = colours.slice(n=50, stratify=True).strata.tolist()
    assert Counter(strata) == {"red": 30, "green": 15, "blue": 5}
    assert strata != sorted(strata)


@pytest.mark.parametrize(
    ("where", "count", "rule"),
    [
        ("blue", 10, "blue"),
        (["blue", "green"], 40, ["blue", "green"]),
        (("blue",), 10, ["blue"]),
    ],
)
def test_strata_are_kept_by_name(colours, where, count, rule):
    chosen = colours.slice(where=where)
    assert len(chosen) == count
    assert chosen.rule["where"] == rule


def is_early_and_red(sample, reference, stratum):
    return reference < 10 and stratum == "red" and sample[0] >= 0


def test_samples_are_kept_by_a_function(colours):
    chosen = colours.slice(where=is_early_and_red)
    assert chosen.indices.tolist() == list(range(10))
    assert chosen.rule["where"].endswith("test_slices.is_early_and_red")


def test_a_function_sees_none_where_there_is_no_reference_or_stratum():
    data = Dataset.from_arrays("a", inputs=["x", "y"])
    assert (
        len(
            data.slice(
                where=lambda sample, reference, stratum: (sample, reference, stratum) == ("x", None, None)
            )
        )
        == 1
    )


def test_a_part_is_chosen_from_what_matches(colours):
    assert set(colours.slice(n=5, seed=1, where="blue").strata.tolist()) == {"blue"}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"n": 101}, "101 samples of dataset `colours` were asked for, but there are 100; ask for n=100"),
        ({"n": 11, "where": "blue"}, "there are 10 that match 'blue'"),
        ({"where": "blu"}, "did you mean `blue`?"),
        ({"where": lambda *_: False}, "no sample of dataset `colours` matches"),
        ({"where": []}, "no sample of dataset `colours` matches"),
    ],
)
def test_a_slice_that_the_data_cannot_give_is_told_with_its_numbers(colours, rule, told):
    with pytest.raises(DataError) as refusal:
        colours.slice(**rule)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    "rule", [{"n": 0}, {"n": 1.5}, {"n": True}, {"n": 2, "seed": -1}, {"n": 2, "seed": "a"}]
)
def test_a_rule_that_cannot_be_meant_is_refused(colours, rule):
    with pytest.raises(DeclarationError):
        colours.slice(**rule)


@pytest.mark.parametrize("rule", [{"n": 1, "stratify": True}, {"where": "red"}])
def test_strata_that_are_not_there_cannot_be_asked_for(rule):
    with pytest.raises(DeclarationError, match="strata="):
        Dataset.from_arrays("a", inputs=[1, 2]).slice(**rule)


@pytest.mark.parametrize("samples", [[4], [4, 5, 6], [4, 6], [6, 5, 4], [4, 4], [4, 7, 6], np.array([1, 2])])
def test_a_batch_holds_the_samples_asked_for(colours, samples):
    chosen = colours.slice(n=30, seed=2)
    assert np.array_equal(chosen.take(samples), colours.inputs[chosen.indices[samples]])


def test_a_batch_of_a_list_is_a_list():
    assert Dataset.from_arrays("a", inputs=["x", "y", "z"]).slice().take(np.array([2, 0])) == ["z", "x"]


def test_neighbours_are_neither_copied_nor_writable(colours):
    chosen = colours.slice(n=30, seed=2)
    assert not chosen.take([3, 4, 5]).flags.writeable
    assert np.shares_memory(chosen.take([3, 4, 5]), chosen.inputs)
    assert np.shares_memory(colours.slice().inputs, colours.inputs)


def test_a_slice_describes_itself_as_plain_data(colours):
    chosen = colours.slice(n=50, stratify=True, seed=9)
    described = chosen.describe()
    assert json.loads(json.dumps(described)) == described
    assert described == {
        "name": "colours",
        "version": "2",
        "licence": "internal",
        "source": "form scanner",
        "caveats": ["one site only"],
        "metrics": ["accuracy"],
        "rule": {"n": 50, "seed": 9, "stratify": True, "where": None, "order": "random"},
        "n": 50,
        "of": 100,
        "strata": {"blue": 5, "green": 15, "red": 30},
        "clusters": len(set(chosen.clusters.tolist())),
        "digest": chosen.digest,
    }


def test_labels_of_a_stage_that_change_during_a_run_are_told():
    labels = [["a"], ["b"]]
    chosen = Dataset.from_arrays("d", inputs=[1, 2], stages={"find": (labels, "accuracy")}).slice()
    chosen.check_unchanged()
    chosen.check_unchanged()
    labels[1][0] = "a"
    with pytest.raises(DataError, match="were changed during the run"):
        chosen.check_unchanged()


def test_a_rule_of_the_wrong_arity_or_that_fails_is_told_in_one_sentence():
    data = Dataset.from_arrays("d", inputs=[1, 2], references=[1, 0])
    with pytest.raises(DeclarationError, match=r"takes 1 arguments; expected a function of three, as in"):
        data.slice(where=lambda sample: sample > 1)
    with pytest.raises(DataError, match=r"failed on sample 1 of dataset `d`: ZeroDivisionError: "):
        data.slice(where=lambda sample, label, stratum: sample / label)


def groupings(inputs, **more):
    chosen = Dataset.from_arrays("d", inputs=inputs, references=["r"] * len(inputs), **more).slice()
    return [labels.tolist() for labels in chosen.groupings]


def test_samples_that_differ_stand_for_themselves():
    assert groupings(["a", "b", "c"]) == []


def test_samples_of_equal_content_are_one_group():
    assert groupings(["a", "b", "a", "c", "b"]) == [[0, 1, 0, 2, 1]]


def test_the_same_question_with_another_label_is_another_sample():
    chosen = Dataset.from_arrays("d", inputs=["a", "a"], references=["x", "y"]).slice()
    assert chosen.groupings == ()


def test_clusters_are_groups_where_their_samples_differ():
    assert groupings(["a", "b", "c", "d"], clusters=["x", "x", "y", "y"]) == [[0, 0, 1, 1]]


def test_a_sample_that_clusters_share_does_not_make_them_one_and_is_a_group_of_its_own():
    found = groupings(["thanks", "b", "thanks", "d"], clusters=["x", "x", "y", "y"])
    assert found == [[0, 0, 1, 1], [0, 1, 0, 2]]


def test_clusters_of_equal_content_are_one():
    found = groupings(["a", "b", "b", "a", "c", "d"], clusters=["x", "x", "y", "y", "z", "z"])
    assert found == [[0, 0, 0, 0, 1, 1]]


def test_copies_within_a_cluster_are_in_it():
    assert groupings(["a", "a", "b", "c"], clusters=["x", "x", "y", "y"]) == [[0, 0, 1, 1]]


def test_clusters_of_copies_of_one_content_each_are_its_copies():
    assert groupings(["a", "a", "a", "b"], clusters=["x", "x", "y", "z"]) == [[0, 0, 0, 1]]


def test_contents_and_clusters_that_cross_both_count():
    found = groupings(["a", "b", "a", "a", "b", "b"], clusters=["u", "u", "v", "v", "w", "w"])
    assert found == [[0, 0, 1, 1, 2, 2], [0, 1, 0, 0, 1, 1]]


def test_repeats_are_told():
    chosen = Dataset.from_arrays("d", inputs=["a", "a", "b"]).slice()
    assert chosen.describe()["repeats"] == 1
    assert "repeats" not in Dataset.from_arrays("d", inputs=["a", "b"]).slice().describe()
