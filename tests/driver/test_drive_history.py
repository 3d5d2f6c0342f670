"""Sessions whose turns carry what was said before, for backends that are called in this process."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from driver_fakes import Numbers, Offer

from pytest_procure.driver.pull import drive
from pytest_procure.driver.source import SampleSource
from pytest_procure.errors import DataError
from pytest_procure.scenarios import Scenario, order_of

declare = Scenario.declare


class Questions:
    """A slice whose sample k is a text."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def take(self, indices):
        return [f"question {k}" for k in indices]


class Chat:
    """Answers with the last message and how many there were, and keeps what it was asked."""

    def __init__(self, fails=""):
        self.fails = fails
        self.asked = []
        self.lock = threading.Lock()

    def __call__(self, batch):
        with self.lock:
            self.asked += batch
        return [
            None if self.fails and conversation[-1]["content"].endswith(self.fails) else answer(conversation)
            for conversation in batch
        ]


def answer(conversation):
    said = f"{len(conversation)}: {conversation[-1]['content']}"
    conversation.clear()  # what it was given is its own
    return said


def sessions(chat, *, turns=3, count=6, source=None, **more):
    scenario = declare("sessions", starts=500, turns=turns, count=count, history=True, warmup=0, **more)
    source = source or Questions(turns * count)
    run = drive(Offer(chat), source, scenario)
    return run, order_of(scenario, len(source), turns * count).reshape(count, turns).tolist()


@pytest.mark.parametrize(
    "more", [{}, {"max_batch": 4, "max_wait": "2 ms"}, {"workers": 3, "think_time": "1 ms"}], ids=str
)
def test_a_turn_is_asked_with_the_questions_before_it_and_the_answers_they_were_given(more):
    kept = []

    class Keeping(Chat):
        def __call__(self, batch):
            with self.lock:
                kept.extend([[dict(each) for each in conversation] for conversation in batch])
            return super().__call__(batch)

    run, asked = sessions(Keeping(), **more)
    assert run.log.ok.all(), run.log.errors
    told = {conversation[-1]["content"]: conversation for conversation in kept}
    assert len(kept) == len(told) == 18
    for samples in asked:
        said = []
        for sample in samples:
            question = f"question {sample}"
            said.append({"role": "user", "content": question})
            assert told[question] == said
            said.append({"role": "assistant", "content": f"{len(said)}: {question}"})
    assert run.conditions["inputs"] == "gathered in the run"


def test_a_turn_that_failed_is_left_out_with_its_question():
    order = order_of(declare("sessions", starts=1, turns=3, count=1, history=True), 3, 3)
    run, _ = sessions(Chat(fails=f" {order[1]}"), turns=3, count=1)
    assert run.log.ok.tolist() == [True, False, True]
    assert run.log.answers[2].startswith("3: ")  # a question, its answer, and its own


def test_what_raises_is_left_out_as_well():
    calls = []

    def chat(batch):
        calls.append(len(batch[0]))
        if len(calls) == 1:
            raise RuntimeError("not today")
        return ["yes"]

    sessions(chat, turns=3, count=1)
    assert calls == [1, 1, 3]


def test_the_warm_up_asks_as_a_first_turn_does():
    lengths = []

    def chat(batch):
        lengths.append([(len(each), each[0]["role"]) for each in batch])
        return ["yes"] * len(batch)

    scenario = declare("sessions", starts=500, turns=1, count=3, history=True, warmup=4)
    drive(Offer(chat), Questions(3), scenario)
    assert lengths == [[(1, "user")]] * 7


def test_numbers_are_no_messages():
    with pytest.raises(DataError, match="expected a text, or a list of messages"):
        sessions(Chat(), source=Numbers(18))


def test_recorded_answers_beside_given_ones_are_refused():
    class Recorded(Questions):
        def take(self, indices):
            return [[{"role": "assistant", "content": "hello"}, {"role": "user", "content": "?"}]] * len(
                indices
            )

    with pytest.raises(DataError, match="a message of role `assistant`"):
        sessions(Chat(), source=Recorded(18))


def test_texts_of_numpy_are_texts():
    class Array(Questions):
        def take(self, indices):
            return np.array(super().take(indices))

    source: SampleSource = Array(18)
    run, _ = sessions(Chat(), source=source)
    assert run.log.ok.all()
