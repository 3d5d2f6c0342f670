"""What a session leaves behind, beside its verdict."""

import sys
import xml.etree.ElementTree as ET

import pytest

from pytest_procure.cli import main
from pytest_procure.report.outputs import NAMES

READS = """
    @pytest.mark.scenario("single_stream", count=400, warmup=0)
    @pytest.mark.bar("accuracy", at_least=0.9)
    def test_reads(procure):
        '''Does it read?'''
        procure.run()
"""


@pytest.fixture
def read(suite):
    """A suite with an offer that reads and one that does not."""
    suite.offers(good=1.0, bad=0.5)
    suite.tests(READS)
    return suite


def test_a_report_is_a_page_a_summary_a_table_and_a_record(read):
    ended = read.run("--procure-report")
    assert sorted(file.name for file in ended.folder.iterdir() if file.is_file()) == sorted(
        [
            *NAMES,
            "environment.json",
            "manifest.json",
            "ro-crate-metadata.json",
            "session.json",
            "verdict.json",
        ]
    )
    assert "■ Not accepted | bad" in (ended.folder / "summary.md").read_text()
    assert "bad,reject" in (ended.folder / "findings.csv").read_text()


def test_a_session_without_the_flag_writes_nothing(read, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    ended = read.run()
    assert not ended.folder.exists()
    assert not (tmp_path / "step.md").exists()


def test_the_report_made_again_has_the_same_bytes(read, tmp_path):
    ended = read.run("--procure-report")
    before = {name: (ended.folder / name).read_bytes() for name in NAMES}
    again = tmp_path / "again"
    assert main(["report", str(ended.folder), "--out", str(again)]) == 0
    assert {name: (again / name).read_bytes() for name in NAMES} == before


def test_in_actions_the_summary_is_added_to_the_steps(read, monkeypatch, tmp_path):
    step = tmp_path / "step.md"
    step.write_text("what an earlier step said\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    ended = read.run("--procure-report")
    assert step.read_text() == (
        "what an earlier step said\n" + (ended.folder / "summary.md").read_text() + "\n"
    )


def test_a_step_summary_that_cannot_be_written_is_told_and_no_green_run(suite, monkeypatch, tmp_path):
    suite.offers(good=1.0)
    suite.tests(READS)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert "GITHUB_STEP_SUMMARY" in ended.words
    assert ended.quiet


def properties(suite, *arguments, process=False):
    """What `--junitxml` carries, by test case."""
    suite.run("--junitxml=junit.xml", *arguments, process=process)
    cases = ET.parse(suite.path / "junit.xml").getroot().iter("testcase")  # noqa: S314 - we wrote it
    return {
        case.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
        for case in cases
    }


def test_each_test_case_carries_its_verdict_and_its_numbers(read):
    told = properties(read)
    assert told["test_reads[good]"]["procure.verdict"] == "accept"
    bad = told["test_reads[bad]"]
    assert bad["procure.verdict"] == "reject"
    assert bad["procure.accuracy.bar"] == "at least 90 %"
    assert bad["procure.accuracy.measured"] == "50 %"
    assert bad["procure.accuracy.n"] == "400 samples"
    assert bad["procure.accuracy.high"].startswith("54.")


def test_properties_come_from_workers_too(read):
    assert properties(read, "-n1", process=True)["test_reads[bad]"]["procure.verdict"] == "reject"


def test_what_could_not_be_set_up_says_why(suite):
    suite.conftest("""
        def broken(inputs):
            return inputs

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("broken", backend=broken)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            def none():
                raise OSError("the disc is full")
            return {"numbers": none}
    """)
    suite.tests(READS)
    (case,) = properties(suite).values()
    assert case["procure.verdict"] == "not tested"
    assert "the disc is full" in case["procure.sentence"]


def test_tests_of_others_get_no_property(suite):
    suite.write("test_other.py", "def test_other(): pass")
    assert properties(suite) == {"test_other": {}}


def test_a_pdf_is_for_a_report(read):
    assert read.mistake("--procure-pdf") == "`--procure-pdf` is for a report; add `--procure-report`"


def test_a_pdf_without_its_extra_is_refused_before_anything_is_measured(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    told = read.mistake("--procure-report", "--procure-pdf")
    assert told == "the PDF needs WeasyPrint; install it with `pip install 'pytest-procure[pdf]'`"


def test_the_last_day_stands_on_the_first_screen(read):
    read.write("pytest.ini", "[pytest]\nprocure_valid_until = 2027-06-30\n")
    ended = read.run("--procure-report")
    assert ended.record["valid_until"] == "2027-06-30"
    assert (
        "<dt>Valid until</dt><dd><bdi>30 June 2027</bdi></dd>" in (ended.folder / "report.html").read_text()
    )


def test_a_last_day_that_is_none_is_a_mistake(read):
    read.write("pytest.ini", "[pytest]\nprocure_valid_until = soon\n")
    told = read.mistake("--procure-report")
    assert told == "ini key `procure_valid_until = soon`; expected a day, as in 2027-06-30"


def test_candidates_are_paired_on_their_items(read):
    (pair,) = read.run("--procure-report").record["paired"]
    assert (pair["candidate"], pair["other"], pair["n"]) == ("good", "bad", 400)
    assert (pair["only_candidate"], pair["only_other"]) == (200, 0)


def test_candidates_are_paired_across_workers(read):
    ended = read.run("--procure-report", "-n1", process=True)
    assert [pair["n"] for pair in ended.record["paired"]] == [400]


def test_what_went_wrong_is_shown_unless_the_dataset_withholds_it(read):
    gallery = read.run("--procure-report").results["test_reads[bad]"]["runs"][0]["gallery"]
    assert gallery["failures"] == 200
    assert gallery["shown"][0]["answered"] == "-1"


def test_a_dataset_that_withholds_its_samples_is_heeded(suite):
    suite.conftest("""
        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("bad", backend=answers(0.5))]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": lambda: numbers(show_samples=False)}
    """)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    gallery = ended.results["test_reads[bad]"]["runs"][0]["gallery"]
    assert gallery["withheld"]
    assert not any("answered" in failure for failure in gallery["shown"])
    assert "The dataset withholds its samples" in (ended.folder / "report.html").read_text()
