"""Under pytest-xdist: the same verdicts, or a refusal; evidence is never lost without a word."""

import pytest

pytest.importorskip("xdist")

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""


def test_one_worker_gives_the_same_findings_and_logs(suite):
    suite.offers(good=1.0, bad=0.5)
    suite.tests(READS)
    alone = suite.run("--procure-report").results
    ended = suite.run("--procure-report", "-n", "1", process=True)
    assert ended.status == 1
    assert {test: each["findings"] for test, each in ended.results.items()} == {
        test: each["findings"] for test, each in alone.items()
    }
    logs = [run["log"] for each in ended.results.values() for run in each["runs"]]
    assert all((ended.folder / log).is_file() for log in logs)
    assert ended.record["outcome"]["sentence"] == "good is accepted; bad is not accepted."
    assert "The tests were spread over 1 worker process(es) by pytest-xdist." in ended.record["notes"]


def test_more_workers_than_devices_are_refused(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("-n", "2", "-p", "no:benchmark", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "would measure on" in ended.words
    assert "run with `-n 1`, or without pytest-xdist" in ended.words
    assert ended.quiet


def test_several_workers_are_nothing_to_us_where_nothing_is_measured(suite):
    suite.tests("def test_one(): pass\ndef test_two(): pass\n")
    ended = suite.run("-n", "2", process=True)
    assert (ended.status, ended.outcomes) == (0, {"passed": 2})


def test_a_mistake_in_a_mark_is_told_in_one_line_by_a_worker_too(suite):
    suite.offers(good=1.0)
    suite.tests(READS.replace("accuracy", "acuracy"))
    ended = suite.run("-n", "1", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "unknown metric `acuracy`; did you mean `accuracy`?" in ended.words
    assert ended.quiet


def test_a_result_that_is_lost_on_the_way_is_told_and_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=1.0)
    suite.tests("""
        import numpy as np

        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure, record_property):
            procure.run()
            record_property("answers", np.float64(400))
    """)
    ended = suite.run("--procure-report", "-n", "1", process=True)
    assert ended.status not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    assert "good is not accepted, because it is not fully tested." in ended.words


def test_a_worker_that_dies_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=1.0)
    suite.tests(
        READS
        + """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_crashes(procure):
    import os, signal
    procure.run()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    ended = suite.run("--procure-report", "-n", "1", process=True)
    assert ended.status not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    assert ended.verdicts["test_crashes[good]"] == "not tested"
    assert "good is not accepted, because it is not fully tested." in ended.words
