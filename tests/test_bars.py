from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure import money, ms, percent, seconds
from pytest_procure.bars import declare_bar
from pytest_procure.errors import DeclarationError
from pytest_procure.metrics.metric import metric
from pytest_procure.units import Quantity


@given(st.integers(min_value=1, max_value=9999))
def test_a_share_is_kept_exactly_as_it_is_written(tenthousandths):
    limit = tenthousandths / 10_000
    assert declare_bar("accuracy", at_least=limit).limit.number == Decimal(str(limit))


@pytest.mark.parametrize("limit", [0.95, "0.95", "95 %", percent(95), Decimal("0.95"), np.float64(0.95)])
def test_a_share_may_be_written_in_several_ways(limit):
    assert declare_bar("accuracy", at_least=limit).limit == percent(95)


def test_bars_that_ask_the_same_in_other_units_have_one_key():
    assert declare_bar("latency.p95", at_most="1 s").key == declare_bar("latency.p95", at_most=ms(1000)).key


def test_a_bar_knows_how_it_was_written():
    bar = declare_bar("latency.p95", at_most="80 ms")
    assert bar.text == """bar("latency.p95", at_most='80 ms')"""
    assert bar.source == "declared"


def test_a_design_value_has_to_be_better_than_the_bar():
    assert declare_bar("accuracy", at_least=0.9, design=0.95).design == percent(95)
    assert declare_bar("latency.p95", at_most="80 ms", design=0.99).design == percent(99)
    with pytest.raises(DeclarationError, match="must be better"):
        declare_bar("accuracy", at_least=0.9, design=0.9)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("accuracy", {"at_least": 0}),
        ("accuracy", {"at_least": 1}),
        ("accuracy", {"at_least": 95}),
        ("accuracy", {"at_least": -0.1}),
        ("error_rate", {"at_most": 0}),
        ("quality.rouge", {"at_least": 1.0}),
        ("latency.p95", {"at_most": "0 ms"}),
        ("latency.p95", {"at_most": "-1 ms"}),
        ("cost_per_request", {"at_most": "0 USD"}),
        ("throughput", {"at_least": "0 1/s"}),
    ],
)
def test_a_bar_that_no_offer_or_every_offer_meets_is_refused(name, limit):
    with pytest.raises(DeclarationError, match="expected"):
        declare_bar(name, **limit)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("accuracy", {"at_most": 0.9}),
        ("throughput", {"at_most": "9 1/s"}),
        ("error_rate", {"at_least": 0.1}),
        ("latency.p95", {"at_least": "80 ms"}),
        ("cost_per_request", {"at_least": "1 USD"}),
    ],
)
def test_a_bar_in_the_wrong_direction_is_refused(name, limit):
    with pytest.raises(DeclarationError, match="not the other way"):
        declare_bar(name, **limit)


@pytest.mark.parametrize(
    "limit", [{"at_most": "3 s"}, {"at_least": 0}, {"at_least": -4}, {"at_most": "2 GB"}]
)
def test_a_value_of_ones_own_takes_any_unit_sign_and_direction(limit):
    assert declare_bar("own.memory", **limit).metric.kind == "own"


def test_a_bar_needs_one_limit():
    with pytest.raises(DeclarationError, match="needs one of"):
        declare_bar("accuracy")
    with pytest.raises(DeclarationError, match="needs one of"):
        declare_bar("accuracy", at_least=0.9, at_most=0.99)


@pytest.mark.parametrize(
    ("name", "limit", "example"),
    [
        ("latency.p95", 80, "80 ms"),
        ("throughput", 40, "40 1/s"),
        ("cost_per_request", 0.1, "0.0002 USD"),
        ("accuracy", "80 ms", "0.95"),
    ],
)
def test_a_limit_without_its_unit_is_refused_with_an_example(name, limit, example):
    better = metric(name).better
    with pytest.raises(DeclarationError, match=example):
        declare_bar(name, **{"at_least" if better == "high" else "at_most": limit})


@pytest.mark.parametrize(
    "name", ["latency.p50", "latency.p99", "latency.p99.9", "latency.p1", "latency.p99.99"]
)
def test_any_percentile_between_0_and_100_can_be_asked(name):
    assert metric(name).q == Decimal(name.removeprefix("latency.p")) / 100


@pytest.mark.parametrize(
    "name", ["latency.p0", "latency.p100", "latency.p", "latency.p9x", "latency", "latency.p0.0"]
)
def test_a_percentile_that_is_none_is_unknown(name):
    with pytest.raises(DeclarationError, match=f"unknown metric `{name}`"):
        metric(name)


def test_a_percentile_is_told_in_words():
    assert metric("latency.p95").title == "slowest 5 in 100 requests (p95)"
    assert metric("latency.p99.9").title == "slowest 1 in 1,000 requests (p99.9)"
    assert metric("latency.p50").title == "slower half of the requests (p50)"


def test_a_scorers_name_is_read_as_words():
    assert metric("quality.right_article").title == "score right article"


def test_seconds_and_money_are_kept_in_the_unit_that_was_written():
    assert declare_bar("latency.p95", at_most=seconds(1)).limit.unit == "s"
    assert declare_bar("cost_per_request", at_most=money("2 EUR")).limit == Quantity(Decimal(2), "EUR")


@pytest.mark.parametrize("design", [0.95, 0.9, 1.0, "40 ms", "much"])
def test_a_percentile_is_designed_by_the_share_within_its_limit(design):
    with pytest.raises(DeclarationError, match="design"):
        declare_bar("latency.p95", at_most="80 ms", design=design)


@pytest.mark.parametrize("value", [[0.5], {"a": 1}, None])
def test_what_is_no_value_is_told_in_one_sentence(value):
    with pytest.raises(DeclarationError):
        declare_bar("accuracy", at_least=value)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("latency.p95", "at_most", "2 USD"), "that is money in USD; a duration was expected"),
        (("latency.p95", "at_most", 80), "that is a number without a unit; a duration was expected"),
        (("cost_per_request", "at_most", "5 ms"), "that is a duration; money was expected"),
        (("energy_per_request", "at_most", "3 s"), "(units of energy: J, Wh, kWh)"),
        (("accuracy", "at_least", 92), "(did you mean `at_least='92 %'`?)"),
        (("accuracy", "at_least", "92 ms"), "that is a duration; a number was expected"),
    ],
)
def test_a_bar_in_another_unit_says_what_it_is_and_what_was_expected(asked, said):
    metric, argument, value = asked
    with pytest.raises(DeclarationError) as raised:
        declare_bar(metric, **{argument: value})
    assert said in str(raised.value)
