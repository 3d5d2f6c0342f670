"""What a buyer reads of an endpoint whose truth is known: the metrics, held against the mock's own log.

A busy machine makes a client late, never early. So nothing measured is below what the mock has done, and
shares and counts are exact; upper limits are far off.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from pytest_procure.bars import declare_bar
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import Status
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.goodput import Limits, goodput
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.metrics.tokens import times_of
from pytest_procure.scenarios import Scenario
from pytest_procure.units import ms

SECOND, MS = 1_000_000_000, 1_000_000


def asked(mock, name="closed_loop", *, endpoint=None, **more):
    """Run a scenario: its run, and what metrics are measured on."""
    run = mock.run(name, endpoint=endpoint, **more)
    scenario = Scenario.declare(name, **more)
    log = run.log
    execution = SimpleNamespace(
        scenario=scenario,
        launches=(run,),
        logs=(log,),
        requests=len(log),
        seconds=log.window_ns / 1e9,
        failed=~log.ok,
        status=log.status,
        items=np.arange(len(log)),  # what the server does hangs on the request, not on what it asks
        slice=SimpleNamespace(groupings=(), most=len(log)),
        blocks=False,
    )
    return run, execution


def value(name, execution):
    return measure(metric(name), execution)


def in_ns(name, execution):
    return value(name, execution).estimate.ns


def took(mock, part="end"):
    """What the mock needed for each query, from the whole request to a part of its answer, ns."""
    records = mock.records()
    return np.array([records[query][-1][part] for query in sorted(records)])


def test_two_modes_are_two_modes_and_the_share_of_the_slow_one_is_exact(mock):
    mock.behave(ttft_ms=5, slow_every=20, slow_ttft_ms=400, itl_ms=1)
    _, run = asked(mock, concurrency=4, count=200)
    slow = np.sort(took(mock, "first"))[-10:]  # of two hundred
    limit = ms(350)
    assert in_ns("ttft.p90", run) < limit.ns < slow.min() <= in_ns("ttft.p96", run)
    assert in_ns("ttft.p99", run) >= slow[-3]  # by nearest rank
    assert float(goodput(run, Limits(latency=limit)).estimate.number) == 0.95


def test_a_server_that_serves_half_of_what_is_offered_is_the_candidate_s_fault(mock):
    mock.behave(ttft_ms=10, tokens=1, slots=1)  # 100 a second
    run, execution = asked(mock, "server", qps=200, count=200, timeout="20 s")
    log = run.log
    served = len(log) / (np.diff([log.completed.min(), log.completed.max()])[0] / 1e9)
    assert served < 120
    assert log.ok.all()
    assert run.audit.backlog_grew
    assert run.audit.candidate.load.is_surely_too_much(run.audit.limits)
    (note,) = [note for note in run.audit.candidate_notes() if note.startswith("the backlog grew")]
    assert "requests waited for an answer" in note
    assert note.endswith("of what the endpoint can do")
    assert in_ns("latency.p99", execution) >= 10 * MS * 80
    # Twice the requests, twice the latency: a mean of such a run is one of its length alone.
    assert np.median(log.latency[100:]) > 2 * np.median(log.latency[:50])


def test_tokens_that_share_a_chunk_share_its_time_and_count_each(mock):
    mock.behave(ttft_ms=20, itl_ms=30, tokens_per_chunk=2, tokens=8)
    run, execution = asked(mock, "server", qps=20, count=20)
    wire, records = run.log.wire, mock.records()
    assert (wire.chunks == 4).all()
    assert (run.log.output_tokens == 8).all()
    spread = np.array(
        [records[query][0]["chunks"][-1] - records[query][0]["chunks"][0] for query in range(20)]
    )
    assert abs(np.median(times_of("tpot", run.log)) - np.median(spread) / 7) < 5 * MS  # by tokens, not chunks
    assert in_ns("itl.p50", execution) > 25 * MS  # between arrivals


def test_no_gap_is_claimed_below_what_arrived_apart(mock):
    mock.behave(ttft_ms=20, itl_ms=5, tokens=9, coalesce=4)
    run, _ = asked(mock, "server", qps=20, count=10)
    gaps = times_of("itl", run.log)
    assert (gaps > 0).all()
    assert len(gaps) <= 20  # three arrivals a request


def words(text):
    return len(text.split())


@pytest.mark.parametrize(
    ("behaviour", "reported"),
    [
        ({}, 8),
        ({"usage": "every"}, 8),
        ({"usage": "none"}, None),
        ({"usage_factor": 2.0}, 16),
        ({"usage_factor": 1.125}, 9),  # with the token that ends a text
    ],
    ids=str,
)
def test_whatever_the_endpoint_reports_tokens_are_eight(mock, behaviour, reported):
    mock.behave(**behaviour)
    run, execution = asked(mock, "single_stream", count=10, endpoint=mock.endpoint(count_tokens=words))
    log = run.log
    assert (log.wire.counted == 8).all()
    assert (log.output_tokens is None) if reported is None else (log.output_tokens == reported).all()
    rate = value("tokens_per_second", execution).estimate
    assert float(rate.number) == pytest.approx(80 / execution.seconds)
    notes = [note for note in run.audit.candidate_notes() if "output tokens" in note]
    assert len(notes) == (reported == 16)
    assert all("reports 2.00 times the output tokens that the buyer counts (160 for 80)" in n for n in notes)


def test_twice_the_bill_for_a_word_is_told(mock):
    """One token more than the buyer counts ends a text, but not each word of one."""
    mock.behave(tokens=1, usage_factor=2.0)
    run, _ = asked(mock, "single_stream", count=10, endpoint=mock.endpoint(count_tokens=words))
    (note,) = [note for note in run.audit.candidate_notes() if "output tokens" in note]
    assert "reports 2.00 times the output tokens that the buyer counts (20 for 10)" in note


def test_time_outs_are_in_the_percentiles_and_free_their_user(mock):
    mock.behave(ttft_ms=10, tokens=2, hang_every=10)
    run, execution = asked(mock, concurrency=4, count=100, timeout="1 s")
    log = run.log
    assert log.stopped == ""
    assert 10 <= (log.status == Status.TIMEOUT).sum() < 50  # more where the machine stands still
    for name in ("latency.p95", "latency.p99", "ttft.p95", "ttft.p99"):
        measured = value(name, execution)
        assert measured.censored
        assert measured.estimate.ns >= SECOND
        bar = declare_bar(name, at_most="2 s")
        assert not decide(measured, bar.sense, bar.limit, Policy()).accept
    assert not value("latency.p50", execution).censored
    assert in_ns("latency.p50", execution) >= np.sort(took(mock))[40]
    good = value("throughput", execution).estimate
    assert float(good.number) == pytest.approx(90 / execution.seconds)


def test_a_stall_is_in_p99_of_an_open_loop_and_once_in_a_closed_one_that_says_so(mock):
    stall = {"ttft_ms": 5, "tokens": 2, "stall_at_s": 0.3, "stall_s": 2.0}
    mock.behave(**stall)
    _, open_loop = asked(mock, "server", qps=40, count=120)
    assert in_ns("latency.p99", open_loop) > 1.8 * SECOND
    assert in_ns("latency.p75", open_loop) > 0.1 * SECOND  # all that became due meanwhile
    mock.behave(**stall)
    run, closed = asked(mock, "single_stream", count=120)
    assert (run.log.latency > 1.8 * SECOND).sum() == 1
    assert in_ns("latency.p99", closed) < 1.8 * SECOND  # one of 120: the loop asked nothing meanwhile
    assert "closed loop" in closed.scenario.label
    assert run.conditions["closed_loop"] is True


def test_a_cold_start_is_the_first_part_of_the_run_and_is_told(mock):
    mock.behave(ttft_ms=5, tokens=2, cold=5, slow_ttft_ms=300)
    run, execution = asked(mock, "single_stream", count=100)
    assert (run.log.latency[:5] >= 300 * MS).all()
    assert in_ns("latency.p50", execution) < 300 * MS <= in_ns("latency.p96", execution)
    assert run.audit.candidate.settled_after >= 5


def test_a_drift_is_told(mock):
    mock.behave(ttft_ms=10, tokens=1, slow_after=150, slow_ttft_ms=300)
    run, _ = asked(mock, "server", qps=150, count=300)
    assert run.log.ok.all()
    assert run.audit.candidate.never_settled
    assert any("never settled" in note for note in run.audit.candidate_notes())


def test_a_document_is_an_answer_with_a_time_and_without_a_first_token(mock):
    mock.behave(ttft_ms=20, json_for_stream=True)
    run, execution = asked(mock, "server", qps=50, count=20)
    assert run.log.ok.all()
    assert (np.sort(run.log.latency) >= np.sort(took(mock))).all()
    for name in ("ttft.p50", "itl.p50", "tpot.p50"):
        measured = value(name, execution)
        assert isinstance(measured.basis, Unmeasurable)
        assert measured.estimate is None


@pytest.mark.parametrize("behaviour", [{"html_every": 10}, {"empty_every": 10}, {"error_every": 10}], ids=str)
def test_what_is_no_answer_is_a_failure_that_a_percentile_counts(mock, behaviour):
    mock.behave(**behaviour)
    run, execution = asked(mock, "server", qps=100, count=50)
    assert (~run.log.ok).sum() == 5
    assert float(value("error_rate", execution).estimate.number) == 0.1
    assert value("latency.p95", execution).censored
    assert not value("latency.p90", execution).censored


def test_attempts_are_told_and_the_user_s_time_runs_on_over_them(mock):
    mock.behave(error_every=10, error_status=429, retry_after="1", error_once=True)
    run, execution = asked(mock, "server", qps=50, count=40, endpoint=mock.endpoint(retries=2))
    assert run.log.ok.all()
    assert len(mock.log()["records"]) == 40 + run.audit.retried
    assert run.audit.retried >= 4
    assert in_ns("latency.p95", execution) >= SECOND
    mock.behave(error_every=10, error_status=429, retry_after="1")
    _, plain = asked(mock, "server", qps=50, count=40)
    assert float(value("error_rate", plain).estimate.number) == 0.1
