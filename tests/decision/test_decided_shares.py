"""Shares that are looked at early, at every look, or divided into a cost."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure import stats
from pytest_procure.decision import Policy, decide
from pytest_procure.decision.shares import anytime, cost_of_share, curtailed, goodput, share
from pytest_procure.metrics.measurement import Anytime, CostOfShare, Curtailed, Goodput, Measurement, Share
from pytest_procure.metrics.metric import metric
from pytest_procure.units import Quantity

POLICY = Policy()
MILLISECOND = 1_000_000
invariant = settings(derandomize=True, max_examples=150)
SENSES = st.sampled_from(["at least", "at most"])
BARS = st.integers(1, 99).map(lambda hundredths: Decimal(hundredths) / 100)


# Curtailed: as the planned number will decide


@invariant
@given(st.lists(st.booleans(), min_size=1, max_size=80), st.data(), BARS, SENSES)
def test_what_a_curtailed_run_shows_the_whole_run_shows_too(right, data, bar, sense):
    asked = data.draw(st.integers(1, len(right)))
    early = curtailed(Curtailed(float(sum(right[:asked])), asked, len(right)), sense, bar, POLICY)
    whole = share(Share(float(sum(right)), len(right)), sense, bar, POLICY)
    assert early.accept <= whole.accept
    assert early.reject_p >= whole.reject_p
    assert early.low <= whole.low
    assert early.high >= whole.high


@invariant
@given(st.lists(st.booleans(), min_size=1, max_size=80), BARS, SENSES)
def test_a_curtailed_run_that_asked_everything_is_the_whole_run(right, bar, sense):
    total, n = float(sum(right)), len(right)
    early, whole = (
        curtailed(Curtailed(total, n, n), sense, bar, POLICY),
        share(Share(total, n), sense, bar, POLICY),
    )
    assert early == whole


@invariant
@given(st.lists(st.booleans(), min_size=2, max_size=80), BARS)
def test_evidence_never_goes_back(right, bar):
    looks = [
        curtailed(Curtailed(float(sum(right[:asked])), asked, len(right)), "at least", bar, POLICY)
        for asked in range(1, len(right) + 1)
    ]
    accepted = [look.accept for look in looks]
    assert accepted == sorted(accepted)
    chances = [look.reject_p for look in looks]
    assert chances == sorted(chances, reverse=True)


def test_the_planned_number_decides_and_not_the_number_asked():
    # 302 of 311 show 95 %; so 302 right answers settle it, however few were asked.
    assert share(Share(302.0, 311), "at least", Decimal("0.95"), POLICY).accept
    assert curtailed(Curtailed(302.0, 302, 311), "at least", Decimal("0.95"), POLICY).accept
    assert not curtailed(Curtailed(301.0, 301, 311), "at least", Decimal("0.95"), POLICY).accept


def test_what_was_not_asked_widens_the_range():
    decision = curtailed(Curtailed(50.0, 50, 100), "at least", Decimal("0.3"), POLICY)
    assert decision.low == share(Share(50.0, 100), "at least", Decimal("0.3"), POLICY).low
    assert decision.high == 1
    assert decision.n_effective == 50


def test_failures_in_rows_weigh_in_a_curtailed_run():
    plain = curtailed(Curtailed(370.0, 400, 400), "at least", Decimal("0.9"), POLICY)
    rows = curtailed(Curtailed(370.0, 400, 400, 8.0, 9), "at least", Decimal("0.9"), POLICY)
    assert rows.low < plain.low
    assert rows.design_effect == 8.0
    assert rows.low == share(Share(370.0, 400, 8.0, 9), "at least", Decimal("0.9"), POLICY).low


# Anytime: at every look at once


def test_984_right_answers_in_a_row_show_99_percent_at_any_look():
    def shown(n):
        return anytime(Anytime(n, n), "at least", Decimal("0.99"), POLICY).accept

    assert (shown(983), shown(984)) == (False, True)


def test_anytime_asks_for_more_than_one_look_at_the_end():
    fixed = share(Share(96.0, 100), "at least", Decimal("0.9"), POLICY)
    often = anytime(Anytime(96, 100), "at least", Decimal("0.9"), POLICY)
    assert often.low < fixed.low
    assert often.high > fixed.high
    assert (fixed.accept, often.accept) == (True, False)


@invariant
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), BARS, SENSES)
def test_anytime_bounds_are_shares_and_never_both_accept_and_reject(counted, bar, sense):
    decision = anytime(Anytime(*counted), sense, bar, POLICY)
    assert 0 <= decision.low <= Decimal(counted[0]) / counted[1] <= decision.high <= 1
    assert not (decision.accept and decision.reject_p <= POLICY.rejection_risk)


def test_a_smaller_consumers_risk_takes_more_answers_at_any_look():
    strict = Policy(consumer_risk=0.001)
    assert anytime(Anytime(100, 100), "at least", Decimal("0.92"), POLICY).accept
    assert not anytime(Anytime(100, 100), "at least", Decimal("0.92"), strict).accept


# A cost over a share


def cost(amount, good, n, **more):
    return CostOfShare(Decimal(amount), Share(float(good), n, **more))


@invariant
@given(st.integers(1, 200), st.integers(1, 400), BARS)
def test_a_cost_at_most_is_a_share_at_least(good, hundredths, amount):
    bar = Decimal(hundredths) / 100
    decision = cost_of_share(cost(amount, good, 200), "at most", bar, POLICY)
    if amount <= bar:
        as_share = share(Share(float(good), 200), "at least", amount / bar, POLICY)
        assert (decision.accept, decision.reject_p) == (as_share.accept, as_share.reject_p)
    else:
        assert (decision.accept, decision.reject_p, decision.exact) == (False, 0.0, True)


@invariant
@given(st.integers(1, 200), st.integers(1, 400), BARS)
def test_the_opposite_of_what_is_accepted_is_not_accepted(good, hundredths, amount):
    basis, bar = cost(amount, good, 200), Decimal(hundredths) / 100
    accepted = [cost_of_share(basis, sense, bar, POLICY).accept for sense in ("at most", "at least")]
    assert not all(accepted)


def test_the_range_of_a_cost_turns_that_of_the_share_around():
    basis = cost("0.01", 80, 100)
    by_share = share(basis.share, "at least", Decimal("0.5"), POLICY)
    decision = cost_of_share(basis, "at most", Decimal("0.02"), POLICY)
    assert (decision.low, decision.high) == (basis.cost / by_share.high, basis.cost / by_share.low)


def test_too_few_clusters_decide_no_cost():
    few = cost("0.01", 100, 100, design_effect=5.0, df=18, clusters=19)
    decision = cost_of_share(few, "at most", Decimal("0.02"), POLICY)
    assert (decision.accept, decision.reject_p) == (False, None)
    assert "19 clusters are too few" in decision.blocked


# Goodput: at the smaller of the two effective sample sizes


def requests(good, *, values=None, limit=0, under_load=False, **more):
    good = np.asarray(good, dtype=bool)
    return Goodput(Share(float(good.sum()), len(good), **more), good, values, limit, under_load)


def test_the_larger_design_effect_is_used_with_its_own_degrees_of_freedom():
    good = np.arange(1000) % 10 > 0
    calm = goodput(requests(good), "at least", Decimal("0.8"), POLICY)
    clustered = goodput(
        requests(good, design_effect=6.0, df=99, clusters=100), "at least", Decimal("0.8"), POLICY
    )
    assert calm.design_effect == 1.0
    assert clustered.design_effect == 6.0
    expected = stats.effective_n(1000, 6.0, 99, confidence=0.95)
    assert clustered.n_effective == pytest.approx(expected)


def test_a_run_of_good_requests_alone_still_has_the_rows_of_its_latencies():
    values = np.where(np.arange(1000) < 200, 40, 1) * MILLISECOND
    basis = requests(np.ones(1000), values=values, limit=50 * MILLISECOND)
    decision = goodput(basis, "at least", Decimal("0.2"), POLICY)
    assert decision.design_effect == pytest.approx(stats.latency_design_effect(values, 50 * MILLISECOND)[0])
    assert not decision.accept
    assert "latencies came in rows" in decision.blocked


def test_a_bar_arrives_in_the_unit_of_the_estimate():
    measured = Measurement(
        metric("goodput"), Quantity.of("0.9"), 1000, "requests", requests(np.arange(1000) % 10 > 0)
    )
    assert decide(measured, "at least", Quantity.of(85, "%"), POLICY).accept
