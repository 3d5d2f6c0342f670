from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pytest_procure.measured import Measured
from pytest_procure.metrics.measurement import Exact, Measurement, unmeasurable
from pytest_procure.metrics.metric import metric
from pytest_procure.units import Quantity, money, ms, per_second, percent, seconds


class Notes:
    """A recorder that writes down what is compared, and answers as it is told."""

    def __init__(self):
        self.answer = True
        self.compared = []

    def compare(self, measured, operator, limit, stands):
        self.compared.append((operator, limit))
        return self.answer

    def explain(self, measured):
        return ["because"]


@pytest.fixture
def notes():
    return Notes()


def measured(notes, name="accuracy", number="0.95", unit=""):
    value = Quantity.of(number, unit)
    return Measured(Measurement(metric(name), value, 400, "samples", Exact(value.number, "by hand")), notes)


COMPARISONS = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@pytest.mark.parametrize("operator", COMPARISONS)
def test_a_comparison_is_recorded_with_its_limit_and_answered_by_the_recorder(notes, operator):
    notes.answer = False
    assert COMPARISONS[operator](measured(notes), 0.9) is False
    assert notes.compared == [(operator, percent(90))]


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize(
    "limit", [0.9, Decimal("0.9"), percent(90), np.float64(0.9), np.float32(0.5), np.int64(1), Fraction(1, 2)]
)
def test_a_limit_on_the_left_is_the_same_comparison(notes, operator, limit):
    value = measured(notes)
    COMPARISONS[operator](limit, value)
    COMPARISONS[MIRROR[operator]](value, limit)
    (left, right) = notes.compared
    assert left == right


def test_a_chain_is_two_comparisons(notes):
    assert ms(10) <= measured(notes, "latency.p50", 30, "ms") <= ms(80)
    assert notes.compared == [(">=", ms(10)), ("<=", ms(80))]


def test_it_is_no_float_so_that_nobody_compares_it_behind_its_back(notes):
    assert not isinstance(measured(notes), float)


def test_numpy_does_not_take_a_comparison_away(notes):
    value = measured(notes)
    assert (np.float64(0.9) <= value) is True
    with pytest.raises(TypeError):
        np.array([0.9, 0.8]) <= value  # noqa: B015 - the comparison is under test


@pytest.mark.parametrize("number", [0.95, 1, Decimal("0.95"), np.float64(0.95), percent(95)])
def test_it_equals_no_number(notes, number):
    value = measured(notes)
    for equal in (lambda: value == number, lambda: number == value, lambda: value != number):
        with pytest.raises(TypeError, match="equals no number; ask for <= or >="):
            equal()


def test_it_equals_itself_and_can_be_a_key(notes):
    value = measured(notes)
    assert value == value  # noqa: PLR0124 - identity is the promise
    assert value != measured(notes)
    assert {value: 1}[value] == 1


def test_it_is_neither_true_nor_false(notes):
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(measured(notes))


@pytest.mark.parametrize(
    ("name", "value", "limit", "example"),
    [
        ("latency.p95", (30, "ms"), 80, r"needs its unit, as in ms\(80\)"),
        ("throughput", (30, "1/s"), 40, r"as in per_second\(40\)"),
        ("cost_per_request", ("0.1", "USD"), 0.2, r"as in money\("),
        ("cost_per_request", ("0.1", "USD"), money("0.2 EUR"), "is a money in USD"),
        ("latency.p95", (30, "ms"), percent(80), "is a duration"),
        ("accuracy", ("0.9", ""), ms(80), "is a number"),
        ("accuracy", ("0.9", ""), float("nan"), "expected a finite number"),
        ("own.memory", (30, "GB"), 40, "40 GB"),
    ],
)
def test_a_limit_of_another_dimension_is_a_type_error_that_names_the_unit(notes, name, value, limit, example):
    with pytest.raises(TypeError, match=example):
        measured(notes, name, *value) <= limit  # noqa: B015 - the comparison is under test
    assert notes.compared == []


@pytest.mark.parametrize("limit", [None, True, [0.9], {}, object(), 1j])
def test_what_is_no_quantity_is_a_type_error(notes, limit):
    with pytest.raises(TypeError):
        measured(notes) <= limit  # noqa: B015 - the comparison is under test


def test_two_measured_values_are_not_held_against_each_other(notes):
    with pytest.raises(TypeError, match="are both measured; hold each against a bar of its own"):
        max(measured(notes), measured(notes))


def test_text_with_a_unit_is_a_limit(notes):
    assert measured(notes, "latency.p95", 30, "ms") <= "80 ms"
    assert notes.compared == [("<=", ms(80))]


def test_the_way_out_to_a_bare_number_is_explicit(notes):
    value = measured(notes, "latency.p95", 30, "ms")
    assert (value.value, float(value), value.quantity, value.n) == (30.0, 30.0, ms(30), 400)


def test_a_value_that_was_not_measured_has_no_number_and_says_why(notes):
    value = Measured(unmeasurable(metric("accuracy"), "no labels"), notes)
    assert repr(value) == "<accuracy not measurable: no labels>"
    with pytest.raises(ValueError, match="not measurable: no labels"):
        float(value)


@pytest.mark.parametrize(
    ("name", "limit", "wrong"),
    [("latency.p95", seconds(1), 1), ("throughput", per_second(1), 1), ("accuracy", 0.9, ms(1))],
)
def test_a_value_that_was_not_measured_still_wants_its_unit(notes, name, limit, wrong):
    value = Measured(unmeasurable(metric(name), "made by hand"), notes)
    value <= limit  # noqa: B015 - the comparison is under test
    with pytest.raises(TypeError, match=r"needs its unit|is a number"):
        value <= wrong  # noqa: B015 - the comparison is under test


def test_it_shows_value_unit_and_count(notes):
    assert repr(measured(notes, "latency.p95", 30, "ms")) == "<latency.p95 30 ms of 400 samples>"
    assert repr(measured(notes)) == "<accuracy 95 % of 400 samples>"


def test_it_explains_itself_in_the_recorders_words(notes):
    assert measured(notes).explain() == ["because"]
