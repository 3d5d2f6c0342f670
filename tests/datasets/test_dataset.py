import numpy as np
import pytest

from pytest_procure.datasets import Dataset
from pytest_procure.errors import DataError, DeclarationError


def test_arrays_stay_arrays_and_lists_stay_lists():
    images = Dataset.from_arrays("images", inputs=np.zeros((4, 2, 2)), references=[1, 2, 3, 4])
    assert isinstance(images.inputs, np.ndarray)
    assert images.references == [1, 2, 3, 4]
    texts = Dataset.from_arrays("texts", inputs=("a", "b"))
    assert texts.inputs == ["a", "b"]
    assert len(images) == 4


def test_a_backend_cannot_write_into_the_samples():
    original = np.zeros((4, 2))
    kept = Dataset.from_arrays("a", inputs=original)
    with pytest.raises(ValueError, match="read-only"):
        kept.slice().take([0, 1])[0] = 1
    original[0] = 1  # the author's own array stays the author's


def test_the_author_may_hand_in_what_turns_into_an_array():
    class Series:
        def __init__(self, values):
            self.values = np.array(values)

        def __len__(self):
            return len(self.values)

        def __array__(self, dtype=None, copy=None):
            return self.values

    kept = Dataset.from_arrays("a", inputs=Series([1.0, 2.0]), strata=Series(["x", "y"]))
    assert kept.inputs.tolist() == [1.0, 2.0]
    assert kept.strata.tolist() == ["x", "y"]


def test_inputs_may_hold_nan():
    assert len(Dataset.from_arrays("a", inputs=np.array([np.nan, 1.0]), references=[0, 1])) == 2


@pytest.mark.parametrize(
    ("references", "place"),
    [
        ([1, None, 3], 1),
        ([1, 2, float("nan")], 2),
        ([1, np.float32("nan"), 3], 1),
        (np.array([np.nan, 1, 2]), 0),
        (np.array([[1], [1], [np.nan]]), 2),
    ],
)
def test_a_sample_without_a_reference_is_told(references, place):
    with pytest.raises(DataError, match=f"sample {place} of dataset `a` has no reference"):
        Dataset.from_arrays("a", inputs=[1, 2, 3], references=references)


@pytest.mark.parametrize("column", ["references", "strata", "clusters"])
def test_columns_of_two_lengths_are_told_with_both(column):
    with pytest.raises(DataError, match=f"3 inputs but 2 {column}"):
        Dataset.from_arrays("a", inputs=[1, 2, 3], **{column: [1, 2]})


def test_a_dataset_of_nothing_is_refused():
    with pytest.raises(DataError, match="no samples"):
        Dataset.from_arrays("a", inputs=[])


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": "abc"},
        {"inputs": {"x": 1}},
        {"inputs": 3},
        {"inputs": np.array(3)},
        {"inputs": iter([1])},
        {"caveats": "one text"},
        {"licence": "a\nb"},
        {"name": ""},
        {"scorer": "acuracy"},
        {"scorer": {}},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(DeclarationError):
        Dataset.from_arrays(**{"name": "a", "inputs": [1], **wrong})


def test_clusters_are_numbered_by_first_appearance():
    kept = Dataset.from_arrays("a", inputs=[1, 2, 3, 4], clusters=["b", "a", "b", 7])
    assert kept.clusters.tolist() == [0, 1, 0, 2]
    with pytest.raises(DataError, match="sample 1 of dataset `a` has no cluster"):
        Dataset.from_arrays("a", inputs=[1, 2], clusters=["b", None])


def test_without_references_nothing_is_accurate():
    assert Dataset.from_arrays("a", inputs=[1]).scorers == {}
    assert list(Dataset.from_arrays("a", inputs=[1], references=[1]).scorers) == ["accuracy"]


def test_a_failure_message_does_not_print_the_data():
    data = Dataset.from_arrays("a", inputs=["secret ticket"], references=["secret label"])
    assert "secret" not in repr(data) + repr(data.slice())


def test_records_are_read_by_key():
    records = [
        {"text": "a", "queue": 1, "label": "x", "customer": 3},
        {"text": "b", "queue": 2, "label": "y", "customer": 3},
    ]
    kept = Dataset.from_records(
        "tickets", records, input="text", reference="label", stratum="queue", cluster="customer", version="3"
    )
    assert kept.inputs == ["a", "b"]
    assert kept.references == ["x", "y"]
    assert kept.strata.tolist() == ["1", "2"]
    assert kept.clusters.tolist() == [0, 0]
    assert kept.version == "3"


def test_a_record_without_a_key_is_told():
    with pytest.raises(DataError, match="record 1 of dataset `a` has no `text`"):
        Dataset.from_records("a", [{"text": 1}, {"txt": 1}], input="text")


@pytest.mark.parametrize(
    "references",
    [
        np.array(["2026-01-01", "NaT"], dtype="M8[D]"),
        [np.datetime64("2026-01-01"), np.datetime64("NaT")],
        np.array([1, "NaT"], dtype="m8[s]"),
        [0j, complex(float("nan"), 0)],
    ],
)
def test_a_time_that_is_none_is_no_reference(references):
    with pytest.raises(DataError, match="sample 1 of dataset `d` has no reference"):
        Dataset.from_arrays("d", inputs=[0, 1], references=references)
