"""The first part of a run that is sent and not measured, and warm-up calls by time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, negate

from pytest_procure.driver.cutting import measured_part, part
from pytest_procure.driver.log import RequestLog, StageLog, Status, Wire
from pytest_procure.driver.pull import drive
from pytest_procure.errors import DataError
from pytest_procure.scenarios import Scenario
from pytest_procure.units import ms

declare = Scenario.declare


def log_of(completed, *, scheduled=(0, 10, 20, 30, 40, 50), per=1, stopped=""):
    """Six queries, 10 ms apart unless said otherwise; -1: never answered."""
    ended = np.array([-1 if each < 0 else each * 1_000_000 for each in completed])
    return RequestLog(
        scheduled=np.array(scheduled) * 1_000_000,
        started=np.where(ended >= 0, ended - 1, -1),
        completed=ended,
        status=np.where(ended >= 0, Status.OK, Status.LOST).astype(np.uint8),
        batch=np.arange(6, dtype=np.int32),
        samples=np.arange(6 * per),
        answers=list(range(6 * per)),
        samples_per_query=per,
        errors={1: "cold", 4: "late"},
        stopped=stopped,
        window_ns=100_000_000,
    )


def parted(log, cut):
    run = drive(Offer(negate), Numbers(1), declare("offline"))
    run = measured_part(
        type(run)(log=log, audit=run.audit, conditions={}), Scenario("server", qps=100, count=6, cut=cut)
    )
    return run.cut, run.log, run.conditions


@pytest.mark.parametrize(("cut", "rows"), [(2, 2), (ms(20), 2), (ms(15), 2), (ms(1), 1)])
def test_a_cut_goes_by_count_or_by_time(cut, rows):
    before, after, _ = parted(log_of([5, 15, 25, 35, 45, 55]), cut)
    assert (len(before), len(after)) == (rows, 6 - rows)


def test_what_is_measured_counts_its_time_from_its_own_beginning():
    log = log_of([5, 15, 25, 35, 45, 55])
    _, after, _ = parted(log, 2)
    assert after.scheduled.tolist() == [0, 10_000_000, 20_000_000, 30_000_000]
    assert after.latency.tolist() == log.latency[2:].tolist()
    assert after.window_ns == 80_000_000
    assert after.errors == {2: "late"}
    assert after.answers == [2, 3, 4, 5]


def test_samples_stay_with_their_queries():
    _, after, _ = parted(log_of([5, 15, 25, 35, 45, 55], per=3), 2)
    assert after.samples.tolist() == list(range(6, 18))
    assert len(after.answers) == 12


def test_what_was_cut_is_shown_with_its_failures():
    log = log_of([5, 18, 25, 35, 45, 55])
    log.status[0] = Status.ERROR
    before, _, told = parted(log, 3)
    assert told["cut_off"] == {"queries": 3, "failed": 1, "p50_ms": 5.0, "p99_ms": 8.0, "counted": 3}
    assert before.status.tolist() == [Status.ERROR, Status.OK, Status.OK]
    json.dumps(told)


def test_what_a_hanging_candidate_never_answered_is_not_cut():
    before, after, _ = parted(log_of([5, -1, -1, -1, -1, -1], stopped="answers were missing"), 4)
    assert len(before) == 1
    assert after.status.tolist() == [Status.LOST] * 5
    assert after.stopped == "answers were missing"


def test_a_run_that_is_over_within_its_cut_measures_nothing():
    with pytest.raises(DataError, match="all 6 queries lie in the first 1 s, which are not counted"):
        parted(log_of([5, 15, 25, 35, 45, 55]), declare("single_stream", cut="1 s").cut)


def test_without_a_cut_a_run_stays_as_it_is():
    run = drive(Offer(negate), Numbers(5), declare("single_stream"))
    assert measured_part(run, declare("single_stream")) is run


def test_both_parts_are_the_whole():
    log = drive(Offer(negate), Numbers(20), declare("server", qps=5000, count=20)).log
    first, rest = part(log, 0, 7), part(log, 7, 20)
    assert [*first.answers, *rest.answers] == log.answers
    assert (rest.scheduled + log.scheduled[7]).tolist() == log.scheduled[7:].tolist()


def test_a_warm_up_by_time_calls_until_it_is_over():
    calls = []
    offer = Offer(lambda inputs: calls.append(len(inputs)) or inputs)
    run = drive(offer, Numbers(6), declare("single_stream", warmup="20 ms"))
    assert len(calls) > 6
    assert run.conditions["warmup"] == "20 ms"
    assert run.conditions["warmup_calls_by_batch"] == {"1": len(calls) - 6}


def test_a_warm_up_by_time_takes_one_call_of_each_batch_size_at_least():
    calls = []
    offer = Offer(lambda inputs: calls.append(len(inputs)) or inputs)
    drive(offer, Numbers(8), declare("offline", max_batch=4, warmup="1 ns"))
    assert calls[:2] == [1, 4]


def test_what_stages_and_the_wire_saw_stays_with_its_query():
    log = log_of([5, 15, 25, 35, 45, 55])
    log.stages = {"rank": StageLog.empty(6)}
    log.stages["rank"].ns[:] = range(6)
    one = np.arange(6)
    log.wire = Wire(
        headers=one * 10_000_000 + 1,
        token_starts=np.arange(7),
        token_times=one * 10_000_000 + 2,
        chunks=np.ones(6, dtype=np.int32),
        counted_input=one,
        counted=one,
        cached=np.zeros(6, dtype=np.int32),
        received=one.astype(np.uint32),
        http=np.full(6, 200, dtype=np.uint16),
        retries=np.zeros(6, dtype=np.uint8),
        failure=np.zeros(6, dtype=np.uint8),
        given_up=np.zeros(6, dtype=np.bool_),
    )
    _, after, _ = parted(log, 2)
    assert after.stages["rank"].ns.tolist() == [2, 3, 4, 5]
    assert after.wire.received.tolist() == [2, 3, 4, 5]
    assert (after.wire.headers - after.scheduled).tolist() == [1] * 4
    assert (after.wire.first_token - after.scheduled).tolist() == [2] * 4
