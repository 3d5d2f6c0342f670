"""`--procure-screen`: short runs for daily work, which accept nothing."""

import json

import pytest
from sealed_suite import READS, ledger


def test_a_screening_is_short_and_accepts_nothing(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-screen", "--procure-report")
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert (ended.status, run["requests"]) == (0, 100)
    assert ended.record["mode"] == "screen"
    assert ended.record["outcome"]["accepted"] is False
    assert ended.verdicts == {"test_reads[good]": "inconclusive"}
    assert ended.record["outcome"]["sentence"] == (
        "Screening only, which accepts nothing: good is not turned down."
    )
    assert "not an acceptance report" in (ended.folder / "report.html").read_text("utf-8")


def test_what_a_screening_cannot_decide_fails_nothing(suite):
    suite.offers(good=0.92)
    suite.tests(READS)
    ended = suite.run("--procure-screen")
    assert (ended.status, ended.outcomes) == (0, {"passed": 1})


def test_an_assert_that_a_screening_cannot_decide_fails_nothing(suite):
    suite.offers(good=0.92)
    suite.tests("def test_reads(procure):\n    assert procure.run().accuracy >= 0.9\n")
    assert suite.run("--procure-screen").status == 0


def test_what_a_screening_turns_down_fails(suite):
    suite.offers(good=1.0, bad=0.3)
    suite.tests(READS)
    ended = suite.run("--procure-screen", "--procure-report")
    assert ended.status == 1
    assert ended.record["outcome"]["reasons"] == ["bad: not accepted"]


def test_an_error_fails_a_screening(suite):
    suite.offers(good=1.0)
    suite.tests(READS + "    raise RuntimeError('broken')\n")
    assert suite.run("--procure-screen").status == 1


def test_a_foreign_failure_fails_a_screening(suite):
    suite.offers(good=1.0)
    suite.tests(READS + "\ndef test_foreign(): assert False\n")
    assert suite.run("--procure-screen").status == 1


def test_a_screening_of_a_part_is_daily_work(suite):
    suite.offers(good=1.0)
    suite.tests(READS + READS.replace("test_reads", "test_writes"))
    assert suite.run("--procure-screen", "-k", "reads").status == 0


def test_a_screening_is_in_the_ledger_and_is_no_run_of_a_series(sealed):
    assert sealed.run("--procure-screen").status == 0
    begun = [entry for entry in ledger(sealed) if entry["event"] == "begin"]
    assert [entry["kind"] for entry in begun] == ["screen"]
    ended = sealed.run("--procure-report")
    assert ended.status == 0
    assert ended.results["test_reads[good]"]["series"]["run"] == 1
    assert "1 screening(s)" in json.dumps(ended.record["ledger"])


def test_a_screening_is_not_held_to_the_seal(sealed):
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    ended = sealed.run("--procure-screen", "--procure-report")
    assert ended.status == 0
    assert ended.record["seal"]["state"] == "screen"


@pytest.mark.parametrize(
    "scenario", ["'server', qps=2000, duration='1 s'", "'offline', launches=5", "'multi_stream'"]
)
def test_other_traffic_is_cut_short_too(suite, scenario):
    suite.offers(good=1.0)
    suite.tests(
        READS.replace("'single_stream', count=400", scenario).replace('"single_stream", count=400', scenario)
    )
    ended = suite.run("--procure-screen", "--procure-report")
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert run["requests"] <= 100
