"""A run's journal holds what the run has seen until now, whatever becomes of the process."""

import numpy as np
import pytest

from pytest_procure.driver.board import Board
from pytest_procure.driver.journal import Journal, Journalled
from pytest_procure.errors import EvidenceError

ORDER, DUE = np.arange(4, dtype=np.int64), np.array([0, 10, 20, 30])


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "runs" / "x.part", {"test": "test_x", "samples_per_query": 1})


def test_what_workers_write_on_the_board_is_in_the_file_at_once(journal):
    board = Board(4, journal.open(4, ORDER, DUE))
    board.begin(1000)
    board.started[0], board.completed[0], board.started[1] = 1001, 1005, 1011
    told = Journalled.read(journal.path)
    assert (told.origin, told.about["test"]) == (1000, "test_x")
    assert told.started.tolist() == [1001, 1011, -1, -1]
    assert told.completed.tolist() == [1005, -1, -1, -1]
    assert (told.order.tolist(), told.schedule.tolist()) == (ORDER.tolist(), DUE.tolist())


def test_a_closed_loop_has_no_schedule(journal):
    Board(4, journal.open(4, ORDER, None))
    assert Journalled.read(journal.path).schedule is None


def test_with_and_without_a_journal_the_board_begins_the_same(journal):
    with_one, without = Board(4, journal.open(4, ORDER, DUE)), Board(4)
    for column in ("started", "completed", "ends"):
        assert list(getattr(with_one, column)) == list(getattr(without, column))


@pytest.mark.parametrize("cut", [0, 10, 16_384, -8])
def test_a_file_that_was_cut_is_no_journal(journal, cut):
    Board(4, journal.open(4, ORDER, DUE))
    data = journal.path.read_bytes()
    journal.path.write_bytes(data[:cut])
    with pytest.raises(EvidenceError, match="is no journal of a run"):
        Journalled.read(journal.path)


def test_a_journal_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(EvidenceError, match=r"the journal x\.part cannot be written"):
        Journal(tmp_path / "runs" / "x.part", {}).open(4, ORDER, DUE)
