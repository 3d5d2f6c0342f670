from __future__ import annotations

import threading

import pytest

from pytest_procure import threads


@pytest.fixture
def asleep():
    """Make threads that wait for the end of the test."""
    over = threading.Event()
    made = []

    def make(name):
        thread = threading.Thread(target=over.wait, args=(60,), name=name, daemon=True)
        thread.start()
        made.append(thread)
        return thread

    yield make
    over.set()
    for thread in made:
        thread.join()


def test_what_threads_used_is_told_apart(asleep):
    worker, poller, logger = asleep("worker"), asleep("poller"), asleep("logger")
    with threads.of_candidate():
        batcher = asleep("batcher")
    before = {worker: 100, poller: 10, logger: 0, batcher: 0}
    after = {worker: 900, poller: 15, logger: 40, batcher: 7}
    assert threads.used(before, after, {worker}) == threads.Used(45, 7, "logger")


def test_what_a_thread_used_before_the_window_does_not_count(asleep):
    poller = asleep("poller")
    assert threads.used({poller: 10**9}, {poller: 10**9}, set()).others_ns == 0


def test_a_thread_that_begins_in_the_window_is_not_one_of_the_others(asleep):
    late = asleep("late")
    assert threads.used({}, {late: 5}, set()) == threads.Used(0, 5, "")


def test_where_the_system_does_not_tell_nothing_is_known(monkeypatch):
    monkeypatch.setattr(threads, "schedstat", lambda _: None)
    assert threads.times() is None
    assert threads.used(None, {}, set()) == threads.Used(None, None, "")


def test_a_name_is_one_short_printable_line(asleep):
    odd = asleep("a\x1b[31m\n" + "b" * 100)
    told = threads.used({odd: 0}, {odd: 1}, set()).busiest
    assert told.startswith("a[31mbbb")
    assert told.isprintable()
    assert len(told) == 60


def test_this_thread_has_run_and_one_that_is_not_there_has_not():
    read = threads.times()
    if read is None:
        pytest.skip("this system does not tell what a thread used")
    assert read[threading.current_thread()] > 0
    assert threads.schedstat(0) is None
