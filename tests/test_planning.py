"""Plans: what a bar needs, what that would accept, which number to change to what."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure import Candidate, HourlyPrice, RequestPrice, TokenPrice, stats
from pytest_procure.bars import declare_bar
from pytest_procure.decision import Policy, decide
from pytest_procure.evidence.parts import Requirement
from pytest_procure.metrics import Measurement
from pytest_procure.metrics.measurement import Latencies, Share
from pytest_procure.planning import Numbers, Pilot, Sample, State, plan, rehearsal
from pytest_procure.report import plan as report
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

SERVER = Scenario.declare("server", qps=40, count=2400)
P95 = declare_bar("latency.p95", at_most="80 ms")
invariant = settings(derandomize=True, max_examples=30)


def accuracy(at_least=0.95, design=0.98, **more):
    return declare_bar("accuracy", at_least=at_least, design=design, **more)


def within(share, q=95):
    """A percentile bar with this share within the limit for its design value."""
    bar = declare_bar(f"latency.p{q}", at_most="80 ms")
    return replace(bar, design=Quantity(Decimal(str(share))))


def offer(price=None):
    return Candidate("good", backend=lambda inputs: inputs, price=price)


def planned(*bars, scenario=SERVER, sample=None, price=None, policy=None, **more):
    requirement = Requirement("t.py::test", "Is it good?", "t.py::test[good]", "good", scenario, bars)
    known = Sample(800, marked=True) if sample is None else sample
    return plan(requirement, offer(price), known, policy or Policy(), **more)


def row(bar, **more):
    (only,) = planned(bar, **more).rows
    return only


# -- shares of samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bar", "design", "n", "allowed"),
    [
        (0.90, 0.92, 1760, 155),
        (0.90, 0.95, 239, 16),
        (0.95, 0.96, 3701, 163),
        (0.95, 0.97, 832, 31),
        (0.95, 0.98, 311, 9),
        (0.95, 0.99, 153, 3),
    ],
)
def test_a_share_needs_the_textbook_number_and_would_accept_as_the_textbook_says(bar, design, n, allowed):
    scenario = Scenario.declare("server", qps=40, count=n)
    found = row(accuracy(bar, design), scenario=scenario, sample=Sample(n))
    assert (found.needs, found.state) == (Numbers(samples=n), State.DECIDES)
    shares = [point.share for point in found.curve]
    assert shares == pytest.approx([bar - (design - bar) / 2, bar, (bar + design) / 2, design])
    expected = stats.operating_characteristic(stats.SharePlan(n, allowed), shares)
    assert [point.accepted for point in found.curve] == pytest.approx(expected.tolist(), abs=1e-12)


def test_one_sample_less_than_needed_is_too_few():
    once = Scenario.declare("single_stream")
    assert row(accuracy(), scenario=once, sample=Sample(311)).state is State.DECIDES
    assert row(accuracy(), scenario=once, sample=Sample(310)).state is State.TOO_FEW


@pytest.mark.parametrize("count", [311, 622, 15_550])
def test_samples_asked_again_are_no_more_samples(count):
    scenario = Scenario.declare("single_stream", count=count)
    found = row(accuracy(), scenario=scenario, sample=Sample(311))
    assert found.has == Numbers(samples=311)
    assert found.needs.samples in range(311, 316)


def test_asked_five_times_the_needed_samples_are_what_the_rule_decides_on():
    bar, scenario = accuracy(), Scenario.declare("offline", launches=5)
    n = row(bar, scenario=scenario, sample=Sample(311)).needs.samples

    def accepts(items):
        clusters = np.repeat(np.arange(items), 5)
        scores = (clusters >= 9).astype(float)  # 9 wrong samples are what 311 may hold
        effect, df = stats.cluster_design_effect(scores, clusters)
        basis = Share(float(scores.sum()), len(scores), effect, df, items)
        measured = Measurement(bar.metric, Quantity.of(1), len(scores), "samples", basis)
        return decide(measured, bar.sense, bar.limit, Policy()).accept

    assert accepts(n)
    assert not accepts(310)


def test_clusters_count_once_each_and_the_slice_grows_with_them():
    found = planned(accuracy(), sample=Sample(800, clusters=200, marked=True))
    assert (found.rows[0].noun, found.rows[0].has.samples) == ("clusters", 200)
    needed = found.rows[0].needs.samples
    assert 311 < needed < 320
    assert found.changes == (f"in `dataset_slice`, change `n=800` to `n={needed * 4}`",)


def test_without_a_design_value_the_floor_of_the_rule_is_all_there_is():
    bar, once = declare_bar("accuracy", at_least=0.95), Scenario.declare("single_stream")
    enough = row(bar, scenario=once)
    assert (enough.state, enough.note, enough.least) == (State.NOT_PLANNED, "it has no `design=`", 59)
    assert row(bar, scenario=once, sample=Sample(58)).state is State.TOO_FEW


def test_a_design_value_next_to_the_bar_is_too_few_with_a_sentence():
    found = planned(accuracy(0.95, 0.95001))
    assert found.rows[0].state is State.TOO_FEW
    assert "farther above the bar" in found.rows[0].note
    assert not found.decides


def test_looks_at_any_time_take_more_samples_and_looks_that_change_nothing_do_not():
    needs = {
        stopping: row(accuracy(), scenario=Scenario.declare("single_stream", stopping=stopping)).needs.samples
        for stopping in ("fixed", "curtailed", "anytime")
    }
    assert needs["fixed"] == needs["curtailed"] == 311
    assert 600 < needs["anytime"] < 1200


# -- shares of requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("q", "design"), [(50, 0.75), (95, 0.975), (99, 0.995)])
def test_a_percentile_aims_half_way_to_all_requests(q, design):
    assert row(declare_bar(f"latency.p{q}", at_most="80 ms")).design == design


def test_a_percentile_may_state_the_share_within_its_limit():
    assert row(within(0.99)).needs.requests < row(within(0.98)).needs.requests < row(P95).needs.requests


def test_a_time_for_a_design_value_is_told_to_say_nothing_of_the_share():
    found = row(replace(P95, design=Quantity.parse("40 ms")))
    assert found.design == 0.975
    assert found.note.startswith("`design=40 ms` says nothing of the share within the limit")


def judged(rng, rule, n, share, runs=300):
    """How often the product's own judge accepts independent latencies."""
    q, accepted = Decimal(str(rule.bar)), 0
    metric = declare_bar(f"latency.p{rule.bar * 100:g}", at_most="1 ns").metric
    for _ in range(runs):
        values = rng.permutation(n).astype(np.int64) + 1
        limit = Quantity.of(n - int(rng.binomial(n, 1 - share)), "ns")
        measured = Measurement(metric, limit, n, "requests", Latencies(values, q, under_load=True))
        accepted += decide(measured, "at most", limit, Policy()).accept
    return accepted / runs


@pytest.mark.parametrize(("q", "design"), [(0.95, 0.99), (0.99, 0.999)])
def test_the_planned_latencies_are_accepted_as_often_as_the_product_itself_accepts_them(q, design):
    rule = rehearsal.Rule(q, bulk=True, df=4, least=100)
    n = rehearsal.needed(rule, design, Policy(), 0.1)
    rng = np.random.default_rng(1)
    for share in (q, (q + design) / 2, design):
        told = rehearsal.acceptance(rule, n, share, Policy())
        assert judged(rng, rule, n, share) == pytest.approx(told, abs=0.09)  # three standard errors
    assert rehearsal.acceptance(rule, n, design, Policy()) >= 0.9
    assert rehearsal.acceptance(rule, n, q, Policy()) <= 0.05


@invariant
@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(0.001, 0.9))
def test_a_rehearsal_measures_design_effects_as_the_product_does(cell, seed, rate):
    rng = np.random.default_rng(seed)
    bad = rng.random((3, cell * 40)) < rate
    effects, dfs = rehearsal._worst(bad.reshape(3, 40, cell).sum(axis=2), cell)
    for indicator, effect, df in zip(bad, effects, dfs, strict=True):
        expected = stats.batch_design_effect(indicator)
        assert (effect, df) == (pytest.approx(expected[0]), expected[1]) if expected else (0.0, 0)


@invariant
@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_the_slowest_tenth_holds_the_bad_requests_first(cell, seed, rate):
    rng = np.random.default_rng(seed)
    bad = rng.binomial(cell, rate, (5, 40))
    slow = rehearsal._slowest_tenth(rng, bad, cell)
    assert (slow.sum(axis=1) == cell * 4).all()
    assert (slow <= cell).all()
    few = bad.sum(axis=1) <= cell * 4
    assert (slow[few] >= bad[few]).all()
    assert (slow[~few] <= bad[~few]).all()


@pytest.mark.parametrize("q", [0.9, 0.95, 0.99])
def test_fewer_requests_than_the_least_are_accepted_by_no_outcome(q):
    def best(n):
        measured = Measurement(
            declare_bar(f"latency.p{q * 100:g}", at_most="1 ns").metric,
            Quantity.of(1, "ns"),
            n,
            "requests",
            Latencies(np.ones(n, dtype=np.int64), Decimal(str(q)), under_load=False),
        )
        return decide(measured, "at most", Quantity.of(1, "ns"), Policy()).accept

    least = rehearsal.least(rehearsal.Rule(q, bulk=True, df=4, least=100), Policy())
    assert best(least)
    assert not best(least - 1)


def test_under_load_fewer_requests_than_the_rule_asks_for_accept_nobody():
    few = row(within(0.9999, q=50), scenario=Scenario.declare("server", qps=40, count=199))
    assert (few.state, few.least) == (State.TOO_FEW, 200)
    assert {point.accepted for point in few.curve} == {0.0}
    alone = row(within(0.9999, q=50), scenario=Scenario.declare("single_stream", count=199))
    assert (alone.least, alone.curve[-1].accepted > 0.5) == (100, True)


def test_at_most_is_at_least_seen_from_the_other_side():
    found = row(declare_bar("error_rate", at_most=0.05, design=0.02))
    assert found.needs.requests >= 311  # the plan for 95 and 98 % without the price of measured rows
    assert [point.share for point in found.curve] == [0.065, 0.05, 0.035, 0.02]
    chances = [point.accepted for point in found.curve]
    assert chances == sorted(chances)
    assert chances[1] <= 0.05


def test_goodput_of_right_answers_needs_requests_and_samples():
    bar = declare_bar("goodput", at_least=0.95, design=0.99, latency="80 ms", correct=True)
    found = row(bar, sample=Sample(100))
    assert (found.state, found.needs.samples > 153) == (State.TOO_FEW, True)
    assert row(bar).state is State.DECIDES


# -- samples that are asked more than once -------------------------------------------------------------------


@pytest.mark.parametrize(
    "bar",
    [
        P95,
        declare_bar("error_rate", at_most=0.05, design=0.02),
        declare_bar("goodput", at_least=0.95, design=0.99, latency="80 ms"),
    ],
)
def test_requests_over_few_samples_are_too_few_however_many_there_are(bar):
    scenario = Scenario.declare("single_stream", count=20_000)
    few = planned(bar, scenario=scenario, sample=Sample(100, marked=True))
    assert (few.rows[0].state, few.rows[0].has.samples) == (State.TOO_FEW, 100)
    assert few.rows[0].curve[-1].accepted < 0.9
    enough = few.rows[0].needs.samples
    assert few.changes == (f"in `dataset_slice`, change `n=100` to `n={enough}`",)
    assert row(bar, scenario=scenario, sample=Sample(enough)).state is State.DECIDES


def test_without_a_design_value_repeated_requests_still_take_as_many_samples_as_a_verdict():
    bar, scenario = declare_bar("error_rate", at_most=0.5), Scenario.declare("single_stream", count=1000)
    assert row(bar, scenario=scenario, sample=Sample(19)).state is State.TOO_FEW
    assert row(bar, scenario=scenario, sample=Sample(20)).state is State.NOT_PLANNED


def test_a_plan_of_repeated_requests_that_decides_does_decide():
    # Documents are slow each time that they are asked; at the design value 2.5 % of them are.
    scenario = Scenario.declare("single_stream", count=3_000)
    found = row(P95, scenario=scenario, sample=Sample(1000))
    assert found.state is State.DECIDES
    rng, accepted = np.random.default_rng(7), 0
    for _ in range(100):
        order = np.concatenate([rng.permutation(1000) for _ in range(3)])
        values = np.where(rng.random(1000) < 0.025, 10**9, 10**6)[order] + rng.integers(0, 1000, 3000)
        basis = Latencies(values, Decimal("0.95"), under_load=False, alike=stats.Alike((order,)))
        measured = Measurement(P95.metric, Quantity.of(1, "ns"), 3000, "requests", basis)
        accepted += decide(measured, "at most", P95.limit, Policy()).accept
    assert accepted >= 100 * found.curve[-1].accepted - 6  # two standard errors


def test_a_change_that_takes_more_samples_than_the_dataset_has_says_so():
    once = Scenario.declare("single_stream")
    found = planned(accuracy(), scenario=once, sample=Sample(200, marked=True, most=250))
    assert found.changes == (
        (
            "in `dataset_slice`, change `n=200` to `n=311`; the dataset has 250 samples, so it takes more "
            "labelled ones"
        ),
    )


# -- pilots --------------------------------------------------------------------------------------------------


def test_a_measured_design_effect_multiplies_the_requests():
    plain = row(P95).needs.requests
    found = row(P95, pilot=Pilot(5_000, effects={P95.key: 12.0}))
    assert (found.needs.requests, found.design_effect) == (12 * plain, 12.0)
    assert found.state is State.TOO_FEW
    assert found.curve[-1].accepted < row(P95).curve[-1].accepted
    assert not found.note


def test_a_pilot_that_held_too_little_information_says_so():
    found = row(P95, pilot=Pilot(1_000, effects={P95.key: 31.0}))
    assert found.note == (
        "the pilot was short: one of 3,100 requests or more may find a larger design effect"
    )


def test_a_closed_loop_of_some_duration_is_not_known_before_a_pilot_and_known_after_it():
    scenario = Scenario.declare("single_stream", duration="10 s")
    before = planned(accuracy(), scenario=scenario)
    assert (before.rows[0].state, before.decides) == (State.NOT_KNOWN, False)
    assert (before.effort.requests, before.effort.seconds) == (None, 10)
    assert before.changes == ("in `scenario`, change `duration='10 s'` to `count=311`",)
    after = planned(accuracy(), scenario=scenario, pilot=Pilot(50, seconds=Decimal("0.02")))
    assert (after.effort.requests, after.rows[0].state) == (500, State.DECIDES)


def test_a_pilot_gives_closed_loops_their_time():
    scenario = Scenario.declare("single_stream", count=400)
    assert planned(accuracy(), scenario=scenario).effort.seconds is None
    found = planned(accuracy(), scenario=scenario, pilot=Pilot(50, seconds=Decimal("0.02")))
    assert found.effort.seconds == 8


# -- which number to change to what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "bar", "sample", "changes"),
    [
        (
            Scenario.declare("server", qps=40, count=300),
            accuracy(),
            Sample(800, marked=True),
            ["in `scenario`, change `count=300` to `count=311`"],
        ),
        (
            Scenario.declare("server", qps=40, duration="7 s"),
            accuracy(),
            Sample(800, marked=True),
            ["in `scenario`, change `duration='7 s'` to `duration='8 s'`"],
        ),
        (
            Scenario.declare("server", qps=40, duration="60 s"),
            accuracy(),
            Sample(300, marked=True),
            ["in `dataset_slice`, change `n=300` to `n=314`"],
        ),
        (
            Scenario.declare("single_stream"),
            accuracy(),
            Sample(300, marked=True),
            ["in `dataset_slice`, change `n=300` to `n=311`"],
        ),
        (
            Scenario.declare("single_stream"),
            accuracy(),
            Sample(300),
            ["the slice has all 300 samples there are; label 311"],
        ),
        (Scenario.declare("single_stream"), within(0.99), Sample(300), ["in `scenario`, add `count=400`"]),
        (
            Scenario.declare("multi_stream", samples_per_query=8, count=30),
            accuracy(),
            Sample(800),
            ["in `scenario`, change `count=30` to `count=39`"],
        ),
        (
            Scenario.declare("offline"),
            declare_bar("throughput", at_least="500 1/s"),
            Sample(300),
            ["in `scenario`, change `launches=1` to `launches=5`"],
        ),
        (
            Scenario.declare("single_stream"),
            accuracy(),
            Sample(None),
            ["in `scenario`, add `count=311`"],
        ),
    ],
)
def test_a_plan_that_cannot_decide_says_which_number_to_change_to_what(scenario, bar, sample, changes):
    found = planned(bar, scenario=scenario, sample=sample)
    assert not found.decides
    assert list(found.changes) == changes


def test_what_the_changes_make_of_it_decides():
    first = planned(accuracy(), P95, scenario=Scenario.declare("server", qps=40, duration="5 s"))
    (change,) = first.changes
    seconds = change.rpartition("'")[0].rpartition("'")[2]
    second = planned(accuracy(), P95, scenario=Scenario.declare("server", qps=40, duration=seconds))
    assert (second.decides, second.changes, second.after) == (True, (), None)


# -- time, money, risks --------------------------------------------------------------------------------------


def test_time_is_that_of_the_declared_rate_and_money_that_of_the_price():
    hourly = planned(accuracy(), price=HourlyPrice("0.60 USD", utilisation=0.5)).effort
    assert (hourly.requests, hourly.seconds, hourly.cost) == (2400, 60, Quantity.parse("0.01 USD"))
    by_request = planned(accuracy(), price=RequestPrice("0.001 EUR")).effort
    assert by_request.cost == Quantity.parse("2.4 EUR")
    assert planned(accuracy()).effort.priced is False


def test_money_by_the_token_takes_a_pilot():
    price = TokenPrice(input="1 USD", output="2 USD")
    assert planned(accuracy(), price=price).effort.cost is None
    found = planned(accuracy(), price=price, pilot=Pilot(50, cost=Decimal("0.002")))
    assert found.effort.cost == Quantity.parse("4.8 USD")


def test_every_launch_is_paid_for():
    scenario = Scenario.declare("offline", launches=5)
    assert planned(accuracy(), scenario=scenario, price=RequestPrice("0.001 EUR")).effort.requests == 4000


@pytest.mark.parametrize(("limit", "note"), [("0.00001 USD", "met"), ("0.000001 USD", "not met")])
def test_a_cost_at_a_declared_rate_is_fixed_by_the_price(limit, note):
    bar = declare_bar("cost_per_request", at_most=limit)
    found = row(bar, price=HourlyPrice("0.60 USD", utilisation=0.5))
    assert (found.state, found.note) == (State.FIXED, note)
    assert round(found.fixed.number, 10) == Decimal("0.0000083333")


def test_a_cost_without_a_declared_rate_takes_launches_and_one_by_the_token_takes_samples():
    bar, scenario = declare_bar("cost_per_request", at_most="1 USD"), Scenario.declare("offline")
    hourly = row(bar, scenario=scenario, price=HourlyPrice("1 USD", utilisation=1))
    assert (hourly.state, hourly.needs) == (State.TOO_FEW, Numbers(launches=5))
    tokens = row(bar, sample=Sample(19), price=TokenPrice(input="1 USD", output="2 USD"))
    assert (tokens.state, tokens.needs) == (State.TOO_FEW, Numbers(samples=20))


@pytest.mark.parametrize(
    "bar",
    [
        declare_bar("own.ramp_up", at_most="3 s"),
        declare_bar("accuracy", at_least="99 %", of="other"),
        declare_bar("cost_per_correct", at_most="1 USD"),
    ],
)
def test_what_cannot_be_planned_says_why_and_stands_in_nobodys_way(bar):
    found = planned(bar, price=RequestPrice("0.001 USD"))
    assert (found.rows[0].state, found.decides) == (State.NOT_PLANNED, True)
    assert found.rows[0].note


def test_smaller_risks_take_more_and_a_bar_may_have_its_own():
    half = Policy(consumer_risk=0.025)
    assert row(accuracy(), policy=half).needs.samples > 311
    assert row(accuracy(consumer_risk=0.025)).needs == row(accuracy(), policy=half).needs
    assert row(accuracy(), producer_risk=0.05).needs.samples > 311


def test_the_limiting_bar_is_the_one_that_needs_most_and_all_bars_together_are_told():
    found = planned(accuracy(), P95)
    assert found.limiting == P95.metric.title
    missed = sum(1 - each.curve[-1].accepted for each in found.rows)
    assert found.accepts == pytest.approx(1 - missed)


@settings(invariant, max_examples=10)
@given(st.floats(0.6, 0.97), st.floats(0.3, 0.9), st.floats(0.01, 0.2), st.floats(0.05, 0.3))
def test_what_is_needed_keeps_both_risks(bar, gain, consumer, producer):
    design, policy = bar + gain * (1 - bar), Policy(consumer_risk=consumer)
    rule = rehearsal.Rule(bar, bulk=True, df=4, least=100)
    n = rehearsal.needed(rule, design, policy, producer)
    assert rehearsal.acceptance(rule, n, design, policy) >= 1 - producer
    assert rehearsal.acceptance(rule, n, bar, policy) <= consumer + 0.02


def test_the_same_question_has_the_same_answer():
    first = planned(accuracy(), P95)
    rehearsal.acceptance.cache_clear()
    rehearsal.needed.cache_clear()
    assert planned(accuracy(), P95) == first


# -- in lines ------------------------------------------------------------------------------------------------

EVERYTHING = [
    planned(accuracy(), P95, declare_bar("error_rate", at_most=0.05, design=0.02)),
    planned(accuracy(), scenario=Scenario.declare("single_stream", duration="10 s")),
    planned(declare_bar("own.ramp_up", at_most="3 s"), price=HourlyPrice("1 USD", utilisation=1)),
    replace(planned(), problem="no pilot: backend Broken could not be loaded: MemoryError: 3 GB wanted"),
    planned(P95, pilot=Pilot(1_000, failed=3, effects={P95.key: 31.0}, stopped="interrupted")),
]


@given(st.integers(min_value=1, max_value=200))
def test_no_line_is_wider_than_the_terminal(width):
    assert max(len(line) for line in report.lines(EVERYTHING, 1, width=width)) <= max(width, 40)


def test_candidates_that_differ_in_price_alone_are_told_together():
    cost = declare_bar("cost_per_request", at_most="0.002 USD")
    plans = [
        replace(planned(accuracy(), cost, price=RequestPrice(price)), candidate=name)
        for name, price in {"a": "0.001 USD", "b": "0.003 USD", "c": "0.003 USD"}.items()
    ]
    told = "\n".join(report.lines(plans, 0, width=120))
    assert told.count("answers right at least 95 %") == 1
    assert "by the price alone: 0.001 USD, met (a); 0.003 USD, not met (b and c)" in told
    assert "as marked: 2,400 requests, 60 s, 2.4 USD (a); 7.2 USD (b and c)" in told
    assert "As marked, in all: 7,200 requests, 3 min, 16.8 USD." in told


def test_rows_are_coloured_by_what_they_say():
    told = {line.split()[0]: report.markup(line) for line in report.lines(EVERYTHING, 1, width=120) if line}
    assert (told["●"], told["■"], told["◐"]) == ({"green": True}, {"red": True}, {"yellow": True})
    assert told["○"] == told["1."] == told["exit"] == {}


def test_a_session_without_requirements_says_that_there_is_nothing_to_plan():
    assert report.lines([], 1, width=200) == [
        "No test of this run stands for a requirement, so there is nothing to plan."
    ]
