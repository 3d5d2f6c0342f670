from __future__ import annotations

import time

from driver_fakes import SetClock

from pytest_procure.driver.clock import Clock, calibrated


def test_a_clock_waits_until_the_time_is_there():
    now = SetClock()
    assert now.clock.until(123_456_789, []) == 123_456_789


def test_a_time_that_is_over_is_not_waited_for():
    now = SetClock()
    now.time = 50
    assert now.clock.until(10, []) == 50


def test_waiting_ends_soon_after_the_run_is_stopped():
    stop = []
    now = SetClock()

    def sleep(seconds):
        now.sleep(seconds)
        stop.append("over")

    assert Clock(now.now, sleep, margin_ns=0).until(10**12, stop) <= 50_000_000


def test_the_margin_is_spun():
    reads = iter(range(0, 1000, 10))
    slept = []
    clock = Clock(lambda: next(reads), slept.append, margin_ns=500)
    assert clock.until(100, []) == 100
    assert slept == []


def test_without_spinning_the_margin_is_slept():
    now = SetClock()
    assert Clock(now.now, now.sleep, margin_ns=10**9).until(1000, [], spin=False) == 1000


def test_the_real_clock_never_wakes_early():
    due = time.perf_counter_ns() + 2_000_000
    assert calibrated().until(due, []) >= due


def test_the_margin_is_bounded():
    assert 100_000 <= calibrated().margin_ns <= 1_000_000
