"""Outputs are known by their digest, and kept as text where the buyer lets them be."""

import hashlib
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.evidence.outputs import Outputs, check_texts


def lines(path):
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_a_text_is_known_by_its_own_bytes(tmp_path):
    outputs = Outputs()
    (digest, *_) = outputs.digests(["größe", None, "größe"]).tolist()
    assert digest.decode() == hashlib.sha256(b"text\0" + "größe".encode()).hexdigest()
    assert outputs.write(tmp_path / "x.jsonl")
    assert lines(tmp_path / "x.jsonl") == [{"sha256": digest.decode(), "text": "größe", "whole": True}]


def test_values_that_python_takes_for_equal_are_different_outputs():
    assert len(set(Outputs().digests([1, 1.0, True, "1"]).tolist())) == 4


def test_values_of_one_meaning_are_one_output():
    assert len(set(Outputs().digests([3, np.int64(3), {"a": 1}, {"a": 1}]).tolist())) == 2


def test_an_output_that_cannot_be_read_is_known_by_its_kind(tmp_path):
    class Sly(dict):
        def items(self):
            raise RuntimeError("no")

    outputs = Outputs()
    (digest, other) = outputs.digests([object(), Sly(a=1)]).tolist()
    assert digest.decode() == hashlib.sha256(b"other\0object").hexdigest()
    assert len(other) == 64


def test_what_is_redacted_is_marked_as_not_whole(tmp_path):
    outputs = Outputs(redact=re.compile(r"\d{4,}"))
    outputs.digests(["call 12345", "call me"])
    outputs.write(tmp_path / "x.jsonl")
    assert [(each["text"], each["whole"]) for each in lines(tmp_path / "x.jsonl")] == [
        ("call [redacted]", False),
        ("call me", True),
    ]


def test_without_texts_there_is_no_file(tmp_path):
    outputs = Outputs(keep=False)
    outputs.digests(["secret"])
    assert not outputs.write(tmp_path / "x.jsonl")
    assert not list(tmp_path.iterdir())


@given(st.lists(st.none() | st.text() | st.integers() | st.booleans() | st.lists(st.text())))
def test_what_was_written_is_what_was_digested(tmp_path_factory, answers):
    path = tmp_path_factory.mktemp("outputs") / "x.jsonl"
    outputs = Outputs()
    digests = set(outputs.digests(answers).tolist()) - {b""}
    if outputs.write(path):
        assert check_texts(path, digests) == []


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda text: text.replace("one", "two"), "the text is not the one that was digested"),
        (lambda text: text * 2, "stands twice"),
        (
            lambda text: text.replace('"sha256": "', '"sha256": "0').replace('0", "text"', '", "text"'),
            "no output",
        ),
        (lambda text: text.replace(", ", ","), "no output as we write it"),
        (lambda text: text + "[1]\n", "no output as we write it"),
    ],
)
def test_a_text_that_was_changed_is_named_by_its_line(tmp_path, edit, told):
    path = tmp_path / "x.jsonl"
    outputs = Outputs()
    digests = set(outputs.digests(["one"]).tolist())
    outputs.write(path)
    path.write_text(edit(path.read_text()))
    assert any(told in each for each in check_texts(path, digests))
