"""What any bounds give: an end that decides, and the probability that the other one speaks by chance."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.decision.tails import by_bounds, outward, share_p
from pytest_procure.stats import Bounds

POLICY = Policy()
VALUES = np.array([10.0, 11, 12, 13, 14])
invariant = settings(derandomize=True, max_examples=60)


def launches(confidence):
    return stats.launch_mean_bounds(VALUES, confidence=confidence)


def decided(bar, sense="at least", bounds=launches, **policy):
    return by_bounds(bounds, sense, Decimal(str(bar)), Policy(**policy), n_effective=5.0)


@invariant
@given(st.floats(5, 20), st.sampled_from(["at least", "at most"]))
def test_the_probability_is_the_one_that_the_bounds_belong_to(bar, sense):
    alternative = "less" if sense == "at least" else "greater"
    exact = stats.launch_mean_p_value(VALUES, bar, alternative=alternative)
    assume(1e-11 < exact < 0.48)
    assert decided(bar, sense).reject_p == pytest.approx(exact, rel=1e-6)


@invariant
@given(st.floats(5, 20), st.sampled_from([0.001, 0.05, 0.3]))
def test_acceptance_is_by_the_nearer_end_at_the_consumers_risk(bar, risk):
    bounds = launches(1 - risk)
    assert decided(bar, consumer_risk=risk).accept == (bounds.low >= bar)
    assert decided(bar, "at most", consumer_risk=risk).accept == (bounds.high <= bar)


def test_evidence_on_the_good_side_rejects_nothing():
    assert decided(10).reject_p == 1.0
    assert decided(14, "at most").reject_p == 1.0


def test_an_end_that_is_not_there_decides_nothing():
    decision = decided(10, bounds=lambda _: Bounds(-math.inf, math.inf))
    assert (decision.accept, decision.low, decision.high, decision.reject_p) == (False, None, None, 1.0)


def test_ends_that_hold_at_every_confidence_make_it_certain():
    assert decided(10, bounds=lambda _: Bounds(1.0, 2.0)).reject_p <= 1e-11


@invariant
@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_ends_are_widened_and_by_next_to_nothing(low, width):
    down, up = outward(Bounds(low, low + width))
    assert down <= Decimal(repr(low))
    assert up >= Decimal(repr(low + width))
    assert float(down) == pytest.approx(low, rel=1e-11)
    assert float(up) == pytest.approx(low + width, rel=1e-11)


def test_the_tail_of_a_share_is_on_the_side_that_speaks_against_it():
    assert share_p(0.8, 100, Decimal("0.9"), "at least", 100.0) < 0.01
    assert share_p(0.8, 100, Decimal("0.9"), "at most", 100.0) > 0.99
    assert share_p(0.8, 100, Decimal("0.7"), "at most", 100.0) < 0.05
