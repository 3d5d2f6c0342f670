import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import SharePlan, operating_characteristic, plan_share, share_bounds

invariant = settings(derandomize=True, max_examples=40)


def accepts(n, allowed, share):
    return math.fsum(math.comb(n, i) * (1 - share) ** i * share ** (n - i) for i in range(allowed + 1))


def test_the_textbook_plan_for_aql_1_and_lq_5_percent():
    assert plan_share(0.95, 0.99, consumer_risk=0.10, producer_risk=0.05) == SharePlan(132, 3)


@pytest.mark.parametrize(
    ("bar", "design", "n", "allowed"),
    [
        (0.90, 0.92, 1760, 155),
        (0.90, 0.95, 239, 16),
        (0.95, 0.96, 3701, 163),
        (0.95, 0.97, 832, 31),
        (0.95, 0.98, 311, 9),
        (0.95, 0.99, 153, 3),
        (0.99, 0.995, 2546, 17),
        (0.99, 0.999, 473, 1),
        (0.999, 0.9999, 4742, 1),
    ],
)
def test_sizes_at_5_and_10_percent_risk(bar, design, n, allowed):
    assert plan_share(bar, design, consumer_risk=0.05, producer_risk=0.10) == SharePlan(n, allowed)


def test_a_flawless_design_needs_no_failures_allowed():
    assert plan_share(0.99, 1.0, consumer_risk=0.05, producer_risk=0.10) == SharePlan(299, 0)


@invariant
@given(st.floats(0.3, 0.95), st.floats(0.3, 1.0), st.floats(0.01, 0.3), st.floats(0.01, 0.3))
def test_no_smaller_plan_meets_both_risks(bar, gain, consumer_risk, producer_risk):
    design = bar + gain * (1 - bar)
    plan = plan_share(bar, design, consumer_risk=consumer_risk, producer_risk=producer_risk)
    at_bar, at_design = operating_characteristic(plan, [bar, design])
    assert at_bar <= consumer_risk
    assert at_design >= 1 - producer_risk
    assert operating_characteristic(plan._replace(n=plan.n - 1), [bar])[0] > consumer_risk
    n = 1
    for allowed in range(plan.allowed_failures):
        n = max(n, allowed + 1)
        while operating_characteristic(SharePlan(n, allowed), [bar])[0] > consumer_risk:
            n += 1
        assert operating_characteristic(SharePlan(n, allowed), [design])[0] < 1 - producer_risk


@invariant
@given(st.floats(0.5, 0.95), st.floats(0.2, 1.0), st.floats(0.01, 0.3))
def test_the_plan_and_the_bound_accept_the_same_results(bar, gain, consumer_risk):
    n, allowed = plan_share(bar, bar + gain * (1 - bar), consumer_risk=consumer_risk, producer_risk=0.1)
    assert share_bounds(n - allowed, n, confidence=1 - consumer_risk).low >= bar - 1e-12
    assert share_bounds(n - allowed - 1, n, confidence=1 - consumer_risk).low < bar


def test_operating_characteristic_at_bar_and_design():
    curve = operating_characteristic(SharePlan(311, 9), [0.95, 0.98, 0.0, 1.0])
    assert curve == pytest.approx([accepts(311, 9, 0.95), accepts(311, 9, 0.98), 0.0, 1.0], abs=1e-12)
    assert curve[0] <= 0.05
    assert curve[1] >= 0.90


@invariant
@given(st.integers(1, 500), st.data(), st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_a_better_offer_is_accepted_more_often(n, data, shares):
    plan = SharePlan(n, data.draw(st.integers(0, n)))
    curve = operating_characteristic(plan, sorted(shares)).tolist()
    assert all(worse <= better + 1e-12 for worse, better in itertools.pairwise(curve))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plan_share(1.0, 1.0, consumer_risk=0.05, producer_risk=0.1),
            r"bar is 1.0, expected a number",
        ),
        (
            lambda: plan_share(0.9, 0.9, consumer_risk=0.05, producer_risk=0.1),
            r"design is 0.9, .* above the bar",
        ),
        (
            lambda: plan_share(0.9, 1.1, consumer_risk=0.05, producer_risk=0.1),
            r"design is 1.1, expected a number",
        ),
        (
            lambda: plan_share(0.9, 0.95, consumer_risk=0.5, producer_risk=0.1),
            r"consumer_risk is 0.5, expected",
        ),
        (lambda: plan_share(0.9, 0.95, consumer_risk=0.1, producer_risk=0), r"producer_risk is 0, expected"),
        (
            lambda: plan_share(0.95, 0.95001, consumer_risk=0.05, producer_risk=0.1),
            r"design is 0.95001, expected a share farther above the bar of 0.95: .* more than 1048576",
        ),
        (lambda: operating_characteristic(SharePlan(0, 0), [0.5]), r"plan.n is 0, expected a whole number"),
        (
            lambda: operating_characteristic(SharePlan(5, 6), [0.5]),
            r"plan.allowed_failures is 6, expected at most",
        ),
        (lambda: operating_characteristic(SharePlan(5, 1), [1.5]), r"shares\[0\] is 1.5, expected a number"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()
