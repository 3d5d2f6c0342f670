"""Packs of one specification side by side; packs of others are refused, and the field is named."""

import json

import packs
import pytest

from pytest_procure.cli import main
from pytest_procure.errors import EvidenceError
from pytest_procure.verify import verify
from pytest_procure.verify.comparing import side_by_side


def test_offers_of_several_packs_stand_side_by_side_paired_on_their_items(written):
    one = written("one", "quality", candidate=packs.offer("acme", raises=-1))
    two = written("two", "quality", candidate=packs.offer("bolt", wrong=-1, raises=-1))
    (question,) = side_by_side([verify(one), verify(two)])
    assert [(each.pack, each.candidate) for each in question.offers] == [("one", "acme"), ("two", "bolt")]
    first, second = question.offers
    assert first.paired == []
    (told,) = second.paired
    assert told.startswith("answers right, less acme (one)'s: 1.67 points (likely range ")
    assert "paired on 60 items" in told


def test_speed_is_shown_and_not_compared(written, capsys):
    folders = [str(written(name, "server", candidate=packs.offer(name))) for name in ("acme", "bolt")]
    assert main(["compare", *folders]) == 0
    told = capsys.readouterr().out
    assert told.count("slowest 5 in 100 requests (p95)") == 2
    assert "Speeds stand side by side and are not compared" in told


@pytest.mark.parametrize(
    ("kind", "field", "value", "named"),
    [
        ("bars", "at_least", 0.8, r"\$\.requirements\.test_quality\.bars\[0\]\.bar\.number"),
        ("scenario", "seed", 5, r"\$\.requirements\.test_quality\.conditions\.seed"),
    ],
)
def test_packs_of_different_specifications_are_refused_and_the_field_is_named(  # noqa: PLR0917 - parametrised
    written, monkeypatch, kind, field, value, named
):
    one = written("one", "quality")
    if kind == "bars":
        other = [("accuracy", {field: value}), *packs.BARS["quality"][1:]]
        monkeypatch.setitem(packs.BARS, "quality", other)
    else:
        scenario = packs.Scenario.declare("single_stream", warmup=0, **{field: value})
        monkeypatch.setitem(packs.SCENARIOS, "quality", scenario)
    two = written("two", "quality")
    with pytest.raises(EvidenceError, match=rf"two is of another specification than .*one: {named}: "):
        side_by_side([verify(one), verify(two)])


def test_packs_with_different_requirements_are_refused(written):
    one, two = written("one", "quality"), written("two", "quality", "words")
    with pytest.raises(EvidenceError, match=r"requirements\.test_words"):
        side_by_side([verify(one), verify(two)])


def test_a_pack_that_does_not_hold_is_not_compared(written, capsys):
    one, two = written("one", "quality"), written("two", "quality")
    (two / "report.html").write_text("<html>")
    assert main(["compare", str(one), str(two)]) == 2
    assert "two does not hold, so it is not compared" in capsys.readouterr().err


def test_one_pack_is_a_usage_error(written, capsys):
    assert main(["compare", str(written("one", "words"))]) == 2
    assert "name two or more" in capsys.readouterr().err


def test_the_comparison_is_told_as_json_as_well(written, capsys):
    folders = [str(written(name, "words", candidate=packs.offer(name))) for name in ("acme", "bolt")]
    assert main(["compare", "--json", *folders]) == 0
    (question,) = json.loads(capsys.readouterr().out)
    assert [each["candidate"] for each in question["offers"]] == ["acme", "bolt"]
