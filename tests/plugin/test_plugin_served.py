"""A buyer's suite whose candidates are servers that are started for the run."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("httptools")
STAND_IN = Path(__file__).parents[1] / "backends" / "stand_in.py"
KEY = "sk-not-to-be-seen-anywhere-0123456789"

CONFTEST = """
    import sys
    import pytest
    from pytest_procure import Candidate, Dataset, OpenAIEndpoint, Served, TokenPrice

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate(name, price=TokenPrice(input="1 USD", output="2 USD"), backend=Served(
            [sys.executable, {stand_in!r}, "{{port}}", "child=" + name + ".pids", *more],
            OpenAIEndpoint("http://127.0.0.1:{{port}}/v1", model="m"),
            ready="/health", start_timeout="20 s", environment=["MODEL_KEY"], log=name + ".log",
            log_bytes=1 << 16)) for name, more in {offers!r}.items()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = [f"question {{k}}" for k in range(100)]
        return {{"questions": lambda: Dataset.from_arrays(
            "questions", inputs=texts, references=[text.upper() + " " for text in texts])}}
"""
TESTS = """
    @pytest.mark.scenario("single_stream", count=100, timeout="30 s")
    @pytest.mark.bar("accuracy", at_least=0.9)
    def test_answers(procure):
        "Does it answer?"
        procure.run()
"""


@pytest.fixture
def served(suite, monkeypatch):
    """Run a suite of such offers: name -> arguments of the stand-in."""
    monkeypatch.setenv("MODEL_KEY", KEY)

    def run(tests=TESTS, **offers):
        suite.conftest(CONFTEST.format(stand_in=str(STAND_IN), offers=offers))
        suite.tests(tests)
        ended = suite.run("--procure-report")
        for pids in suite.path.glob("*.pids"):
            for pid in map(int, pids.read_text().split()):
                with pytest.raises(ProcessLookupError):
                    os.kill(pid, 0)
        return ended

    return run


def test_a_server_is_measured_and_disclosed_and_nothing_is_left(served):
    ended = served(good=[])
    assert ended.status == 0, ended.text
    (result,) = ended.results.values()
    told = result["runs"][0]["conditions"]["server"]
    assert told["starts"] == 1
    assert len(told["log"]["sha256"]) == 64
    (candidate,) = ended.record["candidates"]
    assert candidate["backend"]["command"][-2:] == ["{port}", "child=good.pids"]


def test_a_server_that_dies_in_the_middle_is_a_finding_and_the_session_goes_on(served):
    ended = served(dying=["fault=dies-asked", "after=40"], good=[])
    assert ended.status == 1
    assert ended.verdicts == {"test_answers[dying]": "reject", "test_answers[good]": "accept"}
    assert "its process ended itself with exit status 3" in ended.words
    assert "cannot allocate 12 GiB" in ended.words
    (dead,) = [f for f in ended.results["test_answers[dying]"]["findings"] if f["metric"].startswith("alive")]
    assert dead["verdict"] == "reject"


def test_the_next_requirement_gets_a_fresh_server(served):
    again = TESTS + TESTS.replace("test_answers", "test_answers_again").replace("count=100", "count=30")
    ended = served(again, dying=["fault=dies-asked", "after=60"])
    assert ended.verdicts["test_answers[dying]"] == "reject"
    (runs,) = [ended.results["test_answers_again[dying]"]["runs"]]
    assert runs[0]["conditions"]["server"]["starts"] == 2


def test_a_server_that_does_not_start_is_told_and_others_are_measured(served):
    ended = served(dead=["fault=dies"], good=[])
    assert ended.status == 1
    assert ended.quiet
    assert "the server ended with exit status 3 before it was ready; its log ends:" in ended.words
    assert ended.verdicts["test_answers[good]"] == "accept"
    assert ended.verdicts["test_answers[dead]"] != "accept"


def test_empty_streams_with_status_200_are_failures(served):
    ended = served(empty=["fault=empty"])
    assert ended.verdicts == {"test_answers[empty]": "reject"}
    assert "the stream held no token" in ended.words


def test_a_flooded_log_is_told_and_kept_small(served, suite):
    ended = served(loud=["fault=floods"])
    assert ended.status == 0, ended.text
    (run,) = [run for result in ended.results.values() for run in result["runs"]]
    assert any("its server flooded its log" in note for note in run["notes"])
    assert (suite.path / "loud.log").stat().st_size < 70_000


def test_the_key_of_a_server_is_in_no_file(served, suite):
    ended = served(good=[], dead=["fault=dies"])
    assert KEY not in ended.text
    for path in suite.path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path.name
    assert sys.executable not in (ended.folder / "verdict.json").read_text("utf-8")


def test_a_key_that_a_server_logs_as_it_dies_is_in_no_file(suite, monkeypatch):
    key = "a-plain-word-as-a-key"  # that only its holder can know for one
    monkeypatch.setenv("WAY_IN", key)
    told = CONFTEST.replace('model="m")', 'model="m", key_env="WAY_IN")')
    told = told.replace('["MODEL_KEY"]', "[]")
    suite.conftest(told.format(stand_in=str(STAND_IN), offers={"telling": ["fault=tells", "after=40"]}))
    suite.tests(TESTS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_answers[telling]": "reject"}
    assert 'it last wrote "panic while serving; x-auth was' in ended.words
    assert "panic while serving" in (suite.path / "telling.log").read_text()
    assert key not in ended.text
    written = [file for file in suite.path.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert not [file.name for file in written if key.encode() in file.read_bytes()]
