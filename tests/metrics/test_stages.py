"""A stage of a pipeline, measured by hand."""

import numpy as np
import pytest

from pytest_procure import Candidate, Dataset, RequestPrice, TokenPrice
from pytest_procure.backends import Pipeline, Stage
from pytest_procure.backends.protocol import Passing
from pytest_procure.driver.audit import Audit
from pytest_procure.driver.log import RequestLog, StageLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.metrics import Execution, measure, metric, score_stages
from pytest_procure.metrics.measurement import NEVER, Unmeasurable
from pytest_procure.scenarios import Scenario

OK, FAILED, UNKNOWN, NOT = Passing.OK, Passing.FAILED, Passing.UNKNOWN, Passing.NOT_REACHED


def same(batch):
    return list(batch)


def execution(passing, ns=None, *, tokens=None, clusters=None, price=None):
    """One run of a stage `s` whose samples passed as told, each of an item of its own."""
    n = len(passing)
    stage = StageLog.empty(n)
    stage.passing[:] = passing
    stage.ns[:] = ns if ns is not None else [5 if each in {OK, FAILED} else -1 for each in passing]
    stage.outputs = [i if each == OK else None for i, each in enumerate(passing)]
    if tokens is not None:
        stage.input_tokens[:] = tokens
        stage.output_tokens[:] = 0
    status = [Status.OK if each == OK else Status.LOST for each in passing]
    log = RequestLog(
        scheduled=np.zeros(n, dtype=np.int64),
        started=np.zeros(n, dtype=np.int64),
        completed=np.full(n, 10, dtype=np.int64),
        status=np.array(status, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        stages={"s": stage},
    )
    data = Dataset.from_arrays(
        "d",
        inputs=list(range(n)),
        references=list(range(n)),
        clusters=clusters,
        stages={"s": (list(range(n)), "accuracy")},
    )
    run = Run(log=log, audit=Audit.__new__(Audit), conditions={})
    candidate = Candidate("c", backend=Pipeline([Stage("s", same, price=price)]))
    chosen = data.slice()
    scores = {stage: found.values for stage, found in score_stages((log,), chosen).items()}
    scenario = Scenario.declare("single_stream")
    return Execution(candidate, scenario, chosen, (run,), {}, stage_scores=scores)


def test_what_an_earlier_stage_kept_away_is_not_this_stages():
    measured = measure(metric("stage.s.error_rate"), execution([OK] * 6 + [FAILED] * 2 + [NOT] * 12))
    assert (float(measured.estimate.number), measured.n) == (0.25, 8)


def test_what_was_never_answered_counts_as_a_failure_of_the_stage():
    measured = measure(metric("stage.s.error_rate"), execution([OK] * 6 + [UNKNOWN] * 2))
    assert float(measured.estimate.number) == 0.25


def test_a_failed_call_took_longer_than_any_limit():
    run = execution([OK, FAILED, NOT, OK], [10, 20, -1, 30])
    measured = measure(metric("stage.s.latency.p50"), run)
    assert measured.basis.values.tolist() == [10, NEVER, 30]
    assert measured.estimate.ns == 30


def test_a_percentile_among_failures_is_at_least_what_the_quickest_took():
    measured = measure(metric("stage.s.latency.p95"), execution([OK, FAILED, FAILED], [10, 40, 20]))
    assert (measured.estimate.ns, measured.censored) == (20, True)


def test_a_percentile_among_requests_of_unknown_fate_is_not_measurable():
    measured = measure(metric("stage.s.latency.p95"), execution([OK, UNKNOWN, UNKNOWN]))
    assert isinstance(measured.basis, Unmeasurable)


def test_quality_is_of_those_that_came_and_failures_score_nothing():
    measured = measure(metric("stage.s.quality"), execution([OK] * 6 + [FAILED, UNKNOWN] + [NOT] * 4))
    assert (float(measured.estimate.number), measured.n) == (0.75, 8)


def test_a_stage_that_nobody_came_to_is_not_measurable():
    for what in ("latency.p95", "error_rate", "quality", "cost_per_request"):
        assert isinstance(measure(metric(f"stage.s.{what}"), execution([NOT] * 4)).basis, Unmeasurable)


def test_tokens_that_are_not_all_counted_have_no_cost():
    price = TokenPrice(input="1 USD", output="1 USD", per=1)
    known = execution([OK] * 4, tokens=[1, 2, 3, 6], price=price)
    assert float(measure(metric("stage.s.cost_per_request"), known).estimate.number) == 3.0
    unknown = execution([OK] * 4, tokens=[1, 2, 3, -1], price=price)
    assert isinstance(measure(metric("stage.s.cost_per_request"), unknown).basis, Unmeasurable)


def test_tokens_from_a_cache_have_a_price_of_their_own():
    price = TokenPrice(input="1 USD", cached_input="0.5 USD", output="1 USD", per=1)
    run = execution([OK] * 4, tokens=[10, 10, 10, 10], price=price)
    run.logs[0].stages["s"].cached_tokens[:] = [8, 8, 0, -1]
    assert float(measure(metric("stage.s.cost_per_request"), run).estimate.number) == 8.0


def test_large_clusters_weigh_as_much_as_they_hold():
    price = TokenPrice(input="1 USD", output="1 USD", per=1)
    run = execution([OK] * 4, tokens=[1, 2, 3, 6], clusters=[0, 0, 0, 1], price=price)
    measured = measure(metric("stage.s.cost_per_request"), run)
    assert float(measured.estimate.number) == pytest.approx(3.0)
    assert measured.basis.values.mean() == pytest.approx(3.0)


def test_the_whole_costs_what_the_stages_that_were_reached_cost():
    run = execution([OK] * 6 + [NOT] * 2, price=RequestPrice("0.4 USD"))
    assert float(measure(metric("cost_per_request"), run).estimate.number) == pytest.approx(0.3)


def test_another_stage_is_not_measurable_and_names_those_there_are():
    measured = measure(metric("stage.t.error_rate"), execution([OK]))
    assert "passed no stage `t` (it passed: s)" in measured.basis.reason
