"""Reading answers in the window: a little at a time, and all that somebody waits for."""

import json
import mmap
import os

import pytest

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
