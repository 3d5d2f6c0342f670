import hashlib

import numpy as np
import pytest

from pytest_procure.driver.log import Status
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.logs import COLUMNS, load, write_log
from pytest_procure.evidence.outputs import Outputs


@pytest.fixture
def rows(execution, tmp_path):
    """Run, write, and read the rows as anybody would who has numpy."""

    def read(*arguments, outputs=None, **more):
        run = execution(*arguments, **more)
        write_log(tmp_path / "run.npy", run, outputs)
        return run, np.load(tmp_path / "run.npy", allow_pickle=False)

    return read


def test_a_log_has_a_row_a_sample_and_says_how_each_request_ended(rows):
    _, read = rows()
    assert list(read.dtype.names) == [*COLUMNS, "accuracy"]
    assert len(read) == 60
    failed = read[read["status"] != 1]
    assert dict(zip(failed["item"].tolist(), failed["status"].tolist(), strict=True)) == {13: 2, 17: 4}
    assert read["accuracy"].sum() == 58


def test_a_log_holds_the_very_times_of_the_run(rows):
    run, read = rows()
    (log,) = run.logs
    for column in ("scheduled", "started", "completed"):
        assert read[f"{column}_ns"].tolist() == getattr(log, column).tolist()
    assert read["item"].tolist() == log.samples.tolist()


def test_pandas_reads_a_log_without_us(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    rows()
    table = pandas.DataFrame(np.load(tmp_path / "run.npy"))
    assert (table.status == Status.OK).sum() == 58
    assert table.accuracy.mean() == pytest.approx(58 / 60)


def test_the_same_run_gives_the_same_bytes_and_their_digest(execution, tmp_path):
    run = execution()
    first, second = tmp_path / "first.npy", tmp_path / "second.npy"
    digests = {write_log(first, run).sha256, write_log(second, run).sha256}
    assert first.read_bytes() == second.read_bytes()
    assert digests == {hashlib.sha256(first.read_bytes()).hexdigest()}


def test_launches_stand_one_after_the_other(rows):
    _, read = rows(scenario="offline", launches=3, max_batch=16)
    assert read["launch"].tolist() == [0] * 60 + [1] * 60 + [2] * 60


def test_samples_of_one_query_share_its_times_and_have_scores_of_their_own(rows):
    _, read = rows(scenario="multi_stream", samples_per_query=12)
    assert read["query"].tolist() == [n // 12 for n in range(60)]
    assert len(set(zip(read["query"].tolist(), read["completed_ns"].tolist(), strict=True))) == 5


def test_each_row_names_the_group_of_its_item(execution, tmp_path):
    run = execution()
    told = write_log(tmp_path / "run.npy", run)
    read = load(tmp_path / "run.npy")
    assert told.strata == ("high", "low")
    assert all((told.strata[row["stratum"]] == "low") == (row["item"] < 20) for row in read)


def test_each_row_points_at_what_the_backend_raised(execution, tmp_path):
    run = execution()
    told = write_log(tmp_path / "run.npy", run)
    read = load(tmp_path / "run.npy")
    (thirteen,) = read[read["item"] == 13]
    assert told.errors[thirteen["error"]] == "ValueError: thirteen"


def test_an_output_is_known_by_its_digest(rows):
    outputs = Outputs()
    _, read = rows(outputs=outputs)
    (row,) = read[read["item"] == 14]
    assert row["output_sha256"].decode() == hashlib.sha256(b"json\x004").hexdigest()
    (failed,) = read[read["item"] == 13]
    assert failed["output_sha256"] == b""


def test_a_log_that_cannot_be_written_is_told_in_a_sentence(execution, tmp_path):
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(EvidenceError, match=r"the request log run.npy cannot be written: "):
        write_log(tmp_path / "runs" / "run.npy", execution())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        b"\x93NUMPY\x01\x00\x20\x00" + b"(" * 32,
        b"\x93NUMPY\x01\x00\x3e\x00{'descr': [('launch', '<i4')], 'shape': (99999999999999,), } \n",
    ],
)
def test_a_file_that_is_no_log_is_refused_in_a_sentence(tmp_path, data):
    (tmp_path / "run.npy").write_bytes(data)
    with pytest.raises(EvidenceError, match=r"run\.npy: not rows as we write them"):
        load(tmp_path / "run.npy")
