"""Recorded arrivals: what is read, and that a hostile file ends in one line that names its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DeclarationError
from pytest_procure.scenarios import Scenario, Trace, arrivals, queries, rate


def wrote(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "options", "milliseconds"),
    [
        ("a.jsonl", "1.5\n2\n2\n3.25\n", {}, [0, 500, 500, 1750]),
        ("a.jsonl", '{"timestamp": 0, "hash_ids": [1]}\n{"timestamp": 27}\n', {"unit": "ms"}, [0, 27]),
        ("a.ndjson", '{"x": 1, "sent": "0.25"}\n\n{"x": 2, "sent": 0.5}', {"column": "sent"}, [0, 250]),
        ("a.csv", "5\n6.001\n", {}, [0, 1001]),
        ("a.csv", "id,Time\na,-1\nb,1\n", {}, [0, 2000]),
        (
            "a.csv",
            "\ufeffTIMESTAMP,n\r\n2023-11-16 18:17:03.9799600,4\r\n2023-11-16 18:17:04.0,5\r\n",
            {},
            [0, 20.04],
        ),
        ("a.csv", "at\n2026-01-01T00:00:00+01:00\n2025-12-31T23:00:01Z\n", {}, [0, 1000]),
        ("a.csv", '"timestamp","text, with comma"\n1,"a, b"\n2,c\n', {}, [0, 1000]),
        ("a.csv", "timestamp\n1700000000000000001\n1700000000000000003\n", {"unit": "ns"}, [0, 2e-6]),
    ],
)
def test_arrivals_are_read_exactly(tmp_path, name, text, options, milliseconds):
    trace = Trace.read(wrote(tmp_path, name, text), **options)
    assert trace.offsets.tolist() == [round(each * 1e6) for each in milliseconds]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "trace `a.jsonl` holds no arrival; expected one a line"),
        ("a.csv", "timestamp\n", "trace `a.csv` holds no arrival"),
        ("a.csv", "\n\n", "trace `a.csv` holds no arrival"),
        ("a.jsonl", "1\n{", "trace `a.jsonl`, line 2: it is no JSON"),
        ("a.jsonl", "[" * 60_000, "line 1: it is no JSON"),
        ("a.jsonl", "1\nNaN\n", "line 2: 'NaN' is no time; expected a number, or a date"),
        ("a.jsonl", "1\nInfinity\n", "line 2: 'Infinity' is no time"),
        ("a.jsonl", "1\n1e999999999\n", "is no time"),
        ("a.jsonl", "1\n" + "9" * 5000, "line 2: Decimal('9999"),
        ("a.jsonl", "1\nnull\n", "line 2: None is no time"),
        ("a.jsonl", "1\ntrue\n", "line 2: True is no time"),
        ("a.jsonl", "1\n[1]\n", "line 2: [Decimal('1')] is no time"),
        ("a.jsonl", "1\n\n\n0.5\n", "line 4: its time lies before that of line 1; expected ascending times"),
        ("a.jsonl", '1\n{"timestamp": 2}\n', "line 2: it is of another form than the first"),
        ("a.jsonl", '{"timestamp": 1}\n{"time": 2}\n', "line 2: it has no `timestamp`"),
        ("a.jsonl", '{"a": 1, "b\\nc": 2}\n', "has the columns a, b?c; name one, as in `column='sent_at'`"),
        ("a.jsonl", '1\n"2026-01-01"\n', "line 2: it mixes numbers, and times with and without a zone"),
        ("a.jsonl", '"2026-01-01"\n"2026-01-02T00:00Z"\n', "line 2: it mixes numbers, and times with"),
        ("a.jsonl", "0\n99999999999\n", "line 2: its time lies 285 years after the first"),
        ("a.csv", "timestamp\n1\n1,2\n", "line 3: it has 2 cells, and line 1 has 1"),
        ("a.csv", 'timestamp\n"1\n', "line 2: it is no line of comma-separated values"),
        ("a.csv", "timestamp\nsoon\n", "line 2: 'soon' is no time"),
        ("a.csv", "timestamp\n\x1b[31m\n", "line 2: '\\x1b[31m' is no time"),
        ("a.csv", b"timestamp\n\xff\n", "line 2: it is no UTF-8"),
        ("a.csv", "timestamp\n1" + " " * 70_000, "line 2: it is longer than 64,000 bytes"),
        ("a.csv", b"timestamp\n1\x002\n", "line 2: "),
        ("a.txt", "1\n", "trace `a.txt`: expected a file that ends in .jsonl or .csv"),
    ],
)
def test_the_first_line_that_cannot_be_meant_is_named(tmp_path, name, text, message):
    with pytest.raises(DeclarationError) as refused:
        Trace.read(wrote(tmp_path, name, text))
    assert message in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sampled_from(["a.csv", "a.jsonl"]), st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_trace_or_one_printable_line(tmp_path, name, text):
    try:
        trace = Trace.read(wrote(tmp_path, name, text), column="")
    except DeclarationError as error:
        assert str(error).isprintable()  # noqa: PT017 - either is right
    else:
        assert (np.diff(trace.offsets) >= 0).all()


def test_a_missing_file_and_a_wrong_unit_are_told(tmp_path):
    with pytest.raises(DeclarationError, match=r"none\.csv` cannot be read: No such file"):
        Trace.read(tmp_path / "none.csv")
    with pytest.raises(DeclarationError, match="`unit='h'`; expected one of s, ms, us, ns"):
        Trace.read(wrote(tmp_path, "a.csv", "1\n"), unit="h")
    with pytest.raises(DeclarationError, match="unknown column `tme`; did you mean `time`"):
        Trace.read(wrote(tmp_path, "a.csv", "time,b\n1,2\n"), column="tme")


def test_a_file_that_has_changed_is_read_again(tmp_path):
    first = Trace.read(wrote(tmp_path, "a.csv", "1\n2\n"))
    second = Trace.read(wrote(tmp_path, "a.csv", "1\n2\n3\n"))
    assert (len(first), len(second)) == (2, 3)
    assert first != second
    assert first == Trace.read(wrote(tmp_path, "a.csv", "1\n2\n"))


def test_a_replay_takes_the_speed_and_the_part_that_is_asked(tmp_path):
    wrote(tmp_path, "a.csv", "0\n1\n2\n3\n7\n")

    def replay(**more):
        return Scenario.declare("replay", tmp_path, trace="a.csv", **more)

    assert arrivals(replay(), 5).tolist() == [0, 10**9, 2 * 10**9, 3 * 10**9, 7 * 10**9]
    assert arrivals(replay(speed=2), 5).tolist() == [0, 5 * 10**8, 10**9, 15 * 10**8, 35 * 10**8]
    assert [queries(replay(**more), 9) for more in ({}, {"count": 3}, {"duration": "3 s"})] == [5, 3, 3]
    assert queries(replay(speed=2, duration="1.6 s"), 9) == 4
    assert rate(replay(count=3, speed=4)) == 4.0
    label = "Replay: the arrivals of a.csv at 2 times its speed, 5 requests, no batching"
    assert replay(speed=2).label == label
    assert replay().conditions()["trace"]["arrivals"] == 5
    assert replay() == replay()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "scenario `replay` has no trace"),
        (
            {"trace": "a.csv", "count": 99},
            "`count=99`, but trace `a.csv` holds 2 arrival(s); expected so many at most, or no `count`",
        ),
        ({"trace": 4}, "`trace=4`; expected a file's name"),
        ({"trace": "a.csv", "speed": 0}, "`speed=0`; expected how many times faster the trace comes"),
        ({"trace": "a.csv", "speed": 1e-5}, "expected a week at most"),
        ({"trace": "b.csv"}, "scenario `replay`: trace `"),
    ],
)
def test_a_replay_that_cannot_be_meant_is_refused(tmp_path, arguments, message):
    wrote(tmp_path, "a.csv", "0\n100\n")
    with pytest.raises(DeclarationError) as refused:
        Scenario.declare("replay", tmp_path, **arguments)
    assert message in str(refused.value)


def test_a_replay_is_no_faster_than_other_traffic_may_be(tmp_path):
    wrote(tmp_path, "a.csv", "0\n0.001\n0.002\n")
    assert rate(Scenario.declare("replay", tmp_path, trace="a.csv", speed=10_000)) == pytest.approx(1e7)
    with pytest.raises(DeclarationError) as refused:
        Scenario.declare("replay", tmp_path, trace="a.csv", speed=20_000)
    assert str(refused.value) == (
        "scenario `replay`: at `speed=20000`, trace `a.csv` of 1,000 arrivals a second is faster than times "
        "in whole ns can tell; expected 10000 at most"
    )


def test_a_trace_is_replayed_as_it_was_recorded_however_fast_that_was(tmp_path):
    wrote(tmp_path, "a.csv", "0\n10\n")
    assert rate(Scenario.declare("replay", tmp_path, trace="a.csv", unit="ns")) == pytest.approx(1e8)
