import numpy as np
import pytest
from by_hand import execution, log

from pytest_procure import stats
from pytest_procure.datasets.classes import macro_f1
from pytest_procure.decision import Policy, decide
from pytest_procure.errors import DataError
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.units import Quantity

F1 = metric("corpus.macro_f1")


def mean(outputs, references):
    return float(np.mean([0.0 if output is None else output for output in outputs]))


def run(answers, function=mean, **more):
    requests = log([1] * len(answers))
    requests.answers = list(answers)
    made = execution(requests, **more)
    object.__setattr__(made.slice.dataset, "corpus", {"macro_f1": function})
    return made


def test_a_corpus_metric_is_one_number_of_all_answers():
    measured = measure(F1, run([1.0] * 60 + [0.0] * 40))
    assert measured.estimate == Quantity.of(0.6)
    assert len(measured.basis.without) == 40


def test_it_is_decided_by_the_delete_a_group_jackknife():
    measured = measure(F1, run(np.resize([1.0, 1.0, 1.0, 0.0], 100)))
    assert decide(measured, "at least", Quantity.of(0.6), Policy()).accept
    assert not decide(measured, "at least", Quantity.of(0.74), Policy()).accept
    assert decide(measured, "at least", Quantity.of(0.95), Policy()).reject_p < 0.01


def test_a_metric_that_no_group_moves_decides_nothing():
    decision = decide(measure(F1, run([1.0] * 100)), "at least", Quantity.of(0.9), Policy())
    assert not decision.accept
    assert decision.low is None


def test_a_function_that_raises_is_one_sentence():
    def broken(outputs, references):
        raise ZeroDivisionError("no true positives")

    with pytest.raises(DataError, match="`macro_f1` raised ZeroDivisionError: no true positives"):
        measure(F1, run([1.0] * 50, broken))


@pytest.mark.parametrize("answer", ["nonsense", float("nan")])
def test_an_answer_that_ends_the_function_by_itself_is_none(answer):
    measured = measure(F1, run([1.0] * 60 + [answer] * 40))
    assert measured.estimate == Quantity.of(0.6)


@pytest.mark.parametrize(("answer", "measurable"), [("{}", False), ("a{}", True)])
def test_answers_of_another_kind_than_the_labels_throughout_decide_nothing(answer, measurable):
    measured = measure(F1, run([answer.format(k) for k in range(100)], macro_f1))
    assert (measured.estimate is not None) is measurable
    assert measurable or "100 of them would be right as numbers" in measured.basis.reason


def test_a_number_that_is_none_is_refused():
    with pytest.raises(DataError, match="expected a finite number"):
        measure(F1, run([1.0] * 50, lambda outputs, references: float("nan")))


def test_an_unknown_corpus_metric_is_not_measurable():
    assert isinstance(measure(metric("corpus.bleu"), run([1.0] * 50)).basis, Unmeasurable)


def test_one_wrong_answer_of_many_shows_no_more_than_the_share_does():
    # 99 of 100: seen alone, the spread of one wrong answer would put the lower end above 97 %.
    decision = decide(measure(F1, run([1.0] * 99 + [0.0])), "at least", Quantity.of(0.97), Policy())
    assert not decision.accept
    share = stats.share_bounds(99.0, 100, confidence=0.95)
    assert float(decision.low) < share.low + 0.01


def test_a_function_that_takes_no_missing_answer_is_decided_by_what_it_gave():
    def strict(outputs, references):
        return float(np.mean([float(output) for output in outputs]))

    measured = measure(F1, run([1.0] * 60 + [0.0] * 40, strict))
    assert measured.basis.missed == ()
    assert decide(measured, "at least", Quantity.of(0.4), Policy()).accept
