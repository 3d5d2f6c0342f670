import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset
from pytest_procure.datasets.digests import slice_digest
from pytest_procure.errors import DataError

invariant = settings(derandomize=True, max_examples=60)

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_a_digest_is_the_same_on_every_machine():
    images = np.arange(8, dtype="<f4").reshape(2, 2, 2)
    assert (
        slice_digest(images, ["cat", "dog"])
        == "39d01aee506cf28c5bb11ea3c4ae875436cb4b5011374681e616fbf063f3bfbc"
    )
    assert (
        slice_digest(["what?", b"\x00", {"b": [1, 2.5], "a": None}], None)
        == "c3fd1d8918f471475a977cb339bf5acd78f9874ca4f1052fe2852f7a99feff1f"
    )


def test_byte_order_and_memory_layout_do_not_matter():
    images = np.arange(12, dtype="<f4").reshape(3, 4)
    expected = slice_digest(images, None)
    assert slice_digest(images.astype(">f4"), None) == expected
    assert slice_digest(np.asfortranarray(images), None) == expected
    assert slice_digest(np.repeat(images, 2, axis=1)[:, ::2], None) == expected
    assert slice_digest(list(images), None) == expected


def test_many_numbers_at_once_have_the_digest_of_each_by_itself():
    images = np.arange(10_000, dtype="<f4").reshape(5000, 2)
    labels = np.arange(5000, dtype="<i2")
    assert slice_digest(images, labels) == slice_digest(list(images), [np.asarray(label) for label in labels])
    assert slice_digest(labels, None) == slice_digest([np.asarray(label) for label in labels], None)


@pytest.mark.parametrize(
    "other",
    [
        np.arange(12, dtype="<f4").reshape(3, 2, 2),
        np.arange(12, dtype="<f8").reshape(3, 4),
        np.arange(12, dtype="<f4").reshape(3, 4)[::-1],
        np.arange(1, 13, dtype="<f4").reshape(3, 4),
    ],
    ids=["shape", "type", "order", "values"],
)
def test_shape_type_order_and_values_matter(other):
    assert slice_digest(other, None) != slice_digest(np.arange(12, dtype="<f4").reshape(3, 4), None)


def test_references_matter():
    inputs = np.zeros((2, 2))
    assert len({slice_digest(inputs, references) for references in (None, [0, 1], [1, 0], ["0", "1"])}) == 4


@invariant
@given(st.lists(PLAIN, min_size=1, max_size=3), st.lists(PLAIN, min_size=1, max_size=3))
def test_plain_data_has_one_digest_and_other_data_another(one, other):
    assert slice_digest(one, None) == slice_digest(list(one), None)
    if repr(one) != repr(other):
        assert slice_digest(one, None) != slice_digest(other, None) or one == other


def test_the_order_of_keys_does_not_matter():
    assert slice_digest([{"a": 1, "b": 2}], None) == slice_digest([{"b": 2, "a": 1}], None)


def test_arrays_within_plain_data_count():
    first, second = ({"image": np.array([1.0, x]), "text": "t"} for x in (2.0, 3.0))
    assert slice_digest([first], None) != slice_digest([second], None)


def test_numbers_of_numpy_can_be_digested():
    assert slice_digest([np.float32(1.5), np.int64(3), np.str_("a")], [np.bool_(1)] * 3)


def test_text_of_numpy_is_text():
    assert slice_digest(np.array(["a", "bcd"]), None) == slice_digest(["a", "bcd"], None)


@pytest.mark.parametrize("item", [object(), {"a": {1, 2}}, np.array([object()]), [complex(1, 2)]])
def test_what_cannot_be_digested_is_told_with_its_place(item):
    with pytest.raises(DataError, match=r"item 1 .* cannot be digested"):
        slice_digest(["fine", item], None)


def test_what_holds_itself_cannot_be_digested():
    loop = []
    loop.append(loop)
    with pytest.raises(DataError, match="cannot be digested"):
        slice_digest([loop], None)


def test_a_slice_is_digested_in_its_own_order():
    data = Dataset.from_arrays("a", inputs=np.arange(50), references=np.arange(50))
    chosen = data.slice(n=10, seed=1)
    assert chosen.digest == slice_digest(np.arange(50)[chosen.indices], np.arange(50)[chosen.indices])
    assert chosen.digest != data.slice(n=10, seed=2).digest
