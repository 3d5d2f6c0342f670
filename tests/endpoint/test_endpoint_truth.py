"""Cases whose truth the mock knows: what is measured is held against the mock's log, not a nominal time."""

import numpy as np
import pytest

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
    apart = []
    for query in range(10):
        times = log.wire.token_times[log.wire.token_starts[query] : log.wire.token_starts[query + 1]]
        apart.append(np.diff(times) - np.diff(records[query][0]["chunks"]))
    assert np.median(np.abs(np.sum(apart, axis=1))) < SECOND // 20
    assert np.median(np.abs(apart)) < SECOND // 100


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


def test_chunks_that_arrive_together_have_one_time(mock):
    mock.behave(ttft_ms=20, itl_ms=5, tokens=9, coalesce=4)
    run = mock.run(qps=20, count=5)
    wire, records = run.log.wire, mock.records()
    for request in range(5):
        times = wire.token_times[wire.token_starts[request] : wire.token_starts[request + 1]]
        written = np.array(records[request][0]["chunks"])  # the first at once, then four and four
        assert np.unique(written).size == 3
        # What was written together has come together; a busy reader may find two writes at once, never less.
        assert [np.unique(times[written == at]).size for at in np.unique(written)] == [1, 1, 1]
        assert (np.diff(times) >= 0).all()


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


def test_a_warm_up_is_not_in_the_log(mock):
    mock.behave(ttft_ms=5, tokens=2, cold=5, slow_ttft_ms=500)
    run = mock.run(qps=100, count=20, warmup=8)
    assert np.median(run.log.latency) < 490e6
    assert run.conditions["warmup_calls"] == 8
    assert len(mock.log()["records"]) == 28
