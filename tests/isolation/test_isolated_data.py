"""What goes to a process and comes back: the same values, and nothing that was not checked."""

from __future__ import annotations

import json
import math
import socket
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from pytest_procure.backends.protocol import Answer
from pytest_procure.isolation import frames, plain
from pytest_procure.isolation.arrays import checked, read_shape, shape_of
from pytest_procure.isolation.endings import Breach
from pytest_procure.isolation.frames import Inbox
from pytest_procure.isolation.outputs import read, written

NUMPY = arrays_of.scalar_dtypes().filter(lambda dtype: dtype.itemsize > 0)
ARRAYS = arrays_of.arrays(NUMPY, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
    | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
        | st.builds(Answer, inner, st.integers(0, 99), st.integers(0, 99))
    ),
    max_leaves=8,
)


def back(returned):
    """Send what a backend returned there and back, as bytes."""
    form, shape, payload = written(returned)
    data = payload.tobytes() if isinstance(payload, np.ndarray) else payload
    return read(form, shape, memoryview(data))


def same(one, other):
    """Whether two values are alike in type and value, NaN and arrays among them."""
    return type(one) is type(other) and _alike(one, other)


def _alike(one, other):
    match one:
        case np.ndarray():
            return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        case Answer():
            return same(list(one.__getstate__()), list(other.__getstate__()))
        case list() | tuple():
            return len(one) == len(other) and all(map(same, one, other))
        case dict():
            return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        case float() | complex():
            return repr(one) == repr(other)
    return one == other


def is_told(breach):
    """Whether a breach reads as a sentence about the process."""
    return str(breach).startswith("it ")


@given(PLAIN)
def test_plain_data_come_back_as_they_were(value):
    assert same(plain.decode(memoryview(plain.encode(value))), value)


@given(ARRAYS.filter(lambda array: array.ndim))
def test_arrays_come_back_as_they_were(array):
    assert same(back(array), array)


@pytest.mark.parametrize(
    "returned",
    [
        [1, 2, 3],
        [-(2**63), 2**63 - 1],
        [2**80, -1],
        [True, False],
        [1, None, 3],
        [1, 2.5],
        ["a", "ä", "\ud800", ""],
        [np.float32(1.5), np.float32(math.inf)],
        [np.int64(4)],
        [np.str_("ab"), np.str_("c")],
        [np.datetime64("2026-11-30", "D")],
        [{"label": np.float32(2), "box": np.arange(4)}, {}],
        [Answer("a", 3, 4), Answer(None, 0, 0)],
        [(1, (2, b"\x00")), {1, 2}, frozenset({"a"})],
        None,
        "a text",
        {"label": 1},
        (1, 2),
        [],
        np.float32(1),
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::2],
    ],
    ids=repr,
)
def test_what_a_backend_returns_arrives_as_if_it_had_run_here(returned):
    arrived = back(returned)
    if isinstance(returned, np.ndarray):
        assert arrived.dtype == returned.dtype
        assert np.array_equal(arrived, returned)
    else:
        assert same(arrived, returned)


def test_values_of_derived_classes_arrive_as_their_values():
    class Label(int):
        pass

    assert back([Label(3)]) == [3]
    assert type(back([Label(3)])[0]) is int


@pytest.mark.parametrize("held", [object(), lambda: None, 1j.__class__, range(3).__iter__()])
def test_what_is_no_plain_data_does_not_leave_its_process(held):
    with pytest.raises(TypeError, match="which cannot leave its process"):
        written([held])


def test_data_without_an_end_do_not_leave_their_process():
    loop = []
    loop.append(loop)
    with pytest.raises(TypeError, match="nested more than 100 deep"):
        written(loop)


# What somebody else wrote


def blob(node, buffers=b""):
    text = json.dumps(node).encode()
    return memoryview(struct.pack("<Q", len(text)) + text + buffers)


@settings(max_examples=500)
@given(
    st.sampled_from([frames.ARRAY, frames.SCALARS, frames.INTEGERS, frames.PLAIN, 77]),
    st.binary(),
    st.binary(),
)
def test_bytes_from_anybody_are_an_answer_or_a_breach(form, shape, data):
    try:
        read(form, shape, memoryview(data))
    except Breach as breach:
        told = is_told(breach)
    else:
        told = True
    assert told


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(
                ["tuple", "set", "dict", "bytes", "array", "scalar", "answer", "complex", "frozenset", "code"]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=500)
@given(JUNK, st.binary(max_size=32))
def test_json_from_anybody_is_a_value_or_a_breach(node, buffers):
    try:
        plain.decode(blob(node, buffers))
    except Breach as breach:
        told = is_told(breach)
    else:
        told = True
    assert told


@pytest.mark.parametrize(
    "node",
    [
        {"array": ["<f4", [2], 0, 9]},
        {"array": ["<f4", [3], 0, 8]},
        {"array": ["<f4", [-2], 0, 8]},
        {"array": ["<f4", [True, 2], 0, 8]},
        {"array": ["O", [1], 0, 8]},
        {"array": ["|O", [1], 0, 8]},
        {"array": ["<f4", [0, 2**62], 0, 0]},
        {"array": ["|V8", [1], 0, 8]},
        {"array": ["i4,i4", [1], 0, 8]},
        {"array": ["|b1", [8], 0, 8]},
        {"array": ["<U2", [1], 0, 8]},
        {"bytes": [-1, 2]},
        {"bytes": [4, 9]},
        {"bytes": [0, 2**64]},
        {"dict": [[[1], 2]]},
        {"set": [[]]},
        {"answer": [1]},
        {"tuple": 3},
        {"eval": ["1"]},
        {"tuple": [], "set": []},
        {},
    ],
    ids=json.dumps,
)
def test_a_part_that_does_not_fit_is_a_breach(node):
    with pytest.raises(Breach):
        plain.decode(blob(node, b"\xff" * 8))


def test_data_nested_without_end_are_a_breach():
    with pytest.raises(Breach):
        plain.decode(memoryview(struct.pack("<Q", 200_000) + b"[" * 100_000 + b"]" * 100_000))


@given(NUMPY, arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0))
def test_a_shape_is_read_as_it_was_written(dtype, shape):
    array = np.zeros(shape, dtype)
    assert read_shape(shape_of(array), array.nbytes) == (array.dtype, array.shape)


def test_a_shape_larger_than_its_bytes_is_a_breach():
    with pytest.raises(Breach, match="too large to be one"):
        checked("<f4", (2**40,), 2**42)
    with pytest.raises(Breach, match="does not fit its bytes"):
        checked("<f4", (3,), 8)


# The channel


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield Inbox(ours), theirs
    ours.close()
    theirs.close()


def test_a_frame_comes_whole_however_it_is_cut(pair):
    inbox, theirs = pair
    whole = frames.head(frames.ANSWER, frames.PLAIN, frames.INLINE, 3, 5, b"shape") + b"bytes"
    assert len(whole) < 100
    for byte in whole[:-1]:
        theirs.send(bytes([byte]))
    theirs.send(whole[-1:])
    frame = inbox.next()
    assert (frame.number, frame.shape, bytes(frame.payload)) == (3, b"shape", b"bytes")


def test_a_closed_channel_ends_a_frame(pair):
    inbox, theirs = pair
    theirs.send(b"pro")
    theirs.close()
    with pytest.raises(EOFError):
        inbox.next()


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"\x80\x04\x95" + b"\x00" * 40, "channel"),
        (frames.head(frames.ANSWER, frames.PLAIN, frames.INLINE, 1, 2**40), "channel"),
        (frames.head(frames.ANSWER, frames.PLAIN, 9, 1, 0), "channel"),
        (frames.head(frames.ANSWER, frames.PLAIN, frames.INLINE, 1, 0) + b"and more", "channel"),
        (frames.head(frames.ANSWER, frames.PLAIN, frames.INLINE, 1, 0) * 2, "duplicate"),
    ],
)
def test_what_is_no_frame_is_a_breach(pair, sent, kind):
    inbox, theirs = pair
    theirs.send(sent)
    with pytest.raises(Breach) as told:
        inbox.next()
    assert told.value.kind == kind


def test_what_comes_unasked_is_seen_without_waiting(pair):
    inbox, theirs = pair
    assert inbox.unasked() is None
    theirs.send(frames.head(frames.ANSWER, frames.PLAIN, frames.INLINE, 1, 0))
    assert inbox.unasked().kind == "duplicate"
    theirs.send(b"?")
    assert inbox.unasked().kind == "channel"
