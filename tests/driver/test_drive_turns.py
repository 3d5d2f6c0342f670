"""Closed loops with several users, and sessions: who asks when, against a simulation written another way."""

from __future__ import annotations

import threading
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, SetClock, negate
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.driver.board import Board
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.driver.taking import taken
from pytest_procure.driver.turns import Turns
from pytest_procure.driver.workers import in_batches
from pytest_procure.scenarios import Scenario, arrivals, queries, sample_order, sessions
from pytest_procure.units import Quantity, ms

declare = Scenario.declare
TIMES = st.integers(0, 40)


@st.composite
def traffic(draw):
    rules = {
        "max_batch": draw(st.integers(1, 4)),
        "max_wait": Quantity.of(draw(TIMES), "ns"),
        "think_time": Quantity.of(draw(TIMES), "ns"),
    }
    if draw(st.booleans()):
        length = {"count": draw(st.integers(1, 25))}
        if draw(st.booleans()):
            length = {"duration": Quantity.of(draw(st.integers(1, 300)), "ns")}
        scenario = Scenario("closed_loop", concurrency=draw(st.integers(1, 6)), **length, **rules)
    else:
        turns, count = draw(st.integers(1, 5)), draw(st.integers(1, 6))
        scenario = Scenario("sessions", starts=5e7, turns=turns, count=count, **rules)
    services = draw(st.lists(st.integers(1, 60), min_size=8, max_size=8))
    return scenario, lambda batch: services[batch % 8]


def simulate(scenario, service):
    """Step through time one ns at a time: a list of batches, each ([(user, due)], started, completed)."""
    users = sessions(scenario) if scenario.name == "sessions" else scenario.concurrency
    begins = arrivals(scenario, users).tolist() if scenario.name == "sessions" else [0] * users
    left = dict.fromkeys(range(users), scenario.turns if scenario.name == "sessions" else 10**9)
    budget = queries(scenario, 20)
    last = scenario.duration.ns if scenario.is_closed_loop and scenario.duration else 10**9
    asking = {user: (begin, 0) for user, begin in enumerate(begins) if begin < last}
    batches, now, answered = [], 0, 0
    while asking and budget:
        # First come, first served; of two that come at once the one that was answered first.
        due = sorted((*came, user) for user, came in asking.items() if came[0] <= now)[:budget]
        due = [(when, user) for when, _, user in due][: scenario.max_batch]
        waited = scenario.max_batch == 1 or (due and now - due[0][0] >= scenario.max_wait.ns)
        if not due or not (waited or len(due) == scenario.max_batch):
            now += 1
            continue
        end = now + service(len(batches))
        batches.append(([(user, when) for when, user in due], now, end))
        for _, user in due:
            budget -= 1
            left[user] -= 1
            del asking[user]
            again = end + scenario.think_time.ns
            if left[user] and again < last:
                answered += 1
                asking[user] = (again, answered)
        now = end
    return batches


@given(traffic())
def test_turns_are_taken_as_in_the_simulation(drawn):
    scenario, service = drawn
    time = SetClock()
    board = Board(queries(scenario, 20))
    turns = Turns(scenario, 20, board, time.clock)
    served = []

    def predict(places):
        time.time += service(len(served))
        served.append(places.tolist())
        return places

    in_batches(turns, 0, predict, taken, lambda _number, first, end: turns.places(first, end))
    expected = simulate(scenario, service)
    began = [int(stamp) for stamp in board.started[: len(served)]]
    ended = [int(stamp) for stamp in board.completed[: len(served)]]
    assert list(zip(began, ended, strict=True)) == [(start, end) for _, start, end in expected]
    played = turns.played(time.time)
    rows = [(user, when) for batch, _, _ in expected for user, when in batch]
    assert played.due[: len(rows)].tolist() == [when for _, when in rows]
    if scenario.name == "sessions":
        turn = defaultdict(int)
        for place, (user, _) in zip(played.asked.tolist(), rows, strict=True):
            assert place == user * scenario.turns + turn[user]
            turn[user] += 1


def test_of_two_workers_the_one_that_was_answered_first_is_first_again():
    time = SetClock()
    board = Board(9)
    turns = Turns(Scenario("closed_loop", concurrency=4, count=9, workers=2), 9, board, time.clock)
    assert [turns.claim(worker)[0] for worker in (0, 1)] == [0, 1]
    board.completed[0], board.completed[1], time.time = 100, 50, 100
    assert [turns.claim(worker)[0] for worker in (0, 1)] == [2, 3]  # users who have waited since the start
    board.completed[2] = board.completed[3] = 100
    assert turns.claim(0)[0] == 4
    assert turns.played(200).due.tolist()[4:6] == [50, 100]


def test_a_batch_holds_what_was_due_when_it_had_to_leave():
    """What came while the harness was late goes with the next one."""
    time = SetClock()
    board = Board(4)
    scenario = Scenario("sessions", starts=1e8, turns=1, count=4, max_batch=4)  # due about every 10 ns
    turns = Turns(scenario, 4, board, time.clock)
    time.time = 1000
    assert turns.claim(0, 0) == (0, 0, 1)
    board.completed[0] = 1001
    assert turns.claim(0, 1001) == (1, 1, 4)


def _slow(seconds):
    pause = threading.Event()
    return lambda inputs: (pause.wait(seconds), -inputs)[1]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_user_has_one_query_at_a_time_and_thinks_after_each_answer(workers):
    scenario = declare("closed_loop", concurrency=5, think_time="3 ms", count=60, workers=workers)
    log = drive(Offer(_slow(0.001)), Numbers(60), scenario).log
    assert log.ok.all()
    assert log.scheduled[:5].tolist() == [0] * 5
    # Every later query is due exactly 3 ms after an answer, and each answer is followed once.
    answered = sorted((log.completed + 3_000_000).tolist())
    assert sorted(log.scheduled[5:].tolist()) == answered[:55]
    assert (log.started >= log.scheduled).all()
    times = np.concatenate([log.started, log.completed])
    steps = np.repeat([1, -1], len(log))[np.lexsort((np.repeat([1, 0], len(log)), times))]
    assert steps.cumsum().max() <= workers


def test_several_users_share_a_batch():
    sizes = []
    offer = Offer(lambda inputs: sizes.append(len(inputs)) or -inputs)
    scenario = declare("closed_loop", concurrency=6, max_batch=4, count=24, warmup=0)
    log = drive(offer, Numbers(24), scenario).log
    assert sizes[0] == 4
    assert max(sizes) == 4
    assert sum(sizes) == 24
    assert [int(answer) for answer in log.answers] == (-100 - log.samples).tolist()


def test_a_closed_loop_ends_with_its_duration_and_logs_what_was_due_by_then():
    scenario = declare("closed_loop", concurrency=4, duration="60 ms", warmup=0)
    log = drive(Offer(_slow(0.002)), Numbers(9), scenario).log
    assert log.stopped == ""
    assert log.ok.all()
    assert log.scheduled.max() < 60_000_000
    assert log.samples.tolist() == sample_order(9, len(log), 0).tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_next_turn_of_a_session_comes_after_the_answer_and_a_pause(workers):
    scenario = declare("sessions", starts=200, turns=4, think_time="2 ms", count=12, workers=workers)
    log = drive(Offer(_slow(0.001)), Numbers(48), scenario).log
    assert log.ok.all()
    assert len(log) == 48
    place = {item: at for at, item in enumerate(sample_order(48, 48, 0).tolist())}
    rows = defaultdict(dict)
    for row, item in enumerate(log.samples.tolist()):
        session, turn = divmod(place[item], 4)
        rows[session][turn] = row
    begins = arrivals(scenario, 12)
    for session, turns in rows.items():
        assert log.scheduled[turns[0]] == begins[session]
        for turn in range(1, 4):
            assert log.scheduled[turns[turn]] == log.completed[turns[turn - 1]] + 2_000_000


def test_a_session_goes_on_after_a_turn_that_failed():
    def fail_once(inputs, failed=[]):  # noqa: B006 - what happened before
        if not failed:
            failed.append(1)
            raise ValueError("busy")
        return -inputs

    scenario = declare("sessions", starts=1000, turns=3, count=2, warmup=0)
    log = drive(Offer(fail_once), Numbers(6), scenario).log
    assert sorted(log.status.tolist()) == [Status.OK] * 5 + [Status.ERROR]


@pytest.mark.parametrize(
    "scenario",
    [
        declare("closed_loop", concurrency=3, count=9, warmup=0, drain="400 ms"),
        declare("sessions", starts=1000, turns=3, count=3, warmup=0, drain="400 ms"),
    ],
    ids=lambda scenario: scenario.name,
)
def test_a_call_that_never_returns_ends_the_run_and_loses_the_rest(scenario, monkeypatch):
    monkeypatch.setattr("pytest_procure.driver.pull._GRACE_NS", 1)
    never = threading.Event()
    calls = []

    def hang(inputs):
        calls.append(1)
        if len(calls) == 2:
            never.wait(60)
        return -inputs

    run = drive(Offer(hang), Numbers(9), scenario)
    never.set()
    assert run.hung
    assert "answers were still missing 400 ms after the last answer" in run.log.stopped
    assert run.log.status.tolist() == [Status.OK] + [Status.LOST] * 8
    assert sorted(run.log.samples.tolist()) == list(range(9))


@pytest.mark.parametrize("name", ["closed_loop", "sessions"])
def test_a_pause_longer_than_the_drain_time_is_no_missing_answer(name):
    more = {"concurrency": 2, "count": 4} if name == "closed_loop" else {"starts": 99, "turns": 2, "count": 2}
    scenario = declare(name, **more, think_time="700 ms", drain="400 ms", warmup=0)
    log = drive(Offer(negate), Numbers(4), scenario).log
    assert log.stopped == ""
    assert log.ok.all()


def test_the_wall_limit_ends_a_closed_loop():
    scenario = declare("closed_loop", concurrency=2, think_time="30 s", wall_limit="1 s", count=50, warmup=0)
    log = drive(Offer(negate), Numbers(50), scenario).log
    assert log.stopped == "the wall limit of 1 s was over"
    assert log.ok.sum() <= 2  # users think for longer than the run lasts


def test_inputs_that_do_not_fit_are_gathered_turn_by_turn(monkeypatch):
    monkeypatch.setattr("pytest_procure.driver.source.PREPARED_BYTES", 0)
    scenario = declare("sessions", starts=1000, turns=3, count=5, max_batch=2)
    log = drive(Offer(negate), Numbers(15), scenario).log
    assert [int(answer) for answer in log.answers] == (-100 - log.samples).tolist()


def test_pauses_and_waiting_for_a_batch_are_no_lateness_of_the_harness():
    time = SetClock()
    scenario = Scenario("closed_loop", concurrency=3, max_batch=2, max_wait=ms(1), count=9, think_time=ms(4))
    board = Board(9)
    turns = Turns(scenario, 9, board, time.clock)
    serve = partial(in_batches, turns, 0)
    serve(lambda places: time.sleep(1e-3) or places, taken, lambda _n, first, end: turns.places(first, end))
    from pytest_procure.driver.audit import send_lag
    from pytest_procure.driver.outcomes import Plan, request_log

    played = turns.played(time.time)
    plan = Plan(np.arange(9), None, 1, 10**12, from_start=False, by_duration=False, due=played.due)
    log = request_log(board.snapshot(time.time, busy=False), plan, 0, "")
    assert send_lag(log, scenario).max() == 0
