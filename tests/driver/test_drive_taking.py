"""An answer is what was there when it was given: nothing that a candidate does later is scored."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from driver_fakes import Numbers, Offer, SetClock, negate
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.backends.function import Function
from pytest_procure.backends.pipeline import Pipeline, Stage
from pytest_procure.backends.protocol import Answer, Passing, StagePass
from pytest_procure.driver import job
from pytest_procure.driver.board import Board
from pytest_procure.driver.log import Status
from pytest_procure.driver.pull import drive
from pytest_procure.driver.taking import Unread, taken
from pytest_procure.driver.workers import one_by_one
from pytest_procure.scenarios import Scenario

TRAFFIC = [
    Scenario.declare("single_stream", warmup=0),
    Scenario.declare("server", qps=5000, count=6, warmup=0),
    Scenario.declare("offline", max_batch=2, warmup=0),
    Scenario.declare("closed_loop", concurrency=2, count=6, max_batch=2, warmup=0),
]


def label(scenario):
    return scenario.label


class Late:
    """Returns an answer that is empty, and fills it when nobody looks at the clock: at its next call.

    A thread of its own does it, as one would that waits for 50 ms.
    """

    def __init__(self, make, fill):
        self.make, self.fill, self.before = make, fill, None

    def __call__(self, inputs):
        if self.before is not None:
            filler = threading.Thread(target=self.fill, args=self.before)
            filler.start()
            filler.join()
        answer = self.make(len(inputs))
        self.before = (answer, inputs)
        return answer


def fill_rows(answer, inputs):
    answer[:] = inputs


def fill_inside(answer, inputs):
    for place, value in enumerate(inputs):
        answer[place][0] = value


LATE = {
    "list": (lambda n: [-1] * n, fill_rows),
    "array": (lambda n: np.full(n, -1), fill_rows),
    "view": (lambda n: np.full(2 * n, -1)[::2], fill_rows),
    "lists in a list": (lambda n: [[-1] for _ in range(n)], fill_inside),
    "dicts in a list": (lambda n: [{0: -1} for _ in range(n)], fill_inside),
    "arrays in a list": (lambda n: [np.full(1, -1) for _ in range(n)], fill_inside),
    "lists in a tuple": (lambda n: tuple([-1] for _ in range(n)), fill_inside),
    "bytes in a list": (lambda n: [bytearray(b"\xff") for _ in range(n)], fill_inside),
    "objects in an array": (
        lambda n: np.array([*[[-1] for _ in range(n)], None], dtype=object)[:n],
        fill_inside,
    ),
}


@pytest.mark.parametrize("scenario", TRAFFIC, ids=label)
@pytest.mark.parametrize("what", LATE)
def test_what_is_filled_after_it_was_returned_is_scored_as_it_was_returned(what, scenario):
    make, fill = LATE[what]
    log = drive(Offer(Late(make, fill)), Numbers(6), scenario).log
    assert log.ok.all()
    empty = (-1, [-1], {0: -1}, b"\xff")
    assert all(
        (answer.tolist() if isinstance(answer, np.ndarray) else answer) in empty for answer in log.answers
    )


@pytest.mark.parametrize("scenario", TRAFFIC, ids=label)
def test_one_buffer_for_all_answers_is_scored_on_what_it_held_each_time(scenario):
    buffer = np.zeros(8, dtype=int)

    def predict(inputs):
        buffer[: len(inputs)] = -inputs
        return buffer[: len(inputs)]

    log = drive(Offer(predict), Numbers(6), scenario).log
    assert [int(answer) for answer in log.answers] == (-100 - log.samples).tolist()


def test_a_stage_that_reuses_its_buffer_is_logged_on_what_it_gave_each_time():
    buffer, given = np.zeros(1), {}

    def embed(inputs):
        buffer[0] = float(inputs[0])
        return [buffer]

    def fill(inputs):
        given["value"] = [float(inputs[0][0])]
        return [given]

    pipeline = Pipeline([Stage("embed", embed), Stage("fill", fill)]).load(Path())
    log = drive(pipeline, Numbers(3), TRAFFIC[0]).log
    expected = [[float(100 + sample)] for sample in log.samples]
    assert [output.tolist() for output in log.stages["embed"].outputs] == expected
    assert [output["value"] for output in log.stages["fill"].outputs] == expected
    assert [answer["value"] for answer in log.answers] == expected


def test_a_function_that_gives_one_dict_for_all_is_scored_on_what_it_held():
    held = {}

    def predict(inputs):
        held["label"] = int(inputs[0])
        return [held]

    log = drive(Function(predict).load(Path()), Numbers(3), TRAFFIC[0]).log
    assert [answer["label"] for answer in log.answers] == (100 + log.samples).tolist()


class Lazy:
    """A sequence that computes when it is read."""

    def __init__(self, time):
        self.time = time

    def __len__(self):
        return 1

    def __getitem__(self, place):
        if place:
            raise IndexError
        self.time.time += 1000
        return 7


class LazyArray:
    """An array of another library, which is computed when somebody asks for it."""

    def __init__(self, time):
        self.time = time

    def __array__(self, dtype=None, copy=None):
        self.time.time += 1000
        return np.array([7])


class Same(str):
    """Equals every reference."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize("make", [Lazy, LazyArray, lambda time: [LazyArray(time)]])
def test_what_computes_when_it_is_read_is_answered_when_it_was_read(make):
    time, board = SetClock(), Board(1)
    one_by_one(board, lambda _: make(time), taken, [0], time.clock, np.zeros(1, dtype=np.int64))
    assert list(board.completed) == [1000]
    assert np.asarray(board.outputs[0]).ravel().tolist() == [7]


def test_an_answer_is_given_when_it_has_been_copied():
    time, board = SetClock(), Board(2)

    def take(returned):
        time.time += 50
        return returned

    one_by_one(board, lambda _: [1], take, [0, 0], time.clock, np.zeros(2, dtype=np.int64))
    assert list(board.completed) == [50, 100]
    assert list(board.started) == [0, 50]  # and makes no query late


def test_a_text_that_equals_everything_is_its_letters():
    log = drive(Offer(lambda inputs: [Same("cat")] * len(inputs)), Numbers(2), TRAFFIC[0]).log
    assert [type(answer) for answer in log.answers] == [str, str]
    assert log.answers != ["dog", "dog"]


@pytest.mark.parametrize("held", [object(), [object()], {"a": [lambda: None]}, np.array([object()])])
def test_what_may_change_unseen_is_no_answer(held):
    log = drive(Offer(lambda _: [held]), Numbers(1), TRAFFIC[0]).log
    assert log.status.tolist() == [Status.ERROR]
    assert "which may change after it was given; expected numbers, text, bytes, arrays" in log.errors[0]


def test_data_without_an_end_are_no_answer():
    endless = []
    endless.append(endless)
    log = drive(Offer(lambda _: endless), Numbers(1), TRAFFIC[0]).log
    assert log.errors == {0: "TypeError: answered with data nested more than 100 deep"}


def test_what_is_no_sequence_does_not_become_one_later():
    class Changing:
        def __getattr__(self, name):
            if name == "__len__" and later:
                return lambda: 1
            raise AttributeError(name)

    later = []
    assert taken(Changing()) == Unread("Changing")


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,  # nested as deep, and drawn in a tenth of the time
)


@given(st.lists(PLAIN))
def test_plain_data_are_taken_as_they_are(value):
    assert taken(value) == value


def test_nothing_is_copied_that_cannot_change():
    text, number, day = "a text", Decimal("1.5"), date(2026, 1, 1)
    for place, each in enumerate(taken([text, number, day, np.float32(1)])):
        assert each is [text, number, day, each][place]


def test_an_output_that_is_also_its_last_stages_is_copied_once():
    output = [1]
    answer = Answer(output, 3, 4, (StagePass("a", Passing.OK, 5, "x"), StagePass("b", Passing.OK, 6, output)))
    (own,) = taken([answer])
    assert own == answer
    assert own.output is own.stages[1].output
    assert own.output is not output


def test_a_tensor_is_taken_as_an_array():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2, requires_grad=True)
    own = taken(tensor)
    with torch.no_grad():
        tensor[:] = 7
    assert own.tolist() == [1, 1]
    half = taken([torch.ones(1, dtype=torch.bfloat16)])
    assert half[0].tolist() == [1]


@pytest.mark.parametrize("scenario", TRAFFIC, ids=label)
def test_an_answer_that_is_filled_while_another_part_is_copied_was_given_when_all_were(scenario):
    late_by = 0.001  # seconds; the first part takes several times as long to copy

    def answer(inputs):
        first, second = np.zeros(4_000_000), np.full(len(inputs), -1)
        threading.Timer(late_by, fill_rows, (second, inputs)).start()
        return [(first, second[place : place + 1]) for place in range(len(inputs))]

    log = drive(Offer(answer), Numbers(6), scenario).log
    took = log.completed - log.started
    for row, (_, second) in enumerate(log.answers):
        assert second[0] == -1 or took[row] >= late_by * 1e9


@pytest.mark.parametrize("scenario", TRAFFIC, ids=label)
def test_a_long_copy_is_the_candidates_and_makes_no_worker_late(scenario, monkeypatch):
    at_least = 0.01  # seconds
    pause = threading.Event()
    monkeypatch.setattr(job, "taken", lambda returned: (pause.wait(at_least), taken(returned))[1])
    log = drive(Offer(negate), Numbers(6), scenario).log
    assert (log.completed - log.started).min() > at_least * 0.9e9


@pytest.mark.parametrize(("zone", "name"), [(None, None), (UTC, "UTC"), (ZoneInfo("UTC"), "UTC")])
def test_a_time_in_a_known_zone_is_taken_as_it_is(zone, name):
    (moment,) = taken([datetime(2026, 1, 1, tzinfo=zone)])
    assert (moment.year, moment.tzname()) == (2026, name)


def test_a_time_in_a_zone_of_the_candidates_own_is_no_answer():
    class Zone(tzinfo):
        def utcoffset(self, _):
            return timedelta(0)

    for moment in (datetime(2026, 1, 1, tzinfo=Zone()), time_of_day(12, tzinfo=Zone())):
        with pytest.raises(TypeError, match="in a zone of class Zone, which may change after it was given"):
            taken([moment])
