from dataclasses import replace

import numpy as np
import pytest
from by_hand import ITEMS, execution, log

from pytest_procure.datasets import Dataset
from pytest_procure.driver.log import Status
from pytest_procure.errors import DataError
from pytest_procure.metrics import measure, metric, score, telling
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.units import Quantity

ACCURACY = metric("accuracy")


def of(scores, *logs, **more):
    logs = logs or (log([1] * len(scores)),)
    return measure(ACCURACY, execution(*logs, scores={"accuracy": scores}, **more))


def test_accuracy_is_the_mean_score_over_all_samples():
    measured = of([1] * 75 + [0] * 25)
    assert measured.estimate == Quantity.of(0.75)
    assert (measured.basis.total, measured.basis.n, measured.n_unit) == (75.0, 100, "samples")


def test_items_that_are_asked_once_count_as_independent():
    basis = of([1] * 75 + [0] * 25).basis
    assert (basis.design_effect, basis.df, basis.clusters) == (1.0, None, None)


def test_an_item_that_is_asked_again_is_one_cluster():
    twice = [1] * 75 + [0] * 25
    basis = of(twice + twice, log([1] * 200)).basis
    assert basis.clusters == 100
    assert basis.design_effect == pytest.approx(2.0, rel=0.02)
    assert basis.df == 99


def test_clusters_of_the_dataset_join_their_items():
    basis = of([1] * 75 + [0] * 25, clusters=np.arange(ITEMS) // 4).basis
    assert basis.clusters == 25
    assert basis.design_effect > 3


def test_one_item_asked_often_tells_as_much_as_one():
    basis = of([1] * 40, log([1] * 40, samples=[7] * 40)).basis
    assert (basis.clusters, basis.design_effect) == (1, 40.0)


def test_failures_that_stand_in_rows_leave_less_information():
    status = [Status.OK] * 60 + [Status.LOST] * 40
    basis = of([1] * 60 + [0] * 40, log([1] * 100, status=status)).basis
    assert basis.design_effect > 10


def test_a_score_that_the_dataset_has_not_is_not_measurable():
    run = execution(log([1]), scores={"quality.rouge": [1]})
    assert measure(ACCURACY, run).basis == Unmeasurable(
        "dataset `by hand` has no scorer for it (it has: quality.rouge)"
    )


def test_no_request_is_not_measurable():
    assert of([], log([])).basis == Unmeasurable("no request was made")


def slice_of(scorer="accuracy", references=(0, 1, 2, 3)):
    return Dataset.from_arrays("four", inputs=np.arange(4), references=references, scorer=scorer).slice()


def answered(answers, **more):
    made = log([1] * len(answers), samples=list(range(len(answers))), **more)
    made.answers = answers
    return made


def scored(chosen, *logs):
    (scorer,) = chosen.dataset.scorers.values()
    found = score(logs, chosen, scorer)
    if found.error is not None:
        raise found.error
    return found.values.tolist()


def test_each_answer_is_scored_against_its_own_reference():
    assert scored(slice_of(), answered([0, 9, 2, 9])) == [1, 0, 1, 0]


def test_a_failed_request_scores_nothing_whatever_it_answered():
    status = [Status.OK, Status.TIMEOUT, Status.ERROR, Status.EMPTY]
    assert scored(slice_of(), answered([0, 1, 2, 3], status=status)) == [1, 0, 0, 0]


def test_answers_of_several_launches_stand_in_send_order():
    assert scored(slice_of(), answered([0, 9]), answered([9, 1])) == [1, 0, 0, 1]


def test_answers_of_one_query_share_its_fate():
    made = log([1, 1], samples=[0, 1, 2, 3], per_query=2, status=[Status.OK, Status.ERROR])
    made.answers = [0, 1, 2, 3]
    assert scored(slice_of(), made) == [1, 1, 0, 0]


def test_a_scorer_that_raises_names_the_sample():
    def strict(output, reference):
        raise KeyError(reference)

    with pytest.raises(DataError, match="raised KeyError on sample 0 of the slice"):
        scored(slice_of(strict), answered([0, 1]))


@pytest.mark.parametrize("value", [7, -0.1, float("nan"), None, "good"])
def test_a_score_that_is_none_names_the_sample(value):
    def strange(output, reference):
        return value

    with pytest.raises(DataError, match=r"sample 0 of the slice: the scorer of `quality.strange` gave"):
        scored(slice_of(strange), answered([0, 1]))


@pytest.mark.parametrize(
    "answer", [np.zeros(2), object(), {1: "a", "b": object()}], ids=["array", "own", "dict"]
)
def test_an_answer_that_cannot_be_scored_is_wrong_and_counted(answer):
    chosen = slice_of()
    found = score((answered([0, answer, 2, 9]),), chosen, chosen.dataset.scorers["accuracy"])
    assert found.values.tolist() == [1, 0, 1, 0]
    assert found.unscored == 1
    assert "expected" in found.why


def test_an_answer_that_the_buyers_own_scorer_raises_on_is_wrong():
    def strict(output, reference):
        return output["label"] == reference

    chosen = slice_of(strict)
    found = score((answered([{"label": 0}, "nonsense"]),), chosen, chosen.dataset.scorers["quality.strict"])
    assert (found.values.tolist(), found.unscored) == ([1, 0], 1)
    assert found.why.startswith("its scorer raised TypeError")


def test_an_answer_of_which_a_scorer_makes_no_score_is_wrong():
    def share(output, reference):
        return output

    chosen = slice_of(share)
    found = score((answered([0.5, 7, float("nan")]),), chosen, chosen.dataset.scorers["quality.share"])
    assert (found.values.tolist(), found.unscored) == ([0.5, 0, 0], 2)


def test_what_a_scorer_raised_is_told_without_its_words_where_samples_are_withheld():
    def strict(output, reference):
        return {reference: True}[output]

    data = Dataset.from_arrays("two", inputs=[0, 1], references=["a", "b"], scorer=strict, show_samples=False)
    found = score((answered(["secret", "b"]),), data.slice(), data.scorers["quality.strict"])
    assert found.why == "its scorer raised KeyError"


def test_a_scorer_that_takes_the_references_and_none_of_the_answers_decides_nothing():
    chosen = slice_of()
    found = score((answered([np.zeros(2)] * 4),), chosen, chosen.dataset.scorers["accuracy"])
    assert found.unscored == 4
    run = execution(answered([np.zeros(2)] * 4), scores={"accuracy": found.values})
    run = replace(run, launches=telling(run.launches, [{"accuracy": found}], {}))
    reason = measure(ACCURACY, run).basis.reason
    assert reason.startswith("none of 4 answers could be scored")
    assert "decode='argmax'" in reason


def launches_of(function, *answers, whole=True):
    """Put runs of these answers, by the buyer's own scorer, together."""
    chosen = slice_of(function)
    (scorer,) = chosen.dataset.scorers.values()
    logs = [answered(list(each)) for each in answers]
    found = [{scorer.metric: score((log,), chosen, scorer)} for log in logs]
    runs = execution(*logs).launches
    return telling(runs, found, {}, whole=whole)


def strict(output, reference):
    return output["label"] == reference


def test_a_scorer_that_raises_on_every_answer_and_on_references_is_the_suites_mistake():
    with pytest.raises(DataError, match="raised TypeError on sample 0 of the slice"):
        launches_of(strict, [0, 1], [2, 3])


def test_a_launch_of_which_nothing_can_be_scored_ends_no_run():
    good, bad = launches_of(strict, [{"label": 0}, {"label": 1}], [2, 3])
    assert "unscored" not in good.conditions
    assert bad.conditions["unscored"]["quality.strict"]["answers"] == 2


def test_a_part_of_a_run_of_which_nothing_can_be_scored_ends_nothing():
    (part,) = launches_of(strict, [2, 3], whole=False)
    assert part.conditions["unscored"]["quality.strict"]["answers"] == 2


def test_labels_are_held_against_the_answers_of_all_launches():
    chosen = slice_of(references=("0", "1", "2", "3"))
    logs = [answered([7, 7]), answered([0, 1])]
    found = [{"accuracy": score((log,), chosen, chosen.dataset.scorers["accuracy"])} for log in logs]
    runs = telling(execution(*logs).launches, found, {})
    assert [run.conditions["unscored"]["accuracy"]["answers"] for run in runs] == [2, 2]
    assert "2 of them would be right as numbers" in runs[0].conditions["unscored"]["accuracy"]["why"]


def test_failures_are_judged_though_the_few_answers_cannot_be_scored():
    status = [Status.ERROR] * 3 + [Status.OK]
    made = answered([None, None, None, np.zeros(2)], status=status)
    chosen = slice_of()
    found = score((made,), chosen, chosen.dataset.scorers["accuracy"])
    run = execution(made, scores={"accuracy": found.values})
    run = replace(run, launches=telling(run.launches, [{"accuracy": found}], {}))
    assert measure(ACCURACY, run).estimate == Quantity.of(0)


def test_a_reference_that_a_scorer_of_ours_cannot_read_is_the_suites_mistake():
    data = Dataset.from_arrays("two", inputs=[0, 1], references=["a", 3], scorer="exact_match")
    with pytest.raises(DataError, match="sample 1 of the slice: the reference is int; expected a text"):
        score((answered(["a", "b"]),), data.slice(), data.scorers["quality.exact_match"])


@pytest.mark.parametrize("output", [3, None, ["a"]])
@pytest.mark.parametrize("name", ["exact_match", "token_f1", "rouge_l"])
def test_a_reference_that_cannot_be_read_is_told_whatever_was_answered(name, output):
    data = Dataset.from_arrays("two", inputs=[0, 1], references=["a", 3], scorer=name)
    with pytest.raises(DataError, match="the reference is int; expected a text"):
        score((answered(["a", output]),), data.slice(), data.scorers[f"quality.{name}"])


def test_labels_left_as_text_against_answers_that_are_numbers_decide_nothing():
    chosen = slice_of(references=("0", "1", "2", "3"))
    made = answered([0, 1, 0, 3])
    found = score((made,), chosen, chosen.dataset.scorers["accuracy"])
    run = execution(made, scores={"accuracy": found.values})
    run = replace(run, launches=telling(run.launches, [{"accuracy": found}], {}))
    reason = measure(ACCURACY, run).basis.reason
    assert "the labels are text and the answers numbers, and 3 of them would be right as numbers" in reason
    assert "`convert=`" in reason


def test_answers_of_another_kind_that_are_wrong_all_the_same_are_wrong():
    chosen = slice_of(references=("0", "1", "2", "3"))
    made = answered([7, 7, 7, 7])
    found = score((made,), chosen, chosen.dataset.scorers["accuracy"])
    (run,) = telling(execution(made).launches, [{"accuracy": found}], {})
    assert "unscored" not in run.conditions


def test_without_references_nothing_can_be_scored():
    chosen = slice_of(references=None)
    scorer = next(iter(slice_of().dataset.scorers.values()))
    with pytest.raises(DataError, match="dataset `four` has no references, so `accuracy` cannot be scored"):
        score((answered([0]),), chosen, scorer)


def test_clusters_that_are_all_right_count_as_one_sample_each():
    clusters = np.arange(ITEMS) // 2
    assert of([1] * ITEMS, clusters=clusters).basis.design_effect == pytest.approx(2.0)


def test_few_clusters_that_differ_count_for_less_than_many():
    clusters = np.arange(ITEMS) // 2
    few = [1] * 98 + [1, 0]  # 1 of 50 clusters is not all right, and none is all wrong
    many = [1, 0] * 40 + [1] * 20  # 40 of 50: their spread tells
    assert of(few, clusters=clusters).basis.design_effect > 1.4
    assert of(many, clusters=clusters).basis.design_effect < 1.1
