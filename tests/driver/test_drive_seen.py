from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.driver.log import RequestLog
from pytest_procure.driver.seen import seen
from pytest_procure.scenarios import Scenario

SERVER = Scenario.declare("server", qps=10, count=10)


def served(scheduled, services, workers=1):
    """Make the log of a first-in-first-out queue."""
    free = [0] * workers
    started = []
    for due, service in zip(scheduled, services, strict=True):
        free.sort()
        started.append(max(due, free[0]))
        free[0] = started[-1] + service
    started = np.array(started, dtype=np.int64)
    completed = started + np.array(services, dtype=np.int64)
    n = len(started)
    return RequestLog(
        scheduled=np.array(scheduled, dtype=np.int64),
        started=started,
        completed=completed,
        status=np.ones(n, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        window_ns=int(completed.max()),
    )


def queue(load, n, seed=5):
    """Make Poisson arrivals, one a microsecond, at a server that is this busy."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1000, n).astype(int)
    gaps[0] = 0
    return served(np.cumsum(gaps), rng.exponential(1000 * load, n).astype(int) + 1)


def test_a_queue_that_keeps_growing_never_settles():
    found = seen(queue(1.3, 2000), SERVER)
    assert found.never_settled
    assert found.settled_after >= 800
    assert found.slower_share > 1


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_a_queue_with_room_settles(load):
    assert not seen(queue(load, 2000), SERVER).never_settled


def test_what_is_slow_at_first_settles_after_that():
    log = served(range(0, 200_000, 100), [5000] * 20 + [10] * 1980)
    found = seen(log, SERVER)
    assert not found.never_settled
    assert 900 <= found.settled_after <= 1100  # the queue of the slow ones takes as long to go


def test_few_requests_and_requests_that_wait_for_each_other_say_nothing():
    short = seen(queue(1.3, 99), SERVER)
    offline = seen(queue(1.3, 2000), Scenario.declare("offline"))
    for found in (short, offline):
        assert (found.settled_after, found.slower_share, found.never_settled) == (None, None, False)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=30), st.integers(1, 4))
def test_a_candidate_is_pinned_while_all_its_workers_serve(drawn, workers):
    gaps, services = zip(*drawn, strict=True)
    log = served(np.cumsum(gaps).tolist(), services, workers)
    busy = np.zeros(log.window_ns, dtype=int)
    for begin, end in zip(log.started.tolist(), log.completed.tolist(), strict=True):
        busy[begin:end] += 1
    found = seen(log, replace(SERVER, workers=workers))
    assert found.pinned_share == pytest.approx((busy == workers).mean())


def test_a_call_that_never_returns_keeps_its_worker_busy_to_the_end():
    log = served([0, 10], [10, 10])
    log.completed[1] = -1
    log.window_ns = 40
    assert seen(log, SERVER).pinned_share == 1.0
