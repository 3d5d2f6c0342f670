"""Times and rates of tokens: absent and censored values say so, and are never 0."""

from types import SimpleNamespace

import numpy as np
import pytest

from pytest_procure.bars import declare_bar
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import RequestLog, Status, Wire
from pytest_procure.errors import DeclarationError
from pytest_procure.evidence.streams import stream_record
from pytest_procure.evidence.wires import rows_of, wires
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.measurement import NEVER, Unmeasurable
from pytest_procure.metrics.tokens import output_tokens, times_of
from pytest_procure.scenarios import Scenario
from pytest_procure.units import ms

MS = 1_000_000


def log_of(*requests, scheduled=None, counted=None, reported=None):
    """Make a log; a request is a list of token times in ms from its scheduled time, None for a time-out."""
    n = len(requests)
    due = np.zeros(n, dtype=np.int64) if scheduled is None else np.array(scheduled) * MS
    times = [
        [] if each is None else [int(t * MS) + int(d) for t in each]
        for each, d in zip(requests, due, strict=True)
    ]
    ok = np.array([each is not None for each in requests])
    ended = np.array([t[-1] if t else int(d) + 2000 * MS for t, d in zip(times, due, strict=True)])
    wire = Wire(
        headers=np.where(ok, due, -1),
        token_starts=np.concatenate([[0], np.cumsum([len(t) for t in times])]).astype(np.int64),
        token_times=np.array([t for each in times for t in each], dtype=np.int64),
        chunks=np.array([len(t) if good else -1 for t, good in zip(times, ok, strict=True)], dtype=np.int32),
        counted_input=np.full(n, 3),
        counted=np.full(n, -1) if counted is None else np.array(counted),
        cached=np.full(n, -1, dtype=np.int32),
        received=np.full(n, 100, dtype=np.uint32),
        http=np.where(ok, 200, 0).astype(np.uint16),
        retries=np.zeros(n, dtype=np.uint8),
        failure=np.where(ok, 0, 3).astype(np.uint8),
        given_up=~ok,
    )
    return RequestLog(
        scheduled=due,
        started=due,
        completed=ended,
        status=np.where(ok, Status.OK, Status.TIMEOUT).astype(np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=["x"] * n,
        output_tokens=None if reported is None else np.array(reported),
        window_ns=int(ended.max(initial=0)),
        wire=wire,
    )


def execution(log, scenario="server", **arguments):
    arguments = arguments or {"qps": 10, "count": max(1, len(log))}
    return SimpleNamespace(
        scenario=Scenario.declare(scenario, **arguments),
        logs=(log,),
        items=np.arange(len(log)),
        slice=SimpleNamespace(groupings=(), most=len(log)),
        launches=(),
        requests=len(log),
        seconds=1.0,
        blocks=False,
    )


def value(name, log):
    return measure(metric(name), execution(log))


def test_ttft_runs_from_the_scheduled_time():
    log = log_of([20, 25], [30, 35])
    log.started = log.scheduled + 5 * MS
    assert times_of("ttft", log).tolist() == [20 * MS, 30 * MS]


def test_itl_is_the_gap_between_arrivals_and_never_0():
    log = log_of([20, 25, 25, 25, 30], [10, 12])
    assert times_of("itl", log).tolist() == [5 * MS, 5 * MS, 2 * MS]


def test_tpot_divides_by_the_tokens_after_the_first():
    assert times_of("tpot", log_of([20, 25, 30, 35])).tolist() == [5 * MS]
    assert times_of("tpot", log_of([20, 25, 30, 35], reported=[8])).tolist() == [15 * MS // 7]
    doubled = log_of([20, 25, 30, 35], reported=[16], counted=[8])
    assert times_of("tpot", doubled).tolist() == [15 * MS // 7]


def test_a_request_of_one_token_has_no_tpot_and_is_no_failure():
    assert times_of("tpot", log_of([20], [20, 25])).tolist() == [5 * MS]


def test_failed_requests_are_over_every_limit_in_their_place():
    log = log_of([20, 25, 30], None, [20, 26, 32])
    assert times_of("ttft", log).tolist() == [20 * MS, NEVER, 20 * MS]
    assert times_of("tpot", log).tolist() == [5 * MS, NEVER, 6 * MS]
    assert times_of("itl", log).tolist() == [5 * MS, 5 * MS, NEVER, NEVER, 6 * MS, 6 * MS]


def test_a_percentile_among_the_time_outs_is_censored_at_the_time_out():
    log = log_of(*[[20, 25]] * 9, None)
    for name in ("ttft.p95", "itl.p95", "tpot.p95"):
        measured = value(name, log)
        assert measured.censored
        assert measured.estimate == ms(2000)
    assert not value("ttft.p90", log).censored


def test_answers_in_one_piece_have_no_ttft():
    log = log_of([20, 25], [30, 35])
    log.wire.chunks[1] = -1
    for name in ("ttft.p50", "itl.p50", "tpot.p50"):
        measured = value(name, log)
        assert isinstance(measured.basis, Unmeasurable)
        assert "1 of 2 good answers came in one piece" in measured.basis.reason
        assert not decide(measured, "at most", ms(1000), Policy()).accept


def test_a_backend_that_is_no_endpoint_has_no_token_times():
    log = log_of([20])
    log.wire = None
    assert "no endpoint" in value("ttft.p95", log).basis.reason


def test_answers_of_one_token_have_no_gaps():
    measured = value("itl.p95", log_of([20], [30]))
    assert measured.estimate is None


@pytest.mark.parametrize("share", [0.90, 0.99])
def test_a_bar_on_ttft_is_decided_as_a_share_like_latency(share):
    quick = int(share * 1000)
    order = np.random.default_rng(1).permutation(1000)
    log = log_of(
        *[[20, 25] if place < quick else [400, 405] for place in order], scheduled=range(0, 10_000, 10)
    )
    bar = declare_bar("ttft.p95", at_most="200 ms")
    decided = decide(value("ttft.p95", log), bar.sense, bar.limit, Policy())
    assert decided.accept == (share == 0.99)


def test_tokens_a_second_are_those_of_good_answers():
    log = log_of([500, 1000], None, [500, 1000], reported=[10, 99, 10])
    measured = measure(metric("tokens_per_second"), execution(log, "single_stream", count=3))
    assert measured.estimate.unit == "tokens/s"
    assert float(measured.estimate.number) == 10.0  # 20 tokens in 2 s


def test_tokens_a_second_at_a_declared_rate_are_a_condition():
    assert value("tokens_per_second", log_of([20])).estimate is None


def test_tokens_that_nobody_counted_are_not_0():
    log = log_of([20, 25])
    log.wire.chunks[:] = -1
    assert output_tokens(log) is None
    assert measure(metric("tokens_per_second"), execution(log, "single_stream", count=1)).estimate is None


def test_embeddings_have_no_tokens_a_second():
    log = log_of([20], [25], reported=[0, 0])
    assert measure(metric("tokens_per_second"), execution(log, "single_stream", count=2)).estimate is None


def test_bars_on_token_times_are_declared_like_those_on_latency():
    assert declare_bar("itl.p99", at_most="30 ms").limit == ms(30)
    assert declare_bar("tokens_per_second", at_least="500 tokens/s").limit.unit == "tokens/s"
    with pytest.raises(DeclarationError, match="a duration was expected"):
        declare_bar("ttft.p95", at_most=0.2)
    with pytest.raises(DeclarationError, match=r"did you mean `ttft\.p95`"):
        declare_bar("tftt.p95", at_most="200 ms")


def test_what_the_driver_saw_is_read_back_from_its_files():
    logs = [log_of([20, 25], None, [7]), log_of([1, 2, 3])]
    rows = np.concatenate([rows_of(number, log.wire) for number, log in enumerate(logs)])
    times = np.concatenate([log.wire.token_times for log in logs])
    for log, again in zip(logs, wires(rows, times), strict=True):
        for name in Wire.__slots__:
            assert np.array_equal(getattr(log.wire, name), getattr(again, name)), name
    assert rows["first_token_ns"].tolist() == [20 * MS, -1, 7 * MS, 1 * MS]


def test_the_record_tells_token_times_and_how_tokens_were_counted():
    log = log_of([20, 25], [30, 36], None, reported=[2, 2, -1])
    record = stream_record(execution(log))
    assert record["ttft_ms"] == {"p50": 30.0}
    assert record["failures"] == {"timeout": 1}
    assert record["tokens"]["reported_output"] == 4
    assert record["tokens"]["counted_output"] is None
    assert (
        stream_record(execution(RequestLog(*[log.scheduled] * 3, log.status, log.batch, log.samples, [])))
        == {}
    )


def test_the_record_keeps_the_curve_of_each_token_time_up_to_what_was_answered():
    curves = stream_record(execution(log_of([20, 25], [30, 36], None)))["curves"]
    assert curves["ttft"][0] == [0.01, 20.0]
    assert curves["ttft"][-1] == [0.66, 30.0]
    assert curves["itl"][-1] == [0.66, 6.0]
    assert curves["tpot"][-1] == [0.66, 6.0]


def test_the_record_tells_when_an_answer_under_way_stood_still():
    log = log_of([20, *range(22, 80, 2), 500, 502], [10, 12])
    assert stream_record(execution(log))["pauses"] == [[0.078, 0.422]]


def test_a_part_of_a_log_counts_from_its_own_beginning():
    log = log_of([20, 25], None, [7], scheduled=[0, 10, 100])
    part = log.wire.part(1, 3, 100 * MS)
    assert part.first_token.tolist() == [-1, 7 * MS]
    assert part.headers.tolist() == [-1, 0]


@pytest.mark.parametrize("name", ["ttft.p95", "itl.p95", "tpot.p95"])
def test_values_of_one_answer_are_alike(name):
    answers = log_of(*[[100, 110, 130, 160]] * 30)
    measured = measure(metric(name), execution(answers))
    alike = measured.basis.alike
    assert [len(labels) for labels in alike.ways] == [len(measured.basis.values)]
    assert alike.groups == (30 if name == "itl.p95" else None)
