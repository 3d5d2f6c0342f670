import json

import numpy as np
import pytest

from pytest_procure.datasets import Dataset
from pytest_procure.errors import DataError

pa = pytest.importorskip("pyarrow")

COLUMNS = {"text": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "label": [0, 1, 0], "queue": ["q", "q", "r"]}


@pytest.fixture
def file(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table(COLUMNS), tmp_path / "d.parquet", row_group_size=2)
    return tmp_path / "d.parquet"


@pytest.fixture
def folder(tmp_path):
    """What `save_to_disk` writes, by hand: two Arrow streams and the state that names them."""
    place = tmp_path / "saved"
    place.mkdir()
    table = pa.table(COLUMNS)
    for number, part in enumerate((table.slice(0, 2), table.slice(2))):
        with (
            pa.OSFile(str(place / f"data-{number}.arrow"), "wb") as sink,
            pa.ipc.new_stream(sink, table.schema) as out,
        ):
            out.write_table(part)
    files = [{"filename": f"data-{number}.arrow"} for number in (0, 1)]
    (place / "state.json").write_text(json.dumps({"_data_files": files}))
    return place


def test_a_parquet_file_becomes_columns(file):
    data = Dataset.from_parquet("p", file, input="text", reference="label", stratum="queue")
    assert list(data.inputs) == ["a", "b", "c"]
    assert data.references == [0, 1, 0]
    assert data.strata.tolist() == ["q", "q", "r"]


def test_numbers_are_asked_as_an_array(file):
    data = Dataset.from_parquet("p", file, input="x", reference="label")
    assert data.slice().take([0, 1, 2]).tolist() == [1.0, 2.0, 3.0]


def test_several_columns_make_mappings(file):
    data = Dataset.from_parquet("p", file, input=["text", "x"], reference="label")
    assert data.inputs[2] == {"text": "c", "x": 3.0}


def test_an_unknown_column_is_told_with_the_nearest(file):
    with pytest.raises(DataError, match="unknown column `lable`; did you mean `label`"):
        Dataset.from_parquet("p", file, input="text", reference="lable")


def test_a_row_without_a_label_is_told(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, 2], "y": [1, None]}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"d\.parquet, row 1: `y` is empty"):
        Dataset.from_parquet("p", tmp_path / "d.parquet", input="x", reference="y")


@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"hello" * 100])
def test_what_is_no_parquet_file_is_told(tmp_path, content):
    (tmp_path / "d.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"d\.parquet: no Parquet file") as refusal:
        Dataset.from_parquet("p", tmp_path / "d.parquet", input="x")
    assert "\n" not in str(refusal.value)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": np.zeros(1_000_000)}), tmp_path / "d.parquet", use_dictionary=False)
    monkeypatch.setattr("pytest_procure.datasets.arrow_files.MOST", 1_000_000)
    with pytest.raises(DataError, match="when unpacked"):
        Dataset.from_parquet("p", tmp_path / "d.parquet", input="x")


def test_a_saved_folder_becomes_columns(folder):
    data = Dataset.from_saved("s", folder, input="text", reference="label")
    assert list(data.inputs) == ["a", "b", "c"]
    assert list(data.slice(n=2, seed=1).inputs) == [
        COLUMNS["text"][i] for i in data.slice(n=2, seed=1).indices
    ]


def test_a_file_format_makes_no_other_digest(folder, file):
    saved = Dataset.from_saved("s", folder, input="text", reference="label")
    assert (
        saved.slice().digest
        == Dataset.from_parquet("p", file, input="text", reference="label").slice().digest
    )


def test_a_state_that_leads_out_of_its_folder_is_refused(folder):
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../../etc/passwd"}]}))
    with pytest.raises(DataError, match="leads out of the folder"):
        Dataset.from_saved("s", folder, input="text")


def test_a_selection_that_was_not_written_out_is_refused(folder):
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | {"_indices_data_files": [{"filename": "i.arrow"}]}))
    with pytest.raises(DataError, match="flatten_indices"):
        Dataset.from_saved("s", folder, input="text")


def test_a_folder_of_splits_is_told_with_its_splits(tmp_path, folder):
    (tmp_path / "dataset_dict.json").write_text("{}")
    with pytest.raises(DataError, match=r"holds splits \(saved\)"):
        Dataset.from_saved("s", tmp_path, input="text")


def test_a_damaged_arrow_file_is_told(folder):
    whole = (folder / "data-0.arrow").read_bytes()
    (folder / "data-0.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"saved/data-0\.arrow: no Arrow file"):
        Dataset.from_saved("s", folder, input="text")


@pytest.mark.filterwarnings("ignore")
def test_what_the_library_itself_saves_is_read(tmp_path):
    library = pytest.importorskip("datasets", minversion="2")  # a folder of that name is no library
    library.Dataset.from_dict(COLUMNS).save_to_disk(str(tmp_path / "real"))
    data = Dataset.from_saved("s", tmp_path / "real", input=["text", "x"], reference="label")
    assert list(data.inputs) == [
        {"text": t, "x": x} for t, x in zip(COLUMNS["text"], COLUMNS["x"], strict=True)
    ]


@pytest.mark.parametrize("key", ["text", "label"])
def test_a_column_named_twice_is_told(tmp_path, key):
    import pyarrow.parquet as pq

    columns = [pa.array(["a", "b"]), pa.array(["c", "d"]), pa.array(["x", "y"])]
    other = "label" if key == "text" else "text"
    pq.write_table(pa.table(columns, names=[key, key, other]), tmp_path / "d.parquet")
    with pytest.raises(DataError, match=f"d.parquet: 2 columns are named `{key}`"):
        Dataset.from_parquet("d", tmp_path / "d.parquet", input="text", reference="label")


@pytest.mark.parametrize(
    ("texts", "labels", "told"),
    [
        (["a", "b"], ["x", ""], "row 1: `label` is empty"),
        (["a", "b"], ["  ", "x"], "row 0: `label` is empty"),
        (["a", None], ["x", "y"], "row 1: `text` is empty"),
    ],
)
def test_empty_labels_and_inputs_are_refused_as_in_other_files(tmp_path, texts, labels, told):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": texts, "label": labels}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match=told):
        Dataset.from_parquet("d", tmp_path / "d.parquet", input="text", reference="label")
