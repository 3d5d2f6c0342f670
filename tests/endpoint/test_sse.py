"""Server-sent events: the same events however the bytes are cut, and nothing that no blank line has ended."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.backends.endpoints.sse import arrivals, events

LINE_ENDS = [b"\n", b"\r\n", b"\r"]


def payloads(body):
    return events(body)[0]


def one_byte_at_a_time(body):
    """Read the stream as the standard tells a browser to: character by character, a CR at once."""
    found, data, line, after_cr = [], [], b"", False
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
    for value in body:
        byte = bytes([value])
        if after_cr and byte == b"\n":
            after_cr = False
            continue
        after_cr = byte == b"\r"
        if byte not in b"\r\n":
            line += byte
            continue
        if not line:
            if data:
                found.append(b"\n".join(data))
            data = []
        elif not line.startswith(b":"):
            name, _, rest = line.partition(b":")
            if name == b"data":
                data.append(rest[1:] if rest.startswith(b" ") else rest)
        line = b""
    return found


@pytest.mark.parametrize("end", LINE_ENDS)
def test_each_kind_of_line_end_ends_an_event(end):
    body = b"data: one" + end * 2 + b"data: two" + end * 2
    assert payloads(body) == [b"one", b"two"]


def test_what_no_blank_line_has_ended_is_no_event():
    assert payloads(b"data: one\n\ndata: two\n") == [b"one"]


def test_comments_and_other_fields_carry_nothing():
    body = b": ping\n\nevent: message\nid: 7\nretry: 10\ndata: one\n\n:\n\n"
    assert payloads(body) == [b"one"]


def test_data_of_several_lines_is_joined_by_line_feeds():
    assert payloads(b"data: a\ndata: b\n\n") == [b"a\nb"]


def test_one_space_after_the_colon_is_not_part_of_the_value():
    assert payloads(b"data:x\n\ndata:  y\n\ndata\n\n") == [b"x", b" y", b""]


def test_a_byte_order_mark_at_the_start_is_skipped():
    assert payloads(b"\xef\xbb\xbfdata: x\n\n") == [b"x"]


def test_a_field_that_only_begins_like_data_is_another_field():
    assert payloads(b"database: x\n\n data: y\n\n") == []


def test_blank_lines_between_events_are_no_events():
    assert payloads(b"\n\n\ndata: x\n\n\n\n\ndata: y\n\n") == [b"x", b"y"]


def test_an_event_arrives_with_the_part_that_ends_its_blank_line():
    parts = [b"data: a\n", b"\nda", b"ta: b\n\ndata: c\n\n", b"data: d\n\n"]
    found, ends = events(b"".join(parts))
    assert found == [b"a", b"b", b"c", b"d"]
    assert arrivals(ends, [len(part) for part in parts]) == [1, 2, 2, 3]


def test_a_carriage_return_ends_an_event_before_its_line_feed_has_come():
    parts = [b"data: a\r\n\r", b"\ndata: b\r\n\r\n"]
    _, ends = events(b"".join(parts))
    assert arrivals(ends, [len(part) for part in parts]) == [0, 1]


def test_two_tokens_in_one_part_arrive_together():
    body = b"data: a\n\ndata: b\n\n"
    assert arrivals(events(body)[1], [len(body)]) == [0, 0]


LINES = st.sampled_from(
    [
        b"data: x",
        b"data:",
        b"data: {}",
        b"data: \xc3\xa4",
        b": c",
        b"event: e",
        b"",
        b"",
        b"datum: z",
        b"data",
    ]
)


@given(st.lists(st.tuples(LINES, st.sampled_from(LINE_ENDS)), max_size=30), st.booleans())
def test_the_events_are_those_of_a_reader_that_goes_byte_by_byte(lines, marked):
    body = b"\xef\xbb\xbf" * marked + b"".join(line + end for line, end in lines)
    assert payloads(body) == one_byte_at_a_time(body)


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"q", b"data: ").replace(b"z", b"\n\n")))
def test_any_bytes_can_be_read(body):
    assert payloads(body) == one_byte_at_a_time(body)


@given(st.data())
def test_any_cut_of_the_stream_gives_the_same_events_each_with_the_part_that_completes_it(data):
    texts = data.draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8))
    end = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    body = b"".join(b"data: " + json.dumps(text, ensure_ascii=False).encode() + end * 2 for text in texts)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=12)))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    found, ends = events(b"".join(parts))
    assert [json.loads(payload) for payload in found] == texts
    places = arrivals(ends, [len(part) for part in parts])
    for number, place in enumerate(places):
        there, before = b"".join(parts[: place + 1]), b"".join(parts[:place])
        assert len(payloads(there)) >= number + 1
        assert len(one_byte_at_a_time(before)) < number + 1
