"""Real processes that end in every way there is, driven by the driver that a session uses."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import isolated_offers as offers
import numpy as np
import pytest

from pytest_procure.backends.function import Function
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.isolation.hosted import Hosted
from pytest_procure.scenarios import Scenario
from pytest_procure.units import ms

ONE_AT_A_TIME = Scenario.declare("single_stream", warmup=0, timeout="60 s", drain="60 s")
AT_A_RATE = Scenario.declare("server", qps=2000, count=9, warmup=0, timeout="60 s", drain="60 s")
IMPATIENT = Scenario.declare("single_stream", warmup=0, timeout="300 ms", drain="300 ms")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Numbers:
    """A slice whose sample k is the number 100 + k."""

    def __init__(self, n):
        self.values = np.arange(100, 100 + n)

    def __len__(self):
        return len(self.values)

    def take(self, indices, /):
        return self.values[indices]


def descriptors():
    """List our open files by number; what lists them is among them, on both sides."""
    return {each.name for each in Path("/proc/self/fd").iterdir()} if sys.platform == "linux" else set()


@pytest.fixture
def host():
    """Bring backends up in processes of their own, and see that nothing of them is left."""
    up = []
    gc.collect()
    before = descriptors()

    def make(call, **limits):
        hosted = Hosted(Function(call), **limits).load(Path())
        up.append((hosted, list(hosted.pids)))
        return hosted

    yield make
    pids = {pid for hosted, first in up for pid in (*first, *hosted.pids)}
    for hosted, _ in up:
        hosted.close()
    limit = time.monotonic() + 20
    while pids & living_groups() and time.monotonic() < limit:  # what was killed takes a moment to be gone
        time.sleep(0.01)
    assert not pids & living_groups()
    up.clear()
    del hosted
    gc.collect()
    assert descriptors() <= before


def living_groups():
    """List the process groups in which something lives; the dead may be waiting to be collected."""
    told = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told.append(each.read_text("utf-8", "replace").rpartition(")")[2].split())
    return {int(group) for state, _, group, *_ in told if state not in "ZX"}


def ended(run):
    """Give what one ending of a run was, and see that the driver itself is well."""
    assert not run.hung
    assert not run.interrupted
    assert gc.isenabled()
    (ending,) = run.endings
    return ending


@pytest.mark.parametrize(
    ("what", "kind", "told"),
    [
        (offers.crashes, "signal", "its process was ended by SIGSEGV (segmentation fault)"),
        (offers.aborts, "signal", "its process was ended by SIGABRT (it aborted)"),
        (offers.leaves, "exit", "its process ended itself with exit status 0"),
        (offers.kills_itself, "killed", "its process was killed by SIGKILL, nobody knows by whom"),
        (offers.shouts, "channel", "it sent bytes on the channel that are no answer, and was ended"),
        (offers.answers_again, "duplicate", "it answered one call more than once, and was ended"),
        (offers.leaves_a_child_behind, "exit", "its process ended itself with exit status 0"),
    ],
)
@pytest.mark.parametrize("scenario", [ONE_AT_A_TIME, AT_A_RATE], ids=lambda scenario: scenario.name)
def test_what_ends_the_process_is_named_and_the_rest_is_kept(host, what, kind, told, scenario):
    run = drive(host(offers.At(4, what)), Numbers(9), scenario)
    ending = ended(run)
    assert ending.kind == kind
    assert ending.sentence.startswith(told)
    assert run.log.stopped == ending.sentence
    assert run.log.status.tolist() == [Status.OK] * 3 + [Status.ERROR] + [Status.LOST] * 5
    assert run.log.answers[:3] == [-sample for sample in (100 + run.log.samples[:3]).tolist()]
    assert run.log.errors[3].startswith("Ended: ")


@pytest.mark.parametrize(
    ("what", "kind"), [(offers.hangs, "hang"), (offers.swallows, "hang"), (offers.hangs_up, "channel")]
)
def test_an_answer_that_never_comes_ends_within_the_deadline(host, what, kind):
    run = drive(host(offers.At(3, what)), Numbers(9), IMPATIENT)
    assert ended(run).kind in {kind, "hang"}  # a busy machine may be waited for too long before
    assert run.log.status.tolist()[4:] == [Status.LOST] * 5
    assert run.log.stopped


def test_a_call_that_outlasts_its_deadline_does_not_hold_up_a_long_run(host):
    scenario = Scenario.declare(
        "server", qps=0.05, count=3, warmup=0, timeout="100 ms", drain="100 ms", wall_limit="1 h"
    )
    run = drive(host(offers.At(1, offers.hangs)), Numbers(3), scenario)
    assert ended(run).sentence.startswith("its process hung: there was no answer within 0.2 s")
    assert run.log.window_ns < 30e9  # the next request is due after 20 s on average


def test_a_call_that_outlasts_the_run_is_ended_with_it(host):
    scenario = Scenario.declare("single_stream", warmup=0, timeout="10 min", drain="10 min")
    scenario = replace(scenario, drain=ms(300))
    run = drive(host(offers.At(3, offers.hangs)), Numbers(5), scenario)
    assert ended(run).sentence.startswith("its process hung: answers were still missing 300 ms after")
    assert run.log.status.tolist() == [Status.OK] * 2 + [Status.LOST] * 3


@LINUX
def test_nobody_waits_for_what_the_process_has_left_behind(host):
    run = drive(host(offers.At(2, offers.leaves_a_stranger_behind)), Numbers(3), ONE_AT_A_TIME)
    ending = ended(run)
    os.kill(int(ending.sentence.rpartition('"')[0].rpartition('"')[2]), signal.SIGKILL)
    assert ending.kind == "exit"
    assert not run.hung
    assert run.log.window_ns < 30e9  # it holds the channel open for 60 s


def test_a_hang_in_the_warm_up_ends_too(host):
    scenario = Scenario.declare("single_stream", warmup=2, timeout="100 ms", drain="100 ms")
    run = drive(host(offers.At(1, offers.hangs)), Numbers(3), scenario)
    assert ended(run).kind == "hang"
    assert run.log.status.tolist() == [Status.LOST] * 3


@LINUX
def test_a_leak_ends_at_the_declared_limit(host):
    run = drive(host(offers.At(3, offers.leaks), memory_limit=300_000_000), Numbers(9), ONE_AT_A_TIME)
    ending = ended(run)
    assert ending.kind == "memory limit"
    assert "of memory, more than its limit of 300 MB, and was ended" in ending.sentence
    assert run.log.status.tolist()[:2] == [Status.OK] * 2


def test_a_kill_from_outside_is_nobodys(host):
    hosted = host(offers.same)
    scenario = Scenario.declare("single_stream", duration="60 s", warmup=0)
    killed = threading.Event()

    def kill(begun, *_):
        if begun > 1 and not killed.is_set():
            killed.set()
            os.kill(hosted.pids[0], signal.SIGKILL)

    run = drive(hosted, Numbers(9), scenario, progress=kill)
    ending = ended(run)
    assert not ending.by_candidate
    assert ending.name == "a kill (SIGKILL)"
    assert (run.log.status == Status.OK).sum() >= 1
    assert (run.log.status != Status.OK).sum() <= 1


def test_an_exception_fails_its_request_as_it_does_in_this_process(host):
    run = drive(host(offers.At(2, offers.raises)), Numbers(4), ONE_AT_A_TIME)
    assert not run.endings
    assert run.log.status.tolist() == [Status.OK, Status.ERROR, Status.OK, Status.OK]
    assert run.log.errors == {1: "KeyError: 'no such class'"}


@pytest.mark.parametrize("what", [offers.exits])
def test_leaving_by_exception_is_a_failed_request(host, what):
    run = drive(host(offers.At(2, what)), Numbers(3), ONE_AT_A_TIME)
    assert not run.endings
    assert run.log.status.tolist() == [Status.OK, Status.ERROR, Status.OK]


def test_too_few_answers_are_empty_as_they_are_in_this_process(host):
    scenario = Scenario.declare("offline", max_batch=4, warmup=0)
    run = drive(host(offers.At(1, offers.answers_too_few)), Numbers(4), scenario)
    assert run.log.status.tolist() == [Status.EMPTY] * 4
    assert run.log.errors[0] == "answered 4 inputs with 3 outputs"


def test_an_answer_that_holds_code_is_refused(host):
    run = drive(host(offers.At(1, offers.answers_with_code)), Numbers(2), ONE_AT_A_TIME)
    assert run.log.status.tolist() == [Status.ERROR, Status.OK]
    assert run.log.errors[0].startswith("TypeError: answered with a function, which cannot leave its process")


def test_the_last_words_are_quoted_on_one_printable_line(host):
    ending = ended(drive(host(offers.At(1, offers.mutters)), Numbers(2), ONE_AT_A_TIME))
    assert ending.sentence == (
        'its process ended itself with exit status 7; it last wrote "a word before I go [31m"'
    )


def test_the_next_run_gets_a_fresh_process(host):
    hosted = host(offers.At(2, offers.leaves))
    first = hosted.pids
    assert ended(drive(hosted, Numbers(3), ONE_AT_A_TIME)).kind == "exit"
    again = drive(hosted, Numbers(1), ONE_AT_A_TIME)
    assert again.log.status.tolist() == [Status.OK]
    assert not again.endings
    assert hosted.pids != first
    assert again.conditions["processes_started_anew"] == 1


def test_an_end_between_two_runs_is_told_by_the_next(host):
    hosted = host(offers.negate)
    os.kill(hosted.pids[0], signal.SIGKILL)
    limit = time.monotonic() + 10
    while not hosted._lanes[0]._process.gone and time.monotonic() < limit:
        time.sleep(0.01)
    run = drive(hosted, Numbers(3), ONE_AT_A_TIME)
    assert run.log.status.tolist() == [Status.OK] * 3
    assert ended(run).idle
    assert not run.broken


def test_each_worker_has_a_process_of_its_own(host):
    hosted = host(offers.tells_its_pid)
    scenario = Scenario.declare("offline", workers=3, count=60, warmup=2)
    run = drive(hosted, Numbers(60), scenario)
    assert len(hosted.pids) == 3
    assert set(run.log.answers) <= set(hosted.pids)
    assert run.conditions["processes"] == 3
    assert run.conditions["isolation"] == "process"
    assert run.conditions["hand_off_p50_us"] > 0
    drive(hosted, Numbers(3), ONE_AT_A_TIME)
    assert len(hosted.pids) == 1
