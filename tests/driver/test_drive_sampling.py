"""What is read beside a run, and what else runs in its process."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager

from driver_fakes import Numbers, Offer, negate

from pytest_procure import threads
from pytest_procure.driver.pull import drive
from pytest_procure.scenarios import Scenario

HALF_A_SECOND = Scenario.declare("server", qps=200, count=100)


class Told:
    """A probe that remembers what it was told."""

    def __init__(self):
        self.calls = []
        self.sampled = threading.Event()

    def start(self):
        self.calls.append("start")

    def sample(self):
        self.calls.append("sample")
        self.sampled.set()

    def stop(self):
        self.calls.append("stop")


def test_the_window_that_is_sampled_is_the_measured_one():
    probe = Told()
    seen = []
    offer = Offer(lambda batch: (seen.append(list(probe.calls)), batch)[1])
    drive(offer, Numbers(3), Scenario.declare("single_stream", warmup=2), probes=[probe])
    assert seen[:2] == [[], []]  # the warm-up
    assert all(calls[:1] == ["start"] and "stop" not in calls for calls in seen[2:])
    assert probe.calls[-1] == "stop"


def test_what_sampling_takes_is_in_the_audit():
    probe = Told()
    offer = Offer(lambda batch: (probe.sampled.wait(30), batch)[1])
    run = drive(offer, Numbers(1), Scenario.declare("single_stream", warmup=0), probes=[probe])
    assert 0 <= run.audit.sampling_cpu_share < 1
    assert drive(Offer(abs), Numbers(1), Scenario.declare("single_stream")).audit.sampling_cpu_share is None


def spin(over):
    while not over.is_set():
        pass


@contextmanager
def spinning(name):
    """Keep a thread busy in pure Python."""
    over = threading.Event()
    thread = threading.Thread(target=spin, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_busy_python_thread_makes_the_run_invalid_and_is_named():
    with spinning("suite-poller"):
        run = drive(Offer(negate), Numbers(100), HALF_A_SECOND)
    assert any("`suite-poller` above all" in fault for fault in run.audit.faults())
    assert not any("Python threads" in note for note in run.audit.candidate_notes())


def test_a_closed_loop_tells_of_a_busy_thread_too():
    closed = Scenario.declare("single_stream", duration="300 ms")
    with spinning("suite-poller"):
        run = drive(Offer(negate), Numbers(100), closed)
    assert any("`suite-poller` above all" in fault for fault in run.audit.faults())


def test_a_thread_that_the_candidate_starts_is_its_own():
    over, begun = threading.Event(), []

    def predict(inputs):
        if not begun:
            begun.append(threading.Thread(target=spin, args=(over,), name="batcher", daemon=True))
            begun[0].start()
        return inputs

    try:
        # In a second run the thread was there before; it is still the candidate's.
        for _ in range(2):
            run = drive(Offer(predict), Numbers(100), HALF_A_SECOND)
            assert not any("Python threads" in fault for fault in run.audit.faults())
            assert any("own Python threads" in note for note in run.audit.candidate_notes())
    finally:
        over.set()
        begun[0].join()


def test_a_thread_that_begins_while_a_candidate_is_loaded_is_its_own():
    over = threading.Event()
    with threads.of_candidate():
        thread = threading.Thread(target=spin, args=(over,), daemon=True)
        thread.start()
    try:
        run = drive(Offer(negate), Numbers(100), HALF_A_SECOND)
    finally:
        over.set()
        thread.join()
    assert not any("Python threads" in fault for fault in run.audit.faults())
    assert run.audit.candidate_threads_share > 0.05


def test_garbage_that_the_candidate_collects_is_timed_and_noted():
    run = drive(Offer(lambda batch: (gc.collect(), batch)[1]), Numbers(3), Scenario.declare("single_stream"))
    assert run.audit.gc_passes == 3
    assert run.audit.gc_pause_ns > 0
    assert run.audit.gc_pause_max_ns == 0
    assert any("ran Python's garbage collector 3 times" in note for note in run.audit.candidate_notes())


def test_garbage_that_somebody_else_collects_is_not_the_candidates():
    asked, done = threading.Event(), threading.Event()

    def collect():
        asked.wait(30)
        gc.collect()
        done.set()

    thread = threading.Thread(target=collect)
    thread.start()
    offer = Offer(lambda batch: (asked.set(), done.wait(30), batch)[2])
    run = drive(offer, Numbers(1), Scenario.declare("single_stream", warmup=0))
    thread.join()
    assert run.audit.gc_passes == 1
    assert run.audit.gc_pause_max_ns > 0
    assert not any("garbage" in note for note in run.audit.candidate_notes())


def test_nothing_listens_to_the_collector_after_the_run():
    before = list(gc.callbacks)
    drive(Offer(negate), Numbers(3), Scenario.declare("single_stream"))
    assert gc.callbacks == before
