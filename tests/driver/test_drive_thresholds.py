"""Every threshold of the audit: read from the ini, sealed, and decisive."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from driver_fakes import log_of

from pytest_procure.driver.arrivals import Law, arrivals_of
from pytest_procure.driver.audit import Worked, audit
from pytest_procure.driver.endpoint.audit import EndpointAudit
from pytest_procure.driver.endpoint.departures import seen_of_endpoint
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.load import Load
from pytest_procure.driver.readings import Readings
from pytest_procure.driver.seen import seen
from pytest_procure.driver.thresholds import THRESHOLDS
from pytest_procure.evidence.laxity import is_lax_threshold
from pytest_procure.scenarios import Scenario
from pytest_procure.threads import Used
from pytest_procure.thresholds import limits

MS = 1_000_000
SERVER = Scenario.declare("server", qps=10, count=100)
BEFORE = Readings(0, 0, 0, 0, 0.1)
#: kind -> what an ini may say, and how it is read
WRITTEN = {
    "time": ("7 ms", 7 * MS),
    "size": ("2 MiB", 2 << 20),
    "share": ("0.25", 0.25),
    "factor": ("2.5", 2.5),
    "number": ("2.5", 2.5),
    "count": ("5", 5),
}


class Ini(dict):
    """A configuration that states some keys."""

    def getini(self, key):
        return self.get(key, "")


def due_at(scheduled, took_ms=1, *, late_ms=0):
    """Make a log of queries that were due then, in ms, left so late, and took so long."""
    due = np.asarray(scheduled, dtype=np.int64) * MS
    started = due + np.asarray(late_ms, dtype=np.int64) * MS
    return log_of(due, started, started + np.asarray(took_ms, dtype=np.int64) * MS)


EVENLY = due_at(range(0, 10_000, 100))


def faults(log, limits, *, window_ms=10_000, foreign_ms=0, **worked):
    after = replace(BEFORE, monotonic_ns=window_ms * MS, busy_cpu_ns=foreign_ms * MS)
    scenario = replace(SERVER, arrivals="constant")
    told = audit(log, scenario, before=BEFORE, after=after, worked=Worked(**worked), limits=limits)
    return " ".join([*told.faults(60_000 * MS), *told.candidate_notes()])


def irregular(times, limits, shape=np.inf):
    return " ".join(
        arrivals_of(np.asarray(times).astype(np.int64), Law.steady(1000, shape), limits).irregular
    )


def notes(limits, seen=None, **more):
    plain = audit(EVENLY, replace(SERVER, arrivals="constant"), before=BEFORE, after=BEFORE, limits=limits)
    known = {each.name: getattr(plain, each.name) for each in dataclasses.fields(plain)}
    told = EndpointAudit(**known | {"candidate": seen or plain.candidate} | more)
    return " ".join([*told.faults(), *told.candidate_notes()]) + " is capped" * told.is_capped


def test_each_threshold_is_a_field_of_the_limits_and_the_other_way_round():
    assert [each.name for each in dataclasses.fields(Limits)] == list(THRESHOLDS)
    keys = [each.key for each in THRESHOLDS.values()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_each_threshold_is_an_ini_key_and_stands_in_the_seal(name):
    threshold = THRESHOLDS[name]
    written, read = WRITTEN[threshold.kind]
    asked = limits(Ini({f"procure_{threshold.key}": written}))
    assert asked == replace(Limits(), **{name: read})
    assert asked.told() != Limits().told()
    sealed = {key for key, told in asked.told().items() if told != Limits().told()[key]}
    assert sealed == {threshold.key}


def test_a_suite_that_states_nothing_has_the_defaults():
    assert limits(Ini()) == Limits()
    assert limits(Ini({f"procure_{key}": told for key, told in Limits().told().items()})) == Limits()


@pytest.mark.parametrize(
    ("key", "sealed", "ran", "lax"),
    [
        ("max_slower", "0.1", "0.2", True),
        ("max_slower", "0.2", "0.1", False),
        ("min_answered", "0.999", "0.99", True),
        ("min_answered", "0.99", "0.999", False),
        ("hiccup", "50 ms", "200 ms", True),
        ("max_server_log", "16777216 B", "1 GiB", True),
        ("max_send_lag", "1 ms", "9 ms", False),
        ("max_send_lag", "9 ms", "1 ms", False),
        ("max_pinned", "0.98", None, True),
    ],
)
def test_a_threshold_is_loosened_where_an_offer_passes_more_easily(key, sealed, ran, lax):
    assert is_lax_threshold(key, sealed, ran) is lax


STILL = due_at(range(0, 10_000, 100), late_ms=[300 if k % 25 == 0 else 0 for k in range(100)])


@pytest.mark.parametrize("asked", [{"stall_ns": 400 * MS}, {"stalled": 0.5}, {"stalled_ns": 2000 * MS}])
def test_how_long_the_harness_may_stand_still_is_the_buyers_to_set(asked):
    known = replace(Limits(), send_lag_of_bar=0.0, send_lag_ns=200 * MS)
    assert "stood still" in faults(STILL, known)
    assert "stood still" not in faults(STILL, replace(known, **asked))


def test_whose_processor_time_was_waited_for_is_told_by_a_share():
    waited = {"waited_ns": 1000 * MS, "foreign_ms": 10_000_000}
    assert "end other programs" in faults(EVENLY, Limits(), **waited)
    assert "behind the candidate's own threads" in faults(EVENLY, Limits(foreign_cpu=1e9), **waited)


def test_short_threads_of_others_are_forgiven_up_to_a_time():
    used = {"window_ms": 100, "others": Used(20 * MS, 0, "poller")}
    assert "`poller` above all" in faults(EVENLY, Limits(), **used)
    assert "`poller` above all" not in faults(EVENLY, Limits(other_threads_ns=30 * MS), **used)


RNG = np.random.default_rng(5)
GAPS = RNG.exponential(MS, 3000)


@pytest.mark.parametrize(
    ("times", "shape", "said", "asked"),
    [
        (np.arange(0, 3000 * MS, MS) * 1.5, np.inf, "times the declared rate", {"arrival_rate": 0.5}),
        (np.cumsum(GAPS), np.inf, "the gaps vary", {"arrival_spread": 1.0}),
        (np.cumsum(np.full(3000, MS)), 1.0, "not distributed", {"arrival_distance": 1.0}),
        (np.cumsum(np.repeat(GAPS[:300], 10)), 1.0, "follow each other", {"arrival_correlation": 1.0}),
        (np.cumsum(np.repeat(GAPS[:300], 10)), 1.0, "follow each other", {"arrival_false_alarm": 0.0}),
    ],
)
def test_how_far_arrivals_may_be_off_is_the_buyers_to_set(times, shape, said, asked):
    assert said in irregular(times, Limits(), shape)
    assert said not in irregular(times, Limits(**asked), shape)


@pytest.mark.parametrize("asked", [{"unsettled": 1.0}, {"slower": 1.0}, {"slower_errors": 1e6}])
def test_when_a_run_has_settled_is_the_buyers_to_set(asked):
    log = due_at(range(0, 90_000, 100), took_ms=[10 + k // 60 for k in range(900)])
    assert seen(log, SERVER, Limits()).never_settled
    assert not seen(log, SERVER, Limits(**asked)).never_settled


@pytest.mark.parametrize(
    ("of", "said", "asked"),
    [
        ({"completed": 90}, "never kept up", {"answered": 0.9}),
        ({"unsent": 5}, "found no connection", {"sent": 0.95}),
    ],
)
def test_how_much_has_to_be_sent_and_answered_is_the_buyers_to_set(of, said, asked):
    found = replace(seen(EVENLY, SERVER, Limits()), **of)
    assert said in notes(Limits(), found)
    assert said not in notes(Limits(**asked), found)


@pytest.mark.parametrize(
    ("of", "said", "asked"),
    [
        ({"load_cpu_share": 0.95}, "computed 95% of the time", {"load_cpu": 0.96}),
        ({"pinned_share": 0.02}, "all 0 connections were in use", {"connections_pinned": 0.05}),
        ({"pinned_share": 0.02}, "is capped", {"connections_pinned": 0.05}),
        ({"reported_tokens": 110, "counted_tokens": 100}, "1.10 times", {"tokens_reported": 1.2}),
        ({"server_log_bytes": 32 << 20}, "flooded its log", {"server_log": 64 << 20}),
    ],
)
def test_what_is_told_of_an_endpoint_is_the_buyers_to_set(of, said, asked):
    assert said in notes(Limits(), **of)
    assert said not in notes(Limits(**asked), **of)


def test_how_sure_an_overload_has_to_be_is_the_buyers_to_set():
    load = Load(1.1, 0.05, 50)
    assert load.is_too_much(Limits())
    assert not load.is_too_much(Limits(sure_load=1.0))
    assert not load.is_too_much(Limits(load_errors=5.0))
    assert Load(1.11, 0.05, 50).is_surely_too_much(Limits())
    assert not Load(1.11, 0.05, 50).is_surely_too_much(Limits(load_errors=3.0))


def test_how_gross_an_overload_is_rejected_is_the_buyers_to_set():
    found = replace(seen(EVENLY, SERVER, Limits()), backlog=40)
    assert found.is_gross(Limits())
    assert not found.is_gross(Limits(gross=2.0))


@pytest.mark.parametrize("asked", [{"side_by_side": 60}, {"hiccup_ns": 600 * MS}, {"backlog_errors": 1e3}])
def test_from_which_backlog_on_an_endpoint_falls_behind_is_the_buyers_to_set(asked):
    took = np.where(np.arange(600) < 200, 10, 10 + np.arange(600))  # ms: a queue that grows
    log = due_at(range(0, 6000, 10), took_ms=took)
    log = replace(log, started=log.scheduled)
    scenario = Scenario.declare("server", qps=100, count=600)

    def load(limits):  # which is only known where a backlog is
        return seen_of_endpoint(seen(log, scenario, limits), log, scenario, 100.0, limits).load

    assert load(Limits()).is_surely_too_much(Limits())
    assert load(Limits(**asked)) is None
