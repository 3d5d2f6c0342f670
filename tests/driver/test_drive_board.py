from __future__ import annotations

import numpy as np
from driver_fakes import SetClock

from pytest_procure.driver.batching import Queue
from pytest_procure.driver.board import Board
from pytest_procure.driver.clock import Clock
from pytest_procure.driver.log import Status
from pytest_procure.driver.outcomes import Plan, request_log
from pytest_procure.scenarios import Scenario

PLAN = Plan(
    order=np.arange(4),
    schedule=np.array([0, 10, 20, 30]),
    samples_per_query=1,
    timeout_ns=10**9,
    from_start=False,
    by_duration=False,
)


def serve(board, number, end, started, completed):
    board.ends[number] = end
    board.started[number] = started
    board.outputs[number] = [7] * (end - (board.ends[number - 1] if number else 0))
    board.completed[number] = completed


def test_queries_that_were_begun_are_counted_by_batch():
    board = Board(4)
    assert board.begun() == 0
    serve(board, 0, 3, started=105, completed=106)
    assert board.begun() == 3
    serve(board, 1, 4, started=107, completed=-1)
    assert board.begun() == 4


def test_a_snapshot_does_not_change():
    board = Board(4)
    serve(board, 0, 3, started=105, completed=-1)
    seen = board.snapshot(110, busy=True)
    board.completed[0] = 111
    board.failures[0] = "too late"
    board.outputs[0] = None
    assert seen.completed[0] == -1
    assert seen.failures == {}
    assert seen.outputs[0] == [7, 7, 7]


def test_an_answer_without_its_completion_stamp_has_not_come():
    board = Board(4)
    serve(board, 0, 1, started=100, completed=105)
    serve(board, 1, 4, started=135, completed=-1)
    log = request_log(board.snapshot(190, busy=True), PLAN, 100, "cut")
    assert log.status.tolist() == [Status.OK, Status.LOST, Status.LOST, Status.LOST]
    assert log.started.tolist() == [0, 35, 35, 35]
    assert log.batch.tolist() == [0, 1, 1, 1]
    assert log.window_ns == 90


def test_what_began_after_the_end_has_not_begun():
    board = Board(4)
    serve(board, 0, 1, started=100, completed=105)
    serve(board, 1, 4, started=191, completed=-1)
    log = request_log(board.snapshot(190, busy=True), PLAN, 100, "cut")
    assert log.started.tolist() == [0, -1, -1, -1]
    assert log.batch.tolist() == [0, -1, -1, -1]


def test_a_batch_that_was_claimed_but_not_sent_keeps_its_place():
    board = Board(4)
    board.ends[0] = 2  # claimed by a worker that still gathers its inputs
    serve(board, 1, 4, started=135, completed=140)
    log = request_log(board.snapshot(190, busy=True), PLAN, 100, "cut")
    assert log.status.tolist() == [Status.LOST, Status.LOST, Status.OK, Status.OK]
    assert log.batch.tolist() == [-1, -1, 1, 1]


def test_a_worker_that_waits_beside_a_busy_one_does_not_spin():
    board = Board(2)
    time = SetClock()  # it stands still while somebody spins
    scenario = Scenario("server", workers=2)
    queue = Queue(np.array([0, 100]), scenario, board, Clock(time.now, time.sleep, margin_ns=10**9))
    assert queue.claim(0, 0) == (0, 0, 1)
    assert queue.claim(1, 0) == (1, 1, 2)
    assert time.time == 100


def test_nothing_is_claimed_after_the_end():
    board = Board(2)
    board.stop.append("over")
    queue = Queue(np.array([0, 100]), Scenario("server"), board, SetClock().clock)
    assert queue.claim(0, 0) is None
