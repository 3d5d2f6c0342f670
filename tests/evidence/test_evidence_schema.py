"""The format of `verdict.json`: its schema, and a check by the same types."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from pytest_procure.evidence.record import Record, RunRecord
from pytest_procure.evidence.schema import FILE, fields, problems, schema

sys.path.append(str(Path(__file__).parents[1] / "report"))
import hostile
import sample

RECORDS = {
    "demo": sample.demo,
    "everything": sample.everything,
    "hostile": lambda: hostile.record("text"),
}


def plain(record):
    return json.loads(json.dumps(record))


def test_the_shipped_schema_is_that_of_the_types():
    wanted = json.dumps(schema(), indent=1) + "\n"
    assert FILE.read_text("utf-8") == wanted, "run `python -m pytest_procure.evidence.schema`"


def test_the_shipped_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(FILE.read_text("utf-8")))


@pytest.mark.parametrize("name", RECORDS)
def test_every_sample_follows_the_schema_and_holds_nothing_else(name):
    record = plain(RECORDS[name]())
    jsonschema.validate(record, schema(strict=True), cls=jsonschema.Draft202012Validator)
    assert problems(record) == []


def test_a_field_of_a_later_version_is_let_through_but_not_in_tests():
    record = plain(sample.demo()) | {"later": 1}
    jsonschema.validate(record, schema(), cls=jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema(strict=True), cls=jsonschema.Draft202012Validator)


CHANGES = {
    "missing": (lambda r: r.pop("outcome"), "$: `outcome` is missing"),
    "another type": (lambda r: r.update(candidates={}), "$.candidates: expected a list, got a mapping"),
    "not one of": (
        lambda r: r["outcome"].update(award="some"),
        '$.outcome.award: expected one of all, any; got "some"',
    ),
    "a truth for a number": (
        lambda r: r.update(consumer_risk=True),
        "$.consumer_risk: expected number, got true",
    ),
    "null": (lambda r: r["outcome"].update(sentence=None), "$.outcome.sentence: expected string, got null"),
    "deep": (
        lambda r: r["requirements"][1]["results"][0]["runs"][0]["timeline"]["due"].append("x"),
        '$.requirements[1].results[0].runs[0].timeline.due[40]: expected integer, got "x"',
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_is_told_with_its_place_and_the_schema_refuses_it_too(name):
    change, told = CHANGES[name]
    record = plain(sample.demo())
    change(record)
    assert problems(record)[0] == told
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema(), cls=jsonschema.Draft202012Validator)


def test_of_many_mistakes_three_are_told():
    assert len(problems({})) == 3


def test_what_may_be_left_out_is_told_from_what_may_not():
    assert fields(RunRecord)["log"] == (str, True)
    assert fields(Record)["title"] == (str, False)
