import csv
import gzip
import hashlib

import numpy as np
import pytest

from pytest_procure.driver.log import Status
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.logs import write_log

COLUMNS = ["launch", "query", "scheduled_ns", "started_ns", "completed_ns", "status", "batch", "item"]


def rows(path):
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def test_a_log_has_a_row_a_sample_and_says_how_each_request_ended(execution, tmp_path):
    run = execution()
    write_log(tmp_path / "run.csv.gz", run)
    read = rows(tmp_path / "run.csv.gz")
    assert list(read[0]) == [*COLUMNS, "accuracy"]
    assert len(read) == 60
    assert {row["item"]: row["status"] for row in read if row["status"] != "1"} == {"13": "2", "17": "4"}
    assert sum(float(row["accuracy"]) for row in read) == 58


def test_a_log_holds_the_very_times_of_the_run(execution, tmp_path):
    run = execution()
    write_log(tmp_path / "run.csv.gz", run)
    (log,) = run.logs
    read = rows(tmp_path / "run.csv.gz")
    for column in ("scheduled", "started", "completed"):
        assert [int(row[f"{column}_ns"]) for row in read] == getattr(log, column).tolist()
    assert [int(row["item"]) for row in read] == log.samples.tolist()


def test_numpy_reads_a_log_without_us(execution, tmp_path):
    run = execution()
    write_log(tmp_path / "run.csv.gz", run)
    table = np.genfromtxt(tmp_path / "run.csv.gz", delimiter=",", names=True)
    assert (table["status"] == Status.OK).sum() == 58
    assert np.isfinite(table["completed_ns"]).all()


def test_the_same_run_gives_the_same_bytes_and_their_digest(execution, tmp_path):
    run = execution()
    first, second = tmp_path / "first.csv.gz", tmp_path / "second.csv.gz"
    digests = {write_log(first, run), write_log(second, run)}
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # gzip would put the hour there
    assert digests == {hashlib.sha256(first.read_bytes()).hexdigest()}


def test_launches_stand_one_after_the_other(execution, tmp_path):
    run = execution(scenario="offline", launches=3, max_batch=16)
    write_log(tmp_path / "run.csv.gz", run)
    read = rows(tmp_path / "run.csv.gz")
    assert [row["launch"] for row in read] == ["0"] * 60 + ["1"] * 60 + ["2"] * 60


def test_samples_of_one_query_share_its_times_and_have_scores_of_their_own(execution, tmp_path):
    run = execution(scenario="multi_stream", samples_per_query=12)
    write_log(tmp_path / "run.csv.gz", run)
    read = rows(tmp_path / "run.csv.gz")
    assert [row["query"] for row in read] == [str(n // 12) for n in range(60)]
    assert len({(row["query"], row["completed_ns"]) for row in read}) == 5


def test_a_log_that_cannot_be_written_is_told_in_a_sentence(execution, tmp_path):
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(EvidenceError, match=r"the request log run.csv.gz cannot be written: "):
        write_log(tmp_path / "runs" / "run.csv.gz", execution())
