from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pytest_procure.driver.audit import Worked, audit, send_lag
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.log import RequestLog
from pytest_procure.driver.readings import Readings
from pytest_procure.scenarios import Scenario
from pytest_procure.telemetry.gpu import GpuSeen
from pytest_procure.threads import Used

MS = 1_000_000
SERVER = Scenario.declare("server", qps=10, count=10)
QUIET = Readings(0, 0, 0, None, 0.1)
ALLOWED = Limits()
LATER = replace(QUIET, monotonic_ns=1000 * MS)


def log_of(scheduled, started, completed, batch=None, window=None):
    """Make a log from times in ms; -1 is never."""
    n = len(scheduled)

    def column(times):
        return np.array([time * MS if time >= 0 else -1 for time in times], dtype=np.int64)

    return RequestLog(
        scheduled=column(scheduled),
        started=column(started),
        completed=column(completed),
        status=np.array([time >= 0 for time in completed], dtype=np.uint8),
        batch=np.array(range(n) if batch is None else batch, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        window_ns=(max(completed) if window is None else window) * MS,
    )


def audited(log, scenario=SERVER, after=LATER, limits=ALLOWED, **worked):
    return audit(log, scenario, before=QUIET, after=after, worked=Worked(**worked), limits=limits)


def test_a_busy_candidate_makes_no_lag():
    log = log_of([0, 1, 2], [0, 50, 100], [50, 100, 150])
    assert send_lag(log, SERVER).tolist() == [0, 0, 0]


def test_a_late_harness_makes_lag():
    log = log_of([0, 10, 20], [3, 12, 24], [4, 22, 30])
    assert send_lag(log, SERVER).tolist() == [3 * MS, 2 * MS, 2 * MS]


def test_waiting_for_a_batch_is_no_lag():
    scenario = replace(SERVER, max_batch=3, max_wait=SERVER.timeout)
    log = log_of([0, 1, 5], [5, 5, 5], [6, 6, 6], batch=[0, 0, 0])
    assert send_lag(log, scenario).tolist() == [0]


def test_a_full_batch_that_waits_on_is_late():
    scenario = replace(SERVER, max_batch=2, max_wait=SERVER.timeout)
    log = log_of([0, 1], [5, 5], [6, 6], batch=[0, 0])
    assert send_lag(log, scenario).tolist() == [4 * MS]


def test_lag_counts_from_the_worker_that_is_free_first():
    log = log_of([0, 0, 1, 1], [0, 0, 9, 30], [8, 30, 40, 40])
    assert send_lag(log, replace(SERVER, workers=2)).tolist() == [0, 0, 1 * MS, 0]


def test_a_worker_that_hangs_is_never_free():
    log = log_of([0, 0, 1], [0, 0, 5], [-1, 5, 6])
    assert send_lag(log, replace(SERVER, workers=2)).tolist() == [0, 0, 0]


def test_a_closed_loop_is_late_when_it_dawdles_between_two_queries():
    log = log_of([0, 12], [0, 12], [10, 20])
    assert send_lag(log, Scenario.declare("single_stream")).tolist() == [0, 2 * MS]


def test_queries_that_were_never_sent_have_no_lag():
    log = log_of([0, 1], [-1, -1], [-1, -1], batch=[-1, -1], window=5)
    assert send_lag(log, SERVER).tolist() == []
    assert audited(log).send_lag_p99_ns is None


@pytest.mark.parametrize(("bar_ms", "faults"), [(None, 1), (20, 1), (39, 1), (40, 0), (1000, 0)])
def test_lag_is_a_fault_above_one_ms_and_a_twentieth_of_the_tightest_bar(bar_ms, faults):
    found = audited(log_of([0, 10], [2, 12], [3, 13])).faults(None if bar_ms is None else bar_ms * MS)
    assert len(found) == faults


def stopped_for(ms, times):
    """A log of instant answers, of a harness that was stopped at the beginning of so many seconds."""
    scheduled = np.arange(0, 12_000, 10)
    started = np.where(scheduled % 1000 < ms, scheduled // 1000 * 1000 + ms, scheduled)
    started = np.where(scheduled < 1000 * times, started, scheduled)
    return log_of(scheduled, started, started)


@pytest.mark.parametrize(("ms", "times", "faults"), [(600, 5, 1), (100, 2, 0), (19, 12, 0)])
def test_a_harness_that_stood_still_for_a_while_is_at_fault_although_few_sends_were_late(ms, times, faults):
    seen = audited(stopped_for(ms, times), replace(SERVER, qps=100), replace(LATER, monotonic_ns=12_000 * MS))
    assert seen.send_lag_p99_ns == 0
    assert seen.stalled_ns == (ms * times * MS if ms >= 20 else 0)
    found = [fault for fault in seen.faults() if "stood still for" in fault]
    assert len(found) == faults
    assert seen.taken == pytest.approx(seen.stalled_ns / (12_000 * MS))


def test_half_the_rate_is_the_candidates_fault_and_never_the_harnesses():
    scheduled = range(0, 1500, 50)  # 20 a second
    started = [100 * k if k < 15 else -1 for k in range(30)]  # 10 a second
    completed = [100 * k + 100 if k < 15 else -1 for k in range(30)]
    twenty = replace(SERVER, qps=20)
    seen = audited(log_of(scheduled, started, completed, window=1500), twenty)
    assert seen.faults() == ()
    assert seen.candidate.backlog == 30 - 14
    assert (seen.candidate.sent, seen.candidate.offered) == (15, 30)
    grew, behind, unsent, pinned = seen.candidate_notes()
    assert grew.startswith("the backlog grew: on average 1.6 requests waited in the first third")
    assert grew.endswith("in the last; the traffic asked 200% of what the workers can do")
    assert behind == "the candidate never kept up: it answered 15 of 30 requests"
    assert unsent == "15 requests were never sent, because the candidate was still busy"
    assert pinned.startswith("every worker was busy 100% of the time")


def test_a_steady_queue_is_not_noted():
    scheduled = range(0, 1500, 50)
    seen = audited(log_of(scheduled, [time + 60 for time in scheduled], [time + 100 for time in scheduled]))
    assert not seen.backlog_grew
    assert seen.candidate_notes() == ()


def test_a_closed_loop_has_no_backlog():
    log = log_of([0, 10, 10], [0, 10, -1], [10, -1, -1], window=500)
    assert audited(log, Scenario.declare("single_stream")).candidate_notes() == ()


def test_waiting_for_a_processor_is_a_fault_unless_the_candidate_fills_them():
    log = log_of([0], [0], [1])
    seen = audited(log, waited_ns=60 * MS)
    assert seen.run_delay_share == 0.06
    assert seen.faults()[0].startswith("the worker threads waited for a processor 6% of the time")
    own = replace(seen, foreign_cpu_share=0.01)
    assert own.faults() == ()
    assert own.candidate_notes() == (
        "the worker threads waited for a processor 6% of the time, behind the candidate's own threads",
    )


def test_a_clock_that_is_set_is_a_fault():
    seen = audited(log_of([0], [0], [1]), after=replace(LATER, wall_minus_monotonic_ns=-2 * MS))
    assert seen.faults()[0].startswith("the wall clock moved by -2 ms against the steady clock")


def test_a_candidate_that_collects_garbage_is_noted():
    seen = audited(log_of([0], [0], [1]), gc_pauses_ns=[MS, MS, 2 * MS])
    assert seen.candidate_notes() == (
        "the candidate's code ran Python's garbage collector 3 times, for 4 ms",
    )
    assert seen.faults() == ()


@pytest.mark.parametrize(("pause_ms", "faults"), [(1, 0), (2, 1)])
def test_garbage_that_others_collect_is_a_fault_when_it_takes_long(pause_ms, faults):
    seen = audited(log_of([0], [0], [1]), gc_pauses_ns=[pause_ms * MS], gc_foreign_ns=pause_ms * MS)
    assert len(seen.faults()) == faults
    assert seen.candidate_notes() == ()


def test_python_threads_of_nobody_under_test_are_a_fault_and_the_candidates_own_are_noted():
    log = log_of([0], [0], [1])
    seen = audited(log, others=Used(others_ns=60 * MS, candidates_ns=50 * MS, busiest="poller"))
    (fault,) = seen.faults()
    assert fault.startswith(
        "other Python threads of this process, `poller` above all, used 6% of a processor"
    )
    assert seen.candidate_notes() == ()
    own = audited(log, others=Used(others_ns=50 * MS, candidates_ns=60 * MS, busiest="poller"))
    assert own.faults() == ()
    assert own.candidate_notes() == (
        "the candidate's own Python threads used 6% of a processor, and held Python's lock meanwhile",
    )


def test_what_the_driver_itself_takes_for_its_start_is_no_fault():
    short = replace(QUIET, monotonic_ns=10 * MS)
    used = Used(others_ns=1 * MS, candidates_ns=0, busiest="MainThread")
    assert audited(log_of([0], [0], [1]), after=short, others=used).faults() == ()


def test_thresholds_are_the_buyers_to_set():
    strict = Limits(send_lag_ns=MS // 2, run_delay=0.01, clock_step_ns=MS // 2)
    log = log_of([0, 10], [0, 10], [2, 12])
    log.started[1] += 6 * MS // 10
    stepped = replace(LATER, wall_minus_monotonic_ns=6 * MS // 10)
    assert audited(log, after=stepped, waited_ns=20 * MS).faults() == ()
    assert len(audited(log, after=stepped, waited_ns=20 * MS, limits=strict).faults()) == 3
    assert audited(log, limits=strict).as_dict()["limits"]["send_lag_ns"] == MS // 2


def test_a_schedule_that_is_not_as_declared_may_flatter_and_lateness_never_does():
    due = np.arange(0, 20_000, 200)  # 5 a second, evenly: neither 10 nor Poisson
    regular = audited(log_of(due, due, due + 1))
    assert regular.may_flatter
    assert any("0.5 times the declared rate" in fault for fault in regular.faults())
    late = audited(log_of([0, 10], [2, 12], [3, 13]))
    assert late.faults()
    assert not late.may_flatter


def test_arrivals_that_a_late_harness_clumped_together_are_a_fault():
    rng = np.random.default_rng(1)
    due = np.concatenate([[0], np.cumsum(np.maximum(1, rng.exponential(100, 400).astype(int)))])
    sent = due - due % 3000 + 3000  # three seconds' queries at once
    seen = audited(log_of(due, sent, sent), replace(SERVER, workers=400))
    assert seen.arrivals.irregular == ()
    assert any(fault.startswith("as sent, the gaps between arrivals") for fault in seen.faults())
    assert not seen.may_flatter


def test_an_audit_is_plain_data():
    seen = audited(log_of([0], [0], [1]))
    assert json.loads(json.dumps(seen.as_dict()))["sends"] == 1


def test_the_share_of_other_processes_leaves_out_our_own():
    log = log_of([0], [0], [1])
    before = replace(QUIET, busy_cpu_ns=0)
    after = replace(LATER, own_cpu_ns=100 * MS, busy_cpu_ns=100 * MS)
    seen = audit(log, SERVER, before=before, after=after)
    assert seen.foreign_cpu_share == 0


def test_readings_of_this_machine_go_on():
    before, after = Readings.take(), Readings.take()
    assert after.monotonic_ns > before.monotonic_ns
    assert after.own_cpu_ns >= before.own_cpu_ns
    assert abs(after.wall_minus_monotonic_ns - before.wall_minus_monotonic_ns) < 1000 * MS


QUIET_GPU = GpuSeen(
    0,
    "H200",
    "GPU-1",
    "",
    9,
    1,
    2,
    0.5,
    1.0,
    1980,
    1980,
    60,
    {},
    foreign=0,
    unknown=0,
    desktop=0,
    lost="",
    untold={},
)


def test_a_gpu_that_somebody_else_used_is_a_fault_and_one_that_slowed_down_is_not():
    plain = audited(log_of([0], [0], [1]))
    assert replace(plain, gpus=(QUIET_GPU,)).faults() == ()
    shared = replace(plain, gpus=(QUIET_GPU, replace(QUIET_GPU, index=1, foreign=1)))
    assert [fault.partition(";")[0] for fault in shared.faults()] == [
        "a process of somebody else held GPU 1 (H200) during the run"
    ]
    slowed = replace(plain, gpus=(replace(QUIET_GPU, slowed={"power cap": 0.4}),))
    assert slowed.faults() == ()
    assert slowed.candidate_notes() == ("GPU 0 (H200) ran below its clocks: power cap (40% of looks)",)


def test_a_gpu_that_was_not_looked_at_is_noted():
    plain = audited(log_of([0], [0], [1]))
    assert replace(plain, gpus_unseen="no driver").candidate_notes() == (
        "its GPU was not looked at: no driver",
    )
    assert "gpus" not in plain.as_dict()
