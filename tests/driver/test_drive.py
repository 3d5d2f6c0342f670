from __future__ import annotations

import gc
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, negate

from pytest_procure.driver import watch as watching
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.scenarios import Scenario, sample_order
from pytest_procure.units import ms

EVERY_KIND = [
    Scenario.declare("single_stream"),
    Scenario.declare("multi_stream", samples_per_query=4),
    Scenario.declare("offline"),
    Scenario.declare("offline", max_batch=8),
    Scenario.declare("offline", max_batch=8, workers=3),
    Scenario.declare("server", qps=5000, count=40),
    Scenario.declare("server", qps=5000, count=40, max_batch=8, max_wait="1 ms"),
    Scenario.declare("server", qps=5000, count=40, max_batch=4, workers=2),
    Scenario.declare("server", qps=5000, count=40, burstiness=0.3),
    Scenario.declare("burst", base=2000, peak=20000, period="5 ms", duty=0.2, count=40),
    Scenario.declare("ramp", start=3000, end=5000, duration="10 ms"),
    Scenario.declare("closed_loop", concurrency=4, think_time="1 ms"),
    Scenario.declare("closed_loop", concurrency=4, max_batch=3, max_wait="1 ms", workers=2),
    Scenario.declare("sessions", starts=2000, turns=4, think_time="1 ms", count=10),
    Scenario.declare("sessions", starts=2000, turns=4, think_time="1 ms", count=10, max_batch=2, workers=2),
]


def each_kind():
    return pytest.mark.parametrize("scenario", EVERY_KIND, ids=lambda scenario: scenario.label)


@each_kind()
def test_every_answer_belongs_to_the_sample_that_was_asked(scenario):
    log = drive(Offer(negate), Numbers(40), scenario).log
    assert log.ok.all()
    assert log.stopped == ""
    assert [int(answer) for answer in log.answers] == (-100 - log.samples).tolist()
    assert Counter(log.samples.tolist()) == dict.fromkeys(range(40), 1)


@each_kind()
def test_times_of_a_query_are_in_order(scenario):
    log = drive(Offer(negate), Numbers(40), scenario).log
    assert log.scheduled[0] == 0
    assert (log.started >= log.scheduled).all()
    assert (log.completed >= log.started).all()
    assert log.window_ns == log.completed.max()


@each_kind()
def test_the_same_seed_asks_the_same_samples_at_the_same_times(scenario):
    first = drive(Offer(negate), Numbers(40), scenario).log
    second = drive(Offer(negate), Numbers(40), scenario).log
    if scenario.name == "sessions":  # which session comes next hangs on the answers
        assert sorted(first.samples.tolist()) == sorted(second.samples.tolist())
        return
    assert first.samples.tobytes() == second.samples.tobytes()
    if not scenario.is_closed_loop:
        assert first.scheduled.tobytes() == second.scheduled.tobytes()


@each_kind()
def test_no_worker_outlives_the_run(scenario):
    before = set(threading.enumerate())  # another test's offer may hang yet
    drive(Offer(negate), Numbers(40), scenario)
    assert set(threading.enumerate()) <= before


def test_inputs_that_do_not_fit_are_gathered_in_the_run(monkeypatch):
    monkeypatch.setattr("pytest_procure.driver.source.PREPARED_BYTES", 0)
    for scenario in EVERY_KIND:
        run = drive(Offer(negate), Numbers(40), scenario)
        assert run.conditions["inputs"] == "gathered in the run"
        assert [int(answer) for answer in run.log.answers] == (-100 - run.log.samples).tolist()


def test_a_slice_of_objects_reaches_the_backend_as_a_list():
    class Texts:
        def __len__(self):
            return 3

        def take(self, indices):
            return ["abc"[index] for index in indices]

    log = drive(
        Offer(lambda batch: [text.upper() for text in batch]), Texts(), Scenario.declare("offline")
    ).log
    assert sorted(log.answers) == ["A", "B", "C"]


def test_offline_fills_its_batches():
    sizes = []
    offer = Offer(lambda batch: sizes.append(len(batch)) or batch)
    log = drive(offer, Numbers(20), Scenario.declare("offline", max_batch=8, warmup=0)).log
    assert sizes == [8, 8, 4]
    assert log.batch.tolist() == [0] * 8 + [1] * 8 + [2] * 4
    assert not log.scheduled.any()


def test_multi_stream_sends_all_samples_of_a_query_at_once():
    sizes = []
    offer = Offer(lambda batch: sizes.append(len(batch)) or batch)
    log = drive(offer, Numbers(10), Scenario.declare("multi_stream", samples_per_query=4, warmup=0)).log
    assert sizes == [4, 4, 4]
    assert (len(log), len(log.samples), len(log.answers)) == (3, 12, 12)


def test_a_closed_loop_sends_the_next_query_after_the_last_is_answered():
    log = drive(Offer(negate), Numbers(50), Scenario.declare("single_stream")).log
    assert (log.started[1:] >= log.completed[:-1]).all()
    assert (log.scheduled == log.started).all()


def test_a_closed_loop_runs_for_its_duration_and_sends_nothing_after_it():
    never = threading.Event()
    offer = Offer(lambda batch: (never.wait(0.001), batch)[1])
    run = drive(offer, Numbers(10), Scenario.declare("single_stream", duration="100 ms"))
    assert run.log.stopped == ""
    assert 0 < len(run.log) <= 100
    assert run.log.started[-1] < 100_000_000
    assert (run.log.status == Status.OK).all()
    assert run.log.samples.tolist() == sample_order(10, len(run.log), seed=0).tolist()


def test_a_busy_backend_is_charged_for_the_queue_it_caused():
    many_are_due = threading.Event()
    calls = []

    def stall_once(inputs):
        calls.append(len(inputs))
        if len(calls) == 1:
            many_are_due.wait(0.05)  # 50 queries at 1000 a second, the longest wait there is
        return inputs

    scenario = Scenario.declare("server", qps=1000, count=20, warmup=0)
    log = drive(Offer(stall_once), Numbers(20), scenario).log
    late = log.scheduled < log.completed[0]
    late[0] = False
    assert late.any()
    assert (log.started[late] >= log.completed[0]).all()
    assert (log.latency[late] >= log.completed[0] - log.scheduled[late]).all()


def test_warm_up_is_not_logged_but_disclosed():
    calls = []
    offer = Offer(lambda batch: calls.append(len(batch)) or batch)
    run = drive(offer, Numbers(16), Scenario.declare("offline", max_batch=8, warmup=5))
    assert calls == [1, 1, 1, 8, 8, 8, 8]
    assert len(run.log) == 16
    assert run.conditions["warmup_calls_by_batch"] == {"1": 3, "8": 2}


def test_a_failing_warm_up_does_not_stop_the_run():
    calls = []

    def fail_twice(inputs):
        calls.append(1)
        if len(calls) <= 2:
            raise RuntimeError("cold")
        return inputs

    run = drive(Offer(fail_twice), Numbers(5), Scenario.declare("single_stream", warmup=2))
    assert run.conditions["warmup_failures"] == 2
    assert run.log.ok.all()


def test_garbage_is_not_collected_in_the_window_and_again_after_it(thawed):
    seen = []
    offer = Offer(lambda batch: seen.append((gc.isenabled(), gc.get_freeze_count() > 0)) or batch)
    drive(offer, Numbers(3), Scenario.declare("offline", warmup=0))
    assert seen == [(False, True)] * 3
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_collection_that_was_off_stays_off():
    gc.disable()
    try:
        drive(Offer(negate), Numbers(3), Scenario.declare("offline"))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_are_refused_for_a_backend_that_holds_the_lock():
    with pytest.raises(DeclarationError, match="`workers=2`, but this backend holds Python's lock"):
        drive(Offer(negate, releases_gil=False), Numbers(3), Scenario.declare("offline", workers=2))


def test_an_empty_slice_is_refused():
    with pytest.raises(DataError, match="empty"):
        drive(Offer(negate), Numbers(0), Scenario.declare("offline"))


@pytest.mark.parametrize("warmup", [0, 3])
def test_inputs_that_cannot_be_read_are_no_fault_of_the_candidate(warmup, monkeypatch):
    monkeypatch.setattr("pytest_procure.driver.source.PREPARED_BYTES", 0)

    class Broken(Numbers):
        reads = 0

        def take(self, indices, /):
            self.reads += 1
            if self.reads > 1:
                raise DataError("item 7 cannot be read")
            return super().take(indices)

    with pytest.raises(DataError, match="item 7"):
        drive(Offer(negate), Broken(9), Scenario.declare("offline", max_batch=2, warmup=warmup))
    assert gc.isenabled()


def test_progress_is_told_while_the_run_goes_on(monkeypatch):
    monkeypatch.setattr(watching, "_PROGRESS_NS", 1_000_000)
    told = []
    heard = threading.Event()
    offer = Offer(lambda batch: (heard.wait(10), batch)[1])

    def listen(begun, total, failed, slow_ns):
        told.append((begun, total))
        heard.set()

    drive(offer, Numbers(4), Scenario.declare("single_stream", warmup=0), progress=listen)
    assert {total for _, total in told} == {4}
    assert told[0][0] in {0, 1}


def test_conditions_are_plain_data():
    import json

    for scenario in EVERY_KIND:
        run = drive(Offer(negate), Numbers(8), replace(scenario.shortened(8), timeout=ms(5000)))
        told = json.loads(json.dumps(run.conditions))
        assert told["scenario"] == scenario.name
        assert told["timeout"] == "5000 ms"
        assert json.loads(json.dumps(run.audit.as_dict()))["candidate"]["offered"] == 8


def test_samples_are_asked_equally_often_in_a_run_longer_than_its_slice():
    log = drive(Offer(negate), Numbers(7), Scenario.declare("single_stream", count=17)).log
    assert set(np.bincount(log.samples, minlength=7)) == {2, 3}


def test_a_stall_is_in_p99_of_an_open_loop_and_once_in_a_closed_one_that_says_so():
    pause = threading.Event()

    def stalling():
        calls = iter(range(1000))
        return Offer(lambda inputs: (next(calls) == 50 and pause.wait(0.4), inputs)[1])

    rate = Scenario.declare("server", qps=200, count=200, warmup=0)
    closed = Scenario.declare("single_stream", count=200, warmup=0)
    waited = {each.name: np.sort(drive(stalling(), Numbers(20), each).log.latency) for each in (rate, closed)}
    assert waited["server"][197] > 300_000_000  # p99 of those that were due meanwhile
    assert waited["single_stream"][-1] > 300_000_000
    assert (waited["single_stream"] > 300_000_000).sum() < (waited["server"] > 100_000_000).sum()
    assert "(closed loop): one request at a time, the next when the last is answered" in closed.label
