"""The ledger's file: what it holds, and that no change of it goes unseen."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import ledger
from pytest_procure.evidence.canonical import canonical
from pytest_procure.evidence.ledger import Ledger, parse
from pytest_procure.evidence.private import Private


def filled(folder, runs=3):
    book = Ledger(folder)
    book.append("seal", lambda _: {"spec": "s"}, new=True)
    for run in range(runs):
        book.append("begin", lambda _, run=run: {"run": str(run), "kind": "run"})
        book.append("end", lambda _, run=run: {"run": str(run), "verdict": "reject"})
    return book


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("ledger")).path.read_bytes()


def test_entries_come_back_as_they_were_written(tmp_path):
    chain = filled(tmp_path).read()
    assert [entry["event"] for entry in chain.entries] == ["seal", *["begin", "end"] * 3]
    assert [entry["entry"] for entry in chain.entries] == list(range(1, 8))
    assert [entry["previous"] for entry in chain.entries[1:]] == list(chain.digests[:-1])


def test_an_entry_sees_those_before_it(tmp_path):
    seen = []
    filled(tmp_path).append("end", lambda chain: seen.append(len(chain.entries)) or {})
    assert seen == [7]


def test_nothing_is_added_where_the_entry_cannot_be_made(tmp_path):
    book = filled(tmp_path)
    before = book.path.read_bytes()

    def refuse(_):
        raise EvidenceError("no")

    with pytest.raises(EvidenceError, match=r"^no$"):
        book.append("begin", refuse)
    assert book.path.read_bytes() == before


def test_nothing_half_is_left_where_the_disk_is_full(tmp_path, monkeypatch):
    book = filled(tmp_path)
    before = book.path.read_bytes()
    written = ledger.os.write

    def full(descriptor, line):
        written(descriptor, line[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger.os, "write", full)
    with pytest.raises(EvidenceError, match=r"procure-ledger.jsonl cannot be written: No space left"):
        book.append("end", lambda _: {"run": "1", "verdict": ""})
    monkeypatch.undo()
    assert book.path.read_bytes() == before


def test_an_entry_is_on_the_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    real = ledger.os.fsync
    monkeypatch.setattr(ledger.os, "fsync", lambda descriptor: synced.append(descriptor) or real(descriptor))
    book = Ledger(tmp_path)
    book.append("seal", lambda _: {"spec": "s"}, new=True)
    assert len(synced) >= 2  # the file, and the folder that it is new in


def test_a_ledger_begins_only_where_a_suite_is_sealed(tmp_path):
    with pytest.raises(EvidenceError, match="is missing beside the spec"):
        Ledger(tmp_path).append("begin", lambda _: {})
    assert not (tmp_path / ledger.NAME).exists()


@given(source=st.data())
def test_no_changed_byte_goes_unseen(data, source):
    place = source.draw(st.integers(0, len(data) - 1))
    byte = source.draw(st.integers(0, 255).filter(lambda value: value != data[place]))
    changed = data[:place] + bytes([byte]) + data[place + 1 :]
    try:
        chain = parse(changed)
    except EvidenceError:
        return
    assert chain.head != parse(data).head  # only the last entry, which nothing follows


@given(source=st.data())
def test_no_removed_or_swapped_line_goes_unseen(data, source):
    lines = data.splitlines(keepends=True)
    order = source.draw(st.lists(st.integers(0, len(lines) - 1), unique=True, max_size=len(lines)))
    changed = b"".join(lines[place] for place in order)
    try:
        chain = parse(changed)
    except EvidenceError:
        return
    assert order == list(
        range(len(order))
    )  # whole entries cut off at the end: a head kept elsewhere shows it
    assert chain.head == parse(data).head or len(order) < len(lines)


@given(source=st.data())
def test_no_cut_inside_an_entry_goes_unseen(data, source):
    cut = source.draw(st.integers(0, len(data) - 1))
    if data[:cut].endswith(b"\n"):
        return
    with pytest.raises(EvidenceError, match=r"is empty|in the middle of an entry"):
        parse(data[:cut])


def test_the_head_of_this_machine_shows_a_cut_tail(tmp_path):
    book = filled(tmp_path)
    lines = book.path.read_bytes().splitlines(keepends=True)
    book.path.write_bytes(b"".join(lines[:-2]))
    with pytest.raises(EvidenceError, match="its end was cut off, or an older copy"):
        book.read()


def test_entries_of_another_machine_after_ones_own_are_welcome(tmp_path):
    book = filled(tmp_path)
    head = Private(tmp_path).head()
    book.append("end", lambda _: {"run": "9", "verdict": ""})
    Private(tmp_path).keep_head(head)
    assert len(book.read().entries) == 8


# -- the clock --------------------------------------------------------------------------------------------


def at(monkeypatch, **moved):
    class Moved(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(**moved)

    monkeypatch.setattr(ledger, "datetime", Moved)


def test_a_clock_that_was_set_back_adds_no_entry(tmp_path, monkeypatch):
    book = filled(tmp_path)
    before = book.path.read_bytes()
    at(monkeypatch, days=-1)
    with pytest.raises(EvidenceError, match="the clock was set back, or was wrong then; set it right"):
        book.append("begin", lambda _: {})
    assert book.path.read_bytes() == before


def test_a_clock_that_was_set_right_keeps_the_entries_in_order(tmp_path, monkeypatch):
    book = filled(tmp_path)
    last = book.read().entries[-1]["time"]
    at(monkeypatch, minutes=-5)
    assert book.append("begin", lambda _: {}).entries[-1]["time"] == last
    assert len(book.read().entries) == 8


def test_entries_whose_times_run_backwards_are_no_ledger(tmp_path):
    book = Ledger(tmp_path)
    book.append("seal", lambda _: {"spec": "s"}, new=True)
    with pytest.raises(EvidenceError, match="line 2: it was written before the line above it"):
        parse(book.path.read_bytes() + next_line(book, "2020-01-01T00:00:00Z"))


def next_line(book, time):
    entry = {"entry": 2, "previous": book.read().head, "event": "begin", "time": time}
    return canonical(entry) + b"\n"
