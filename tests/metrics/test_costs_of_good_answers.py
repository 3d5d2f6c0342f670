"""Cost per right and per accepted answer: what it is, and how a bar on it is decided."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from by_hand import ITEMS, execution, log
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from pytest_procure.candidates import HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import Status
from pytest_procure.errors import DeclarationError
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.measurement import CostOfShare, Means, Ratio, Share, Unmeasurable
from pytest_procure.units import Quantity, money

invariant = settings(derandomize=True, max_examples=60)
POLICY = Policy()
CENT = RequestPrice("0.01 USD")
TOKENS = TokenPrice(input="1 USD", output="3 USD", per=1000)
HOURLY = HourlyPrice("3.6 USD", utilisation=0.5)


def per_right(right, *logs, price=CENT, name="cost_per_correct", **more):
    scorer = "accuracy" if name == "cost_per_correct" else "quality.accepted"
    made = logs or (log([1] * len(right), samples=range(len(right))),)
    return measure(metric(name), execution(*made, price=price, scores={scorer: right}, **more))


def decided(measured, at_most, **policy):
    return decide(measured, "at most", money(f"{at_most} USD"), Policy(**policy))


def answers(good, n=ITEMS):
    return [1] * good + [0] * (n - good)


# An exact cost over a share


def test_wrong_answers_are_paid_for():
    measured = per_right(answers(80))
    assert measured.estimate == money("0.0125 USD")
    assert measured.basis == CostOfShare(Decimal("0.01"), Share(80.0, 100))


def test_failed_requests_are_paid_for():
    status = [Status.OK] * 50 + [Status.LOST] * 50
    measured = per_right(answers(50), log([1] * 100, status=status))
    assert measured.estimate == money("0.02 USD")


def test_the_cost_of_an_accepted_answer_is_that_of_asking_again_until_it_is():
    price = RequestPrice("0.0027 USD")
    right = answers(93)
    measured = per_right(right, price=price, name="cost_per_accepted")
    assert float(measured.estimate) == pytest.approx(0.002903225806, abs=1e-12)


def test_accepted_is_what_the_scorer_of_that_name_says():
    scores = {"accuracy": answers(100), "quality.accepted": answers(50)}
    run = execution(log([1] * 100), price=CENT, scores=scores)
    costs = [measure(metric(name), run).estimate for name in ("cost_per_correct", "cost_per_accepted")]
    assert costs == [money("0.01 USD"), money("0.02 USD")]


def test_at_a_declared_rate_the_cost_is_exact_and_the_share_is_not():
    measured = per_right(answers(80), log([1] * 100), price=HOURLY, scenario="server", qps=10, count=100)
    assert measured.basis.cost == Decimal("0.0002")  # 3.6 / (3600 x 10 x 0.5)
    assert measured.estimate == money("0.00025 USD")


def test_a_bar_is_met_where_the_share_that_it_needs_is_shown():
    # 0.01 / 0.0125 = 80 of 100; 87 of 100 show more than that at 95 %, 86 do not.
    assert decided(per_right(answers(87)), "0.0125").accept
    assert not decided(per_right(answers(86)), "0.0125").accept


def test_a_bar_is_missed_where_less_than_that_share_is_shown():
    assert decided(per_right(answers(50)), "0.0125").reject_p < 1e-6
    assert decided(per_right(answers(80)), "0.0125").reject_p > 0.4


def test_the_likely_range_holds_the_estimate():
    decision = decided(per_right(answers(80)), "0.0125")
    assert decision.low < Decimal("0.0125") < decision.high


@invariant
@given(st.integers(1, 99), st.integers(1, 100), st.sampled_from([0.01, 0.05, 0.2]))
def test_one_more_right_answer_never_turns_an_acceptance_away(good, thousandths, risk):
    bar = Decimal(thousandths) / 1000
    before, after = (decided(per_right(answers(n)), bar, consumer_risk=risk) for n in (good, good + 1))
    assert after.accept >= before.accept
    assert after.reject_p >= before.reject_p
    assert not (before.accept and before.reject_p <= 0.05)


def test_a_bar_below_the_price_itself_is_missed_for_certain():
    decision = decided(per_right(answers(100)), "0.0099")
    assert (decision.accept, decision.reject_p, decision.exact) == (False, 0.0, True)


def test_a_bar_at_the_price_itself_is_neither_shown_nor_refuted_by_right_answers_alone():
    decision = decided(per_right(answers(100)), "0.01")
    assert (decision.accept, decision.reject_p) == (False, 1.0)
    assert decided(per_right(answers(99)), "0.01").reject_p == 0.0


def test_what_costs_nothing_meets_every_bar():
    decision = decided(per_right(answers(1), price=RequestPrice("0 USD")), "0.000001")
    assert (decision.accept, decision.exact) == (True, True)


def test_a_tiny_cost_keeps_its_digits():
    measured = per_right(answers(80), price=RequestPrice("0.0000001 USD"))
    assert float(measured.estimate) == pytest.approx(1.25e-7, rel=1e-12)
    assert decided(measured, "0.00000014").accept
    assert not decided(measured, "0.00000013").accept
    assert decided(measured, "0.00000013").high == pytest.approx(Decimal("1.37e-7"), rel=Decimal("0.02"))


def test_an_item_that_is_asked_again_is_one_cluster():
    basis = per_right(answers(80) * 2, log([1] * 200)).basis
    assert (basis.share.clusters, basis.share.df) == (100, 99)


# Nothing to divide by


@pytest.mark.parametrize("price", [CENT, TOKENS, HOURLY], ids=["request", "token", "hour"])
def test_no_good_answer_has_no_cost(price):
    made = log([1] * 100, tokens=[(1, 1)] * 100)
    measured = per_right(answers(0), made, price=price)
    assert measured.basis == Unmeasurable("no answer scored by `accuracy`, so none has a cost")


def test_a_scorer_that_the_dataset_has_not_is_named():
    run = execution(log([1]), price=CENT, scores={"accuracy": [1]})
    measured = measure(metric("cost_per_accepted"), run)
    assert measured.metric.name == "cost_per_accepted"
    assert "has no scorer for it (it has: accuracy)" in measured.basis.reason


def test_without_a_price_there_is_no_cost():
    assert per_right(answers(80), price=None).basis == Unmeasurable("candidate `acme` has no price")


def test_failed_requests_that_report_no_tokens_are_named_as_what_is_not_known():
    made = log([1] * 3, status=[Status.OK, Status.OK, Status.ERROR], tokens=[(1, 1), (1, 1), (-1, -1)])
    told = measure(metric("cost_per_request"), execution(made, price=TOKENS)).basis
    assert "1 failed requests report no tokens" in told.reason
    silent = log([1] * 3, tokens=[(1, 1), (1, -1), (1, 1)])
    told = measure(metric("cost_per_request"), execution(silent, price=TOKENS)).basis
    assert (
        told.reason
        == "the backend reports no tokens, or 0 for an answer that has some, and the price is by the token"
    )


def test_an_empty_log_has_no_cost():
    assert per_right([], log([])).basis == Unmeasurable("no request was made")


def test_a_bar_in_another_currency_is_refused():
    with pytest.raises((DeclarationError, TypeError)):
        decide(per_right(answers(80)), "at most", money("1 EUR"), POLICY)


# By the token: item by item


def by_token(right, tokens, **more):
    return per_right(
        right, log([1] * len(right), tokens=tokens, samples=range(len(right))), price=TOKENS, **more
    )


def test_costs_by_the_token_are_divided_item_by_item():
    measured = by_token([1, 0, 1, 1], [(1000, 0), (0, 1000), (500, 0), (0, 0)])
    assert measured.basis.cost.tolist() == pytest.approx([1.0, 3.0, 0.5, 0.0])
    assert measured.basis.success.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert float(measured.estimate) == pytest.approx(1.5)  # 4.5 for three right answers


def test_an_item_that_is_asked_again_is_one_piece_of_evidence():
    made = log([1] * 4, samples=[0, 1, 0, 1], tokens=[(1000, 0), (2000, 0), (3000, 0), (2000, 0)])
    basis = per_right([1, 1, 0, 1], made, price=TOKENS).basis
    assert (basis.cost.tolist(), basis.success.tolist()) == ([2.0, 2.0], [0.5, 1.0])


def test_items_of_one_cluster_are_one_piece_of_evidence():
    rng = np.random.default_rng(2)
    tokens = np.column_stack([rng.integers(100, 2000, ITEMS), np.zeros(ITEMS, dtype=int)])
    clusters = np.arange(ITEMS) // 4
    basis = by_token(answers(80), tokens, clusters=clusters).basis
    assert (len(basis.cost), basis.of) == (25, "clusters")
    assert basis.cost.tolist() == pytest.approx((tokens[:, 0] / 1000).reshape(25, 4).mean(axis=1).tolist())
    assert basis.success.tolist() == [1.0] * 20 + [0.0] * 5


def test_costs_per_request_of_one_cluster_are_one_piece_of_evidence():
    tokens = np.column_stack([np.arange(ITEMS) * 10, np.zeros(ITEMS, dtype=int)])
    sizes = np.repeat(np.arange(40), [1] * 20 + [4] * 20)
    run = execution(
        log([1] * ITEMS, tokens=tokens, samples=range(ITEMS)),
        price=TOKENS,
        clusters=sizes,
        scores={"accuracy": answers(80)},
    )
    basis = measure(metric("cost_per_request"), run).basis
    assert isinstance(basis, Means)
    assert (len(basis.values), basis.of) == (40, "clusters")
    cost = tokens[:, 0] / 1000
    assert basis.values.mean() == pytest.approx(cost.mean())
    # The error of the mean, from the clusters' residual sums.
    sums = np.bincount(sizes, weights=cost - cost.mean())
    error = math.sqrt(40 / 39 * (sums**2).sum()) / ITEMS
    assert np.std(basis.values, ddof=1) / math.sqrt(40) == pytest.approx(error)


def spent(cost, good):
    """A run whose samples cost so many USD each."""
    tokens = np.column_stack([np.round(np.asarray(cost) * 1000), np.zeros(len(good))]).astype(int)
    return by_token(np.asarray(good, dtype=float), tokens)


def fieller(cost, good, confidence):
    """The upper end by another road: the ratio at which Student's t is exactly critical."""
    n, critical = len(cost), special.stdtrit(len(cost) - 1, confidence)

    def beyond(ratio):
        each = cost - ratio * good
        return each.mean() + critical * each.std(ddof=1) / math.sqrt(n)

    return optimize.brentq(beyond, cost.mean() / good.mean(), 1e3, xtol=1e-14)


def test_the_bound_is_fiellers_where_neither_right_nor_wrong_are_few():
    rng = np.random.default_rng(8)
    good = rng.permutation(answers(160, 260))
    cost = np.round(rng.uniform(0.5, 5, 260) + 2 * good, 3)
    ratio = replace(spent([1.0] * ITEMS, answers(50)), basis=Ratio(cost, good.astype(float)))
    high = float(decided(ratio, "9").high)
    assert high == pytest.approx(fieller(cost, good, 0.95), rel=1e-9)


def test_a_few_failures_bound_the_cost_no_closer_than_the_share_does():
    measured = spent([1.0] * ITEMS, answers(99))
    exact = 1 / special.betaincinv(99, 2, 0.05)
    assert float(decided(measured, "2").high) == pytest.approx(exact, rel=1e-9)


def test_fewer_than_twenty_items_decide_nothing():
    measured = spent([1.0] * 19, answers(19, 19))
    assert decided(measured, "2").blocked == "19 items are too few for a verdict; it takes 20"
    assert decided(measured, "2", min_clusters=19).accept


def test_a_cost_far_over_the_bar_is_rejected():
    assert decided(spent([1.0] * ITEMS, answers(50)), "1.2").reject_p < 1e-6


def test_too_few_right_answers_leave_the_cost_without_an_upper_end():
    decision = decided(spent([1.0] * ITEMS, answers(1)), "1000")
    assert (decision.accept, decision.high) == (False, None)


@invariant
@given(st.lists(st.tuples(st.integers(0, 5000), st.booleans()), min_size=20, max_size=80), st.integers(1, 40))
def test_no_cost_is_both_accepted_and_rejected(rows, tenths):
    tokens, good = zip(*rows, strict=True)
    if any(good):
        decision = decided(by_token([float(each) for each in good], [(n, 0) for n in tokens]), tenths / 10)
        assert not (decision.accept and decision.reject_p <= 0.05)


@pytest.mark.parametrize(("share", "spread"), [(0.97, 0.0), (0.9, 0.0), (0.9, 0.3), (0.6, 0.3)])
def test_an_offer_at_the_bar_is_seldom_accepted(share, spread):
    rng = np.random.default_rng(11)
    accepted = 0
    for _ in range(250):
        cost = 1 + spread * rng.choice([-1.0, 1.0], ITEMS)
        ratio = Ratio(cost, (rng.random(ITEMS) < share).astype(float))
        measured = replace(spent([1.0] * ITEMS, answers(50)), basis=ratio)
        accepted += decided(measured, round(1 / share, 12)).accept
    assert accepted <= 0.06 * 250 + 2 * math.sqrt(0.06 * 0.94 * 250)


# By the hour, without a declared rate: launch by launch


def launches(good, seconds, *, status=None):
    logs = [log([1] * 100, window_ms=each * 1000, status=status) for each in seconds]
    return per_right(answers(good) * len(seconds), *logs, price=HOURLY, scenario="offline")


def test_a_machine_by_the_hour_costs_what_its_launches_show():
    measured = launches(50, [10, 5])
    assert measured.basis.values.tolist() == [5.0, 10.0]  # right answers a second
    assert measured.estimate == Quantity.of(round(3.6 / 3600 / 0.5 / 7.5, 15), "USD")


def test_answers_that_failed_take_their_time_all_the_same():
    status = [Status.OK] * 80 + [Status.ERROR] * 20
    assert launches(50, [10], status=status).basis.values.tolist() == [5.0]


def test_it_takes_five_launches():
    assert "4 launches are too few" in decided(launches(50, [10] * 4), "1").blocked
    assert decided(launches(50, [10, 10.1, 9.9, 10, 10]), "1").accept


def test_a_cheap_machines_cost_keeps_its_digits():
    cheap = HourlyPrice("0.0036 USD", utilisation=1)
    logs = [log([1] * 100, window_ms=1)] * 5
    measured = per_right(answers(100) * 5, *logs, price=cheap, scenario="offline")
    assert float(measured.estimate) == pytest.approx(1e-11, rel=1e-3)
    assert decided(measured, "0.000000000011").accept
    assert not decided(measured, "0.0000000000099").accept
