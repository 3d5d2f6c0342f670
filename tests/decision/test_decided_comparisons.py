"""Bounds of contrasts, differences and pairs, held against a bar."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.decision.comparisons import contrast, pairs
from pytest_procure.metrics.measurement import Contrast, Pairs

POLICY = Policy()
invariant = settings(derandomize=True, max_examples=60)


def paired(both, only_new, only_ref, neither, *, as_ratio=False, clusters=None):
    sizes = (both, only_new, only_ref, neither)
    new, ref = np.repeat([1.0, 1.0, 0.0, 0.0], sizes), np.repeat([1.0, 0.0, 1.0, 0.0], sizes)
    return Contrast(new, ref, clusters, as_ratio)


def blocks(*logs, minimum=5):
    return Pairs(np.array(logs, dtype=float), minimum)


SIZES = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda sizes: sum(sizes) >= 20)


@invariant
@given(SIZES, st.integers(-20, 20))
def test_a_difference_is_accepted_by_the_lowest_of_three_bounds(sizes, points):
    bounds = stats.paired_share_bounds(*sizes, confidence=0.95)
    decision = contrast(paired(*sizes), "at least", Decimal(points), POLICY)
    assert (float(decision.low), float(decision.high)) == pytest.approx(
        (max(bounds.low, -1) * 100, min(bounds.high, 1) * 100), rel=1e-9, abs=1e-9
    )
    assert decision.accept == (decision.low >= points)


@invariant
@given(SIZES, st.integers(50, 150))
def test_a_ratio_is_accepted_where_its_contrast_is_not_below_nothing(sizes, percent):
    basis, bar = paired(*sizes, as_ratio=True), Decimal(percent) / 100
    bounds = stats.contrast_bounds(basis.candidate, basis.reference, float(bar), confidence=0.95)
    decision = contrast(basis, "at least", bar, POLICY)
    assert decision.accept == (bounds.low >= 0)
    assert (decision.reject_p <= 0.05) == (bounds.high < 0) or bounds.high == pytest.approx(0, abs=1e-9)


@invariant
@given(SIZES)
def test_swapping_the_two_turns_the_difference_around(sizes):
    both, only_new, only_ref, neither = sizes
    one = contrast(paired(*sizes), "at least", Decimal(0), POLICY)
    other = contrast(paired(both, only_ref, only_new, neither), "at least", Decimal(0), POLICY)
    assert float(one.low) == pytest.approx(-float(other.high), abs=1e-9)


def test_a_smaller_consumers_risk_accepts_less():
    basis, strict = paired(930, 15, 25, 30), Policy(consumer_risk=0.001)
    assert contrast(basis, "at least", Decimal("-2.1"), POLICY).accept
    assert not contrast(basis, "at least", Decimal("-2.1"), strict).accept


def test_clusters_take_the_place_of_items():
    basis = paired(900, 20, 20, 60, clusters=np.arange(1000) // 50)
    decision = contrast(basis, "at least", Decimal(-5), POLICY)
    assert decision.n_effective == 20
    fewer = paired(900, 20, 20, 60, clusters=np.arange(1000) // 60)
    assert "17 independent items are too few" in contrast(fewer, "at least", Decimal(-5), POLICY).blocked


def test_a_ratio_without_an_end_has_none():
    decision = contrast(paired(0, 30, 0, 30, as_ratio=True), "at least", Decimal("0.5"), POLICY)
    assert decision.high is None


# Pairs


def test_pairs_are_decided_by_students_t_on_logarithms():
    logs = [0.1, 0.12, 0.08, 0.11, 0.09]
    decision = pairs(blocks(*logs), "at most", Decimal("1.13"), POLICY)
    reach = 2.1318467863 * np.std(logs, ddof=1) / math.sqrt(5)  # t(0.95, 4)
    assert float(decision.high) == pytest.approx(math.exp(0.1 + reach), rel=1e-8)
    assert float(decision.low) == pytest.approx(math.exp(0.1 - reach), rel=1e-8)
    assert decision.accept
    assert not pairs(blocks(*logs), "at most", Decimal("1.12"), POLICY).accept


def test_the_other_direction_takes_the_other_end():
    logs = [0.1, 0.12, 0.08, 0.11, 0.09]
    assert pairs(blocks(*logs), "at least", Decimal("1.08"), POLICY).accept
    assert not pairs(blocks(*logs), "at least", Decimal("1.1"), POLICY).accept


def test_pairs_without_spread_are_what_they_are():
    decision = pairs(blocks(*[0.0] * 10), "at most", Decimal("1.000001"), POLICY)
    assert decision.accept
    assert pairs(blocks(*[0.0] * 10), "at most", Decimal("0.999999"), POLICY).reject_p < 1e-9


def test_too_few_pairs_decide_nothing():
    decision = pairs(blocks(0, 0, 0, 0), "at most", Decimal(2), POLICY)
    assert (decision.accept, decision.reject_p, decision.n_effective) == (False, None, 4.0)


@invariant
@example([-60.0, 40, 40, 40, 40], "at most")
@given(st.lists(st.floats(-40, 40), min_size=5, max_size=12), st.sampled_from(["at least", "at most"]))
def test_no_pairs_are_too_wild_to_decide(logs, sense):
    decision = pairs(blocks(*logs), sense, Decimal("1.1"), POLICY)
    assert not (decision.accept and decision.reject_p <= POLICY.rejection_risk)


def test_no_difference_of_shares_is_told_beyond_a_hundred_points():
    worst = Contrast(np.zeros(60), np.ones(60), np.arange(60) // 3, as_ratio=False)
    decision = contrast(worst, "at least", Decimal(-5), POLICY)
    assert float(decision.low) == pytest.approx(-100, abs=1e-9)  # rounded outward
    assert decision.high < -5
