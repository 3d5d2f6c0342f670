"""Tokens are counted the buyer's way too: of what was asked and of what was answered."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mock_process import Texts
from test_endpoint_turns import talk
from test_token_metrics import execution

from pytest_procure.driver.endpoint.recount import Recount, texts_of
from pytest_procure.evidence.streams import stream_record


def words(text):
    return len(text.split())


def body(**asked):
    return json.dumps(asked).encode()


def said(*contents):
    return body(messages=[{"role": "user", "content": each} for each in contents], model="m")


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        (said("one", "two"), ["one", "two"]),
        (said([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), ["one", "two"]),
        (said([{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {}}]), None),
        (said("one", None), None),
        (body(messages=[]), None),
        (body(prompt="one", model="m"), ["one"]),
        (body(input="one", model="m"), ["one"]),
        (body(inputs=[1, 2]), None),
        (b"[1]", None),
    ],
)
def test_what_is_asked_are_the_texts_of_a_body(asked, texts):
    assert texts_of(asked) == texts


class Longer(Texts):
    """Sample k is a text of k + 1 words."""

    def take(self, indices):
        return [" ".join(["word"] * (k + 1)) for k in indices.tolist()]


@pytest.mark.parametrize("kind", ["chat", "completions", "embeddings"])
def test_questions_are_counted_beside_what_the_endpoint_reports_of_them(mock, kind):
    endpoint = mock.endpoint(count_tokens=words, kind=kind, stream=kind == "chat", load_processes=2)
    run = _driven(mock, endpoint, Longer(20))
    assert run.log.ok.all(), run.log.errors
    assert run.log.wire.counted_input.tolist() == (run.log.samples + 1).tolist()
    assert run.audit.uncounted == ""
    tokens = stream_record(execution(run.log))["tokens"]
    assert tokens["counted_input"] == int((run.log.samples + 1).sum())
    assert tokens["reported_input"] == 3 * len(run.log)


def _driven(mock, endpoint, source):
    from pytest_procure.driver.endpoint.drive import drive
    from pytest_procure.scenarios import Scenario

    return drive(endpoint, source, Scenario.declare("closed_loop", concurrency=4, count=50, warmup=0))


def test_a_turn_that_carries_others_is_counted_with_them(mock):
    mock.behave(parrot=True, tokens=1, error_every=4)
    log, sent, _ = talk(mock, turns=4, count=3, endpoint=mock.endpoint(count_tokens=words), think_time="9 ms")
    assert not log.ok.all()
    counted = {}
    for query, requests in sent.items():
        counted[query] = sum(words(each["content"]) for each in requests[0])
    # A mock's number is that of the plan; the log stands in the order of when turns were due.
    assert sorted(log.wire.counted_input.tolist()) == sorted(counted.values())


@pytest.mark.parametrize(("often", "told"), [(1, "all 60 texts"), (2, "30 of 60 texts")])
def test_a_count_that_fails_is_told_with_how_often_and_how(mock, often, told):
    calls = []

    def broken(text):
        calls.append(text)
        if len(calls) % often == 0:
            raise KeyError("vocabulary\nis missing")
        return 1

    run = _driven(mock, mock.endpoint(count_tokens=broken), Longer(10))
    (note,) = [note for note in run.audit.candidate_notes() if "`count_tokens`" in note]
    assert note.startswith(f"`count_tokens` failed on {told}, not counted; the first time: KeyError: ")
    assert "\n" not in note
    assert (run.log.wire.counted < 0).sum() == 50 // often


def test_what_nobody_counts_takes_no_memory():
    counted = Recount(None).outputs(["a"] * 1000)
    assert counted.strides == (0,)
    assert (counted == -1).all()


@pytest.mark.parametrize(("tokens", "kind"), [(2**15 - 1, np.int16), (2**15, np.int32)])
def test_a_count_is_as_wide_as_it_has_to_be(tokens, kind):
    counted = Recount(lambda text: tokens if text == "long" else 1).outputs(["a", "long", "b", 3])
    assert counted.tolist() == [1, tokens, 1, -1]
    assert counted.dtype == kind


@pytest.mark.parametrize("tokens", [-1, 2**31, 2.5, None])
def test_a_count_that_is_none_is_not_counted(tokens):
    recount = Recount(lambda _: tokens)
    assert recount.outputs(["a"]).tolist() == [-1]
    assert recount.trouble.startswith("`count_tokens` failed on all 1 text, ")
