import functools

import numpy as np
import pytest

from pytest_procure.datasets.scorers import corpus_metrics, scorers
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.metrics import metric


def overlap(output, reference) -> float:
    return len(set(output) & set(reference)) / len(set(reference))


def exact(output, reference) -> bool:
    return output == reference


def unsaid(output, reference):
    return output


def _metrics():
    """Name the metrics that the message about an unknown one lists, by their first words."""
    with pytest.raises(DeclarationError) as raised:
        metric("none such")
    listed = str(raised.value).partition("Known: ")[2].split(", ")
    return sorted({name.partition(".")[0] for name in listed})


def only(declared):
    (scorer,) = scorers(declared).values()
    return scorer


@pytest.mark.parametrize(
    ("declared", "metrics"),
    [
        ("accuracy", ["accuracy"]),
        (overlap, ["quality.overlap"]),
        ({"close": overlap, "same": exact}, ["quality.close", "quality.same"]),
        ({"accuracy": "accuracy", "close": overlap}, ["accuracy", "quality.close"]),
        ({"label": "accuracy"}, ["quality.label"]),
        ({"short": lambda o, r: len(o) < 9}, ["quality.short"]),
    ],
)
def test_a_scorer_names_the_metric_that_bars_use(declared, metrics):
    assert list(scorers(declared)) == metrics
    assert [scorer.metric for scorer in scorers(declared).values()] == metrics


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("acuracy", "did you mean `accuracy`?"),
        (lambda o, r: True, "expected a named function"),
        (functools.partial(exact, reference=1), "expected a named function"),
        ({"no name": exact}, "cannot name a metric"),
        ({}, "names no scorer"),
        (3, "expected 'accuracy' or a function"),
    ],
)
def test_what_is_no_scorer_is_refused(declared, told):
    with pytest.raises(DeclarationError) as refusal:
        scorers(declared)
    assert told in str(refusal.value)


def test_a_function_may_promise_whether_its_scores_are_graded():
    assert [only(one).graded for one in (overlap, exact, unsaid, "accuracy")] == [True, False, None, False]


def test_a_promise_in_quotes_counts():
    def judged(output: "int", reference: "int") -> "float":
        return 0.5

    assert only(judged).graded is True


@pytest.mark.parametrize("score", [True, False, 0, 1, 0.25, np.bool_(1), np.float32(0.5), np.int64(1)])
def test_right_wrong_and_shares_are_scores(score):
    assert only(unsaid)(score, None) == float(score)


@pytest.mark.parametrize("score", [None, "yes", 1.5, -0.1, float("nan"), np.array([True]), 2])
def test_anything_else_is_no_score_and_told_with_its_case(score):
    with pytest.raises(
        DataError, match=r"the scorer of `quality\.unsaid` gave .* reference 'what was right'"
    ):
        only(unsaid)(score, "what was right")


@pytest.mark.parametrize(
    ("output", "reference", "right"),
    [
        (3, np.uint8(3), True),
        (np.int64(3), 4, False),
        ("a", "a", True),
        (None, "a", False),
        (float("nan"), 1, False),
        (np.array([3]), 3, True),
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), [1, 3], False),
        ([1, 2], [1, 2], True),
        ([1, 2], 1, False),
    ],
)
def test_accuracy_is_equality(output, reference, right):
    assert only("accuracy")(output, reference) == right


def test_scores_of_classes_cannot_equal_a_label():
    with pytest.raises(DataError, match=r"shape \(10,\) cannot equal the label 3; .*decode='argmax'"):
        only("accuracy")(np.zeros(10), 3)


@pytest.mark.parametrize("name", ["latency", "errors", "cost", "error_rate", "goodput", "accuracy"])
def test_a_scorer_with_the_name_of_what_is_measured_already_is_refused(name):
    with pytest.raises(DeclarationError, match=f"named `{name}` would be taken for what is measured under"):
        scorers({name: exact})
    with pytest.raises(DeclarationError, match=f"named `{name}` would be taken for what is measured under"):
        corpus_metrics({name: exact})


def test_a_function_with_the_name_of_a_metric_is_refused_unless_it_is_given_another():
    def latency(output, reference):
        return True

    with pytest.raises(DeclarationError, match="rename it, as in"):
        scorers(latency)
    assert list(scorers({"quick": latency})) == ["quality.quick"]


@pytest.mark.parametrize("name", _metrics())
def test_every_metric_that_bars_know_is_measured_already(name):
    with pytest.raises(DeclarationError, match="is measured under that name already"):
        scorers({name: exact})
