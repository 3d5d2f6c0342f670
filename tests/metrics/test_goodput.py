"""Requests that meet every limit at once, and how a bar on their share is decided."""

import numpy as np
import pytest
from by_hand import ITEMS, execution, log
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import Status
from pytest_procure.metrics.goodput import Limits, goodput, goodput_of
from pytest_procure.metrics.measurement import NEVER, Unmeasurable
from pytest_procure.units import Quantity, ms

invariant = settings(derandomize=True, max_examples=60)
IN_TIME, RIGHT, BOTH = Limits(ms(50)), Limits(correct="accuracy"), Limits(ms(50), "accuracy")


def of(limits, *logs, right=None, **more):
    scores = None if right is None else {"accuracy": right}
    return goodput(execution(*logs, scores=scores, **more), limits)


def decided(measured, at_least, **policy):
    return decide(measured, "at least", Quantity.of(at_least), Policy(**policy))


# What is counted


def test_it_is_the_joint_share_and_no_product_of_the_two():
    # Five of eight are in time and six are right; three are both, not 5/8 x 6/8 = 0.47.
    times = [30, 55, 20, 48, 22, 51, 49, 52]
    right = [1, 1, 1, 0, 0, 1, 1, 1]
    measured = of(BOTH, log(times), right=right)
    assert measured.estimate == Quantity.of(0.375)
    assert (measured.n, measured.n_unit) == (8, "requests")
    assert of(IN_TIME, log(times)).estimate == Quantity.of(0.625)
    assert of(RIGHT, log(times), right=right).estimate == Quantity.of(0.75)


@invariant
@given(st.lists(st.tuples(st.integers(1, 100), st.booleans()), min_size=5, max_size=60))
def test_both_together_are_never_more_than_either(requests):
    times, right = zip(*requests, strict=True)
    joint, in_time, correct = (
        float(of(limits, log(times), right=right).estimate) for limits in (BOTH, IN_TIME, RIGHT)
    )
    assert joint <= min(in_time, correct)
    assert joint >= in_time + correct - 1 - 1e-9


def test_a_request_that_takes_exactly_the_limit_is_in_time():
    assert of(IN_TIME, log([50, 50.000001])).estimate == Quantity.of(0.5)


@pytest.mark.parametrize("limits", [IN_TIME, RIGHT, BOTH])
def test_failures_stay_in_the_count_and_meet_no_limit(limits):
    status = [Status.OK, Status.ERROR, Status.TIMEOUT, Status.EMPTY]
    measured = of(limits, log([1] * 4, status=status), right=[1, 1, 1, 1])
    assert (measured.estimate, measured.n) == (Quantity.of(0.25), 4)


def test_a_request_that_never_ended_meets_no_limit():
    measured = of(Limits(ms(10**9)), log([1, None], window_ms=100))
    assert measured.estimate == Quantity.of(0.5)
    assert measured.basis.values[1] == NEVER


def test_half_right_is_not_right():
    assert of(RIGHT, log([1] * 4), right=[1, 0.99, 0.5, 0]).estimate == Quantity.of(0.25)


def test_a_query_of_several_samples_is_right_when_all_of_them_are():
    right = [1, 1, 1, 0, 0, 0, 1, 1]
    measured = of(RIGHT, log([1] * 4, per_query=2), right=right, scenario="multi_stream", samples_per_query=2)
    assert (measured.estimate, measured.n) == (Quantity.of(0.5), 4)


def test_a_query_of_several_samples_counts_once_for_its_time():
    made = log([1, 60, 1, 60], per_query=2)
    measured = of(IN_TIME, made, scenario="multi_stream", samples_per_query=2)
    assert measured.basis.good.tolist() == [True, False, True, False]


def test_launches_follow_each_other_in_send_order():
    measured = of(BOTH, log([1, 60]), log([1, 1]), right=[1, 1, 0, 1])
    assert measured.basis.good.tolist() == [True, False, False, True]


def test_the_title_tells_what_a_request_has_to_meet():
    assert goodput_of(BOTH).title == "requests within 50 ms and right by `accuracy`"
    assert goodput_of(IN_TIME).title == "requests within 50 ms"
    assert goodput_of(RIGHT).title == "requests right by `accuracy`"


# What cannot be measured


def test_no_request_is_not_measurable():
    assert of(IN_TIME, log([])).basis == Unmeasurable("no request was made")


def test_a_time_limit_means_nothing_where_all_samples_are_due_at_once():
    measured = of(IN_TIME, log([1] * 4), scenario="offline")
    assert measured.basis == Unmeasurable("offline has no latency: all samples are due at once")


def test_a_scorer_that_the_dataset_has_not_is_named():
    measured = of(Limits(correct="quality.exact"), log([1]), right=[1])
    assert measured.basis == Unmeasurable("dataset `by hand` has no scorer `quality.exact`")


# How much it tells


def test_an_item_that_is_asked_again_is_one_cluster_where_right_answers_count():
    right = [1] * 75 + [0] * 25
    share = of(RIGHT, log([1] * 200), right=right + right).basis.share
    assert (share.clusters, share.df) == (ITEMS, 99)
    assert share.design_effect == pytest.approx(2.0, rel=0.02)


def test_an_item_that_is_asked_again_is_no_new_piece_of_evidence_where_only_time_counts():
    assert of(IN_TIME, log([1] * 100)).basis.share.clusters is None
    share = of(IN_TIME, log([1] * 200)).basis.share
    assert (share.clusters, share.design_effect) == (100, 2.0)
    assert of(IN_TIME, log([1] * 200, samples=[0] * 200)).basis.share.clusters == 1


def test_clusters_of_the_dataset_join_right_answers():
    right = [1] * 75 + [0] * 25
    share = of(RIGHT, log([1] * 100), right=right, clusters=np.arange(ITEMS) // 4).basis.share
    assert share.clusters == 25
    assert share.design_effect > 3


def multi(right, queries, **more):
    """Queries of four samples; the items follow each other and begin anew after the last."""
    asked = [right[item % ITEMS] for item in range(queries * 4)]
    made = log([1] * queries, per_query=4)
    return of(RIGHT, made, right=asked, scenario="multi_stream", samples_per_query=4, **more)


def test_queries_that_share_items_tell_no_more_than_the_items_do():
    right = [1] * ITEMS
    assert multi(right, 25).basis.share.clusters is None
    share = multi(right, 200).basis.share
    assert (share.clusters, share.design_effect, share.df) == (ITEMS, 8.0, 24)


def test_queries_whose_samples_are_of_one_cluster_tell_less():
    share = multi([1] * ITEMS, 25, clusters=np.arange(ITEMS) // 2).basis.share
    assert (share.clusters, share.design_effect) == (50, 2.0)


def test_an_offer_at_the_bar_is_not_accepted_for_asking_its_items_again():
    rng = np.random.default_rng(3)
    accepted = 0
    for _ in range(300):  # 100 items, of which 95 in 100 are right: 0.95 ** 4 of the queries
        right = (rng.random(ITEMS) < 0.95).astype(float)
        items = np.concatenate([rng.permutation(ITEMS) for _ in range(20)])
        made = log([1] * 500, per_query=4, samples=items)
        measured = of(RIGHT, made, right=right[items], scenario="multi_stream", samples_per_query=4)
        accepted += decided(measured, 0.95**4).accept
    assert accepted <= 22  # 5 % and two standard errors


# How a bar on it is decided


def slow(n, late, *, in_rows):
    times = np.ones(n)
    places = np.arange(late) if in_rows else np.linspace(0, n - 1, late).astype(int)
    times[places] = 60
    return log(times)


def test_a_share_of_good_requests_is_accepted_by_its_lower_bound():
    measured = of(IN_TIME, slow(1000, 20, in_rows=False))
    assert decided(measured, 0.95).accept
    assert not decided(measured, 0.975).accept


def test_late_requests_in_rows_tell_less_than_spread_ones():
    spread, rows = (decided(of(IN_TIME, slow(1000, 20, in_rows=each)), 0.95) for each in (False, True))
    assert rows.design_effect > 5 * spread.design_effect
    assert (spread.accept, rows.accept) == (True, False)


def test_wrong_answers_in_rows_tell_less_than_spread_ones():
    rows = np.arange(1000) >= 40
    spread = np.arange(1000) % 25 > 0
    made = log([1] * 1000, samples=np.zeros(1000, dtype=int) + np.arange(1000) % ITEMS)
    measured = [
        goodput(execution(made, scores={"accuracy": each}), Limits(ms(50), "accuracy"))
        for each in (rows, spread)
    ]
    effects = [decided(each, 0.5).design_effect for each in measured]
    assert effects[0] > 3 * effects[1]


def test_the_larger_of_the_two_design_effects_counts():
    spread = [1, 1, 1, 0] * 25
    measured = of(RIGHT, log([1] * 1000), right=spread * 10)
    decision = decided(measured, 0.5)
    assert decision.design_effect == pytest.approx(10.0, rel=0.02)  # ten times each item
    assert decision.n_effective <= 100


def test_slow_requests_in_rows_count_where_no_limit_was_missed():
    times = np.where(np.arange(1000) < 150, 40, 1)
    assert decided(of(IN_TIME, log(times)), 0.9).design_effect > 10


def test_fewer_than_two_hundred_requests_under_load_decide_nothing():
    def at_a_rate(n):
        return decided(of(IN_TIME, log([1] * n), scenario="server", qps=10, count=n), 0.5)

    assert "199 requests under load are too few" in at_a_rate(199).blocked
    assert (at_a_rate(199).accept, at_a_rate(199).reject_p) == (False, None)
    assert at_a_rate(200).accept


def test_a_run_without_a_declared_rate_is_under_no_load():
    measured = of(RIGHT, log([1] * 100), right=[1] * 100, scenario="offline")
    assert decided(measured, 0.5).accept


def test_acceptance_on_time_takes_a_hundred_requests_worth_of_information():
    assert "acceptance takes 100" in decided(of(IN_TIME, log([1] * 99)), 0.5).blocked
    assert decided(of(IN_TIME, log([1] * 100)), 0.5).accept


def test_right_answers_alone_take_no_hundred():
    assert decided(of(RIGHT, log([1] * 60), right=[1] * 60), 0.5).accept


def test_fewer_than_twenty_clusters_decide_nothing():
    measured = of(RIGHT, log([1] * 400, samples=np.arange(400) % 19), right=[1] * 400)
    decision = decided(measured, 0.5)
    assert (decision.accept, decision.reject_p) == (False, None)
    assert decision.blocked == "19 clusters are too few for a verdict; it takes 20"
    assert decided(measured, 0.5, min_clusters=19).accept


def test_fewer_than_five_requests_decide_nothing():
    assert decided(of(IN_TIME, log([1] * 4)), 0.1).blocked == "4 requests are too few; it takes 5"


def test_a_share_far_below_the_bar_is_rejected():
    assert decided(of(IN_TIME, slow(1000, 300, in_rows=False)), 0.95).reject_p < 1e-6


@invariant
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=120),
    st.sampled_from([0.3, 0.6, 0.9]),
)
def test_no_share_is_both_accepted_and_rejected(requests, at_least):
    in_time, right = zip(*requests, strict=True)
    measured = of(BOTH, log([1 if each else 60 for each in in_time]), right=right)
    decision = decided(measured, at_least)
    assert not (decision.accept and decision.reject_p <= 0.05)
    assert decision.low <= measured.estimate.number <= decision.high
