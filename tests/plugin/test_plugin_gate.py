"""The exit status, which fails closed, and the sentence that gives its reason."""

import json

import pytest

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""


def outcome(ended):
    """What `verdict.json` says of the exit status; it is the one that the session ended with."""
    told = ended.record["outcome"]
    assert told["exit_status"] == ended.status
    assert told["accepted"] == (ended.status == 0)
    return told


def test_all_candidates_that_meet_their_bars_end_with_0(suite):
    suite.offers(good=1.0, better=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert outcome(ended)["sentence"] == "good is accepted; better is accepted."


def test_an_offer_that_the_command_leaves_out_by_the_name_of_a_test_is_not_tested(suite):
    suite.offers(good=1.0, other=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "test_it.py::test_reads[good]")
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["other: not accepted, because it is not fully tested"]
    (requirement,) = ended.record["requirements"]
    assert requirement["results"][1]["sentence"] == "Not tested: it was deselected"


def test_who_chooses_an_offer_by_its_name_is_told_of_that_one(suite):
    suite.offers(good=1.0, other=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--procure-candidate", "good", "test_it.py::test_reads[good]")
    assert ended.status == 0


def test_one_candidate_that_does_not_ends_with_1(suite):
    suite.offers(good=1.0, bad=0.5)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["bad: not accepted"]


def test_an_undecided_candidate_ends_with_1_in_words_of_its_own(suite):
    suite.offers(close=0.9)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert outcome(ended)["sentence"] == "close is not accepted, because it is not decided."


def test_under_award_any_one_candidate_that_meets_its_bars_is_enough(suite):
    suite.offers(good=1.0, bad=0.5)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--procure-award", "any")
    assert ended.status == 0
    assert outcome(ended)["sentence"] == "good is accepted; bad is not accepted."


def test_under_award_any_no_candidate_that_meets_its_bars_ends_with_1(suite):
    suite.offers(bad=0.5, worse=0.3)
    suite.tests(READS)
    assert suite.run("--procure-award", "any").status == 1


def test_under_award_any_one_candidate_has_to_meet_all_requirements(suite):
    suite.conftest("""
        def evens(inputs): return np.where(inputs % 2, -1, inputs % 10)
        def odds(inputs): return np.where(inputs % 2, inputs % 10, -1)
        def pytest_procure_candidates():
            return [Candidate("evens", backend=evens), Candidate("odds", backend=odds)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.dataset_slice(where=lambda number, label, stratum: number % 2 == 0)
        def test_evens(procure): procure.run()

        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.dataset_slice(where=lambda number, label, stratum: number % 2 == 1)
        def test_odds(procure): procure.run()
    """)
    assert suite.run("--procure-award", "any").status == 1


def test_under_award_any_the_candidates_share_the_consumers_risk(suite):
    suite.offers(one=1.0, two=1.0, three=1.0, four=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--procure-award", "any")
    (finding,) = ended.results["test_reads[one]"]["findings"]
    assert finding["confidence"] == 0.9875
    assert ended.record["consumer_risk"] == 0.0125


def test_under_award_any_an_error_of_the_candidate_not_awarded_is_not_forgiven(suite):
    suite.offers(good=1.0, bad=0.5)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure, candidate):
            procure.run()
            if candidate.name == "bad":
                raise RuntimeError("the test is broken")
    """)
    ended = suite.run("--procure-report", "--procure-award", "any")
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["1 failed otherwise than by a bar: test_it.py::test_reads[bad]"]


def test_under_award_any_a_plain_assert_of_the_candidate_not_awarded_is_not_forgiven(suite):
    suite.offers(good=1.0, bad=0.5)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure, candidate):
            procure.run()
            assert candidate.name != "bad"
    """)
    assert suite.run("--procure-award", "any").status == 1


def test_under_award_any_a_broken_load_of_the_candidate_not_awarded_is_not_forgiven(suite):
    suite.conftest("""
        class Broken:
            def load(self, base): raise OSError("no such device")
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0)), Candidate("broken", backend=Broken())]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    assert suite.run("--procure-award", "any").status == 1


@pytest.mark.parametrize("award", ["all", "any"])
def test_a_foreign_test_that_fails_keeps_the_status_at_1(suite, award):
    suite.offers(good=1.0)
    suite.tests(READS + "\ndef test_foreign(): assert False\n")
    ended = suite.run("--procure-report", "--procure-award", award)
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["1 failed otherwise than by a bar: test_it.py::test_foreign"]
    assert "Tests that are no requirements failed: test_it.py::test_foreign." in ended.record["notes"]


@pytest.mark.parametrize("award", ["all", "any"])
def test_an_error_in_a_teardown_keeps_the_status_at_1(suite, award):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.fixture
        def messy():
            yield
            raise OSError("the disk is full")

        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure, messy):
            procure.run()
    """)
    ended = suite.run("--procure-report", "--procure-award", award)
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["1 failed otherwise than by a bar: test_it.py::test_reads[good]"]


@pytest.mark.parametrize(
    "way", ["@pytest.mark.xfail", "@pytest.mark.xfail(reason='known')", "@pytest.mark.xfail(run=False)"]
)
def test_xfail_is_no_waiver(suite, way):
    suite.offers(bad=0.5)
    suite.tests(way + READS)
    ended = suite.run("--procure-report")
    assert ended.outcomes == {"xfailed": 1}
    assert ended.status == 1
    assert outcome(ended)["sentence"].startswith("bad is not accepted")


@pytest.mark.parametrize("way", ["@pytest.mark.skip", "@pytest.mark.skipif(True, reason='later')"])
def test_skip_is_no_waiver(suite, way):
    suite.offers(good=1.0)
    suite.tests(way + READS)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.verdicts) == (1, {"test_reads[good]": "not tested"})


def test_a_skip_in_the_middle_of_a_test_is_no_waiver(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure):
            procure.run()
            pytest.skip("seen enough")
    """)
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert ended.results["test_reads[good]"]["problem"] == "Skipped: seen enough"


def test_an_xfail_that_passes_is_accepted_without_a_problem(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.xfail(strict=False)" + READS)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.outcomes) == (0, {"xpassed": 1})
    assert ended.results["test_reads[good]"]["problem"] == ""


def test_a_strict_xfail_that_passes_keeps_the_status_at_1(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.xfail(strict=True)" + READS)
    assert suite.run().status == 1


TWO = READS + READS.replace("test_reads", "test_writes")


@pytest.mark.parametrize(
    "arguments", [("-k", "writes"), ("--deselect", "test_it.py::test_reads"), ("-m", "not slow")]
)
def test_a_requirement_that_is_deselected_is_not_tested_and_the_offer_not_accepted(suite, arguments):
    suite.offers(good=1.0)
    suite.write("pytest.ini", "[pytest]\nmarkers = slow")
    suite.tests("@pytest.mark.slow" + TWO)
    ended = suite.run("--procure-report", *arguments)
    assert ended.verdicts == {"test_reads[good]": "not tested", "test_writes[good]": "accept"}
    assert ended.results["test_reads[good]"]["problem"] == "it was deselected"
    assert ended.status == 1
    assert outcome(ended)["sentence"] == "good is not accepted, because it is not fully tested."


def test_nothing_selected_at_all_is_not_accepted(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "-k", "nothing")
    assert ended.verdicts == {"test_reads[good]": "not tested"}
    assert ended.status != 0


def test_what_comes_after_the_first_failure_is_not_tested(suite):
    suite.offers(bad=0.5)
    suite.tests(TWO)
    ended = suite.run("--procure-report", "-x")
    assert ended.verdicts == {"test_reads[bad]": "reject", "test_writes[bad]": "not tested"}
    assert ended.status == 1


def test_a_file_that_cannot_be_collected_keeps_everything_from_acceptance(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write("test_broken.py", "import no_such_module")
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    assert ended.verdicts == {"test_reads[good]": "not tested"}
    assert outcome(ended)["reasons"] == ["the session was interrupted"]


def test_a_file_that_cannot_be_collected_keeps_the_status_when_the_others_run(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write("test_broken.py", "import no_such_module")
    ended = suite.run("--procure-report", "--continue-on-collection-errors")
    assert ended.verdicts == {"test_reads[good]": "accept"}
    assert ended.status == 1
    assert outcome(ended)["reasons"] == ["1 failed otherwise than by a bar: test_broken.py"]


def test_a_session_that_is_interrupted_ends_as_interrupted(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure):
            procure.run()
            raise KeyboardInterrupt
    """)
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    assert ended.verdicts["test_reads[good]"] != "accept"


def test_pytest_exit_with_0_ends_not_green_and_says_so(suite):
    suite.offers(good=1.0, later=1.0)
    suite.tests("def test_reads(procure):\n    pytest.exit('enough', returncode=0)\n")
    ended = suite.run("--procure-report")
    assert ended.status == 1
    told = {test: result["problem"] for test, result in ended.results.items()}
    assert told == {
        "test_reads[good]": "Exit: enough",
        "test_reads[later]": "it never ran: the session stopped before it (pytest.exit: enough)",
    }


def test_a_requirement_after_ctrl_c_says_that_the_session_was_interrupted(suite):
    suite.offers(good=1.0, later=1.0)
    suite.tests("def test_reads(procure):\n    raise KeyboardInterrupt\n")
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    assert ended.results["test_reads[later]"]["problem"] == (
        "it never ran: the session was interrupted before it"
    )


def test_pytest_exit_keeps_its_status(suite):
    suite.offers(good=1.0)
    suite.tests(READS + "\ndef test_stops(): pytest.exit('enough', returncode=7)\n")
    assert suite.run("--procure-report").status == 7


def test_the_first_run_of_a_test_decides_and_later_ones_are_told(suite):
    path = suite.offers(good=1.0)
    path.write_text(
        path.read_text()
        + """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    for _ in range(2):
        for report in runtestprotocol(item, nextitem=None, log=False):
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
    )
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert "test_it.py::test_reads[good] ran 2 times; the first run decides." in ended.record["notes"]


def test_a_suite_with_the_flag_and_no_requirement_says_so_and_does_not_end_with_0(suite):
    suite.tests("def test_foreign(): pass")
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert "no requirement was found" in ended.words


def test_collecting_alone_writes_nothing(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--collect-only")
    assert ended.status == 0
    assert not ended.folder.exists()
    assert "procurement verdict" not in ended.text


def test_without_the_flag_the_verdict_is_told_and_nothing_is_written(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    before = sorted(path.name for path in suite.path.iterdir())
    ended = suite.run()
    assert "good is accepted." in ended.words
    assert [name for name in sorted(p.name for p in suite.path.iterdir()) if name != "__pycache__"] == before


def test_a_report_consists_of_a_page_a_record_and_what_it_follows_from(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert sorted(path.name for path in ended.folder.iterdir()) == [
        "cases",
        "environment.json",
        "findings.csv",
        "manifest.json",
        "outputs",
        "report.html",
        "ro-crate-metadata.json",
        "runs",
        "session.json",
        "slices",
        "summary.md",
        "verdict.json",
    ]
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert (ended.folder / run["log"]).is_file()


def test_the_flag_does_not_swallow_the_path_behind_it(suite):
    suite.offers(good=1.0)
    test = suite.tests(READS)
    before = test.read_text()
    ended = suite.run("--procure-report", "test_it.py")
    assert ended.status == 0
    assert test.read_text() == before
    assert (ended.folder / "report.html").is_file()


def test_the_report_goes_where_the_command_says(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    assert suite.run("--procure-report", "--procure-out", "out/november").status == 0
    assert (suite.path / "out" / "november" / "report.html").is_file()


def test_an_earlier_report_is_replaced(suite):
    suite.offers(good=1.0, gone=1.0)
    suite.tests(READS)
    suite.run("--procure-report")
    suite.offers(good=1.0)
    ended = suite.run("--procure-report")
    assert set(ended.verdicts) == {"test_reads[good]"}
    assert len(list((ended.folder / "runs").iterdir())) == 1


def test_a_mistake_in_a_mark_leaves_the_earlier_report_where_it_is(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.run("--procure-report")
    suite.tests(READS.replace("accuracy", "acuracy"))
    assert suite.run("--procure-report").status == pytest.ExitCode.USAGE_ERROR
    assert (suite.path / "procure-report" / "report.html").is_file()


def test_a_folder_that_is_no_report_is_refused_and_left_alone(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    thesis = suite.write("thesis/chapter-1.txt", "It was a dark and stormy night.")
    said = suite.mistake("--procure-report", "--procure-out", "thesis")
    assert "holds something that is no earlier report; name another folder" in said
    assert [path.name for path in thesis.parent.iterdir()] == ["chapter-1.txt"]


def test_a_file_is_refused_as_a_folder_and_left_alone(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    notes = suite.write("notes", "buy milk")
    assert "is a file; expected a folder" in suite.mistake("--procure-report", "--procure-out", "notes")
    assert notes.read_text() == "buy milk"


def test_logs_of_tests_with_similar_names_are_kept_apart(suite):
    suite.offers(**{"acme int8": 1.0, "acme-int8": 0.5})
    suite.tests(READS)
    results = suite.run("--procure-report").results.values()
    assert len({run["log"] for result in results for run in result["runs"]}) == 2


def test_the_record_is_plain_json_without_numbers_that_json_has_not(suite):
    suite.offers(good=1.0, bad=0.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")

    def refuse(name):
        raise AssertionError(name)

    json.loads((ended.folder / "verdict.json").read_text(), parse_constant=refuse)
