"""What counts as a token, as the end of a good stream, and as no answer at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.backends.endpoints import readers
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.backends.endpoints.openai_answers import StreamReader, read_embedding, read_whole
from pytest_procure.backends.endpoints.readers import select_json


def chunk(delta=None, finish=None, **more):
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return json.dumps({"id": "1", "choices": [choice], **more}).encode()


ROLE = chunk({"role": "assistant", "content": ""})
END = chunk(finish="stop")
DONE = b"[DONE]"


def read(*payloads, chat=True, cut=False):
    reader = StreamReader(chat=chat)
    reader.add(payloads)
    return reader.end(cut=cut)


def test_a_role_and_empty_deltas_are_no_tokens():
    reading = read(ROLE, chunk({"content": ""}), chunk({"content": None}), chunk({"content": "a"}), END, DONE)
    assert reading.failure is Failure.NONE
    assert (reading.chunks, reading.places) == (1, [3])
    assert reading.output == b"a"


def test_a_chunk_with_two_tokens_is_one_chunk():
    reading = read(chunk({"content": " a b"}), chunk({"content": " c"}), END)
    assert reading.chunks == 2
    assert reading.output == b" a b c"


def test_reasoning_counts_as_tokens_and_is_not_the_answer():
    reading = read(
        chunk({"reasoning_content": "hm"}), chunk({"reasoning": "so"}), chunk({"content": "x"}), END
    )
    assert reading.chunks == 3
    assert reading.output == b"x"


def test_the_arguments_of_a_tool_call_are_tokens():
    begun = {"tool_calls": [{"index": 0, "function": {"name": "find", "arguments": ""}}]}
    more = {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": 1}'}}]}
    reading = read(ROLE, chunk(begun), chunk(more), chunk(finish="tool_calls"))
    assert reading.failure is Failure.NONE
    assert (reading.chunks, reading.output) == (2, b'find{"a": 1}')


def test_usage_in_the_last_chunk_alone_is_read():
    usage = {"prompt_tokens": 5, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 4}}
    last = json.dumps({"choices": [], "usage": usage, "model": "m-2"}).encode()
    reading = read(chunk({"content": "a"}), END, last, DONE)
    assert (reading.input_tokens, reading.output_tokens, reading.cached_tokens) == (5, 8, 4)
    assert reading.model == "m-2"


def test_of_usage_in_every_chunk_the_last_counts():
    steps = [chunk({"content": "a"}, usage={"completion_tokens": n, "prompt_tokens": 2}) for n in (1, 2, 3)]
    assert read(*steps, END).output_tokens == 3


def test_without_usage_tokens_are_not_reported_and_never_0():
    reading = read(chunk({"content": "a"}), END)
    assert (reading.input_tokens, reading.output_tokens, reading.cached_tokens) == (-1, -1, -1)


def test_no_tokens_beside_an_answer_that_has_some_are_no_report():
    none = {"prompt_tokens": 0, "completion_tokens": 0}
    streamed = read(chunk({"content": "a"}), chunk(finish="stop", usage=none))
    message = {"message": {"content": "a"}, "finish_reason": "stop"}
    whole = read_whole(json.dumps({"choices": [message], "usage": none}).encode(), chat=True)
    vector = {"data": [{"embedding": [1.0]}], "usage": none}
    embedded = read_embedding(json.dumps(vector).encode())
    for reading in (streamed, whole, embedded):
        assert (reading.failure, reading.input_tokens, reading.output_tokens)[:2] == (Failure.NONE, -1)
    assert (streamed.output_tokens, whole.output_tokens) == (-1, -1)


def test_the_end_mark_may_be_missing():
    assert read(chunk({"content": "a"}), END).failure is Failure.NONE


def test_a_stream_without_a_finish_reason_is_not_good():
    assert read(chunk({"content": "a"}), DONE).failure is Failure.NO_FINISH


def test_a_stream_without_a_token_is_empty():
    assert read(ROLE, END, DONE).failure is Failure.EMPTY


def test_an_error_event_fails_the_stream_with_its_message():
    reading = read(chunk({"content": "a"}), b'{"error": {"message": "engine died"}}', DONE)
    assert reading.failure is Failure.STREAM_ERROR
    assert "engine died" in reading.text
    assert reading.chunks == 1


def test_a_stream_that_is_cut_off_failed_and_says_after_how_much():
    reading = read(chunk({"content": "a"}), chunk({"content": "b"}), cut=True)
    assert reading.failure is Failure.RESET
    assert "2 chunks" in reading.text


def test_a_connection_that_is_closed_behind_the_end_mark_has_cut_nothing_off():
    assert read(chunk({"content": "a"}), END, DONE, cut=True).failure is Failure.NONE


def test_completions_carry_their_text_in_the_choice():
    payload = json.dumps({"choices": [{"text": "abc", "finish_reason": "length"}]}).encode()
    reading = read(payload, chat=False)
    assert (reading.output, reading.finish, reading.chunks) == (b"abc", "length", 1)


@pytest.mark.parametrize(
    "wrong",
    [
        b"nonsense",
        b"null",
        b"7",
        b'"text"',
        b"[]",
        b'{"choices": 5}',
        b'{"choices": [null]}',
        b'{"choices": [{"delta": {"content": 7}}]}',
        b'{"choices": [{"delta": "text"}]}',
        b'{"choices": [{"delta": {"tool_calls": [7]}}]}',
        b"[" * 100_000,
    ],
)
def test_an_event_that_is_no_chunk_fails_the_stream_and_raises_nothing(wrong):
    reading = read(chunk({"content": "a"}), wrong, END)
    assert reading.failure is Failure.BODY
    assert reading.output == b"a"


def test_payloads_that_would_join_to_something_else_are_read_one_by_one():
    halves = [b'{"choices": []}, {"choices": []}', b'"a', b'b"']
    assert read(*halves, chunk({"content": "x"}), END).failure is Failure.BODY


def test_half_a_surrogate_pair_is_text_that_can_be_written():
    reading = read(rb'{"choices": [{"delta": {"content": "\ud800"}, "finish_reason": "stop"}]}')
    assert readers.output("chat", reading.output) == "?"


@given(st.lists(st.text(max_size=5), max_size=20), st.data())
def test_events_read_in_pieces_are_read_the_same(texts, data):
    payloads = [chunk({"content": text}) for text in texts] + [END, DONE]
    piecewise, rest = StreamReader(chat=True), list(payloads)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        piecewise.add(rest[:size])
        rest = rest[size:]
    assert piecewise.end(cut=False) == read(*payloads)


NAMES = [
    "choices",
    "delta",
    "content",
    "message",
    "text",
    "usage",
    "error",
    "data",
    "embedding",
    "tool_calls",
    "function",
    "finish_reason",
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)


@given(ANY_JSON)
def test_no_json_makes_a_reader_raise(answer):
    body = json.dumps(answer).encode()
    read(body)
    read(body, chat=False)
    read_whole(body, chat=True)
    read_whole(body, chat=False)
    read_embedding(body)


def test_a_whole_answer_is_read_with_its_usage():
    body = json.dumps(
        {
            "model": "m",
            "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 2, "completion_tokens": 1},
        }
    ).encode()
    reading = read_whole(body, chat=True)
    assert (reading.output, reading.input_tokens, reading.output_tokens) == (b"yes", 2, 1)
    assert reading.chunks == -1


def test_a_whole_answer_without_text_is_empty():
    body = b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'
    assert read_whole(body, chat=True).failure is Failure.EMPTY


def test_an_embedding_is_a_list_of_numbers():
    reading = read_embedding(b'{"data": [{"embedding": [0.5, -1]}], "usage": {"prompt_tokens": 3}}')
    assert readers.output("embeddings", reading.output) == [0.5, -1.0]
    assert reading.input_tokens == 3


def test_an_embedding_has_no_output_tokens_where_tokens_are_reported_at_all():
    reported = read_embedding(b'{"data": [{"embedding": [1]}], "usage": {"prompt_tokens": 3}}')
    assert reported.output_tokens == 0
    assert read_embedding(b'{"data": [{"embedding": [1]}]}').output_tokens == -1


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens_details": {"cached_tokens": 2}}, {"prompt_cache_hit_tokens": 2}]
)
def test_cached_tokens_are_read_in_the_forms_that_servers_use(usage):
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 3} | usage}
    assert read_whole(json.dumps(body).encode(), chat=True).cached_tokens == 2


@pytest.mark.parametrize("vector", ["[]", "[NaN]", "[1e999]"])
def test_an_embedding_without_numbers_is_empty(vector):
    reading = read_embedding(f'{{"data": [{{"embedding": {vector}}}]}}'.encode())
    assert reading.failure is Failure.EMPTY


def test_the_way_to_an_output_goes_by_names_and_places():
    body = b'{"predictions": [{"label": "cat"}]}'
    assert select_json(body, ("predictions", 0, "label")).output == b'"cat"'
    assert select_json(body, ("predictions", 1)).failure is Failure.BODY
    assert select_json(body, ("labels",)).failure is Failure.BODY
    assert select_json(b'{"x": null}', ("x",)).failure is Failure.EMPTY
    assert select_json(b'{"x": NaN}', ("x",)).failure is Failure.EMPTY
    assert select_json(b'{"x": ""}', ("x",)).failure is Failure.EMPTY
    assert select_json(b'{"x": {"y": ""}}', ("x",)).failure is Failure.NONE
