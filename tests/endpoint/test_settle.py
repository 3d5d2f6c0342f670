"""Reading answers in the window: a little at a time, and all that somebody waits for."""

import json
import mmap
import os

import pytest

from pytest_procure.backends.endpoints import readers
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.backends.endpoints.target import Target
from pytest_procure.driver.endpoint import columns
from pytest_procure.driver.endpoint.settle import Settler

ANSWERS = 50


def event(text, finish=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()


@pytest.fixture
def settler():
    """One that has far more to read than it reads at a time."""
    table = columns.views(mmap.mmap(-1, columns.size(ANSWERS)), ANSWERS)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    target = Target("http", "host", 80, "/", "chat", stream=True)
    made = Settler(target, table, 0, nowhere, nowhere)
    body = b"".join(event(f" w{k}") for k in range(500)) + event("", "stop")
    for query in range(ANSWERS):
        made.add((query, 200, {"type": b"text/event-stream"}, [body], [0], False), len(body))
    yield made
    os.close(nowhere)


def test_what_nobody_waits_for_is_read_a_little_at_a_time(settler):
    assert not settler.some()
    assert settler.waiting


def test_what_a_next_turn_waits_for_is_read_on_and_told(settler):
    told = {}
    settler.heard = told.__setitem__
    while settler.some():
        continue
    assert not settler.waiting
    assert list(told) == list(range(ANSWERS))
    assert set(told.values()) == {"".join(f" w{k}" for k in range(500)).encode()}


class Broken:
    """A reader that a hostile answer breaks."""

    def __init__(self, **_):
        pass

    def add(self, payloads):
        raise ZeroDivisionError


def broken(*_):
    raise ZeroDivisionError


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
def test_an_answer_that_breaks_its_reader_is_its_own_failure_and_the_others_are_read(
    settler, monkeypatch, kind
):
    good = settler.waiting.pop()
    settler.waiting.clear()
    settler.add((0, 200, {"type": kind}, [event("x")], [0], False), 1)
    monkeypatch.setattr(readers, "StreamReader", Broken)
    monkeypatch.setitem(readers._WHOLE, "chat", broken)
    settler.catch_up()
    monkeypatch.undo()
    settler.add(good, 1)
    settler.catch_up()
    assert settler.columns["failure"][0] == Failure.BODY
    assert list(settler.texts) == ["the answer cannot be read: ZeroDivisionError", "stop"]
    assert settler.columns["chunks"][good[0]] == 500


@pytest.mark.parametrize("end", [b"\r", b"\n", b":\n\n"])
def test_a_stream_of_empty_lines_is_refused_before_it_is_read(settler, end):
    settler.waiting.clear()
    body = end * ((8 << 20) // len(end))
    settler.add((0, 200, {"type": b"text/event-stream"}, [body], [0], False), len(body))
    settler.catch_up()
    assert settler.columns["failure"][0] == Failure.TOO_LARGE


def test_a_stream_that_says_it_is_not_encoded_is_read(settler):
    settler.waiting.clear()
    body = event(" w0") + event("", "stop")
    fields = {"type": b"text/event-stream", "encoding": b"identity"}
    settler.add((0, 200, fields, [body], [0], False), len(body))
    settler.catch_up()
    assert settler.columns["good"][0] == 1
