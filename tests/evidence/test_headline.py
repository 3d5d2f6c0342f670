"""Which of several findings is told first."""

import pytest

from pytest_procure.evidence.headline import headline


def amount(number, unit=""):
    return None if number is None else {"number": number, "unit": unit, "text": f"{number} {unit}"}


def finding(metric, sense, bar, estimate, unit=""):
    kinds = {"accuracy": "quality", "error_rate": "errors", "sustained_rate": "condition"}
    return {
        "metric": metric,
        "kind": kinds.get(metric, metric.partition(".")[0]),
        "sense": sense,
        "bar": amount(bar, unit),
        "estimate": amount(estimate, unit),
    }


def accuracy(estimate, bar=0.95):
    return finding("accuracy", "at least", bar, estimate)


def errors(estimate, bar=0.01):
    return finding("error_rate", "at most", bar, estimate)


def sustained(estimate):
    return finding("sustained_rate", "at least", 0.999, estimate)


def latency(estimate, unit="ms"):
    return finding("latency.p95", "at most", 80, estimate, unit)


def told(*findings):
    return headline(findings)["metric"]


def test_a_bar_that_is_past_its_limit_comes_before_one_that_may_yet_be_met():
    assert told(accuracy(0.96), errors(0.05)) == "error_rate"
    assert told(accuracy(0.96), latency(90)) == "latency.p95"


def test_what_cannot_be_measured_comes_between_them():
    assert told(accuracy(0.96), latency(None)) == "latency.p95"
    assert told(latency(None), accuracy(0.9)) == "accuracy"


def test_quality_comes_first_among_what_is_missed():
    assert told(latency(90), sustained(0.99), errors(0.02), accuracy(0.5)) == "accuracy"


def test_where_failures_alone_make_quality_miss_they_are_the_reason():
    assert told(accuracy(0.0), errors(1.0)) == "error_rate"
    assert told(accuracy(0.6), sustained(0.62)) == "sustained_rate"
    assert told(accuracy(0.9), sustained(0.95), errors(0.06)) == "error_rate"


def test_a_process_that_ended_comes_before_everything():
    end = finding("alive (a crash)", "at least", 1, 0)
    assert told(accuracy(0.1), errors(0.9), end | {"kind": "condition"}) == "alive (a crash)"


@pytest.mark.parametrize("unit", ["parsecs", "USD", ""])
def test_numbers_that_cannot_be_compared_raise_nothing(unit):
    strange = latency(90) | {"estimate": amount(90, unit)}
    assert told(strange, accuracy(0.5)) == "accuracy"


def test_of_no_findings_none_is_told():
    assert headline([]) is None
