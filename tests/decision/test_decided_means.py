"""Costs over successes by Fieller's bounds, and means of few repeats."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.decision.means import carried, means, ratio
from pytest_procure.metrics.measurement import Carried, Means, Ratio

POLICY = Policy()
invariant = settings(derandomize=True, max_examples=60)


def bought(cost, good, **more):
    return Ratio(np.asarray(cost, dtype=float), np.asarray(good, dtype=float), **more)


def half_right(n=200):
    """Costs of one to two for what is half right: 3.0 on average for a right one."""
    rng = np.random.default_rng(3)
    return bought(rng.permutation(np.linspace(1, 2, n)), rng.permutation([1.0, 0.0] * (n // 2)))


def at_most(basis, bar, policy=POLICY):
    return ratio(basis, "at most", Decimal(str(bar)), policy)


def test_many_of_both_kinds_have_fiellers_bounds():
    basis = half_right()
    decision, bounds = at_most(basis, 3), stats.fieller_ratio(basis.cost, basis.success, confidence=0.95)
    assert (float(decision.low), float(decision.high)) == pytest.approx(bounds, rel=1e-9)
    assert decision.n_effective == 200


def test_the_bound_is_held_against_the_bar():
    high = at_most(half_right(), 3).high
    assert at_most(half_right(), high + Decimal("1e-6")).accept
    assert not at_most(half_right(), high - Decimal("1e-6")).accept


def test_a_bar_at_the_estimate_is_neither_shown_nor_refuted():
    decision = at_most(half_right(), 3)
    assert not decision.accept
    assert 0.4 < decision.reject_p <= 1


def test_a_smaller_consumers_risk_widens_the_range():
    strict = at_most(half_right(), 3, Policy(consumer_risk=0.001))
    assert strict.low < at_most(half_right(), 3).low < at_most(half_right(), 3).high < strict.high


@pytest.mark.parametrize("wrong", [0, 1, 5, 59])
def test_few_failures_are_bounded_no_closer_than_exactly(wrong):
    n = 200
    decision = at_most(bought([1.0] * n, [1.0] * (n - wrong) + [0.0] * wrong), 2)
    assert float(decision.high) >= 1 / special.betaincinv(n - wrong, wrong + 1, 0.05) * (1 - 1e-9)


def test_few_successes_are_bounded_no_closer_than_exactly():
    decision = at_most(bought([1.0] * 200, [1.0] * 5 + [0.0] * 195), 20)
    assert float(decision.low) <= 1 / special.betaincinv(6, 195, 0.95) * (1 + 1e-9)


def test_clusters_alike_in_success_keep_room_for_failures():
    alike = bought([1.0] * 40, [1.0] * 40, of="clusters")
    assert at_most(alike, 2).high > Decimal("1.02")
    assert at_most(alike, 2).accept


def test_too_few_clusters_are_named_as_such():
    assert at_most(bought([1.0] * 19, [1.0] * 19, of="clusters"), 2).blocked == (
        "19 clusters are too few for a verdict; it takes 20"
    )


def test_the_floor_of_items_is_the_suites():
    assert at_most(half_right(40), 9, Policy(min_clusters=41)).blocked.startswith("40 items are too few")
    assert at_most(half_right(40), 9, Policy(min_clusters=40)).accept


@invariant
@given(
    st.lists(st.tuples(st.floats(0.001, 10), st.booleans()), min_size=20, max_size=200).filter(
        lambda rows: any(good for _, good in rows)
    ),
    st.floats(0.01, 50),
)
def test_no_ratio_is_both_accepted_and_rejected(rows, bar):
    decision = at_most(bought(*zip(*rows, strict=True)), bar)
    assert not (decision.accept and decision.reject_p <= POLICY.rejection_risk)


@invariant
@given(st.integers(20, 300), st.data())
def test_one_more_right_answer_at_a_fixed_cost_never_raises_the_bound(n, data):
    good = data.draw(st.integers(1, n - 1))
    less, more = (at_most(bought([1.0] * n, [1.0] * k + [0.0] * (n - k)), 2) for k in (good, good + 1))
    if _few(good, n) == _few(good + 1, n):
        assert more.high is not None or less.high is None
        if less.high is not None:
            assert more.high <= less.high * (1 + Decimal("1e-9"))


def _few(good, n):
    return min(good, n - good) < 60


# Means


def test_items_have_no_launches_to_ask_for():
    one = means(Means(np.array([1.0]), "items", 20), "at most", Decimal(2), POLICY)
    assert one.blocked == "1 of items has no range; a verdict takes 20"
    launch = means(Means(np.array([1.0]), "launches", 5), "at most", Decimal(2), POLICY)
    assert launch.blocked == "1 of launches has no range; a verdict takes 5 (`launches=5`)"


def test_tiny_means_keep_their_digits():
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.0]) * 1e-12
    decision = means(Means(values, "launches", 5), "at most", Decimal("1.1e-12"), POLICY)
    assert decision.accept
    reach = 2.1318467863 * values.std(ddof=1) / math.sqrt(5)  # t(0.95, 4)
    assert float(decision.high) == pytest.approx(1e-12 + reach, rel=1e-6)


def of_a_rate(load, error, *, freedom=19, looks=2):
    return carried(Carried(load, error, freedom, looks), "at least", Decimal("0.999"), POLICY)


def test_what_can_be_done_of_a_rate_is_one_over_its_load_within_students_t():
    decision = of_a_rate(2.0, 0.1)
    far = special.stdtrit(19, 0.95) * 0.1
    assert float(decision.low) == pytest.approx(1 / (2 + far), abs=1e-6)
    assert float(decision.high) == pytest.approx(1 / (2 - far), abs=1e-6)
    assert decision.reject_p == pytest.approx(2 * special.stdtr(19, (1 / 0.999 - 2) / 0.1))
    assert not decision.accept


def test_a_load_exactly_at_its_limit_rejects_nobody_however_exact_it_is():
    assert of_a_rate(1.0000001, 0.0).reject_p == 1.0
    assert of_a_rate(1.0015, 0.0).reject_p > 0.5  # no load is known to better than a thousandth
    assert of_a_rate(1.25, 0.0).reject_p == pytest.approx(0, abs=1e-12)


def test_a_load_that_may_be_nothing_has_no_upper_end():
    assert of_a_rate(1.0, 2.0).high is None
