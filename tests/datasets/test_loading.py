import csv
import json
import mmap
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset
from pytest_procure.datasets.places import starting_at
from pytest_procure.errors import DataError, DeclarationError

RECORDS = [{"text": f"ticket {i}", "queue": "ab"[i % 2], "label": i, "customer": i // 2} for i in range(6)]


@pytest.fixture
def base(tmp_path):
    with starting_at(tmp_path):
        yield tmp_path


def jsonl(base, records, name="tickets.jsonl"):
    lines = [each if isinstance(each, str | bytes) else json.dumps(each) for each in records]
    data = [line if isinstance(line, bytes) else line.encode() for line in lines]
    (base / name).write_bytes(b"\n".join(data) + b"\n")
    return name


def refused(*words):
    return pytest.raises(DataError, match="(?s)" + ".*".join(map(re.escape, words)))


@pytest.mark.parametrize("lazy", [True, False, None])
def test_json_lines_become_columns(base, lazy):
    data = Dataset.from_jsonl(
        "tickets",
        jsonl(base, RECORDS),
        input="text",
        reference="label",
        stratum="queue",
        cluster="customer",
        lazy=lazy,
    )
    assert list(data.inputs) == [each["text"] for each in RECORDS]
    assert list(data.references) == list(range(6))
    assert data.strata.tolist() == list("ababab")
    assert data.clusters.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_lazy_slice_has_the_digest_of_the_eager_one(base):
    name = jsonl(base, RECORDS)
    lazy, eager = (
        Dataset.from_jsonl("t", name, input="text", reference="label", lazy=lazy).slice(n=4, seed=1)
        for lazy in (True, False)
    )
    assert lazy.digest == eager.digest
    assert lazy.take([2, 0]) == eager.take([2, 0])


def test_several_keys_make_mappings(base):
    data = Dataset.from_jsonl("t", jsonl(base, RECORDS), input=["text", "queue"], lazy=True)
    assert data.inputs[1] == {"text": "ticket 1", "queue": "b"}


def test_stages_of_a_pipeline_have_labels_of_their_own(base):
    name = jsonl(base, RECORDS)
    data = Dataset.from_jsonl("t", name, input="text", stages={"route": ("queue", "accuracy")})
    references, labels = data.slice(n=3, seed=1).stage("route")
    assert references == [RECORDS[i]["queue"] for i in data.slice(n=3, seed=1).indices]
    assert labels.scorer("a", "a") == 1.0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"text": "\xff", "label": 1}', "no UTF-8"),
        ("{'text': 1}", "no JSON at character 2"),
        ('{"text": NaN, "label": 1}', "NaN"),
        ('{"text": 1, "text": 2, "label": 1}', "stands twice"),
        ("[1, 2]", "holds list"),
        ('{"text": "a"}', "unknown key `label`"),
        ('{"text": "a", "label": null}', "is empty"),
        ('{"text": "\\ud800", "label": 1}', "lone surrogate"),
        ("[" * 100_000, "no JSON"),
        ('{"text": 1' + "0" * 5000 + ', "label": 1}', "no JSON"),
    ],
)
def test_a_line_that_is_no_record_is_told_with_file_and_line(base, line, told):
    name = jsonl(base, [{"text": "a", "label": 0}, line])
    with refused("tickets.jsonl, line 2", told) as refusal:
        Dataset.from_jsonl("t", name, input="text", reference="label")
    assert "\n" not in str(refusal.value)
    assert str(base) not in str(refusal.value)


def test_a_line_without_end_is_told_before_it_fills_the_memory(base, monkeypatch):
    monkeypatch.setattr("pytest_procure.datasets.records.LONGEST", 1000)
    with refused("line 2", "longer than"):
        Dataset.from_jsonl("t", jsonl(base, [{"text": "a"}, "x" * 2000]), input="text")


def test_blank_lines_and_a_byte_order_mark_are_no_records(base):
    name = jsonl(base, [b'\xef\xbb\xbf{"text": "a"}', "", '{"text": "b"}'])
    for lazy in (True, False):
        assert list(Dataset.from_jsonl("t", name, input="text", lazy=lazy).inputs) == ["a", "b"]


def test_an_empty_file_is_no_dataset(base):
    with refused("holds no record"):
        Dataset.from_jsonl("t", jsonl(base, []), input="text")


def test_a_missing_file_is_told_with_the_nearest_name(base):
    jsonl(base, RECORDS)
    with refused("`ticket.jsonl`", "did you mean `tickets.jsonl`"):
        Dataset.from_jsonl("t", "ticket.jsonl", input="text")


def test_a_file_that_changes_after_it_was_read_is_told(base):
    data = Dataset.from_jsonl("t", jsonl(base, RECORDS), input="text", lazy=True)
    jsonl(base, RECORDS[:1])
    with refused("was changed"):
        data.inputs[0]


def table(base, text, name="tickets.csv"):
    (base / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


@pytest.mark.parametrize("lazy", [True, False])
def test_a_table_becomes_columns(base, lazy):
    name = table(base, 'text,label\n"two\nlines, a comma",1\nplain,2\n')
    data = Dataset.from_csv("t", name, input="text", reference="label", convert={"label": int}, lazy=lazy)
    assert list(data.inputs) == ["two\nlines, a comma", "plain"]
    assert data.references == [1, 2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("text,label\na,1\nb\n", "line 3: 1 fields; expected 2"),
        ("text,label\na,1\nb,2,3\n", "line 3: 3 fields; expected 2"),
        ("text,text\na,1\n", "two columns are named `text`"),
        ("text,label\na,one\n", "line 2: `label` is 'one'"),
        ("text,label\na,\n", "line 2: `label`"),
        ("text,lable\na,1\n", "did you mean `lable`"),
        (b"text,label\n\xff,1\n", "line 2: no UTF-8"),
        ('text,label\n"a,1\nb,2\n', "line 3"),
        ("", "is empty"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(base, text, told):
    with refused(told):
        Dataset.from_csv("t", table(base, text), input="text", reference="label", convert={"label": int})


def test_a_label_of_blanks_is_no_label(base):
    with refused("line 2: `label` is empty"):
        Dataset.from_csv("t", table(base, "text,label\na, \t\n"), input="text", reference="label")


def test_whatever_a_conversion_raises_is_one_line(base):
    with refused("line 2: `label` is 'b': KeyError: 'b'"):
        convert = {"label": {"a": 1}.__getitem__}
        Dataset.from_csv(
            "t", table(base, "text,label\na,b\n"), input="text", reference="label", convert=convert
        )


def test_an_input_that_is_null_is_refused(base):
    name = jsonl(base, [{"text": "a", "label": 1}, {"text": None, "label": 2}])
    with refused("line 2: `text` is empty; fill it in or leave the record out"):
        Dataset.from_jsonl("t", name, input="text", reference="label")


def test_the_limit_on_fields_is_given_back(base):
    before = csv.field_size_limit()
    Dataset.from_csv("t", table(base, "text\na\n"), input="text")
    assert csv.field_size_limit() == before


@settings(derandomize=True, max_examples=60)
@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2), min_size=1))
def test_a_table_read_lazily_is_the_table_read_at_once(tmp_path_factory, rows):
    base = tmp_path_factory.mktemp("csv")
    with (base / "t.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["a", "b"], *rows])
    try:
        eager, lazy = (
            Dataset.from_csv("t", base / "t.csv", input=["a", "b"], lazy=lazy) for lazy in (False, True)
        )
    except DataError:
        return  # a bare carriage return in a field, which the module refuses to guess about
    assert list(eager.inputs) == list(lazy.inputs)


def test_arrays_are_mapped_and_not_read(base):
    np.save(base / "x.npy", np.arange(12.0).reshape(4, 3))
    np.save(base / "y.npy", np.arange(4))
    data = Dataset.from_npy("a", inputs="x.npy", references="y.npy")
    assert isinstance(data.inputs.base.base, mmap.mmap | np.memmap)
    assert (
        data.slice().digest
        == Dataset.from_arrays("a", inputs=np.arange(12.0).reshape(4, 3), references=np.arange(4))
        .slice()
        .digest
    )


def test_packed_arrays_are_named(base):
    np.savez_compressed(base / "d.npz", x=np.arange(6), y=np.arange(6))
    assert list(Dataset.from_npz("a", "d.npz", inputs="x", references="y").references) == list(range(6))
    with refused("unknown array `z`", "x, y"):
        Dataset.from_npz("a", "d.npz", inputs="z")


@pytest.mark.parametrize("name", ["o.npy", "o.npz"])
def test_pickled_arrays_are_refused(base, name):
    (np.save if name == "o.npy" else np.savez)(base / name, np.array([{}, []], dtype=object))
    with refused("pickled objects", "refused"):
        if name == "o.npy":
            Dataset.from_npy("a", inputs=name)
        else:
            Dataset.from_npz("a", name, inputs="arr_0")


def test_an_array_that_promises_more_than_its_file_holds_is_refused(base):
    np.save(base / "x.npy", np.zeros(4))
    whole = (base / "x.npy").read_bytes()
    (base / "x.npy").write_bytes(whole.replace(b"(4,)", b"(9,)"))
    with refused("x.npy: no array file", "not as long as the file"):
        Dataset.from_npy("a", inputs="x.npy")


def test_a_packed_array_that_unpacks_to_too_much_is_refused(base, monkeypatch):
    np.savez_compressed(base / "bomb.npz", x=np.zeros(1_000_000))
    assert (base / "bomb.npz").stat().st_size < 10_000
    monkeypatch.setattr("pytest_procure.datasets.array_files.MOST", 1_000_000)
    with refused("bomb.npz, array `x`: 8,000,128 bytes when unpacked"):
        Dataset.from_npz("a", "bomb.npz", inputs="x")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x10\x00garbage"])
@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_what_is_no_array_file_is_told(base, content, name):
    (base / name).write_bytes(content)
    with refused(name):
        if name == "x.npy":
            Dataset.from_npy("a", inputs=name)
        else:
            Dataset.from_npz("a", name, inputs="x")


def test_a_function_makes_inputs_when_they_are_asked_for():
    asked = []
    data = Dataset.from_function("f", lambda i: asked.append(i) or i * i, 5, references=[0, 1, 4, 9, 16])
    assert asked == []
    assert data.slice(n=2, seed=1).take([0]) == [int(data.slice(n=2, seed=1).indices[0]) ** 2]


def test_a_function_that_does_not_make_the_same_again_is_told():
    chosen = Dataset.from_function("f", lambda i, seen=[]: seen.append(i) or len(seen), 3).slice()
    assert chosen.digest
    with refused("were changed"):
        chosen.check_unchanged()


def test_what_a_function_raises_is_told():
    data = Dataset.from_function("f", lambda i: 1 // i, 3)
    with refused("item 0 of dataset `f`", "ZeroDivisionError"):
        data.inputs[0]


def test_a_column_that_is_in_the_file_is_not_given_twice(base):
    with pytest.raises(DeclarationError, match="unknown argument `references`; did you mean `reference`"):
        Dataset.from_jsonl("t", jsonl(base, RECORDS), input="text", reference="label", references=[1])
