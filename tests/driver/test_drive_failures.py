from __future__ import annotations

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, negate, printed

from pytest_procure.backends.protocol import Answer, Passing, StagePass
from pytest_procure.driver import pull
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.scenarios import Scenario
from pytest_procure.units import ms

ONE_AT_A_TIME = Scenario.declare("single_stream", warmup=0)


def answers(*returned):
    """Make a backend that returns, or raises, one of `returned` after the other."""
    left = list(returned)

    def predict(_):
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return Offer(predict)


def test_an_exception_fails_its_request_and_the_run_goes_on():
    log = drive(answers([1], ValueError("no such class"), [3]), Numbers(3), ONE_AT_A_TIME).log
    assert log.status.tolist() == [Status.OK, Status.ERROR, Status.OK]
    assert log.errors == {1: "ValueError: no such class"}
    assert log.answers == [1, None, 3]
    assert (log.completed >= log.started).all()


def test_blank_text_is_an_answer_as_it_is_from_an_endpoint():
    log = drive(answers([" "]), Numbers(1), ONE_AT_A_TIME).log
    assert log.status.tolist() == [Status.OK]


def test_an_answer_may_say_that_it_is_an_error():
    log = drive(answers([1], [Answer(None, error="stage a: no\nindex")]), Numbers(2), ONE_AT_A_TIME).log
    assert log.status.tolist() == [Status.OK, Status.ERROR]
    assert log.errors == {1: "stage a: no index"}


def test_how_samples_passed_stages_stands_in_the_log():
    passed = Answer(7, stages=(StagePass("a", Passing.OK, 5, "x", 3, 1), StagePass("b", Passing.NOT_REACHED)))
    log = drive(answers([1], [passed]), Numbers(2), ONE_AT_A_TIME).log
    assert list(log.stages) == ["a", "b"]
    assert log.stages["a"].passing.tolist() == [Passing.UNKNOWN, Passing.OK]
    assert log.stages["a"].ns.tolist() == [-1, 5]
    assert log.stages["a"].outputs == [None, "x"]
    assert log.stages["b"].passing.tolist() == [Passing.UNKNOWN, Passing.NOT_REACHED]
    assert (log.input_tokens, log.stages["a"].input_tokens.tolist()) == (None, [-1, 3])


@pytest.mark.parametrize(
    "stages",
    [
        3,
        ("a",),
        (StagePass(3, Passing.OK),),
        (StagePass("a", 9),),
        (StagePass("a", Passing.OK, 2**70),),
        (StagePass("a", Passing.OK, "long"),),
    ],
)
def test_stages_that_are_none_are_passed_over(stages):
    log = drive(answers([Answer(1, stages=stages, error=None)]), Numbers(1), ONE_AT_A_TIME).log
    assert (log.stages, log.answers) == ({}, [1])


def test_no_more_stages_are_kept_than_any_pipeline_has():
    many = Answer(1, stages=tuple(StagePass(f"s{i}", Passing.OK) for i in range(1000)))
    assert len(drive(answers([many]), Numbers(1), ONE_AT_A_TIME).log.stages) == 64


def test_an_exception_fails_every_request_of_its_batch():
    scenario = Scenario.declare("offline", max_batch=2, warmup=0)
    log = drive(answers([1, 2], MemoryError(), [5]), Numbers(5), scenario).log
    assert log.status.tolist() == [Status.OK, Status.OK, Status.ERROR, Status.ERROR, Status.OK]
    assert log.errors == {2: "MemoryError", 3: "MemoryError"}


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize(
    "scenario",
    [
        ONE_AT_A_TIME,
        Scenario.declare("server", qps=9000, count=3, warmup=0),
        Scenario.declare("offline", workers=2, warmup=0),
    ],
    ids=lambda scenario: scenario.name,
)
def test_no_exception_ends_a_worker(kind, scenario):
    log = drive(answers([1], kind(3), [3]), Numbers(3), scenario).log
    assert sorted(log.status.tolist()) == [Status.OK, Status.OK, Status.ERROR]
    assert [message.split(":")[0] for message in log.errors.values()] == [kind.__name__]


def test_a_message_is_one_short_printable_line():
    text = "line\none\x1b[31m\u202e\x00 \ud800" + "x" * 10_000
    log = drive(answers(RuntimeError(text)), Numbers(1), ONE_AT_A_TIME).log
    assert log.errors[0].startswith("RuntimeError: line one [31m xxx")
    assert log.errors[0].isprintable()
    assert len(log.errors[0]) == 200


def test_an_exception_that_cannot_be_told_is_told():
    class Mute(Exception):  # noqa: N818 - named after what it is
        def __str__(self):
            raise SystemExit

    log = drive(answers(Mute(), [2]), Numbers(2), ONE_AT_A_TIME).log
    assert log.errors == {0: "Mute: (its text cannot be read)"}
    assert log.status.tolist() == [Status.ERROR, Status.OK]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "answered with nothing: the backend returned None"),
        ([], "answered 1 inputs with 0 outputs"),
        ([1, 2], "answered 1 inputs with 2 outputs"),
        (np.zeros(0), "answered 1 inputs with 0 outputs"),
        ([None], "answered with nothing: the output is None"),
        ([""], "answered with nothing: the output is an empty text"),
        ([b""], "answered with nothing: the output is an empty text"),
        (np.array([""]), "answered with nothing: the output is an empty text"),
        ([Answer("")], "answered with nothing: the output is an empty text"),
        ([Answer(None, 1, 1)], "answered with nothing: the output is None"),
        ("x", "answered with a str; expected a sequence of 1 outputs"),
        ({"label": 1}, "answered with a dict; expected a sequence of 1 outputs"),
        (iter([1]), "answered with a list_iterator; expected a sequence of 1 outputs"),
        (np.float32(1), "answered with a float32; expected a sequence of 1 outputs"),
        (np.array(1.0), "answered with a ndarray that cannot be read: TypeError"),
        ([float("nan")], "answered with nan"),
        ([float("-inf")], "answered with -inf"),
        (np.array([np.nan]), "answered with nan"),
        (np.array([[1, np.inf]]), "answered with an array that holds NaN or infinity"),
        ([np.array([np.nan], dtype=np.float16)], "answered with an array that holds NaN or infinity"),
        ([Answer(np.float32("nan"), 1, 1)], "answered with an array that holds NaN or infinity"),
    ],
)
def test_what_is_no_answer_is_empty(returned, message):
    log = drive(answers(returned), Numbers(1), ONE_AT_A_TIME).log
    assert log.status.tolist() == [Status.EMPTY]
    assert log.errors == {0: message}


def test_one_bad_output_spoils_only_its_own_request():
    scenario = Scenario.declare("offline", max_batch=3, warmup=0)
    log = drive(answers(np.array([1.0, np.nan, 3.0])), Numbers(3), scenario).log
    assert log.status.tolist() == [Status.OK, Status.EMPTY, Status.OK]


def test_one_bad_output_spoils_its_whole_query_of_several_samples():
    scenario = Scenario.declare("multi_stream", samples_per_query=2, warmup=0)
    log = drive(answers([1, None], [3, 4]), Numbers(4), scenario).log
    assert log.status.tolist() == [Status.EMPTY, Status.OK]


def test_too_few_outputs_spoil_the_batch_because_nobody_knows_whose_they_are():
    scenario = Scenario.declare("offline", max_batch=3, warmup=0)
    log = drive(answers([1, 2]), Numbers(3), scenario).log
    assert log.status.tolist() == [Status.EMPTY] * 3
    assert log.answers == [None] * 3


def test_tokens_are_counted_where_they_are_reported():
    log = drive(answers([Answer("a", 5, 7)], ["b"], [Answer("c", -1, None)]), Numbers(3), ONE_AT_A_TIME).log
    assert log.answers == ["a", "b", "c"]
    assert log.input_tokens.tolist() == [5, -1, -1]
    assert log.output_tokens.tolist() == [7, -1, -1]


def test_tokens_from_a_cache_are_counted_where_they_are_reported():
    counted = Answer("a", 5, 7, (StagePass("s", Passing.OK, 1, "a", 5, 7, 4),), cached_tokens=4)
    log = drive(answers([counted], [Answer("b", 5, 7)]), Numbers(2), ONE_AT_A_TIME).log
    assert log.cached_tokens.tolist() == [4, -1]
    assert log.stages["s"].cached_tokens.tolist() == [4, -1]


def test_without_reports_there_are_no_token_columns():
    log = drive(answers(["a"]), Numbers(1), ONE_AT_A_TIME).log
    assert log.input_tokens is None
    assert log.output_tokens is None


@pytest.mark.parametrize("name", ["single_stream", "multi_stream", "offline"])
def test_an_answer_after_the_deadline_is_a_time_out(name):
    scenario = Scenario.declare(name, timeout="1 ns")
    log = drive(Offer(negate), Numbers(8), scenario).log
    assert (log.status == Status.TIMEOUT).all()
    assert (log.completed > log.started).all()


def test_offline_does_not_count_the_queue_against_the_deadline():
    waited = threading.Event()
    calls = []

    def slow_first(inputs):
        calls.append(1)
        waited.wait(0.02 if len(calls) == 1 else 0)
        return inputs

    scenario = Scenario.declare("offline", timeout="15 ms", warmup=0)
    log = drive(Offer(slow_first), Numbers(2), scenario).log
    assert log.completed[1] > 15_000_000
    assert log.status[0] == Status.TIMEOUT
    assert (log.status[1] == Status.OK) == (log.completed[1] - log.started[1] <= 15_000_000)


class Stuck:
    """A backend that answers `good` calls and then never returns, until it is released."""

    def __init__(self, good):
        self.good = good
        self.calls = 0
        self.released = threading.Event()
        self.left = threading.Event()
        self.held = []  # threads

    def __call__(self, inputs):
        self.calls += 1
        if self.calls > self.good:
            self.held.append(threading.current_thread())
            self.released.wait()
            self.left.set()
        return inputs


def release(backend):
    backend.released.set()
    for thread in backend.held:
        thread.join(10)


@pytest.fixture
def stuck(monkeypatch):
    monkeypatch.setattr(pull, "_GRACE_NS", 20_000_000)
    backend = Stuck(good=2)
    yield backend
    release(backend)


HANGS = [
    Scenario.declare("single_stream", drain="250 ms", warmup=0),
    Scenario.declare("multi_stream", drain="250 ms", samples_per_query=1, warmup=0),
    Scenario.declare("offline", drain="250 ms", warmup=0),
    Scenario.declare("server", qps=5000, count=5, drain="250 ms", warmup=0),
    Scenario.declare("server", qps=5000, count=5, max_wait="1 us", drain="250 ms", warmup=0),
    Scenario.declare("server", qps=5000, count=5, workers=2, drain="250 ms", warmup=0),
]


@pytest.mark.parametrize("scenario", HANGS, ids=lambda scenario: scenario.label)
def test_a_hanging_backend_ends_the_run_with_what_was_measured(stuck, scenario, thawed):
    run = drive(Offer(stuck), Numbers(5), scenario)
    assert run.hung
    assert not run.interrupted
    assert sorted(run.log.status.tolist()) == [Status.LOST] * 3 + [Status.OK] * 2
    assert run.log.stopped.startswith("answers were still missing 250 ms after the last ")
    assert run.log.stopped.endswith("; a call of the backend did not return")
    assert run.log.window_ns >= 250_000_000
    assert (run.log.latency >= 0).all()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("scenario", HANGS, ids=lambda scenario: scenario.label)
def test_what_comes_after_the_end_does_not_reach_the_log(stuck, scenario):
    log = drive(Offer(stuck), Numbers(5), scenario).log
    before = [log.started.tobytes(), log.completed.tobytes(), log.status.tobytes(), list(log.answers)]
    release(stuck)
    assert stuck.left.is_set()
    assert [log.started.tobytes(), log.completed.tobytes(), log.status.tobytes(), list(log.answers)] == before


def test_a_run_may_last_longer_than_its_drain_while_answers_come():
    never = threading.Event()
    scenario = Scenario.declare("single_stream", drain="400 ms", warmup=0)
    run = drive(Offer(lambda batch: (never.wait(0.15), batch)[1]), Numbers(4), scenario)
    assert run.log.window_ns > 400_000_000
    assert run.log.ok.all()
    assert run.log.stopped == ""


def test_nothing_is_sent_after_the_end(stuck):
    drive(Offer(stuck), Numbers(5), HANGS[0])
    assert stuck.calls == 3
    release(stuck)
    assert stuck.left.is_set()
    assert stuck.calls == 3


def test_a_hang_in_a_run_by_duration_loses_the_query_that_was_sent(stuck):
    scenario = Scenario.declare("single_stream", duration="60 s", drain="250 ms", warmup=0)
    log = drive(Offer(stuck), Numbers(5), scenario).log
    assert log.status.tolist() == [Status.OK, Status.OK, Status.LOST]


def test_a_hang_in_the_warm_up_loses_every_request(stuck):
    scenario = replace(Scenario.declare("server", qps=100, count=4, warmup=3), wall_limit=ms(80))
    run = drive(Offer(stuck), Numbers(4), scenario)
    assert run.hung
    assert run.log.stopped.startswith("the warm-up was not over at the wall limit of 80 ms")
    assert run.log.status.tolist() == [Status.LOST] * 4
    assert not run.audit.faults()


def test_the_wall_limit_ends_a_run_whose_backend_is_well():
    scenario = replace(Scenario.declare("server", qps=2, count=100), wall_limit=ms(1000))
    run = drive(Offer(negate), Numbers(4), scenario)
    assert run.log.stopped == "the wall limit of 1000 ms was over"
    assert not run.hung
    assert run.log.status[-1] == Status.LOST
    assert run.audit.candidate.unsent == 0  # what was not due is not held against the candidate
    assert not run.audit.candidate_notes()


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario.declare("offline", max_batch=2, count=600),
        Scenario.declare("single_stream", count=600),
        Scenario.declare("multi_stream", duration="60 s"),
        Scenario.declare("closed_loop", concurrency=3, count=600),
        Scenario.declare("closed_loop", concurrency=3, workers=2, duration="60 s"),
        Scenario.declare("server", qps=100, count=600),
        Scenario.declare("burst", base=9, peak=90, period="1 s", duration="60 s", workers=2),
        Scenario.declare("ramp", start=9, end=90, duration="60 s"),
        Scenario.declare("sessions", starts=90, turns=3, think_time="1 s", count=200),
    ],
    ids=lambda scenario: f"{scenario.name}-{scenario.workers}",
)
def test_the_wall_limit_ends_a_run_of_every_kind(scenario):
    pause = threading.Event()
    slow = Offer(lambda inputs: (pause.wait(0.02), -inputs)[1])
    limited = replace(scenario, warmup=0, wall_limit=ms(1000), drain=ms(60_000))
    run = drive(slow, Numbers(4), limited)
    assert run.log.stopped == "the wall limit of 1000 ms was over"
    assert not run.hung
    assert (run.log.completed >= 0).sum() < 100


INTERRUPTED = """
import gc, signal, sys, threading
from driver_fakes import Numbers, Offer
from pytest_procure.driver import pull
from pytest_procure.scenarios import Scenario

calls, over, never = [], threading.Event(), threading.Event()

class Crew(pull.Crew):
    def join(self, grace):
        over.set()
        for _ in range(AGAIN):
            signal.raise_signal(signal.SIGINT)
        return super().join(grace)

pull.Crew = Crew

def predict(inputs):
    calls.append(1)
    if len(calls) == 3:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        UNTIL.wait()
    return inputs

run = pull.drive(Offer(predict), Numbers(9), Scenario.declare("single_stream", warmup=WARMUP))
status = run.log.status.tolist()[:3]
print(run.interrupted, run.hung, run.log.stopped, status, gc.isenabled(), gc.get_freeze_count())
"""


@pytest.mark.parametrize(
    ("until", "warmup", "again", "expected"),
    [
        ("over", "0", 0, "True False interrupted [1, 1, 0] True 0"),
        ("over", "0", 1, "True False interrupted [1, 1, 0] True 0"),
        ("never", "0", 0, "True True interrupted; a call of the backend did not return [1, 1, 0] True 0"),
        ("over", "5", 0, "True False interrupted [0, 0, 0] True 0"),
    ],
)
def test_ctrl_c_leaves_a_partial_log_that_says_so(until, warmup, again, expected):
    program = INTERRUPTED.replace("UNTIL", until).replace("WARMUP", warmup).replace("AGAIN", str(again))
    assert printed(program) == expected
