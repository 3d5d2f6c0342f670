"""An endpoint that is down from the first was not tested; one that goes down after that has failed."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sealed_suite import INI, ledger, seal

from pytest_procure.backends.endpoints import reach as reaching
from pytest_procure.verify import verify

MOCK = Path(__file__).parents[2] / "benchmarks" / "mock_endpoint.py"

CONFTEST = """
    import pytest
    from pytest_procure import Candidate, Dataset, OpenAIEndpoint

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate(name, backend=OpenAIEndpoint(url, model="mock")) for name, url in {urls!r}.items()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = [f"question {{k}}" for k in range(100)]
        return {{"questions": lambda: Dataset.from_arrays("questions", inputs=texts,
                                                        references=[" w0 w1 w2 w3"] * 100)}}
"""
TEST = """
    @pytest.mark.scenario({scenario}, timeout="60 s", warmup={warmup})
    @pytest.mark.bar("error_rate", at_most=0.1)
    def test_{name}(procure):
        "Does it answer?"
        procure.run()
"""
ONCE = '"single_stream", count=100'


@pytest.fixture
def port():
    """A port of this machine at which nobody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture
def serve(port):
    started = []

    def serve(*behaviour):
        command = [sys.executable, str(MOCK), "--port", str(port), "tokens=4", *behaviour]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline().split() == ["ready", str(port)]

    yield serve
    for process in started:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def offer(suite, port, *, scheme="http", **others):
    urls = {"hosted": f"{scheme}://127.0.0.1:{port}/v1", **others}
    suite.conftest(CONFTEST.format(urls=urls))


def ask(suite, *names, scenario=ONCE, warmup=0):
    told = [TEST.format(scenario=scenario, name=name, warmup=warmup) for name in names]
    suite.tests("".join(told))
    return suite.run("--procure-report")


def test_an_endpoint_that_is_down_was_not_tested_and_the_address_is_told(suite, port):
    offer(suite, port)
    ended = ask(suite, "answers", scenario='"server", qps=100, count=100')
    assert ended.status == 1
    assert ended.quiet
    (result,) = ended.results.values()
    assert result["verdict"] == "not tested"
    assert result["findings"] == result["runs"] == []
    assert f"http://127.0.0.1:{port}/v1/chat/completions: connection refused; start the server" in ended.words
    assert "hosted is not accepted, because it is not fully tested." in ended.words


def test_tls_asked_of_a_server_without_is_told_and_was_not_tested(suite, port, serve, monkeypatch):
    monkeypatch.setattr(reaching, "PATIENCE_S", 1.0)  # the mock waits for more of what it takes for a head
    serve("text=x")
    offer(suite, port, scheme="https")
    ended = ask(suite, "answers")
    assert ended.verdicts == {"test_answers[hosted]": "not tested"}
    assert f"does not speak TLS; did you mean http://127.0.0.1:{port}?" in ended.words


@pytest.mark.parametrize("warmup", [0, 20])
def test_an_endpoint_that_goes_down_after_it_was_there_has_failed(suite, port, serve, warmup):
    serve("ends_after=30")
    offer(suite, port)
    ended = ask(suite, "answers", warmup=warmup)
    (result,) = ended.results.values()
    assert result["verdict"] == "reject"
    assert result["runs"][0]["ok"] == 30 - warmup - (warmup > 0)  # one was asked before, whether it may be
    assert "Connection refused" in str(result["runs"][0]["error_texts"])


def test_an_endpoint_that_goes_down_between_two_launches_has_failed_in_the_second(suite, port, serve):
    serve("ends_after=100")
    offer(suite, port)
    ended = ask(suite, "answers", scenario='"closed_loop", concurrency=1, count=100, launches=2')
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert (run["ok"], run["failures"]) == (100, {"error": 100})
    assert result["verdict"] == "inconclusive"  # one launch like this and one like that is two of a kind


def test_what_was_measured_before_it_went_down_stands_and_what_is_asked_later_was_not_tested(
    suite, port, serve
):
    serve("ends_after=30")
    offer(suite, port)
    ended = ask(suite, "first", "second")
    assert ended.verdicts == {"test_first[hosted]": "reject", "test_second[hosted]": "not tested"}
    assert "hosted is not accepted" in ended.words


def test_nothing_was_asked_so_that_it_is_no_run_of_a_sealed_suite(suite, port, serve):
    suite.write("pytest.ini", INI)
    offer(suite, port)
    suite.tests(TEST.format(scenario=ONCE, name="answers", warmup=0))
    seal(suite)
    down = suite.run("--procure-report")
    assert down.verdicts == {"test_answers[hosted]": "not tested"}
    assert not (suite.path / "procure-ledger.jsonl").exists() or not [
        entry for entry in ledger(suite) if entry.get("kind") == "begin"
    ]
    serve("text=x")
    up = suite.run("--procure-report")
    (result,) = up.results.values()
    assert (result["verdict"], result["series"]["run"], result["series"]["aborted"]) == ("accept", 1, 0)


@pytest.mark.parametrize("warmup", [0, 5])
@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/v1", 401, "turned away with HTTP 401: the mock refuses; name the variable"),
        ("/v1/v1", 404, "turned away with HTTP 404: the mock refuses; the path says `/v1` twice: mend"),
        ("/v2", 404, "turned away with HTTP 404: the mock refuses; mend the path of the candidate's URL, or"),
    ],
)
def test_an_endpoint_that_turns_every_question_away_was_not_tested(  # noqa: PLR0917 - a table
    suite, port, serve, warmup, path, status, told
):
    serve("error_every=1", f"error_status={status}")
    suite.conftest(CONFTEST.format(urls={"hosted": f"http://127.0.0.1:{port}{path}"}))
    ended = ask(suite, "answers", scenario='"server", qps=100, count=100', warmup=warmup)
    assert ended.status == 1
    (result,) = ended.results.values()
    assert (result["verdict"], result["findings"], result["runs"]) == ("not tested", [], [])
    assert told in ended.words
    assert verify(suite.path / "procure-report").holds
    assert (
        "every question is turned away with HTTP 40"
        in (suite.path / "procure-report/report.html").read_text()
    )


def test_turned_away_before_the_run_it_is_no_run_of_a_sealed_suite(suite, port, serve):
    suite.write("pytest.ini", INI)
    offer(suite, port)
    suite.tests(TEST.format(scenario=ONCE, name="answers", warmup=5))
    seal(suite)
    serve("error_every=1", "error_status=403")
    away = suite.run("--procure-report")
    assert away.verdicts == {"test_answers[hosted]": "not tested"}
    assert not (suite.path / "procure-ledger.jsonl").exists() or not [
        entry for entry in ledger(suite) if entry.get("kind") == "begin"
    ]


def test_an_endpoint_that_turns_some_away_is_measured(suite, port, serve):
    serve("error_every=2", "error_status=403")
    offer(suite, port)
    ended = ask(suite, "answers", warmup=5)
    (result,) = ended.results.values()
    assert result["verdict"] == "reject"
    assert result["runs"][0]["failures"] == {"error": 50}


def test_a_candidate_that_others_are_compared_with_is_named_where_it_is_down(suite, port, serve):
    serve("text=x")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        free = listening.getsockname()[1]
    offer(suite, port, other=f"http://127.0.0.1:{free}/v1")
    mark = '@pytest.mark.bar("accuracy", at_least="99 %", of="other")'
    told = TEST.format(scenario=ONCE, name="answers", warmup=0)
    suite.tests(told.replace('@pytest.mark.bar("error_rate", at_most=0.1)', mark))
    ended = suite.run("--procure-report", "--procure-candidate", "hosted")
    assert ended.verdicts == {"test_answers[hosted]": "not tested"}
    assert "candidate `other`: http://127.0.0.1:" in ended.words
