"""Cases whose truth the mock knows: what is measured is held against the mock's log, not a nominal time."""

import numpy as np
import pytest

from pytest_procure.driver.log import Status

SECOND = 1_000_000_000


def truth(run, mock):
    """What the mock did, on the clock of the run: the origin follows from the quickest request on its way.

    Columns `(n,)` in ns: when it had received each request, and when it sent the first token, the last and
    the end.
    """
    records = mock.records()
    last = [records[query][-1] for query in range(len(run.log))]
    received = np.array([record["received"] for record in last])
    origin = (received - run.log.started)[run.log.started >= 0].min()
    return {
        "received": received - origin,
        "first": received - origin + [record["first"] for record in last],
        "last": received - origin + [record["chunks"][-1] for record in last],
        "end": received - origin + [record["end"] for record in last],
    }


def follow(measured, true):
    """No stamp is earlier than what it is of, and most are no 20 ms later, as on a busy machine."""
    late = measured - true
    return late.min() > -SECOND // 1000 and np.median(late) < SECOND // 50


def test_every_time_is_that_of_the_mock_s_log(mock):
    mock.behave(ttft_ms=20, itl_ms=5, slow_every=10, slow_ttft_ms=300)
    run = mock.run(qps=40, count=80)
    log, true = run.log, truth(run, mock)
    assert log.ok.all()
    assert (log.wire.chunks == 8).all()
    assert follow(log.wire.first_token, true["first"])
    assert follow(log.wire.last_token, true["last"])
    assert follow(log.completed, true["end"])
    assert (log.started >= log.scheduled).all()
    slow = np.array([mock.records()[query][0]["number"] % 10 == 0 for query in range(80)])
    ttft = log.wire.first_token - log.scheduled
    assert ttft[slow].min() > np.median(ttft[~slow])


def test_each_token_has_the_time_of_its_own_chunk(mock):
    mock.behave(ttft_ms=20, itl_ms=20)
    run = mock.run(qps=20, count=10)
    records, log = mock.records(), run.log
    for query in range(10):
        times = log.wire.token_times[log.wire.token_starts[query] : log.wire.token_starts[query + 1]]
        gaps, true = np.diff(times), np.diff(records[query][0]["chunks"])
        assert abs(gaps.sum() - true.sum()) < SECOND // 20
        assert np.median(np.abs(gaps - true)) < SECOND // 100


@pytest.mark.parametrize(
    "behaviour",
    [
        {},
        {"eol": "\r\n"},
        {"split": 25},
        {"split": 200, "eol": "\r\n"},
        {"preamble": "empty"},
        {"preamble": "none"},
        {"comment": True},
        {"done": False},
        {"usage": "every"},
        {"by_close": True},
    ],
    ids=lambda behaviour: " ".join(f"{name}={value!r}" for name, value in behaviour.items()) or "plain",
)
def test_forms_of_one_stream_are_measured_alike(mock, behaviour):
    mock.behave(ttft_ms=20, itl_ms=5, **behaviour)
    run = mock.run(qps=100, count=20)
    log = run.log
    assert log.ok.all(), log.errors
    assert (log.wire.chunks == 8).all()
    assert (log.output_tokens == 8).all()
    assert set(log.answers) == {" w0 w1 w2 w3 w4 w5 w6 w7"}
    true = truth(run, mock)
    assert follow(log.wire.first_token, true["first"])
    assert follow(log.wire.last_token, true["last"])
    assert follow(log.completed, true["end"])


def test_a_character_that_is_split_between_two_reads_is_whole(mock):
    mock.behave(text="ä ö 漢字 🙂", tokens=4, split=150)
    assert set(mock.run(qps=100, count=10).log.answers) == {"ä ö 漢字 🙂"}


def test_an_empty_first_chunk_is_no_first_token(mock):
    mock.behave(ttft_ms=150, tokens=2, preamble="empty")
    log = mock.run(qps=50, count=10).log
    assert (log.wire.first_token - log.wire.headers > 50e6).all()


def test_two_tokens_in_a_chunk_are_one_arrival_of_two_tokens(mock):
    mock.behave(ttft_ms=20, itl_ms=5, tokens_per_chunk=2)
    log = mock.run(qps=50, count=10, endpoint=mock.endpoint(count_tokens=lambda text: len(text.split()))).log
    assert (log.wire.chunks == 4).all()
    assert (log.output_tokens == 8).all()
    assert (log.wire.counted == 8).all()


def test_chunks_that_arrive_together_have_one_time(mock):
    mock.behave(ttft_ms=20, itl_ms=5, tokens=9, coalesce=4)
    log = mock.run(qps=20, count=5).log
    for request in range(5):
        times = log.wire.token_times[log.wire.token_starts[request] : log.wire.token_starts[request + 1]]
        assert len(times) == 9
        assert len(set(times.tolist())) == 3  # the first at once, then four and four


def test_usage_that_is_doubled_stands_beside_the_buyer_s_own_count(mock):
    mock.behave(usage_factor=2.0)
    log = mock.run(qps=100, count=10, endpoint=mock.endpoint(count_tokens=lambda text: len(text.split()))).log
    assert (log.output_tokens == 16).all()
    assert (log.wire.counted == 8).all()


def test_usage_that_is_not_reported_is_absent(mock):
    mock.behave(usage="none")
    log = mock.run(qps=100, count=10).log
    assert log.output_tokens is None
    assert (log.wire.chunks == 8).all()


def test_reasoning_tokens_are_tokens_and_cached_ones_are_told(mock):
    mock.behave(ttft_ms=5, itl_ms=1, reasoning=4, cached=2)
    log = mock.run(qps=100, count=10).log
    assert (log.wire.chunks == 8).all()
    assert set(log.answers) == {" w4 w5 w6 w7"}
    assert (log.wire.cached == 2).all()


def test_a_document_in_place_of_a_stream_is_an_answer_without_token_times(mock):
    mock.behave(ttft_ms=20, json_for_stream=True)
    log = mock.run(qps=100, count=10).log
    assert log.ok.all()
    assert not log.wire.streamed.any()
    assert (log.wire.first_token == -1).all()
    assert (log.wire.headers >= log.started).all()


def test_a_stall_shows_in_an_open_loop_as_the_queue_it_caused(mock):
    mock.behave(ttft_ms=10, tokens=2, stall_at_s=1.0, stall_s=1.0)
    log = mock.run(qps=20, count=60).log
    assert log.ok.all()
    waited = np.sort(log.latency)
    # About 20 requests became due in the stalled second; they waited from 1 s down to nothing.
    assert 10 <= (waited > 100e6).sum() <= 40
    assert waited[-1] > 0.8 * SECOND


def test_a_stall_shows_once_in_a_closed_loop(mock):
    mock.behave(ttft_ms=10, tokens=2, stall_at_s=0.5, stall_s=1.0)
    log = mock.run("single_stream", count=60).log
    assert log.ok.all()
    assert (log.latency > 0.8 * SECOND).sum() == 1


def test_overload_is_the_endpoint_s_and_reads_so(mock):
    mock.behave(ttft_ms=100, tokens=1, slots=1)
    run = mock.run(qps=20, count=100, timeout="20 s")
    assert run.log.ok.all()
    assert run.log.latency[-1] > 3 * SECOND
    assert run.audit.backlog_grew
    assert any("backlog grew" in note for note in run.audit.candidate_notes())


def test_time_outs_are_censored_at_the_time_out_and_free_their_connection(mock):
    mock.behave(ttft_ms=10, tokens=2, hang_every=10)
    run = mock.run(qps=50, count=100, timeout="1 s")
    log = run.log
    assert (log.status == Status.TIMEOUT).sum() == 10
    hung = log.status == Status.TIMEOUT
    assert (log.latency[hung] >= SECOND).all()
    assert (log.latency[hung] < 3 * SECOND).all()
    assert log.ok.sum() == 90
    assert log.answered.sum() == 90


def test_first_requests_that_are_slow_are_the_first_in_the_log(mock):
    mock.behave(ttft_ms=5, tokens=2, cold=5, slow_ttft_ms=500)
    log = mock.run("single_stream", count=20).log
    assert (log.latency[:5] > 490e6).all()
    assert np.median(log.latency[5:]) < 490e6


def test_a_warm_up_is_not_in_the_log(mock):
    mock.behave(ttft_ms=5, tokens=2, cold=5, slow_ttft_ms=500)
    run = mock.run(qps=100, count=20, warmup=8)
    assert np.median(run.log.latency) < 490e6
    assert run.conditions["warmup_calls"] == 8
    assert len(mock.log()["records"]) == 28
