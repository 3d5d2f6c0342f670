"""A buyer's suite that asks an endpoint: bars on streams, and what is written down of it."""

import base64
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pytest_procure.cli import main
from pytest_procure.driver.journal import Journalled
from pytest_procure.errors import EvidenceError
from pytest_procure.verify import verify

MOCK = Path(__file__).parents[2] / "benchmarks" / "mock_endpoint.py"
KEY = "sk-not-to-be-seen-anywhere-0123456789"

CONFTEST = """
    import pytest
    from pytest_procure import Candidate, Dataset, OpenAIEndpoint, TokenPrice

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("hosted", backend=OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="mock",
                          key_env="MOCK_KEY"), price=TokenPrice(input="1 USD", output="2 USD"))]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = [f"question {{k}}" for k in range(300)]
        return {{"questions": lambda: Dataset.from_arrays("questions", inputs=texts,
                                                        references=[" w0 w1 w2 w3"] * 300)}}
"""


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("MOCK_KEY", KEY)
    started = []

    def serve(*behaviour):
        command = [sys.executable, str(MOCK), "tokens=4", *behaviour]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return int(started[-1].stdout.readline().split()[1])

    yield serve
    for process in started:
        process.terminate()
        process.wait(10)
        process.stdout.close()


TEST = """
    @pytest.mark.scenario("server", qps={qps}, count={count}, timeout="60 s")
    @pytest.mark.dataset_slice("questions")
    {marks}
    def test_answers_as_it_is_typed(procure):
        "Does it begin to answer before the caller gives up?"
        procure.run()
"""


def ask(suite, port, *marks, qps=150, count=300):
    suite.conftest(CONFTEST.format(port=port))
    told = "\n    ".join(f"@pytest.mark.bar({mark})" for mark in marks)
    suite.tests(TEST.format(marks=told, qps=qps, count=count))
    return suite.run("--procure-report")


def test_a_stream_is_accepted_on_quality_time_and_cost(suite, serve):
    port = serve("ttft_ms=5", "itl_ms=2")
    ended = ask(
        suite,
        port,
        '"accuracy", at_least=0.9',
        '"ttft.p95", at_most="60 s"',
        '"itl.p95", at_most="60 s"',
        '"tpot.p95", at_most="60 s"',
        '"cost_per_request", at_most="0.0001 USD"',
        qps=250,
        count=1600,  # so many that a busy machine's rows of small delays do not matter at a far limit
    )
    assert ended.status == 0, ended.text
    (result,) = ended.results.values()
    assert {finding["metric"] for finding in result["findings"]} >= {"ttft.p95", "itl.p95", "tpot.p95"}
    (run,) = result["runs"]
    assert run["stream"]["tokens"]["reported_output"] == 6400
    assert run["conditions"]["endpoint"].endswith("/v1/chat/completions")
    assert run["conditions"]["answers_say"]["model"] == ["mock"]
    assert run["stream"]["ttft_ms"]["p50"] > 0
    files = sorted(path.name for path in (ended.folder / "runs").iterdir())
    assert [name.rpartition(".test")[2][-9:] for name in files if name.endswith("tokens.npy")]
    times = np.load(next((ended.folder / "runs").glob("*.tokens.npy")))
    assert times.shape == (6400,)


@pytest.mark.parametrize(
    ("scenario", "told"),
    [
        (
            '"sessions", starts=100, turns=3, count=100, history=True',
            "each sent with the questions and answers before it",
        ),
        ('"multi_stream", samples_per_query=3, count=100, launches=1', "one query of 3 samples at a time"),
    ],
    ids=["sessions", "multi_stream"],
)
def test_traffic_of_turns_and_of_several_requests_is_measured_and_recorded(suite, serve, scenario, told):
    suite.conftest(CONFTEST.format(port=serve("itl_ms=1", "cached=1")))
    suite.tests(f"""
        @pytest.mark.scenario({scenario}, timeout="60 s")
        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.bar("cost_per_request", at_most="0.01 USD")
        def test_it(procure):
            "Does it keep up a conversation?"
            result = procure.run()
            assert result.ttft.p90 <= seconds(60)
            assert result.error_rate <= 0.05
    """)
    ended = suite.run("--procure-report")
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert told in run["label"]
    assert run["stream"]["attempts"] == 300
    assert run["stream"]["tokens"]["reported_output"] == 1200
    assert run["stream"]["ttft_ms"]["p50"] > 0
    found = {finding["metric"]: finding["verdict"] for finding in result["findings"]}
    assert found["accuracy"] == found["cost_per_request"] == "accept"
    assert found["ttft.p90"] in {"accept", "inconclusive"}  # by how the latencies are correlated


def test_cached_tokens_cost_what_the_price_sheet_says(suite, serve):
    port = serve("cached=2")
    suite.conftest(
        CONFTEST.format(port=port).replace('output="2 USD"', 'output="2 USD", cached_input="0.5 USD"')
    )
    suite.tests("""
        @pytest.mark.scenario("single_stream", count=40)
        def test_it(procure):
            "What does it cost?"
            result = procure.run()
            # 1 fresh and 2 cached tokens in, 4 out
            assert abs(result.cost_per_request.value - (1 * 1 + 2 * 0.5 + 4 * 2) / 1e6) < 1e-12
            assert result.cost_per_request <= "0.0001 USD"
    """)
    ended = suite.run()
    assert ended.outcomes.get("passed") == 1, ended.text


def test_the_key_is_in_no_file_and_no_line(suite, serve):
    port = serve("echo_every=2")
    ended = ask(suite, port, '"accuracy", at_least=0.9')
    assert ended.status == 1
    assert "wrong key" in json.dumps(ended.record)
    assert KEY not in ended.text
    written = [path for path in suite.path.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert written
    for path in written:
        assert KEY.encode() not in path.read_bytes(), path


def test_a_document_for_a_stream_has_no_ttft_and_a_bar_on_it_fails_in_words(suite, serve):
    port = serve("json_for_stream=true")
    ended = ask(suite, port, '"accuracy", at_least=0.9', '"ttft.p95", at_most="4 s"')
    assert ended.status == 1
    assert "not measurable, because 300 of 300 good answers came in one piece" in ended.words
    (result,) = ended.results.values()
    found = {finding["metric"]: finding for finding in result["findings"]}
    assert found["accuracy"]["verdict"] == "accept"
    assert found["ttft.p95"]["estimate"] is None


def test_a_percentile_beyond_the_time_outs_reads_at_least_the_time_out(suite, serve):
    port = serve("hang_every=10")
    suite.conftest(CONFTEST.format(port=port))
    marks = '@pytest.mark.bar("ttft.p95", at_most="500 ms")'
    suite.tests(TEST.format(marks=marks, qps=150, count=300).replace('timeout="60 s"', 'timeout="1 s"'))
    ended = suite.run("--procure-report")
    assert ended.status == 1
    (result,) = ended.results.values()
    (finding,) = [each for each in result["findings"] if each["metric"] == "ttft.p95"]
    assert "≥ 1" in finding["sentence"]
    failures = result["runs"][0]["failures"]
    assert set(failures) == {"timeout"}
    assert failures["timeout"] >= 30  # a machine that stands still lets others wait too long as well


def rate_of(ended):
    """What is found of the declared rate, and of whom it is said."""
    (result,) = ended.results.values()
    (finding,) = [each for each in result["findings"] if each["source"] == "condition"]
    return result, finding


def test_an_endpoint_that_serves_a_quarter_of_what_is_offered_is_rejected_though_it_answers_all(suite, serve):
    port = serve("ttft_ms=20", "slots=1")  # 50 a second
    ended = ask(suite, port, '"latency.p95", at_most="50 s"', qps=200, count=200)
    assert ended.status == 1
    result, finding = rate_of(ended)
    (run,) = result["runs"]
    assert run["ok"] == run["requests"] == 200
    assert result["verdict"] == finding["verdict"] == "reject"
    assert finding["estimate"]["number"] < 0.3  # of a busy machine even less
    assert "the backlog grew all the while: it was asked" in finding["sentence"]
    assert "of what the endpoint can do" in " ".join(run["notes"])
    assert "what it can do of the declared rate" in ended.words


def test_an_endpoint_is_rejected_where_the_drain_time_does_not_suffice(suite, serve):
    port = serve("ttft_ms=100", "slots=1")
    suite.conftest(CONFTEST.format(port=port))
    mark = '@pytest.mark.bar("latency.p95", at_most="50 s")'
    told = TEST.format(marks=mark, qps=200, count=200).replace('"60 s")', '"60 s", drain="0 s")', 1)
    suite.tests(told)
    ended = suite.run("--procure-report")
    result, finding = rate_of(ended)
    (run,) = result["runs"]
    assert result["verdict"] == finding["verdict"] == "reject"
    assert finding["estimate"]["number"] < 0.999
    assert finding["sentence"].startswith(
        "requests scheduled at the declared rate that came back, good or failed: "
    )
    assert "the endpoint never kept up: it answered" in " ".join(run["notes"])


def test_asserts_on_token_times_carry_their_units(suite, serve):
    port = serve("itl_ms=2")  # without a pause tokens arrive together, and there are no gaps
    suite.conftest(CONFTEST.format(port=port))
    suite.tests("""
        @pytest.mark.scenario("server", qps=250, count=1600)
        def test_it(procure):
            "Is it quick?"
            result = procure.run()
            assert result.ttft.p95 <= seconds(60)
            assert result.itl.p95 <= seconds(60)
            assert result.error_rate <= 0.05
    """)
    ended = suite.run()
    assert ended.outcomes.get("passed") == 1, ended.text


TWO_OFFERS = """
    import pytest
    from pytest_procure import Candidate, Dataset, HourlyPrice, OpenAIEndpoint, TokenPrice

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [
            Candidate("alpha", backend=OpenAIEndpoint("http://127.0.0.1:{alpha}/v1", model="alpha"),
                      price=TokenPrice(input="1 USD", output="2 USD")),
            Candidate("beta", backend=OpenAIEndpoint("http://localhost:{beta}/v1", model="beta", retries=1,
                      connections=64), price=TokenPrice(input="1 USD", output="3 USD")),
            Candidate("own", backend=lambda batch: [" w0 w1 w2 w3"] * len(batch), max_batch=4,
                      price=HourlyPrice("1 USD", utilisation=0.5)),
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = [f"question {{k}}" for k in range(60)]
        return {{"questions": lambda: Dataset.from_arrays("questions", inputs=texts,
                                                        references=[" w0 w1 w2 w3"] * 60)}}
"""


def test_packs_of_endpoints_and_of_an_offer_of_ones_own_are_compared_on_their_items(suite, serve, capsys):
    alpha, beta = serve("model=alpha"), serve("model=beta-2", "empty_every=2")
    suite.conftest(TWO_OFFERS.format(alpha=alpha, beta=beta))
    suite.tests(TEST.format(marks='@pytest.mark.bar("accuracy", at_least=0.9)', qps=200, count=60))
    for name in ("alpha", "beta", "own"):
        suite.run("--procure-report", "--procure-candidate", name, "--procure-out", f"pack-{name}")
    packs = [str(suite.path / f"pack-{name}") for name in ("alpha", "beta", "own")]
    assert main(["compare", *packs]) == 0
    told = capsys.readouterr().out
    assert "answers right, less alpha (pack-alpha)'s: -50 points (likely range -" in told
    assert "answers right, less alpha (pack-alpha)'s: 0 points" in told
    assert told.count("paired on 60 items") == 2


def test_a_key_that_is_answered_in_base64_is_in_no_file(suite, serve):
    said = base64.b64encode(f"user:{KEY}".encode()).decode()
    ended = ask(suite, serve(f"text=you-are-{said}-indeed"), '"accuracy", at_least=0.9')
    assert ended.outcomes.get("failed") == 1, ended.text
    (result,) = ended.results.values()
    assert "you-are-" in json.dumps(result["runs"][0]["gallery"])
    for path in suite.path.rglob("*"):
        assert path.suffix == ".pyc" or not path.is_file() or said[8:-4].encode() not in path.read_bytes(), (
            path
        )
    assert said[8:-4] not in ended.text


def test_without_its_key_an_endpoint_is_not_tested_and_the_variable_is_named(suite, serve, monkeypatch):
    port = serve()
    monkeypatch.delenv("MOCK_KEY")
    ended = ask(suite, port, '"accuracy", at_least=0.9')
    assert ended.status == 1
    assert "the environment variable `MOCK_KEY` is not set" in ended.words
    assert ended.quiet


def children(process):
    """Open a descriptor for each child of a process: readable when that child has ended, whoever reaps it."""
    told = (path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/children"))
    return [os.pidfd_open(int(pid)) for pid in " ".join(told).split()]


def wait_for(folder, process, test, answered):
    """Wait until the journal of a test's run tells of so many answers."""
    while process.poll() is None:
        for path in folder.glob(f"runs/*{test}*.part"):
            try:
                journal = Journalled.read(path)
            except EvidenceError:  # it is being made
                continue
            if (journal.completed >= 0).sum() >= answered:
                return
        time.sleep(0.02)
    raise AssertionError("the session ended before it could be killed")


@pytest.fixture
def killed(suite, serve):
    """A session that was killed with SIGKILL while a run against an endpoint was under way."""
    suite.conftest(CONFTEST.format(port=serve("ttft_ms=2")))
    suite.tests("""
        @pytest.mark.scenario("server", qps=200, count=200)
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_first(procure):
            procure.run()

        @pytest.mark.scenario("server", qps=50, duration="10 min")
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_second(procure):
            procure.run()
    """)
    folder = suite.path / "procure-report"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--procure-report", "-q"]
    with subprocess.Popen(command, cwd=suite.path, stdout=subprocess.DEVNULL) as session:
        wait_for(folder, session, "test_second", 30)
        load = children(session)
        assert load
        session.send_signal(signal.SIGKILL)
    poll = select.poll()
    for each in load:
        poll.register(each, select.POLLIN)
    left = set(load)
    while left and (ended := poll.poll(20_000)):
        for each, _ in ended:
            poll.unregister(each)
            os.close(each)
            left.discard(each)
    assert not left, "a load process is still running"
    return folder


def test_a_killed_session_leaves_the_rows_of_its_endpoint_and_no_load_process(killed, capsys):
    assert main(["recover", str(killed)]) == 0
    assert "of 30,000 requests were sent" in capsys.readouterr().out
    record = json.loads((killed / "verdict.json").read_text())
    verdicts = [result["verdict"] for q in record["requirements"] for result in q["results"]]
    assert verdicts == ["accept", "not tested"]
    (path,) = killed.glob("runs/*second*.npy")
    rows = np.load(path)
    assert (rows["status"] == 255).sum() >= 30
    answered = rows[rows["status"] == 255]
    assert (answered["completed_ns"] > answered["started_ns"]).all()
    assert (answered["started_ns"] >= answered["scheduled_ns"]).all()
    assert (answered["item"] >= 0).all()
    assert [str(each) for each in verify(killed).mismatches] == []


def test_an_endpoint_may_be_a_stage_of_a_pipeline(suite, serve):
    port = serve()
    endpoint = f'OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="mock", key_env="MOCK_KEY")'
    stages = f'Pipeline([("shorten", lambda batch: batch), ("generate", {endpoint})])'
    told = CONFTEST.format(port=port).replace("Candidate, ", "Candidate, Pipeline, ")
    suite.conftest(told.replace("return [", f'return [Candidate("piped", backend={stages}), '))
    suite.tests("""
        @pytest.mark.scenario("single_stream", count=120)
        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.bar("stage.generate.latency.p50", at_most="30 s")
        def test_answers(procure):
            "Does the whole answer?"
            procure.run()
    """)
    ended = suite.run("--procure-report", "--procure-candidate", "piped")
    assert ended.status == 0, ended.text
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert [stage["name"] for stage in run["stages"]] == ["waiting", "shorten", "generate"]
    (offer,) = ended.record["candidates"]
    generate = offer["backend"]["stages"][1]["backend"]
    assert generate["url"].endswith(f":{port}/v1/chat/completions")
    assert generate["key_from"] == "MOCK_KEY"
    for path in suite.path.rglob("*"):
        assert path.suffix == ".pyc" or not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_answers_of_another_model_than_was_asked_for_are_told_and_change_no_verdict(suite, serve):
    ended = ask(suite, serve("model=other"), '"accuracy", at_least=0.9')
    assert ended.status == 0, ended.text
    (result,) = ended.results.values()
    assert "model: declared `mock`, observed answers of `other`" in result["runs"][0]["notes"]
    page = (ended.folder / "report.html").read_text("utf-8")
    assert "The candidate: model: declared `mock`, observed answers of `other`" in page
    first, _, _ = page.partition("</header>")
    assert "Not as declared:</b> model: declared `mock`, observed answers of `other`." in first


def test_answers_of_a_dated_model_are_disclosed_and_no_deviation(suite, serve):
    ended = ask(suite, serve("model=mock-2026-08-06"), '"accuracy", at_least=0.9')
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert run["conditions"]["answers_say"]["model"] == ["mock-2026-08-06"]
    assert not [note for note in run["notes"] if note.startswith("model: ")]


def test_how_many_answers_ended_at_their_limit_is_recorded_over_all_launches(suite, serve):
    suite.conftest(CONFTEST.format(port=serve("cut_every=4")))
    suite.tests("""
        @pytest.mark.scenario("closed_loop", concurrency=2, count=40, launches=2, warmup=0)
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert run["conditions"]["ended_by"] == {"stop": 30, "length": 10}
    assert run["stream"]["ended_by"] == {"length": 20, "stop": 60}
    page = (ended.folder / "report.html").read_text("utf-8")
    (told,) = re.findall(r"Answers by what ended them, as the endpoint says / length</dt> <dd>(\d+)", page)
    assert told == "20"
