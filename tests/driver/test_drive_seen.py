from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from driver_fakes import log_of
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.driver.limits import Limits
from pytest_procure.driver.load import Load
from pytest_procure.driver.seen import seen
from pytest_procure.scenarios import Scenario, arrivals, queries

MS = 1_000_000
SERVER = Scenario.declare("server", qps=10, count=10)


def served(scheduled, services, workers=1):
    """Make the log of a first-in-first-out queue."""
    free = [0] * workers
    started = []
    for due, service in zip(scheduled, services, strict=True):
        free.sort()
        started.append(max(due, free[0]))
        free[0] = started[-1] + service
    return log_of(scheduled, started, np.array(started, dtype=np.int64) + np.array(services, dtype=np.int64))


def queue(load, n, seed=5):
    """Make Poisson arrivals, one a microsecond, at a server that is this busy."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1000, n).astype(int)
    gaps[0] = 0
    return served(np.cumsum(gaps), rng.exponential(1000 * load, n).astype(int) + 1)


def test_a_queue_that_keeps_growing_never_settles():
    found = seen(queue(1.3, 2000), SERVER, Limits())
    assert found.never_settled
    assert found.settled_after >= 800
    assert found.slower_share > 1


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_a_queue_with_room_settles(load):
    assert not seen(queue(load, 2000), SERVER, Limits()).never_settled


def test_what_is_slow_at_first_settles_after_that():
    log = served(range(0, 200_000, 100), [5000] * 20 + [10] * 1980)
    found = seen(log, SERVER, Limits())
    assert not found.never_settled
    assert 900 <= found.settled_after <= 1100  # the queue of the slow ones takes as long to go


def test_few_requests_and_requests_that_wait_for_each_other_say_nothing():
    short = seen(queue(1.3, 99), SERVER, Limits())
    offline = seen(queue(1.3, 2000), Scenario.declare("offline"), Limits())
    for found in (short, offline):
        assert (found.settled_after, found.slower_share, found.never_settled) == (None, None, False)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=30), st.integers(1, 4))
def test_a_candidate_is_pinned_while_all_its_workers_serve(drawn, workers):
    gaps, services = zip(*drawn, strict=True)
    log = served(np.cumsum(gaps).tolist(), services, workers)
    busy = np.zeros(log.window_ns, dtype=int)
    for begin, end in zip(log.started.tolist(), log.completed.tolist(), strict=True):
        busy[begin:end] += 1
    found = seen(log, replace(SERVER, workers=workers), Limits())
    assert found.pinned_share == pytest.approx((busy == workers).mean())


def test_a_call_that_never_returns_keeps_its_worker_busy_to_the_end():
    log = served([0, 10], [10, 10])
    log.completed[1] = -1
    log.window_ns = 40
    assert seen(log, SERVER, Limits()).pinned_share == 1.0


def grew(log, scenario):
    found = seen(log, scenario, Limits())
    noted = [note for note in found.notes(Limits()) if note.startswith("the backlog grew")]
    assert found.backlog_grew(Limits()) == bool(noted)
    return bool(noted)


def poisson(load, n, seed):
    """Make a queue at 100 a second, with exponential service times."""
    scenario = Scenario.declare("server", qps=100, count=n, seed=seed)
    services = np.random.default_rng(seed).exponential(load * 10 * MS, n).astype(int)
    return served(arrivals(scenario, n).tolist(), services.tolist()), scenario


@pytest.mark.parametrize(("load", "least", "most"), [(0.5, 0, 0), (0.8, 0, 0), (0.9, 0, 2), (1.25, 90, 100)])
def test_a_backlog_that_grows_by_chance_is_none(load, least, most):
    assert least <= sum(grew(*poisson(load, 200, seed)) for seed in range(100)) <= most


CHANGING = {
    "burst": Scenario.declare("burst", base=10, peak=30, period="2 s", duty=0.5, duration="6 s"),
    "ramp": Scenario.declare("ramp", start=10, end=30, duration="6 s"),
    "steps": Scenario.declare("ramp", start=10, end=30, steps=3, duration="6 s"),
}


@pytest.mark.parametrize("scenario", [*CHANGING.values(), Scenario.declare("server", qps=20, duration="5 s")])
def test_half_the_rate_is_seen_even_if_all_is_answered_in_the_drain_time(scenario):
    n = queries(scenario, 1)
    log = served(arrivals(scenario, n).tolist(), [100 * MS] * n)
    assert log.ok.all()
    assert grew(log, scenario)


@pytest.fixture
def replay(tmp_path):
    """Make a replay of 20 requests a second for 5 s."""
    (tmp_path / "trace.csv").write_text("time\n" + "".join(f"{k / 20}\n" for k in range(100)), "ascii")
    return Scenario.declare("replay", tmp_path, trace="trace.csv")


@pytest.mark.parametrize(("service_ms", "found"), [(100, True), (60, True), (45, False)])
def test_a_replay_asks_no_more_than_is_answered_meanwhile(replay, service_ms, found):
    log = served(arrivals(replay, 100).tolist(), [service_ms * MS] * 100)
    assert grew(log, replay) == found


@pytest.mark.parametrize("seed", range(10))
def test_bursts_that_drain_between_their_peaks_are_no_overload(seed):
    """Their peak is twice of what is answered, their mean four fifths of it."""
    for duration in ("6 s", "20 s"):
        scenario = Scenario.declare(
            "burst", base=10, peak=40, period="2 s", duty=0.2, duration=duration, seed=seed
        )
        n = queries(scenario, 1)
        assert not grew(served(arrivals(scenario, n).tolist(), [50 * MS] * n), scenario)


def test_the_end_of_a_ramp_that_is_too_steep_is_seen_though_its_mean_is_not():
    scenario = Scenario.declare("ramp", start=5, end=45, duration="20 s")
    n = queries(scenario, 1)
    log = served(arrivals(scenario, n).tolist(), [33 * MS] * n)  # 30 a second, of 25 on average
    assert grew(log, scenario)
    assert not grew(served(arrivals(scenario, n).tolist(), [20 * MS] * n), scenario)


@pytest.mark.parametrize(("start", "end", "found"), [(45, 5, False), (50, 10, False), (60, 20, True)])
def test_a_ramp_that_falls_is_too_much_where_its_mean_is(start, end, found):
    """Of 33 a second: a queue of its beginning is done at its end, or is not, by its mean alone."""
    scenario = Scenario.declare("ramp", start=start, end=end, duration="12 s")
    n = queries(scenario, 1)
    log = served(arrivals(scenario, n).tolist(), [30 * MS] * n)
    assert log.latency.max() > 500 * MS
    assert grew(log, scenario) == found
    assert seen(log, scenario, Limits()).load.share == pytest.approx((start + end) / 2 * 0.03)


def test_a_candidate_that_slows_down_is_seen_by_its_last_third():
    scenario = Scenario.declare("server", qps=100, count=600)
    services = [2 * MS] * 400 + [13 * MS] * 200
    log = served(arrivals(scenario, 600).tolist(), services)
    found = seen(log, scenario, Limits())
    assert not found.load.is_too_much(Limits())
    assert grew(log, scenario)


def test_load_is_measured_by_full_batches():
    scenario = Scenario.declare("server", qps=100, count=40, max_batch=2)
    log = served(range(0, 400 * MS, 10 * MS), [10 * MS] * 40)
    assert (
        seen(log, scenario, Limits()).load is None
    )  # of single ones nobody knows how many they could have been
    log.batch = np.arange(40, dtype=np.int32) // 2
    assert seen(log, scenario, Limits()).load.share == pytest.approx(0.5)


def test_nothing_is_asked_of_a_candidate_that_sets_the_pace():
    log = served(range(0, 400 * MS, 10 * MS), [30 * MS] * 40)
    assert seen(log, Scenario.declare("closed_loop", concurrency=9), Limits()).load is None


@pytest.mark.parametrize(
    ("share", "error", "is_too_much"),
    [
        (0.97, 0.01, False),  # busy, and keeps up
        (1.02, 0.05, False),  # perhaps
        (1.05, 0.02, True),
        (1.3, 0.25, False),  # too few requests to tell
        (2.0, 0.3, True),
    ],
)
def test_more_than_can_be_done_is_told_when_the_error_allows_it(share, error, is_too_much):
    assert Load(share, error, 99).is_too_much(Limits()) is is_too_much
