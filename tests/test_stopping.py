"""Runs that end early: driven by a driver that knows beforehand which samples are answered right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.candidates import Candidate
from pytest_procure.cases import Case
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.metrics import Execution, measure, metric
from pytest_procure.metrics.goodput import Limits, goodput
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.scenarios import Scenario, sample_order
from pytest_procure.stopping import check, staged
from pytest_procure.units import ms
from pytest_procure.verdict import Verdict, judge
from pytest_procure.wording import rule

invariant = settings(derandomize=True, max_examples=60)
LOOKS = 40


def bar(at_least=0.9, **more):
    return declare_bar("accuracy", at_least=at_least, **more)


def slice_of(n, **more):
    return Dataset.from_arrays("numbers", inputs=np.arange(n), references=np.arange(n), **more).slice()


def test_samples_that_repeat_anothers_content_do_not_stop_early():
    chosen = Dataset.from_arrays("d", inputs=["a", "b", "a"], references=[0, 0, 0]).slice()
    with pytest.raises(DataError, match="1 of the 3 in this slice repeat another's content"):
        check([bar()], chosen, Scenario.declare("single_stream", stopping="curtailed"))


class Told:
    """A run in stages over `right`, one truth a sample in send order."""

    def __init__(self, right, *bars, stopping="curtailed", failed=(), hangs_at=None, risk=0.05):
        self.right, self.failed, self.hangs_at = np.asarray(right, dtype=bool), failed, hangs_at
        self.bars, self.policy = bars, Policy(consumer_risk=risk)
        self.slice = slice_of(len(right))
        self.scenario = Scenario.declare("single_stream", stopping=stopping)
        self.asked = []  # scenarios, one a stage
        self.looks = []  # samples asked by then
        self.runs = staged(None, self.slice, self.scenario, self._drive, self._settled)

    def _drive(self, _, block, scenario):
        begun, n = sum(asked.count for asked in self.asked), scenario.count
        self.asked.append(scenario)
        places, times = np.arange(begun, begun + n), np.arange(n) * 1000
        lost = np.isin(places, self.failed)
        log = RequestLog(
            scheduled=times,
            started=times,
            completed=times + 10,
            status=np.where(lost, Status.LOST, Status.OK).astype(np.uint8),
            batch=np.arange(n, dtype=np.int32),
            samples=sample_order(len(block), n, scenario.seed),
            answers=(self.right[places] & ~lost).tolist(),
        )
        return Run(log, audit=None, conditions={}, hung=len(self.asked) == self.hangs_at)

    def _settled(self, runs):
        self.looks.append(sum(len(run.log) for run in runs))
        return self.scenario.stopping != "fixed" and self._case(runs).settled(self.execution(runs))

    def _case(self, runs):
        case = Case(Candidate("acme", backend=len), self.bars, self.policy)
        case.add(self.execution(runs), declared=True)
        return case

    def execution(self, runs=None):
        runs = self.runs if runs is None else runs
        scores = {"accuracy": np.concatenate([run.log.answers for run in runs]).astype(float)}
        candidate = Candidate("acme", backend=len)
        return Execution(candidate, self.scenario, self.slice, tuple(runs), scores, None, blocks=True)

    @property
    def n(self):
        return sum(len(run.log) for run in self.runs)

    @property
    def judged(self):
        return judge(self._case(self.runs).findings(), self.policy)

    @property
    def verdict(self):
        return self.judged[0]


def fixed(right, *bars, **more):
    """The same, with one look at the end."""
    return Told(right, *bars, stopping="fixed", **more)


OUTCOMES = st.integers(1, 120).flatmap(
    lambda n: st.tuples(st.sampled_from([0.5, 0.8, 0.9, 0.97, 1.0]), st.integers(0, 2**32), st.just(n))
)


def drawn(share, seed, n):
    return np.random.default_rng(seed).random(n) < share


# Curtailed


@invariant
@given(OUTCOMES, st.sampled_from([0.3, 0.7, 0.9]), st.sampled_from([0.01, 0.05, 0.2]))
def test_a_curtailed_run_ends_with_the_verdict_of_the_whole_run(outcomes, at_least, risk):
    right = drawn(*outcomes)
    assert Told(right, bar(at_least), risk=risk).verdict is fixed(right, bar(at_least), risk=risk).verdict


@invariant
@given(OUTCOMES, st.sampled_from([0.3, 0.7, 0.9]))
def test_a_curtailed_run_ends_at_the_first_look_that_settles_it(outcomes, at_least):
    right = drawn(*outcomes)
    look = [0, *Told(right, bar(at_least)).looks][-2]  # the one before the last
    best, worst = right.copy(), right.copy()
    best[look:], worst[look:] = True, False
    ends = {fixed(best, bar(at_least)).verdict, fixed(worst, bar(at_least)).verdict}
    assert ends not in ({Verdict.ACCEPT}, {Verdict.REJECT})


@invariant
@given(OUTCOMES)
def test_several_bars_are_settled_together(outcomes):
    right = drawn(*outcomes)
    bars = bar(0.6), declare_bar("accuracy", at_least=0.8)
    run = Told(right, *bars)
    assert [each.verdict for each in run.judged[1]] == [
        each.verdict for each in fixed(right, *bars).judged[1]
    ]


def test_a_good_offer_is_accepted_before_the_end():
    run = Told([True] * 400, bar(0.5))
    assert (run.verdict, run.n) == (Verdict.ACCEPT, 220)  # 217 of 400 show more than a half


def test_a_bad_offer_is_rejected_before_the_end():
    run = Told([False] * 400, bar(0.9))
    assert (run.verdict, run.n) == (Verdict.REJECT, 60)  # 51 wrong of 400 show less than nine in ten


def test_an_undecided_offer_is_asked_to_the_end():
    run = Told([True] * 9 * 40 + [False] * 40, bar(0.9))
    assert (run.verdict, run.n) == (Verdict.INCONCLUSIVE, 400)


def test_each_planned_sample_is_asked_once_in_the_seeds_order():
    run = Told([True] * 9 * 40 + [False] * 40, bar(0.9))
    samples = np.concatenate([each.log.samples for each in run.runs])
    assert sorted(samples.tolist()) == list(range(400))
    stages = np.array_split(sample_order(400, 400, 0), LOOKS)
    assert [set(each.log.samples) for each in run.runs] == [set(stage) for stage in stages]


def test_there_are_forty_looks_at_most():
    assert len(Told(drawn(0.9, 1, 1000), bar(0.9)).looks) == LOOKS
    assert len(Told(drawn(0.9, 1, 7), bar(0.9)).looks) == 7


def test_only_the_first_stage_warms_up():
    warm_ups = [asked.warmup for asked in Told(drawn(0.9, 1, 400), bar(0.9)).asked]
    assert warm_ups == [10] + [0] * 39


def test_a_call_that_never_returns_ends_the_run_without_a_verdict():
    run = Told([True] * 400, bar(0.5), hangs_at=3)
    assert (run.verdict, run.n) == (Verdict.INCONCLUSIVE, 30)


def test_failures_in_rows_tell_as_little_as_in_a_whole_run():
    right, rows = [True] * 400, range(100, 130)
    assert fixed(right, bar(0.88), failed=rows).verdict is Verdict.INCONCLUSIVE
    run = Told(right, bar(0.88), failed=rows)
    assert (run.verdict, run.n) == (Verdict.INCONCLUSIVE, 400)
    assert fixed(right, bar(0.88), failed=range(0, 400, 14)).verdict is Verdict.ACCEPT


def test_the_rule_says_how_many_were_asked_of_how_many():
    run = Told([True] * 400, bar(0.5))
    said = rule(run.judged[1][0], run.policy)
    assert "bound for the 400 planned samples, of which 220 were asked before no continuation" in said


def test_the_rule_says_so_where_all_were_asked():
    run = Told([True] * 9 * 40 + [False] * 40, bar(0.9))
    assert "for the 400 planned samples, all of which were asked, against" in rule(
        run.judged[1][0], run.policy
    )


def test_a_smaller_risk_of_the_bars_own_takes_longer():
    assert Told([True] * 400, bar(0.5)).n < Told([True] * 400, bar(0.5, consumer_risk=0.001)).n


@pytest.mark.parametrize(
    "name", ["error_rate", "latency.p95", "throughput", "cost_per_request", "energy_per_request"]
)
def test_what_a_run_was_not_stopped_for_cannot_be_measured_on_it(name):
    measured = measure(metric(name), Told([True] * 400, bar(0.5)).execution())
    assert "the run ended when its right answers were settled" in measured.basis.reason


def test_goodput_cannot_be_measured_on_a_run_that_was_stopped():
    measured = goodput(Told([True] * 400, bar(0.5)).execution(), Limits(ms(80)))
    assert isinstance(measured.basis, Unmeasurable)


# Anytime


def anytime(right, *bars):
    return Told(right, *bars, stopping="anytime")


def test_anytime_accepts_before_the_planned_number():
    run = anytime([True] * 1000, bar(0.9))
    assert (run.verdict, run.n) == (Verdict.ACCEPT, 75)


def test_anytime_rejects_before_the_planned_number():
    run = anytime([False] * 1000, bar(0.9))
    assert (run.verdict, run.n) == (Verdict.REJECT, 25)


def test_anytime_seldom_accepts_an_offer_at_the_bar_however_often_it_looks():
    accepted = sum(anytime(drawn(0.9, seed, 400), bar(0.9)).verdict is Verdict.ACCEPT for seed in range(60))
    assert accepted <= 3


def test_the_rule_of_anytime_says_how_many_were_asked():
    run = anytime([True] * 1000, bar(0.9))
    said = rule(run.judged[1][0], run.policy)
    assert "confidence sequence (uniform beta-binomial mixture)" in said
    assert "after 75 samples" in said


def test_graded_scores_have_no_bounds_at_every_look():
    run = anytime([True] * 40, bar(0.9)).execution()
    run.scores["accuracy"][3] = 0.5
    measured = measure(metric("accuracy"), run)
    assert measured.basis == Unmeasurable('graded scores have no bounds for `stopping="anytime"`')


# Where it is refused


def refused(*bars, n=100, clusters=None, scenario="single_stream", **more):
    check(bars, slice_of(n, clusters=clusters), Scenario.declare(scenario, stopping="curtailed", **more))


@pytest.mark.parametrize(
    "other",
    [
        declare_bar("latency.p95", at_most="80 ms"),
        declare_bar("error_rate", at_most=0.01),
        declare_bar("goodput", at_least=0.9, correct=True),
        declare_bar("cost_per_request", at_most="1 USD"),
        declare_bar("own.x", at_most=1),
    ],
    ids=lambda bar: bar.metric.name,
)
def test_a_bar_on_anything_but_right_answers_forbids_it(other):
    told = f"`stopping='curtailed'` is for declared bars on right answers alone, not for {other.metric.name}"
    with pytest.raises(DeclarationError, match=told):
        refused(bar(), other)


def test_a_bar_against_another_candidate_forbids_it():
    with pytest.raises(DeclarationError, match="not for accuracy / acme"):
        refused(declare_bar("accuracy", at_least="99 %", of="acme"))


def test_without_a_declared_bar_there_is_nothing_to_settle():
    with pytest.raises(DeclarationError, match="not for there is none"):
        refused()


def test_launches_forbid_it():
    with pytest.raises(DeclarationError, match="`stopping='curtailed'` and `launches=` exclude each other"):
        refused(bar(), scenario="offline", launches=5)


def test_clusters_forbid_it():
    with pytest.raises(DataError, match="takes items that stand for themselves; this dataset has clusters"):
        refused(bar(), clusters=np.arange(100) // 2)


def test_items_asked_twice_forbid_it():
    with pytest.raises(DataError, match="asks each item once at most; lower `count` to 100"):
        refused(bar(), count=101)
    refused(bar(), count=100)


@pytest.mark.parametrize("scenario", ["server", "multi_stream"])
def test_it_does_not_belong_to_runs_under_load(scenario):
    with pytest.raises(DeclarationError, match=f"`stopping` does not belong to scenario `{scenario}`"):
        Scenario.declare(scenario, stopping="curtailed")


def test_a_fixed_number_takes_every_bar():
    fixed_number = Scenario.declare("server", qps=10, count=1000)
    check([declare_bar("latency.p95", at_most="80 ms")], slice_of(10), fixed_number)
