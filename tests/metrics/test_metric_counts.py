"""Throughput, failures, the sustained rate and cost."""

from decimal import Decimal

import numpy as np
import pytest
from by_hand import execution, log

from pytest_procure.candidates import HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.driver.log import Status
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.measurement import Exact, Means, Unmeasurable
from pytest_procure.metrics.metric import SUSTAINED
from pytest_procure.units import Quantity, money, per_second

HOURLY = HourlyPrice("3.6 USD", utilisation=0.5)


def throughput(*logs, **more):
    return measure(metric("throughput"), execution(*logs, scenario="offline", **more))


def cost(*logs, price, **more):
    return measure(metric("cost_per_request"), execution(*logs, price=price, **more))


# Throughput


def test_throughput_has_one_value_a_launch():
    measured = throughput(log([1] * 10, window_ms=100), log([1] * 10, window_ms=50))
    assert measured.basis.values.tolist() == [100.0, 200.0]
    assert (measured.estimate, measured.n, measured.n_unit) == (per_second(150), 2, "launches")
    assert measured.basis.minimum == 5


def test_throughput_counts_good_answers_only():
    status = [Status.OK] * 6 + [Status.ERROR, Status.TIMEOUT, Status.EMPTY, Status.LOST]
    assert throughput(log([1] * 10, status=status, window_ms=100)).basis.values.tolist() == [60.0]


def test_throughput_counts_samples_not_queries():
    run = execution(log([1] * 10, per_query=8, window_ms=100), scenario="multi_stream", samples_per_query=8)
    assert measure(metric("throughput"), run).basis.values.tolist() == [800.0]


def test_a_launch_without_an_answer_has_a_throughput_of_nothing():
    assert throughput(log([None] * 3, window_ms=0)).basis.values.tolist() == [0.0]


def test_throughput_at_a_declared_rate_is_a_condition():
    run = execution(log([1] * 10), scenario="server", qps=10, count=10)
    assert isinstance(measure(metric("throughput"), run).basis, Unmeasurable)


# Failures


def test_everything_but_an_answer_in_time_is_a_failure_and_stays_in_the_count():
    status = [Status.OK] * 96 + [Status.ERROR, Status.TIMEOUT, Status.EMPTY, Status.LOST]
    measured = measure(metric("error_rate"), execution(log([1] * 100, status=status)))
    assert measured.estimate == Quantity.of(0.04)
    assert (measured.basis.total, measured.basis.n, measured.n_unit) == (4.0, 100, "requests")


def test_no_failure_at_all_needs_no_design_effect():
    basis = measure(metric("error_rate"), execution(log([1] * 100))).basis
    assert (basis.total, basis.design_effect, basis.df) == (0.0, 1.0, None)


def test_failures_in_a_row_tell_less_than_spread_ones():
    in_a_row = [Status.ERROR] * 10 + [Status.OK] * 90
    spread = ([Status.ERROR] + [Status.OK] * 9) * 10
    effects = [
        measure(metric("error_rate"), execution(log([1] * 100, status=status))).basis.design_effect
        for status in (in_a_row, spread)
    ]
    assert effects[0] > 5
    assert effects[1] == 1.0


def test_no_request_has_no_error_rate():
    assert measure(metric("error_rate"), execution(log([]))).basis == Unmeasurable("no request was made")


def test_the_sustained_rate_is_what_was_answered_of_what_was_offered():
    run = execution(log([1] * 9 + [None], window_ms=5), scenario="server", qps=10, count=10)
    measured = measure(SUSTAINED, run)
    assert (measured.estimate, measured.n) == (Quantity.of(0.9), 10)
    assert isinstance(measured.basis, Exact)


# Cost


def test_cost_at_a_declared_rate_follows_from_the_price_alone():
    measured = cost(log([1] * 10), price=HOURLY, scenario="server", qps=10, count=10)
    assert measured.estimate == money("0.0002 USD")  # 3.6 / (3600 * 10 * 0.5)
    assert measured.basis == Exact(Decimal("0.0002"), "at the declared rate")


def test_cost_without_a_declared_rate_rests_on_the_measured_one():
    measured = cost(
        log([1] * 10, window_ms=1000), log([1] * 30, window_ms=1000), price=HOURLY, scenario="offline"
    )
    assert measured.estimate == money("0.0001 USD")  # 3.6 / (3600 * 20 * 0.5)
    assert isinstance(measured.basis, Means)
    assert (measured.basis.inverse, measured.basis.values.tolist()) == (Decimal("0.002"), [10.0, 30.0])


def test_cost_where_nothing_was_answered_is_not_measurable():
    measured = cost(log([None] * 3, window_ms=10), price=HOURLY, scenario="offline")
    assert measured.basis == Unmeasurable("no request was answered, so none has a cost")


def test_a_price_by_the_request_is_the_cost():
    measured = cost(log([1] * 10), price=RequestPrice("0.01 EUR"))
    assert (measured.estimate, measured.basis) == (money("0.01 EUR"), Exact(Decimal("0.01"), "as priced"))


def test_a_price_by_the_token_is_averaged_over_items():
    price = TokenPrice(input="1 USD", output="2 USD", per=10)
    # Item 0 costs 0.3 and 0.5 (0.4 on average), item 1 costs 0.6.
    made = log([1] * 3, samples=[0, 1, 0], tokens=[(1, 1), (2, 2), (1, 2)])
    measured = cost(made, price=price)
    assert measured.basis.values.tolist() == pytest.approx([0.4, 0.6])
    assert float(measured.estimate) == pytest.approx(0.5)
    assert (measured.n, measured.n_unit, measured.basis.minimum) == (2, "items", 20)


@pytest.mark.parametrize("tokens", [None, [(1, 1), (-1, 1)], [(1, 1), (1, -1)]])
def test_a_price_by_the_token_needs_all_tokens_reported(tokens):
    price = TokenPrice(input="1 USD", output="2 USD")
    measured = cost(log([1] * 2, tokens=tokens), price=price)
    assert measured.basis == Unmeasurable(
        "the backend reports no tokens, or 0 for an answer that has some, and the price is by the token"
    )


def test_without_a_price_there_is_no_cost():
    measured = cost(log([1] * 3), price=None)
    assert measured.basis == Unmeasurable("candidate `acme` has no price")
    assert measured.estimate is None


# Values of one's own


def test_a_value_of_ones_own_that_the_test_did_not_give_is_not_measurable():
    measured = measure(metric("own.joy"), execution(log([1])))
    assert measured.basis == Unmeasurable("the test gave no `procure.measure('own.joy', ...)`")


@pytest.mark.parametrize(
    "name", ["accuracy", "error_rate", "throughput", "cost_per_request", "latency.p95", "own.x"]
)
def test_an_empty_log_is_never_a_zero(name):
    run = execution(log([]), scores={"accuracy": np.array([])}, price=HOURLY)
    measured = measure(metric(name), run)
    assert measured.estimate is None or float(measured.estimate) > 0 or name == "throughput"
