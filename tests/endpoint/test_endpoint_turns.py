"""Traffic in which a request follows from an answer, or several requests are one query."""

import numpy as np
import pytest
from mock_process import Texts

from pytest_procure import HttpJson
from pytest_procure.driver.cutting import measured_part
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.log import Status
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.scenarios import Scenario, arrivals, order_of

SECOND = 1_000_000_000
THINK = 30_000_000


def sessions_of(log, scenario, items, sessions):
    """Rows by session, in turn: `(sessions, turns)`; each sample is asked once, so that it tells the turn."""
    order = order_of(scenario, items, sessions * scenario.turns)
    place = np.empty(items, dtype=np.int64)
    place[order] = np.arange(items)
    rows = np.empty(items, dtype=np.int64)
    rows[place[log.samples]] = np.arange(len(log))
    return rows.reshape(sessions, scenario.turns)


@pytest.mark.parametrize(("processes", "think"), [(1, THINK), (2, 0)])
def test_a_turn_is_due_when_the_answer_before_it_has_been_thought_about(mock, processes, think):
    mock.behave(ttft_ms=5, tokens=2)
    scenario = Scenario.declare(
        "sessions", starts=50, turns=4, think_time=f"{think // 10**6} ms", count=10, warmup=0
    )
    run = drive(mock.endpoint(load_processes=processes), Texts(40), scenario)
    log = run.log
    assert log.ok.all(), log.errors
    assert run.audit.load_processes == processes
    assert (np.diff(log.scheduled) >= 0).all()
    assert (log.started >= log.scheduled).all()
    rows = sessions_of(log, scenario, 40, 10)
    assert log.scheduled[rows[:, 0]].tolist() == arrivals(scenario, 10).tolist()
    assert (log.scheduled[rows[:, 1:]] == log.completed[rows[:, :-1]] + think).all()
    assert len(mock.records()) == 40


def test_sessions_begin_whether_or_not_the_endpoint_keeps_up(mock):
    mock.behave(ttft_ms=100, tokens=1, slots=1)
    scenario = Scenario.declare("sessions", starts=100, turns=2, count=10, warmup=0)
    log = drive(mock.endpoint(), Texts(20), scenario).log
    assert log.ok.all()
    firsts = log.scheduled[sessions_of(log, scenario, 20, 10)[:, 0]]
    assert firsts.tolist() == arrivals(scenario, 10).tolist()
    assert log.latency.max() > SECOND // 2  # those who wait in the queue


def test_a_session_goes_on_after_a_turn_that_failed(mock):
    mock.behave(tokens=1, error_every=2)
    scenario = Scenario.declare("sessions", starts=50, turns=4, think_time="5 ms", count=5, warmup=0)
    log = drive(mock.endpoint(), Texts(20), scenario).log
    assert log.answered.all()
    assert (log.status == Status.ERROR).sum() == 10
    assert len(mock.records()) == 20


def test_turns_that_never_became_due_are_lost(mock):
    mock.behave(hang_every=1)
    scenario = Scenario.declare(
        "sessions", starts=50, turns=3, count=4, timeout="60 s", drain="500 ms", warmup=0
    )
    log = drive(mock.endpoint(), Texts(12), scenario).log
    assert "answers were still missing" in log.stopped
    assert (log.status == Status.LOST).all()
    assert (log.started >= 0).tolist() == [True] * 4 + [False] * 8
    assert (np.diff(log.scheduled) >= 0).all()


@pytest.mark.parametrize(
    "more", [{"name": "sessions", "starts": 50, "turns": 2, "count": 1}, {"name": "closed_loop", "count": 2}]
)
def test_a_pause_longer_than_the_patience_ends_no_run(mock, more):
    mock.behave(tokens=1)
    log = mock.run(**more, think_time="1500 ms", drain="200 ms", samples=2).log
    assert (log.stopped, log.ok.tolist()) == ("", [True] * 2)


def test_the_requests_of_a_query_are_sent_together_and_its_last_answer_ends_it(mock):
    mock.behave(ttft_ms=5, slow_every=4, slow_ttft_ms=60, tokens=2)
    run = mock.run("multi_stream", samples_per_query=4, count=6, samples=24)
    log, records = run.log, mock.records()
    assert (len(log), len(log.samples), len(log.wire.chunks)) == (6, 24, 24)
    assert log.ok.all(), log.errors
    assert mock.log()["most_at_once"] == 4
    assert all(record["tokens"] == 2 for (record,) in records.values())
    # Each query holds one slow request of the mock's, which is the last to be answered.
    assert (log.latency > 0.055 * SECOND).all()
    assert (log.started[1:] >= log.completed[:-1]).all()
    assert (log.wire.first_token.reshape(6, 4).max(axis=1) <= log.completed).all()
    assert log.answers == [" w0 w1"] * 24
    assert "sent together" in run.conditions["batches"]


def test_a_query_of_several_requests_failed_when_one_of_them_did(mock):
    mock.behave(tokens=1, error_every=8)
    log = mock.run("multi_stream", samples_per_query=4, count=6, samples=24).log
    assert (log.status == Status.ERROR).tolist() == [False, True] * 3
    assert sorted(log.errors) == [1, 3, 5]
    assert sum(answer is not None for answer in log.answers) == 21


def test_what_is_cut_off_are_whole_queries_with_what_was_seen_of_their_requests(mock):
    mock.behave(ttft_ms=2, tokens=2)
    scenario = Scenario.declare("multi_stream", samples_per_query=3, count=5, cut=2, warmup=0)
    run = measured_part(drive(mock.endpoint(), Texts(15), scenario), scenario)
    assert [(len(log), len(log.wire.chunks), len(log.answers)) for log in (run.cut, run.log)] == [
        (2, 6, 6),
        (3, 9, 9),
    ]
    assert (run.log.wire.first_token >= np.repeat(run.log.started, 3)).all()
    assert (run.log.wire.last_token <= np.repeat(run.log.completed, 3)).all()


def test_a_query_of_more_requests_than_connections_gets_as_many_as_it_takes(mock):
    mock.behave(ttft_ms=20, tokens=1)
    endpoint = mock.endpoint(connections=2)
    run = mock.run("multi_stream", samples_per_query=8, count=3, samples=24, endpoint=endpoint)
    assert run.log.ok.all()
    assert mock.log()["most_at_once"] == 8


def test_a_loop_by_duration_counts_the_requests_that_found_no_connection(mock):
    from test_endpoint_faults import closed_port

    from pytest_procure import OpenAIEndpoint

    endpoint = OpenAIEndpoint(f"http://127.0.0.1:{closed_port()}/v1", model="m").load(None)
    log = mock.run("closed_loop", concurrency=2, duration="300 ms", think_time="10 ms", endpoint=endpoint).log
    assert len(log) > 2
    assert (log.status == Status.ERROR).all()
    assert (np.diff(log.scheduled) >= 0).all()


# History


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def talk(mock, samples=None, *, turns=3, count=6, endpoint=None, **more):
    """Run sessions with history; the messages of each request by its query, and the samples by turn."""
    scenario = Scenario.declare(
        "sessions", starts=60, turns=turns, count=count, history=True, warmup=0, **more
    )
    log = drive(endpoint or mock.endpoint(), samples or Texts(turns * count), scenario).log
    asked = order_of(scenario, turns * count, turns * count).reshape(count, turns)
    return (
        log,
        {query: [each["messages"] for each in records] for query, records in mock.records().items()},
        asked,
    )


@pytest.mark.parametrize(("stream", "think"), [(True, "0 ms"), (False, "20 ms")])
def test_a_turn_carries_the_questions_before_it_and_the_answers_they_were_given(mock, stream, think):
    mock.behave(parrot=True, tokens=1)
    endpoint = mock.endpoint(stream=stream, options={"user": '{"messages": ['}, load_processes=2)
    log, sent, asked = talk(mock, endpoint=endpoint, think_time=think)
    assert log.ok.all(), log.errors
    for session, samples in enumerate(asked.tolist()):
        said = []
        for turn, sample in enumerate(samples):
            said.append(user(f"prompt {sample}"))
            assert sent[session * 3 + turn] == [said]
            said.append(assistant(f"prompt {sample}"))  # a parrot


def test_an_answer_is_carried_as_it_was_whatever_it_holds(mock):
    text = 'ä "quoted" \\ 漢字 🙂 \u2028 line'
    mock.behave(parrot=True, tokens=1)

    class Odd(Texts):
        def take(self, indices):
            return [f"{text} {k}" for k in indices]

    log, sent, asked = talk(mock, Odd(4), turns=2, count=2)
    assert log.ok.all(), log.errors
    for session, (first, second) in enumerate(asked.tolist()):
        asked_then, told, asked_now = sent[session * 2 + 1][0]
        assert (asked_then, told) == (user(f"{text} {first}"), assistant(f"{text} {first}"))
        assert asked_now == user(f"{text} {second}")


def test_a_turn_that_failed_is_left_out_with_its_question(mock):
    mock.behave(parrot=True, tokens=1, error_every=2)
    log, sent, asked = talk(mock, turns=4, count=1)
    assert [len(log), int(log.ok.sum())] == [4, 2]
    first, _, third, last = (f"prompt {sample}" for sample in asked[0])
    assert sent[3] == [[user(first), assistant(first), user(third), assistant(third), user(last)]]


def test_another_attempt_carries_the_same(mock):
    mock.behave(parrot=True, tokens=1, error_every=2, error_once=True, error_status=503, retry_after="0")
    log, sent, _ = talk(mock, turns=3, count=2, endpoint=mock.endpoint(retries=2))
    assert log.ok.all()
    assert (log.wire.retries > 0).any()
    for attempts in sent.values():
        assert attempts == [attempts[0]] * len(attempts)
    assert [len(sent[query][0]) for query in range(6)] == [1, 3, 5] * 2


class Recorded(Texts):
    """Samples that hold a recorded history."""

    def take(self, indices):
        return [[user("before"), assistant("so it was"), user(f"prompt {k}")] for k in indices]


def test_without_history_a_turn_sends_what_its_sample_holds(mock):
    mock.behave(parrot=True, tokens=1)
    scenario = Scenario.declare("sessions", starts=60, turns=2, count=3, warmup=0)
    run = drive(mock.endpoint(), Recorded(6), scenario)
    assert run.log.ok.all()
    assert {len(records[0]["messages"]) for records in mock.records().values()} == {3}
    assert run.conditions["carried"] == "nothing but what its sample holds"
    assert run.conditions["label"].endswith("each sent as its sample stands, 3 sessions, no batching")


def test_a_recorded_answer_and_a_given_one_do_not_stand_side_by_side(mock):
    with pytest.raises(DataError, match="leave out the recorded ones, or `history=True`"):
        talk(mock, Recorded(6), turns=2, count=3)


@pytest.mark.parametrize("kind", ["completions", "json"])
def test_history_is_refused_where_there_are_no_messages(mock, kind):
    plain = HttpJson(f"{mock.url}/predict").load(None) if kind == "json" else mock.endpoint(kind=kind)
    with pytest.raises(DeclarationError, match="expected an `OpenAIEndpoint` of kind `chat`"):
        talk(mock, endpoint=plain)
