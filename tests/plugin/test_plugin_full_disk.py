"""A disk that is full, or a folder that goes away: one line says so, nothing is accepted, the rest stays.

The limit on the size of a file is the disk here: writing beyond it fails as it does on a full one.
"""

import json

import pytest

from pytest_procure.cli import main
from pytest_procure.verify import verify

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    "Reads?"
    procure.run()
"""
WRITES = READS.replace("eads", "rites")
#: Bytes of a file, and samples of a run: first its rows take more, then the page alone does.
ROWS_FAIL, PAGE_FAILS = (40_000, 400), (40_000, 200)


def limited(suite, limit, samples):
    """Run a suite whose offer is good, where no file may be larger than so many bytes."""
    suite.offers(good=1.0)
    suite.write(
        "disk.py",
        f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))\n",
    )
    suite.tests(f"@pytest.mark.dataset_slice('numbers', n={samples})" + READS)
    return suite.run("--procure-report", "-p", "disk", process=True)


def accepts_nothing(ended):
    """See that a session ended without a report, a traceback, and anything that looks like an acceptance."""
    assert ended.status == pytest.ExitCode.TESTS_FAILED, ended.text
    assert ended.quiet, ended.text
    assert "Nothing is accepted, because the evidence could not be written." in ended.text
    assert "is accepted;" not in ended.text
    assert "good is accepted" not in ended.text
    made = {"report.html", "verdict.json", "manifest.json", "summary.md"}
    assert not made & {path.name for path in ended.folder.parent.rglob("*")}


@pytest.mark.parametrize(("limit", "samples"), [ROWS_FAIL, PAGE_FAILS])
def test_a_full_disk_is_told_in_a_line_and_accepts_nothing(suite, limit, samples):
    ended = limited(suite, limit, samples)
    accepts_nothing(ended)
    assert f"cannot be written: File too large, in {ended.folder}" in ended.words
    assert "raise the limit on the size of a file" in ended.words
    assert f"no report: what was written before is kept in {ended.folder}" in ended.words


def test_rows_that_were_written_before_the_disk_was_full_are_kept_and_recovered(suite, capsys):
    ended = limited(suite, *PAGE_FAILS)
    (case,) = (ended.folder / "cases").iterdir()
    assert json.loads(case.read_text("ascii"))["tested"]
    assert list((ended.folder / "runs").glob("*.npy"))
    assert main(["recover", str(ended.folder)]) == 0
    assert "is partial" in capsys.readouterr().out
    found = verify(ended.folder)
    assert (found.mismatches, ended.record["outcome"]["accepted"]) == ([], False)


def test_no_half_file_stays_where_the_rows_did_not_fit(suite):
    ended = limited(suite, *ROWS_FAIL)
    assert not list((ended.folder / "runs").glob("*.npy"))
    for path in (ended.folder / "cases").iterdir():
        json.loads(path.read_text("ascii"))


GOES_AWAY = """
import shutil
from pathlib import Path

@pytest.fixture(autouse=True)
def _goes_away(request, procure):
    yield
    if request.node.name.startswith("test_reads"):
        shutil.rmtree("procure-report")
        {then}
"""


@pytest.mark.parametrize("then", ["pass", "Path('procure-report').write_text('a file')"])
def test_a_folder_that_goes_away_while_tests_run_is_told_and_accepts_nothing(suite, then):
    suite.offers(good=1.0)
    suite.tests(GOES_AWAY.format(then=then) + READS + WRITES)
    ended = suite.run("--procure-report", process=True)
    accepts_nothing(ended)
    assert "removed" in ended.words


def test_a_report_folder_that_cannot_be_made_is_told_before_anything_is_measured(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write("there", "a file")
    said = suite.mistake("--procure-report", "--procure-out", "there/below")
    assert said.startswith("the report folder below cannot be written: Not a directory, in ")


FULL_FOR_THE_REGISTER = """
import errno
from pathlib import Path

written = Path.write_text

def write_text(path, text, **more):
    if path.name.startswith("procure-register-"):
        written(path, text[:20])
        raise OSError(errno.ENOSPC, "No space left on device")
    return written(path, text, **more)

Path.write_text = write_text
"""


def test_what_workers_expect_and_cannot_write_is_told_in_a_line(suite):
    suite.offers(good=1.0)
    suite.write("disk.py", FULL_FOR_THE_REGISTER)
    suite.tests(READS)
    ended = suite.run("-p", "xdist", "-n", "1", "-p", "disk", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR, ended.text
    assert ended.quiet, ended.text
    assert "what the worker processes expect could not be written to " in ended.words
