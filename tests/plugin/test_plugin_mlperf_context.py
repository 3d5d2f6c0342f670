"""A published score stands beside a requirement or an offer, and decides nothing."""

from pathlib import Path

import pytest

PUBLISHED = Path(__file__).parents[1] / "mlperf" / "data" / "v5.1.summary_results.json.gz"
SCORE = 'round="v5.1", benchmark="resnet", scenario="Offline", system="5.1-0034", results="published.json.gz"'
MARKED = f"""
@pytest.mark.mlperf_context({SCORE})
@pytest.mark.bar("accuracy", at_least=0.9)
def test_it(procure):
    '''Is it right?'''
    procure.run()
"""


@pytest.fixture
def published(suite):
    suite.path.joinpath("published.json.gz").write_bytes(PUBLISHED.read_bytes())
    return suite


def test_a_marked_score_stands_in_the_record_with_citation_and_distance(published):
    published.offers(good=1.0)
    published.tests(MARKED)
    ended = published.run("--procure-report")
    assert ended.status == 0, ended.text
    (context,) = ended.record["published"]
    assert context["about"] == "Is it right?"
    assert context["evidence_class"] == "public reference"
    assert "MLPerf®" in context["citation"]
    assert {row["aspect"]: row["verdict"] for row in context["rows"]}["dataset"] == "differs"
    assert context["can"]
    assert context["cannot"]


def test_the_report_shows_the_score_as_context(published):
    published.offers(good=1.0)
    published.tests(MARKED)
    published.run("--procure-report")
    html = (published.path / "procure-report" / "report.html").read_text("utf-8")
    assert "public reference" in html
    assert "191.575 samples/s" in html


def test_a_candidate_may_name_the_score(published):
    published.conftest(f"""
        from pytest_procure import PublishedScore

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0), published=PublishedScore({SCORE}))]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {{"numbers": numbers}}
        """)
    published.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
        """)
    (context,) = published.run("--procure-report").record["published"]
    assert context["about"] == "good"


def test_the_settings_may_name_the_file(published):
    published.offers(good=1.0)
    published.tests(MARKED.replace(', results="published.json.gz"', ""))
    ended = published.run("--procure-report", "-o", "procure_mlperf_results=published.json.gz")
    assert ended.record["published"][0]["evidence_class"] == "public reference"


def test_without_a_file_the_mark_is_a_usage_error(published):
    published.offers(good=1.0)
    published.tests(MARKED.replace(', results="published.json.gz"', ""))
    assert "expected round=" in published.mistake()


def test_a_system_that_was_never_published_is_a_usage_error(published):
    published.offers(good=1.0)
    published.tests(MARKED.replace("5.1-0034", "5.1-9999"))
    assert "5.1-9999" in published.mistake()


def test_a_missing_file_is_a_usage_error(published):
    published.offers(good=1.0)
    published.tests(MARKED.replace("published.json.gz", "elsewhere.json"))
    assert "elsewhere.json" in published.mistake()


def test_an_unknown_argument_is_a_usage_error_with_the_nearest_name(published):
    published.offers(good=1.0)
    published.tests(MARKED.replace("system=", "sistem="))
    assert "did you mean `system`?" in published.mistake()


ASSERTED = """
from pathlib import Path
from pytest_procure.mlperf import load_results

score = load_results(Path(__file__).parent / "published.json.gz").select("5.1-0034/resnet/Offline").score
"""


def test_a_published_score_in_an_assert_fails_and_says_why(published):
    published.offers(good=1.0)
    published.tests(
        ASSERTED
        + """
def test_it(procure):
    assert procure.run().throughput >= score
"""
    )
    ended = published.run("--procure-report")
    assert ended.status == 1
    assert "cannot decide anything here" in ended.words


def test_a_published_score_in_a_bar_is_a_usage_error_that_says_why(published):
    published.offers(good=1.0)
    published.tests(
        ASSERTED
        + """
@pytest.mark.scenario("offline", launches=5)
@pytest.mark.bar("throughput", at_least=score)
def test_it(procure):
    procure.run()
"""
    )
    assert "cannot be calculated with" in published.mistake()
