"""A session's folder is a pack that anybody can verify, however the session went."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from pytest_procure.cli import main
from pytest_procure.verify import verify

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    "Reads?"
    result = procure.run()
    assert result.latency.p95 <= ms(5000)
"""
MIXED = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_asserts(procure):
    result = procure.run()
    assert result.error_rate < 0.5
    assert result.accuracy >= 0.999
    assert result.latency.p90 <= ms(900)

@pytest.mark.bar("own.joy", at_least=3)
def test_own(procure):
    procure.run()
    assert procure.measure("own.joy", 4) > 3
    procure.measure("own.joys", 2)

@pytest.mark.scenario("offline", max_batch=50, launches=5)
@pytest.mark.bar("throughput", at_least="1 1/s")
def test_bulk(procure):
    procure.run()
    own = procure.run("server", qps=4000, count=40)
    assert own.goodput(latency="5 s", correct=True) >= 0.1

@pytest.mark.bar("accuracy", at_least=0.9)
def test_raises(procure):
    procure.run()
    raise ValueError("token=abcdefgh12345678")

@pytest.mark.xfail
@pytest.mark.bar("accuracy", at_least=0.9)
def test_expected_to_fail(procure):
    assert procure.run().accuracy >= 0.9999

@pytest.mark.bar("accuracy", at_least=0.9)
def test_never_runs(procure):
    pass

@pytest.mark.skip(reason="not today")
@pytest.mark.bar("accuracy", at_least=0.9)
def test_skipped(procure):
    procure.run()

@pytest.mark.scenario("single_stream", stopping="curtailed")
@pytest.mark.bar("accuracy", at_least=0.5)
def test_in_stages(procure):
    procure.run()

@pytest.mark.bar("accuracy", at_least="90 %", of="good")
def test_beside_the_good(procure):
    procure.run()
"""


def said(found):
    return "\n".join(map(str, found.mismatches))


def test_a_sessions_folder_verifies(suite):
    suite.offers(good=1.0, poor=0.5)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    found = verify(ended.folder)
    assert found.holds, said(found)
    assert found.record == ended.record


def test_whatever_tests_do_the_folder_verifies(suite):
    suite.offers(good=1.0, poor=0.95)
    suite.tests(MIXED)
    ended = suite.run("--procure-report")
    found = verify(ended.folder)
    assert found.holds, said(found)
    assert {"reject", "inconclusive", "not tested", "accept"} <= set(ended.verdicts.values())


def test_a_folder_written_by_several_processes_verifies(suite):
    suite.offers(good=1.0, poor=0.5)
    suite.tests(READS)
    ended = suite.run("--procure-report", "-p", "xdist", "-n", "1", process=True)
    found = verify(ended.folder)
    assert found.holds, ended.text + said(found)


def test_no_journal_stays_behind(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert not list(ended.folder.rglob("*.part"))


def test_without_the_flag_nothing_is_journalled(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.run()
    assert not list(suite.path.rglob("*.part"))


def test_answers_are_kept_by_digest_alone_where_the_suite_says_so(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write("pytest.ini", "[pytest]\nprocure_keep_outputs = no\n")
    ended = suite.run("--procure-report")
    assert not (ended.folder / "outputs").exists()
    assert verify(ended.folder).holds


def test_what_the_suite_redacts_is_in_no_file_of_the_folder(suite):
    suite.conftest("""
        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("talker", backend=lambda inputs: [f"call +49 30 {n}" for n in inputs])]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """)
    suite.tests(READS)
    suite.write("pytest.ini", "[pytest]\nprocure_redact = \\+49 30 \\d+\n")
    ended = suite.run("--procure-report")
    texts = b"".join(path.read_bytes() for path in ended.folder.rglob("*") if path.is_file())
    assert b"+49 30" not in texts
    assert b"call [redacted]" in texts
    assert verify(ended.folder).holds


def test_a_key_that_a_backend_raises_with_is_in_no_file(suite):
    suite.conftest("""
        def answer(inputs):
            raise RuntimeError("401 for https://me:hush@host/ with Bearer abcdefghijklmnop, api_key=hushhush")

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("silent", backend=answer)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    texts = b"".join(path.read_bytes() for path in ended.folder.rglob("*") if path.is_file())
    assert b"hush" not in texts
    assert b"abcdefghijklmnop" not in texts
    assert b"401 for https://[redacted]@host/" in texts


@pytest.mark.parametrize(
    ("line", "told"),
    [("procure_keep_outputs = perhaps", "expected yes or no"), ("procure_redact = (", "procure_redact = (")],
)
def test_settings_that_cannot_be_meant_are_usage_errors(suite, line, told):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write("pytest.ini", f"[pytest]\n{line}\n")
    assert told in suite.mistake("--procure-report")


SLOW = """
import os, time

def answer(inputs):
    if len(SEEN) == 150:
        open("reached", "w").close()
        time.sleep(60)
    SEEN.append(1)
    return [int(n) % 10 for n in inputs]

SEEN = []
"""


@pytest.fixture
def killed(suite):
    """A session that was killed with SIGKILL while a run was under way, after one test was over."""
    suite.conftest(
        SLOW
        + """
        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("slow", backend=answer)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """.replace("\n        ", "\n")
    )
    suite.tests("""
@pytest.mark.dataset_slice("numbers", n=100)
@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_first(procure):
    procure.run()

@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_second(procure):
    procure.run()

@pytest.mark.bar("accuracy", at_least=0.9)
def test_third(procure):
    procure.run()
""")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--procure-report", "-q"]
    with subprocess.Popen(command, cwd=suite.path, stdout=subprocess.DEVNULL) as session:
        while session.poll() is None and not (suite.path / "reached").exists():
            os.sched_yield()
        assert session.poll() is None, "the session ended before it could be killed"
        session.send_signal(signal.SIGKILL)
    return suite.path / "procure-report"


def test_a_killed_session_leaves_every_row_and_is_recovered_as_a_partial_pack(killed, capsys):
    assert main(["recover", str(killed)]) == 0
    assert "50 answered; it decides nothing" in capsys.readouterr().out
    record = json.loads((killed / "verdict.json").read_text())
    verdicts = [result["verdict"] for q in record["requirements"] for result in q["results"]]
    assert verdicts == ["accept", "not tested", "not tested"]
    assert record["outcome"]["exit_status"] == 137
    assert any(note.startswith("The session was killed") for note in record["notes"])
    (path,) = killed.glob("runs/*second*.npy")
    rows = np.load(path)
    assert (rows["status"] == 255).sum() == 50  # 100 were of the first test
    assert (rows["started_ns"] >= 0).sum() == 51
    found = verify(killed)
    assert found.holds, said(found)


def test_a_finished_pack_is_not_recovered(suite, capsys):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert main(["recover", str(ended.folder)]) == 2
    assert "is a finished pack" in capsys.readouterr().err
