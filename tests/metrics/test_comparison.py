"""Bars against another candidate: what is measured, and how it is decided."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from by_hand import ITEMS, execution, log
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.candidates import Candidate, HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import Run
from pytest_procure.metrics import metric
from pytest_procure.metrics.comparison import BLOCKS, Against, against, compare
from pytest_procure.metrics.measurement import Contrast, Exact, Measurement, Pairs, Unmeasurable
from pytest_procure.units import Quantity
from pytest_procure.verdict import find
from pytest_procure.wording import rule

invariant = settings(derandomize=True, max_examples=60)
RATIO, MARGIN = Against("ref"), Against("ref", margin=True)
ACCURACY, P95, RATE, COST = map(metric, ("accuracy", "latency.p95", "throughput", "cost_per_request"))


def blocks(*logs, name="new", n=ITEMS, clusters=None, price=None, hung=False, scores=None, **more):
    """A candidate's blocks of a comparison over `n` items."""
    made = execution(*logs, scores=scores, **more)
    data = Dataset.from_arrays("by hand", inputs=np.arange(n), references=np.arange(n), clusters=clusters)
    runs = tuple(Run(each, audit=None, conditions={}, hung=hung) for each in logs)
    candidate = Candidate(name, backend=len, price=price)
    return replace(made, candidate=candidate, slice=data.slice(), launches=runs, blocks=True)


def right(scores, items=None, **more):
    """Blocks in which these items were asked, each answered so well."""
    items = range(len(scores)) if items is None else items
    made = log([1] * len(scores), samples=list(items))
    return blocks(made, scores={"accuracy": scores}, n=more.pop("n", max(ITEMS, len(scores))), **more)


def table(both, only_new, only_ref, neither):
    """Scores of two candidates on the same items, by how many items each kind has."""
    sizes = (both, only_new, only_ref, neither)
    return np.repeat([1.0, 1.0, 0.0, 0.0], sizes), np.repeat([1.0, 0.0, 1.0, 0.0], sizes)


def scored(new, ref, other=RATIO, **more):
    return compare(ACCURACY, other, right(new, **more), right(ref, name="ref", **more))


def shown(measured, at_least, unit="", **policy):
    return decide(measured, "at least", Quantity.of(at_least, unit), Policy(**policy))


# At least 99 % of the reference


def test_a_share_of_the_reference_is_the_ratio_of_the_two_means():
    measured = scored(*table(60, 6, 20, 14))
    assert measured.estimate == Quantity.of(0.825)  # 66 of 80
    assert (measured.n, measured.n_unit) == (100, "items")
    assert measured.metric.name == "accuracy / ref"


def test_a_share_of_the_reference_is_decided_by_the_contrast():
    new, ref = table(9000, 100, 100, 800)
    measured = scored(new, ref)
    contrast = new - 0.99 * ref
    # 1.645006 is the 0.95 quantile of t with 9,999 degrees of freedom.
    assert contrast.mean() - 1.645006 * contrast.std(ddof=1) / 100 > 0
    assert shown(measured, "0.99").accept
    contrast = new - 0.998 * ref
    assert contrast.mean() - 1.645006 * contrast.std(ddof=1) / 100 < 0
    assert not shown(measured, "0.998").accept


def test_the_likely_range_of_the_ratio_is_where_the_contrasts_bounds_are_nothing():
    measured = scored(*table(9000, 100, 100, 800))
    decision = shown(measured, "0.99")
    assert decision.low < 1 < decision.high
    assert shown(measured, decision.low - Decimal("1e-6")).accept
    assert not shown(measured, decision.low + Decimal("1e-6")).accept


def test_a_candidate_far_below_the_reference_is_rejected():
    assert shown(scored(*table(700, 0, 200, 100)), "0.99").reject_p < 1e-6


def test_equal_candidates_are_not_rejected():
    assert shown(scored(*table(900, 20, 20, 60)), "0.99").reject_p > 0.3


def test_a_reference_without_a_right_answer_has_no_share():
    measured = scored([1.0] * 40, [0.0] * 40)
    assert measured.basis == Unmeasurable("ref got nothing right, so there is no share of it")


def test_a_candidate_without_a_right_answer_has_a_share_of_nothing():
    measured = scored([0.0] * 100, [1.0] * 100)
    assert measured.estimate == Quantity.of(0)
    assert shown(measured, "0.5").reject_p < 1e-6


def test_graded_scores_are_compared_by_their_means():
    rng = np.random.default_rng(4)
    ref = rng.uniform(0.4, 0.8, 1000)
    assert shown(scored(ref + 0.001, ref), "0.99").accept
    assert not shown(scored(ref * 0.98, ref), "0.99").accept


# At most some points below


def test_non_inferiority_of_15_against_25_in_a_thousand_takes_more_than_two_points():
    measured = scored(*table(930, 15, 25, 30), MARGIN)
    assert measured.estimate == Quantity.of(-1, "points")
    assert shown(measured, -2, "points").low == pytest.approx(Decimal("-2.09724280"), abs=Decimal("1e-7"))
    assert not shown(measured, -2, "points").accept
    assert shown(measured, "-2.1", "points").accept


def test_a_difference_beyond_the_margin_is_rejected():
    decision = shown(scored(*table(800, 10, 100, 90), MARGIN), -2, "points")
    assert decision.reject_p < 1e-6
    assert decision.high < -2


def test_no_difference_seen_shows_no_small_margin():
    measured = scored(*table(90, 0, 0, 10), MARGIN)
    assert not shown(measured, "-0.5", "points").accept
    assert shown(measured, -5, "points").accept


def test_graded_scores_have_a_difference_by_students_t():
    rng = np.random.default_rng(4)
    new, ref = rng.uniform(0.4, 0.8, (2, 1000))
    decision = shown(scored(new, ref, MARGIN), -3, "points")
    difference = new - ref
    # 1.646380 is the 0.95 quantile of t with 999 degrees of freedom.
    reach = 1.646380 * difference.std(ddof=1) / math.sqrt(1000)
    assert float(decision.low) == pytest.approx(100 * (difference.mean() - reach), abs=1e-4)


@pytest.mark.parametrize(
    ("bar", "graded", "method"),
    [
        ({"at_least": "99 %", "of": "ref"}, False, "(contrast with that share, Student t)"),
        (
            {"below": "ref", "margin": 0.02},
            False,
            "(the widest of Newcombe's method 10, Tango's score interval and Student t)",
        ),
        ({"below": "ref", "margin": 0.02}, True, "(Student t)"),
    ],
)
def test_the_rule_names_the_method_that_was_used(bar, graded, method):
    declared = declare_bar("accuracy", **bar)
    new, ref = table(900, 20, 20, 60)
    measured = scored(new * (0.5 if graded else 1), ref, declared.against)
    assert f"paired on the same items {method}" in rule(find(declared, measured, Policy()), Policy())


@invariant
@given(
    st.tuples(*[st.integers(0, 60)] * 4).filter(lambda sizes: sum(sizes) >= 20 and sizes[0] + sizes[2] > 0),
    st.sampled_from([(RATIO, "0.9", ""), (RATIO, "1.01", ""), (MARGIN, "-5", "points")]),
)
def test_nothing_is_both_accepted_and_rejected(sizes, asked):
    other, limit, unit = asked
    decision = shown(scored(*table(*sizes), other, n=240), limit, unit)
    assert not (decision.accept and decision.reject_p <= 0.05)


@invariant
@given(st.tuples(*[st.integers(5, 60)] * 4), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(sizes, random):
    new, ref = table(*sizes)
    order = random.sample(range(len(new)), len(new))
    one, other = scored(new, ref, n=240), scored(new[order], ref[order], n=240)
    assert shown(one, "0.95").accept == shown(other, "0.95").accept


# Which items count


def test_items_are_paired_whatever_order_they_were_asked_in():
    new, ref = table(60, 6, 20, 14)
    order = np.random.default_rng(1).permutation(100)
    measured = compare(ACCURACY, MARGIN, right(new), right(ref[order], order, name="ref"))
    assert measured.basis.candidate.tolist() == new.tolist()
    assert measured.basis.reference.tolist() == ref.tolist()


def test_an_item_that_is_asked_again_counts_once():
    twice = [0, 1, 0, 1]
    measured = compare(ACCURACY, MARGIN, right([1, 0, 0, 0], twice), right([1, 1, 1, 1], twice, name="ref"))
    assert (measured.n, measured.basis.candidate.tolist()) == (2, [0.5, 0.0])


def test_items_that_nobody_was_asked_do_not_make_the_difference_smaller():
    new, ref = table(60, 0, 20, 20)
    measured = scored(new, ref, MARGIN, n=1000)
    assert (measured.n, measured.estimate) == (100, Quantity.of(-20, "points"))


def test_items_that_only_one_was_asked_do_not_count():
    new, ref = right([1, 1, 0], [0, 1, 2]), right([1, 0], [0, 1], name="ref")
    assert compare(ACCURACY, MARGIN, new, ref).n == 2
    assert compare(ACCURACY, MARGIN, ref, new).n == 2


def test_no_item_in_common_is_not_measurable():
    measured = compare(ACCURACY, RATIO, right([1], [0]), right([1], [1], name="ref"))
    assert measured.basis == Unmeasurable("no item was asked of both")


def test_items_of_one_cluster_count_as_one():
    new, ref = table(600, 60, 80, 60)
    single, joined = (
        scored(new, ref),
        scored(np.repeat(new, 2), np.repeat(ref, 2), clusters=np.repeat(range(800), 2)),
    )
    assert joined.basis.clusters.tolist() == np.repeat(range(800), 2).tolist()
    assert shown(single, "0.99").low == pytest.approx(shown(joined, "0.99").low, abs=Decimal("1e-6"))
    assert shown(joined, "0.99").n_effective == 800


def test_clusters_follow_the_items_that_were_asked():
    clusters = np.arange(ITEMS) // 10
    measured = compare(
        ACCURACY, RATIO, right([1, 1], [5, 95], clusters=clusters), right([1, 1], [95, 5], name="ref")
    )
    assert measured.basis.clusters.tolist() == [0, 9]


def test_fewer_than_twenty_items_decide_nothing():
    measured = scored([1.0] * 19, [1.0] * 19, n=19)
    assert shown(measured, "0.5").blocked == "19 independent items are too few for a verdict; it takes 20"
    assert (shown(measured, "0.5").accept, shown(measured, "0.5").reject_p) == (False, None)
    assert shown(measured, "0.5", min_clusters=19).accept


def test_a_scorer_that_the_dataset_has_not_is_not_measurable():
    made = blocks(log([1]), scores={"quality.exact": [1]})
    assert compare(ACCURACY, RATIO, made, made).basis == Unmeasurable(
        "dataset `by hand` has no scorer for it"
    )


@pytest.mark.parametrize("who", ["new", "ref"])
@pytest.mark.parametrize("what", [ACCURACY, P95, RATE])
def test_a_call_that_never_returned_leaves_nothing_to_compare(who, what):
    new, ref = (
        blocks(log([1] * 20), scores={"accuracy": [1] * 20}, name=name, hung=name == who)
        for name in ("new", "ref")
    )
    assert compare(what, RATIO, new, ref).basis == Unmeasurable(f"a call of `{who}` did not return")


# Speed, block by block


def timed(milliseconds, name="new"):
    """Blocks whose requests all take so long."""
    return blocks(*[log([each] * 10) for each in milliseconds], name=name)


def served(rates, name="new"):
    """Blocks of ten answers each, at so many a second."""
    return blocks(*[log([1] * 10, window_ms=10_000 / each) for each in rates], name=name)


def at_most(measured, limit, **policy):
    return decide(measured, "at most", Quantity.of(limit), Policy(**policy))


def test_a_latency_ratio_is_the_mean_of_the_blocks_ratios():
    measured = compare(P95, RATIO, timed([2, 8] * 5), timed([1, 2] * 5, "ref"))
    assert float(measured.estimate) == pytest.approx(math.sqrt(2 * 4))
    assert (measured.n, measured.n_unit) == (10, "pairs of blocks")


def test_a_latency_ratio_takes_the_percentile_of_each_block():
    new, ref = blocks(log([*[1] * 19, 50])), blocks(log([*[1] * 18, 20, 50]), name="ref")
    assert float(compare(P95, RATIO, new, ref).estimate) == pytest.approx(1 / 20)


def test_a_throughput_ratio_counts_good_answers():
    half = blocks(*[log([1] * 10, window_ms=1000, status=[Status.OK] * 5 + [Status.ERROR] * 5)] * 10)
    measured = compare(RATE, RATIO, half, served([10] * 10, "ref"))
    assert float(measured.estimate) == pytest.approx(0.5)


def test_four_interleaved_pairs_of_throughput():
    new, ref = served([101.2, 99.8, 103.1, 100.5]), served([96.4, 97.0, 98.2, 96.9], "ref")
    measured = compare(RATE, RATIO, new, ref)
    assert float(measured.estimate) == pytest.approx(1.041388882, abs=1e-7)
    four = replace(measured, basis=replace(measured.basis, minimum=4))
    decision = decide(four, "at least", Quantity.of(1), Policy(consumer_risk=0.025))
    assert float(decision.low) == pytest.approx(1.025118378, abs=1e-7)
    assert float(decision.high) == pytest.approx(1.05791763, abs=1e-7)


def test_a_faster_candidate_is_shown_to_be_faster():
    rng = np.random.default_rng(6)
    noise = rng.normal(0, 0.02, (2, BLOCKS))
    measured = compare(P95, RATIO, timed(9 * np.exp(noise[0])), timed(10 * np.exp(noise[1]), "ref"))
    assert at_most(measured, "0.95").accept
    assert not at_most(measured, "0.89").accept


def test_a_slower_candidate_is_rejected():
    rng = np.random.default_rng(6)
    noise = rng.normal(0, 0.02, (2, BLOCKS))
    measured = compare(P95, RATIO, timed(12 * np.exp(noise[0])), timed(10 * np.exp(noise[1]), "ref"))
    assert at_most(measured, "1.1").reject_p < 0.01


def test_fewer_than_five_pairs_decide_nothing():
    measured = compare(P95, RATIO, timed([1] * 4), timed([2] * 4, "ref"))
    assert at_most(measured, "1").blocked == "4 pairs of blocks are too few for a verdict; it takes 5"


def test_a_block_whose_percentile_lies_among_its_failures_has_no_ratio():
    failing = [log([1] * 10)] * 9 + [log([1] * 5 + [None] * 5, window_ms=100)]
    new, ref = blocks(*failing), blocks(*[log([1] * 10)] * 10, name="ref")
    assert compare(P95, RATIO, new, ref).basis == Unmeasurable(
        "a block has too few good answers, so it has no ratio"
    )


def test_two_that_fail_alike_are_not_equally_fast():
    failing = [log([None] * 10, window_ms=100)] * 10
    measured = compare(P95, RATIO, blocks(*failing), blocks(*failing, name="ref"))
    assert isinstance(measured.basis, Unmeasurable)


def test_a_block_without_a_good_answer_has_no_throughput_ratio():
    dead = [log([1] * 10, window_ms=10)] * 9 + [log([None] * 10, window_ms=10)]
    assert isinstance(compare(RATE, RATIO, blocks(*dead), served([10] * 10, "ref")).basis, Unmeasurable)


def test_wild_pairs_have_no_upper_end_and_decide_nothing():
    basis = Pairs(np.array([-20.0, 20, -20, 20, 300]), 5)
    measured = Measurement(against(P95, RATIO), Quantity.of(1), 5, "pairs of blocks", basis)
    decision = at_most(measured, "1.1", consumer_risk=1e-6)
    assert (decision.accept, decision.high) == (False, None)


# Cost


def priced(price, name="new", **more):
    return blocks(log([1] * 10), name=name, price=price, **more)


def test_a_cost_ratio_of_declared_prices_is_exact():
    measured = compare(
        COST, RATIO, priced(RequestPrice("0.011 USD")), priced(RequestPrice("0.01 USD"), "ref")
    )
    assert measured.basis == Exact(Decimal("1.1"), "at the declared prices")
    assert at_most(measured, "1.1").accept
    assert not at_most(measured, "1.099").accept


def test_prices_by_the_hour_are_compared_at_the_declared_rate():
    rate = {"scenario": "server", "qps": 10, "count": 10}
    new = priced(HourlyPrice("1 USD", utilisation=0.5), **rate)
    ref = priced(HourlyPrice("1 USD", utilisation=0.25), "ref", **rate)
    assert float(compare(COST, RATIO, new, ref).estimate) == pytest.approx(0.5)


def test_prices_in_two_currencies_have_no_ratio():
    measured = compare(COST, RATIO, priced(RequestPrice("1 USD")), priced(RequestPrice("1 EUR"), "ref"))
    assert measured.basis == Unmeasurable("the prices are in USD and EUR")


def test_a_reference_that_costs_nothing_has_no_share():
    measured = compare(COST, RATIO, priced(RequestPrice("1 USD")), priced(RequestPrice("0 USD"), "ref"))
    assert measured.basis == Unmeasurable("`ref` costs nothing, so there is no share of it")


@pytest.mark.parametrize(
    "price", [HourlyPrice("1 USD", utilisation=1), TokenPrice(input="1 USD", output="1 USD")]
)
def test_costs_that_are_measured_have_no_ratio(price):
    measured = compare(COST, RATIO, priced(price), priced(RequestPrice("1 USD"), "ref"))
    assert "only costs at a declared rate, or by the request, can be compared" in measured.basis.reason


# Offers exactly at their bar are seldom accepted


def within(accepted, runs, nominal=0.06):
    return accepted <= nominal * runs + 2 * math.sqrt(nominal * (1 - nominal) * runs)


def of_basis(basis, what, unit=""):
    return Measurement(against(ACCURACY, what), Quantity.of(0, unit), len(basis.candidate), "items", basis)


@pytest.mark.parametrize(("n", "only_new"), [(300, 0.0), (1000, 0.02)])
def test_seldom_at_the_margin(n, only_new):
    rng = np.random.default_rng(12)
    only_ref = only_new + 0.02
    accepted = 0
    for sizes in rng.multinomial(n, [0.94 - only_ref, only_new, only_ref, 0.06 - only_new], size=300):
        basis = Contrast(*table(*sizes), None, as_ratio=False)
        accepted += shown(of_basis(basis, MARGIN, "points"), -2, "points").accept
    assert within(accepted, 300)


def test_seldom_at_the_share_of_the_reference():
    rng = np.random.default_rng(13)
    only_new, only_ref = 0.01, 0.019  # 0.891 right against 0.9
    accepted = 0
    for sizes in rng.multinomial(500, [0.9 - only_ref, only_new, only_ref, 0.1 - only_new], size=200):
        basis = Contrast(*table(*sizes), None, as_ratio=True)
        accepted += shown(of_basis(basis, RATIO), "0.99").accept
    assert within(accepted, 200, 0.07)


def test_seldom_at_the_ratio_of_speeds():
    rng = np.random.default_rng(14)
    accepted = 0
    for _ in range(400):
        basis = Pairs(math.log(1.1) + rng.normal(0, 0.05, BLOCKS), 5)
        measured = Measurement(against(P95, RATIO), Quantity.of(1), BLOCKS, "pairs of blocks", basis)
        accepted += at_most(measured, "1.1").accept
    assert within(accepted, 400, 0.05)


def test_a_drift_of_the_machine_makes_equal_candidates_seldom_different():
    rng = np.random.default_rng(15)
    different = 0
    for _ in range(400):
        # 20 turns, ever slower by 5 % in all; in each pair chance decides who goes first.
        turns = np.exp(np.linspace(0, 0.05, 2 * BLOCKS) + rng.normal(0, 0.01, 2 * BLOCKS)).reshape(BLOCKS, 2)
        first = rng.random(BLOCKS) < 0.5
        new, ref = np.where(first, turns[:, 0], turns[:, 1]), np.where(first, turns[:, 1], turns[:, 0])
        measured = compare(P95, RATIO, timed(10 * new), timed(10 * ref, "ref"))
        decision = at_most(measured, "1", consumer_risk=0.025)
        different += decision.low > 1 or decision.high < 1
    assert within(different, 400, 0.05)


def test_one_after_the_other_the_same_drift_would_call_them_different():
    turns = np.exp(np.linspace(0, 0.05, 2 * BLOCKS))
    measured = compare(P95, RATIO, timed(10 * turns[:BLOCKS]), timed(10 * turns[BLOCKS:], "ref"))
    assert at_most(measured, "1").high < 1


# A reference that is broken


@pytest.mark.parametrize("what", [ACCURACY, P95], ids=str)
def test_a_reference_that_failed_is_no_measure(what):
    status = [Status.OK] * 98 + [Status.ERROR] * 2
    sound = right([1.0] * 100)
    broken = blocks(log([1] * 100, status=status), scores={"accuracy": [1.0] * 98 + [0.0] * 2}, name="ref")
    measured = compare(what, RATIO, sound, broken)
    assert measured.basis.reason == "`ref` failed in 2 of 100 requests, so it is no measure for others"


def test_a_candidate_that_failed_is_measured():
    status = [Status.OK] * 98 + [Status.ERROR] * 2
    broken = blocks(log([1] * 100, status=status), scores={"accuracy": [1.0] * 98 + [0.0] * 2})
    assert compare(ACCURACY, RATIO, broken, right([1.0] * 100, name="ref")).estimate == Quantity.of(0.98)
