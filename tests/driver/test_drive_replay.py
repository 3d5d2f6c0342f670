"""The driver against a queue that is simulated event by event, written another way."""

from __future__ import annotations

import heapq
import importlib.util
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, SetClock
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.driver.batching import Queue
from pytest_procure.driver.board import Board
from pytest_procure.driver.pull import drive
from pytest_procure.driver.taking import taken
from pytest_procure.driver.workers import in_batches, in_turn, one_by_one
from pytest_procure.scenarios import Scenario
from pytest_procure.units import Quantity

TIMES = st.integers(0, 60)


@st.composite
def traffic(draw, most_workers=1):
    gaps = draw(st.lists(TIMES, min_size=1, max_size=40))
    gaps[0] = 0
    scenario = Scenario(
        "server",
        max_batch=draw(st.integers(1, 5)),
        max_wait=Quantity.of(draw(TIMES), "ns"),
        workers=draw(st.integers(1, most_workers)),
    )
    services = draw(st.lists(TIMES.map(lambda time: time + 1), min_size=len(gaps), max_size=len(gaps)))
    return np.cumsum(gaps), scenario, services


def simulate(schedule, scenario, services):
    """Step through time one ns at a time: a list of batches, each (queries, started, completed)."""
    waiting, batches, busy = [], [], []
    arrivals = list(enumerate(schedule.tolist()))
    now = -1
    while waiting or arrivals:
        now += 1
        while arrivals and arrivals[0][1] <= now:
            waiting.append(arrivals.pop(0))
        while busy and busy[0] <= now:
            heapq.heappop(busy)
        while waiting and len(busy) < scenario.workers:
            full = len(waiting) >= scenario.max_batch
            waited = now - waiting[0][1] >= scenario.max_wait.ns
            if not full and not waited:
                break
            batch, waiting = waiting[: scenario.max_batch], waiting[scenario.max_batch :]
            end = now + services[len(batches)]
            heapq.heappush(busy, end)
            batches.append(([query for query, _ in batch], now, end))
    return batches


@given(traffic(most_workers=4))
def test_batches_form_as_in_a_first_in_first_out_queue_with_k_workers(drawn):
    schedule, scenario, services = drawn
    time = SetClock()
    board = Board(len(schedule))
    queue = Queue(schedule, scenario, board, time.clock)
    # The worker that is free first claims next: what k threads do behind one lock.
    idle = [(0, worker) for worker in range(scenario.workers)]
    formed = []
    while True:
        free, worker = heapq.heappop(idle)
        time.time = max(time.time, free)
        queue.busy[worker] = 0
        claim = queue.claim(worker, free)
        if claim is None:
            break
        number, first, end = claim
        finished = time.time + services[number]
        formed.append((list(range(first, end)), time.time, finished))
        heapq.heappush(idle, (finished, worker))
    assert formed == simulate(schedule, scenario, services)


@given(traffic())
def test_one_worker_serves_batches_at_the_simulated_times(drawn):
    schedule, scenario, services = drawn
    time = SetClock()
    board = Board(len(schedule))
    left = iter(services)

    def predict(batch):
        time.time += next(left)
        return batch

    queue = Queue(schedule, scenario, board, time.clock)
    in_batches(queue, 0, predict, taken, lambda _, first, end: list(range(first, end)))
    expected = simulate(schedule, scenario, services)
    n = len(expected)
    assert board.outputs[:n] == [queries for queries, _, _ in expected]
    assert list(board.started[:n]) == [start for _, start, _ in expected]
    assert list(board.completed[:n]) == [end for _, _, end in expected]


@given(traffic())
def test_the_loop_without_batches_is_the_loop_with_batches_of_one(drawn):
    schedule, _, services = drawn
    time = SetClock()
    board = Board(len(schedule))
    left = iter(services)

    def predict(query):
        time.time += next(left)
        return [query]

    one_by_one(board, predict, taken, range(len(schedule)), time.clock, schedule)
    expected = simulate(schedule, Scenario("server"), services)
    assert board.outputs == [queries for queries, _, _ in expected]
    assert list(board.started) == [start for _, start, _ in expected]
    assert list(board.completed) == [end for _, _, end in expected]


@given(st.lists(TIMES, min_size=1, max_size=20), st.integers(1, 300))
def test_a_closed_loop_sends_at_the_last_completion_until_its_duration_is_over(services, duration):
    time = SetClock()
    board = Board(len(services))
    left = iter(services)

    def predict(_):
        time.time += next(left)

    in_turn(board, predict, taken, range(len(services)), time.clock, duration)
    starts = [start for start in np.cumsum([0, *services[:-1]]).tolist() if start < duration]
    assert [start for start in board.started if start >= 0] == starts


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("max_batch", "max_wait"), [(1, "0 ms"), (4, "0 ms"), (4, "2 ms")])
def test_threads_keep_to_the_queue(workers, max_batch, max_wait):
    scenario = Scenario.declare(
        "server", qps=3000, count=150, workers=workers, max_batch=max_batch, max_wait=max_wait
    )
    log = drive(Offer(partial(np.multiply, 2)), Numbers(150), scenario).log
    assert log.ok.all()
    assert (np.diff(log.batch) >= 0).all()
    heads = np.flatnonzero(np.diff(log.batch, prepend=-1))
    ends = [*heads[1:].tolist(), len(log)]
    free = [0] * workers
    for first, end in zip(heads.tolist(), ends, strict=True):
        assert end - first <= max_batch
        full = first + max_batch - 1
        leave = log.scheduled[first] + scenario.max_wait.ns
        if full < len(log):
            leave = min(leave, log.scheduled[full])
        # Not before the policy says so, and not before a worker is free ...
        leave = max(leave, heapq.heapreplace(free, log.completed[first]))
        assert log.started[first] >= leave
        # ... and with everything that is due by then.
        assert end - first == max_batch or end == len(log) or log.scheduled[end] > leave


def _simulation():
    """Load the simulated queue that the benchmark holds the driver against."""
    file = Path(__file__).parents[2] / "benchmarks/queueing.py"
    spec = importlib.util.spec_from_file_location("queueing", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["queueing"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module.simulate


@given(traffic(most_workers=4))
def test_the_simulation_of_the_benchmark_is_the_one_that_steps_through_time(drawn):
    schedule, scenario, services = drawn
    by_event = _simulation()(
        schedule.tolist(),
        services,
        max_batch=scenario.max_batch,
        max_wait=scenario.max_wait.ns,
        servers=scenario.workers,
    )
    stepped = simulate(schedule, scenario, services)
    assert [(list(each.queries), each.started, each.completed) for each in by_event] == stepped


@pytest.mark.parametrize(("max_batch", "max_wait"), [(1, "0 ms"), (4, "0 ms"), (8, "3 ms")])
def test_batches_of_a_real_run_are_those_of_the_simulation_with_the_times_it_measured(max_batch, max_wait):
    scenario = Scenario.declare("server", qps=1500, count=300, max_batch=max_batch, max_wait=max_wait, seed=3)
    never = threading.Event()
    waits = np.random.default_rng(4).exponential(0.001, 1000).tolist()
    log = drive(Offer(lambda batch: (never.wait(waits.pop()), batch)[1]), Numbers(300), scenario).log
    heads = log.heads()
    full = heads + max_batch - 1
    leave = log.scheduled[heads] + scenario.max_wait.ns
    leave = np.where(full < len(log), np.minimum(leave, log.scheduled[np.minimum(full, len(log) - 1)]), leave)
    free = np.concatenate([[0], log.completed[heads][:-1]])
    # The time that a batch took from when it had to leave: its service, and however late the machine was.
    services = log.completed[heads] - np.maximum(leave, free)
    simulated = _simulation()(
        log.scheduled.tolist(),
        services.tolist(),
        max_batch=max_batch,
        max_wait=scenario.max_wait.ns,
        servers=1,
    )
    ends = [*heads[1:].tolist(), len(log)]
    formed = [tuple(range(first, end)) for first, end in zip(heads.tolist(), ends, strict=True)]
    assert formed == [batch.queries for batch in simulated]
    assert log.completed[heads].tolist() == [batch.completed for batch in simulated]


def test_a_query_that_came_while_the_driver_was_late_goes_with_the_next_batch():
    time = SetClock()
    board = Board(3)
    queue = Queue(np.array([0, 10, 30]), Scenario("server", max_batch=3), board, time.clock)
    time.time = 20  # woken late: by now the second is due as well
    assert queue.claim(0, 0) == (0, 0, 1)
    # It had been waiting when the worker came back at 25, and the third had not.
    time.time = 40
    assert queue.claim(0, 25) == (1, 1, 2)
