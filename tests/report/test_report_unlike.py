"""What is not as declared stands on the first screen, once."""

import pytest

from pytest_procure.report.unlike import unlike


def record(*conditions):
    results = [{"candidate": "acme", "runs": [{"conditions": each}]} for each in conditions]
    return {"requirements": [{"results": [each]} for each in results]}


def offer(verdict="accept", *deviations):
    return {"name": "acme", "verdict": verdict, "backend": {"deviations": list(deviations)}}


ANSWERED = {"model_asked": "m-large", "answers_say": {"model": ["m-small"]}}


@pytest.mark.parametrize("verdict", ["accept", "reject", "inconclusive", "waived"])
def test_deviations_and_another_model_in_the_answers_are_told_once(verdict):
    told = unlike(record(ANSWERED, ANSWERED, {}), offer(verdict, "precision: another"))
    assert told == ["precision: another", "model: declared `m-large`, observed answers of `m-small`"]


def test_what_made_an_offer_invalid_is_not_told_twice():
    assert unlike(record(ANSWERED), offer("invalid", "precision: another")) == []


def test_runs_of_another_offer_are_not_looked_at():
    assert unlike(record(ANSWERED), offer() | {"name": "bolt"}) == []
