"""Traffic beyond MLPerf's scenarios, from the mark to the record."""

from __future__ import annotations

import numpy as np
import pytest

READS = """
    @pytest.mark.bar("error_rate", at_most=0.2)
    def test_reads(procure):
        procure.run()
"""
EVERY = {
    'scenario("server", qps=2000, count=300, burstiness=0.5)': "gamma arrivals of shape 0.5",
    'scenario("burst", base=500, peak=4000, period="20 ms", duty=0.2, count=300)': "Burst: 500 requests/s",
    'scenario("ramp", start=500, end=4000, duration="0.1 s")': "Ramp: from 500 to 4000 requests/s",
    'scenario("closed_loop", concurrency=4, think_time="1 ms", count=200)': "Closed loop: 4 users",
    'scenario("sessions", starts=500, turns=4, think_time="1 ms", count=60)': "partly a closed loop",
    'scenario("server", qps=2000, count=300, rng="loadgen")': "as MLPerf LoadGen draws them",
}


@pytest.mark.parametrize("mark", EVERY)
def test_every_kind_of_traffic_is_run_and_told(suite, mark):
    suite.offers(good=1.0)
    suite.tests(f"@pytest.mark.{mark}\n" + READS.replace("\n    ", "\n"))
    ended = suite.run("--procure-report")
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert EVERY[mark] in run["label"]
    assert run["ok"] == run["requests"] >= 200
    assert run["stopped"] == ""


def test_a_trace_lies_beside_the_test_that_replays_it(suite):
    suite.offers(good=1.0)
    suite.write("peak/monday.csv", "sent_at,who\n" + "".join(f"{k / 1000},x\n" for k in range(250)))
    suite.tests(
        '@pytest.mark.scenario("replay", trace="monday.csv", column="sent_at", speed=2)\n'
        + READS.replace("\n    ", "\n"),
        name="peak/test_it.py",
    )
    ended = suite.run("--procure-report")
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert run["requests"] == 250
    assert run["conditions"]["trace"]["file"] == "monday.csv"
    assert len(run["conditions"]["trace"]["sha256"]) == 64
    assert run["conditions"]["speed"] == 2


def test_a_broken_trace_is_a_usage_error_that_names_its_line(suite):
    suite.offers(good=1.0)
    suite.write("monday.csv", "sent_at\n1\nsoon\n")
    suite.tests('@pytest.mark.scenario("replay", trace="monday.csv")\n' + READS.replace("\n    ", "\n"))
    assert suite.mistake() == (
        "mark `scenario` on test_it.py::test_reads: scenario `replay`: trace `monday.csv`, line 3: "
        "'soon' is no time; expected a number, or a date and time as in ISO 8601"
    )


@pytest.mark.parametrize(
    ("mark", "bar", "message"),
    [
        (
            '"burst", base=1, peak=9, period="1 s", count=9',
            '"throughput", at_least="5 1/s"',
            "at a declared rate",
        ),
        ('"sessions", starts=1, turns=2, count=9', '"throughput", at_least="5 1/s"', "at a declared rate"),
        (
            '"ramp", start=1, end=9, duration="9 s"',
            '"latency.p95", at_most="90 %", of="other"',
            "is measured in ten interleaved blocks, and ramp cannot be cut into such; ask it under server",
        ),
        (
            '"server", qps=9, count=9, rng="loadgen"',
            '"latency.p95", at_most="90 %", of="other"',
            "and LoadGen's order cannot be cut into such",
        ),
    ],
)
def test_a_bar_that_means_nothing_under_its_traffic_is_refused(suite, mark, bar, message):
    suite.offers(good=1.0, other=1.0)
    suite.tests(f"""
        @pytest.mark.scenario({mark})
        @pytest.mark.bar({bar})
        def test_reads(procure):
            procure.run()
    """)
    assert message in suite.mistake()


def test_the_first_part_of_a_run_is_kept_shown_and_not_measured(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=5000, count=300, cut=60)
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure):
            assert procure.run().error_rate <= 0.5
    """)
    ended = suite.run("--procure-report")
    (run,) = ended.results["test_reads[good]"]["runs"]
    assert run["requests"] == 240
    assert run["conditions"]["cut_off"]["queries"] == 60
    assert "the first 60 requests not counted" in run["label"]
    for key, rows in (("log", 240), ("cut_log", 60)):
        assert len(np.load(ended.folder / run[key])) == rows
    assert suite.run("--procure-report").status == ended.status  # the next report takes its place


def test_what_asks_again_is_told(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=5000, count=300, repeat_share=0.5)
        @pytest.mark.bar("error_rate", at_most=0.5)
        def test_reads(procure):
            procure.run()
    """)
    (run,) = suite.run("--procure-report").results["test_reads[good]"]["runs"]
    assert run["conditions"]["repeat_share"] == 0.5
    assert 0.4 < run["conditions"]["repeated"] < 0.6


def test_several_users_are_load_and_one_is_none(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.parametrize("users", [1, 2])
        def test_reads(procure, users):
            result = procure.run("closed_loop", concurrency=users, count=150)
            assert result.latency.p50 <= seconds(50)
    """)
    results = suite.run("--procure-report").results
    assert results["test_reads[good-1]"]["verdict"] == "accept"
    (finding,) = results["test_reads[good-2]"]["findings"]
    assert "150 requests under load are too few; it takes 200" in finding["sentence"]


@pytest.mark.parametrize("pressed", [1, 2])
def test_an_interrupt_keeps_a_partial_log_that_says_so(suite, pressed):
    suite.conftest(f"""
        calls, pressed = [], {pressed}

        def answer(inputs):
            calls.append(1)
            if len(calls) == 40:
                import os, signal, time
                for _ in range(pressed):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.05)
            return np.asarray(inputs) % 10

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {{"numbers": numbers}}
    """)
    suite.tests("""
        @pytest.mark.scenario("single_stream", duration="20 s", warmup=0)
        @pytest.mark.bar("accuracy", at_least=0.5)
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    result = ended.results["test_reads[good]"]
    assert result["verdict"] == "not tested"
    (run,) = result["runs"]
    assert run["stopped"] == "interrupted"
    assert not run["declared"]
    assert run["ok"] >= 39
    assert len(np.load(ended.folder / run["log"])) == run["requests"]


@pytest.mark.parametrize(
    "mark",
    [
        'scenario("burst", base=500, peak=4000, period="20 ms", duty=0.2, duration="1 s")',
        'scenario("ramp", start=500, end=4000, duration="1 s")',
        'scenario("closed_loop", concurrency=4, count=900)',
        'scenario("sessions", starts=500, turns=4, think_time="1 ms", duration="1 s")',
    ],
)
def test_every_kind_of_traffic_can_be_planned_with_a_pilot(suite, mark):
    suite.offers(good=1.0)
    suite.tests(f"""
        @pytest.mark.{mark}
        @pytest.mark.bar("latency.p90", at_most="10 s")
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run("--procure-plan", "--procure-pilot", "250")
    assert "no pilot" not in ended.words
    assert "decides" in ended.words or "change" in ended.words, ended.text


def test_a_session_is_about_one_cluster_of_the_data(suite):
    suite.conftest("""
        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0))]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": lambda: numbers(clusters=np.arange(400) % 100)}
    """)
    suite.tests("""
        @pytest.mark.scenario(
            "sessions", starts=2000, turns=3, count=100, think_time="1 ms", conversations=True
        )
        @pytest.mark.dataset_slice("numbers", n=400, seed=3)
        @pytest.mark.bar("error_rate", at_most=0.5)
        def test_reads(procure):
            result = procure.run()
            log, where = result.execution.logs[0], procure._slice.indices
            asked = {}
            for item in where[log.samples].tolist():
                asked.setdefault(item % 100, []).append(item)
            assert len(asked) == 100
            assert all(items == [first, first + 100, first + 200] for first, items in asked.items())
    """)
    ended = suite.run()
    assert ended.outcomes == {"passed": 1}, ended.text


def test_conversations_take_data_that_belong_together(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("sessions", starts=2000, turns=3, count=10, conversations=True)
        def test_reads(procure):
            procure.run()
    """)
    assert "takes a dataset that says which samples belong together; give it `clusters=`" in suite.run().words


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_chat_of_the_buyer_s_own_gets_the_session_s_messages(suite, isolation):
    suite.conftest(f"""
        def chat(conversations):
            roles = [[each["role"] for each in said] for said in conversations]
            assert all(told == ["user", "assistant"] * (len(told) // 2) + ["user"] for told in roles)
            return [f"answer {{len(told) // 2}}" for told in roles]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("own", backend=chat, isolation={isolation!r})]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            texts = [f"question {{k}}" for k in range(90)]
            return {{"talks": lambda: Dataset.from_arrays(
                "talks", inputs=texts, references=[f"answer {{k % 3}}" for k in range(90)],
                clusters=[k // 3 for k in range(90)],
            )}}
    """)
    suite.tests("""
        @pytest.mark.scenario("sessions", starts=500, turns=3, count=30, conversations=True, history=True)
        @pytest.mark.bar("accuracy", at_least=0.5)
        def test_it(procure):
            assert procure.run().error_rate <= 0.2
    """)
    ended = suite.run("--procure-report")
    (result,) = ended.results.values()
    (run,) = result["runs"]
    assert (run["ok"], run["requests"]) == (90, 90)
    assert "each sent with the questions and answers before it" in run["label"]
    assert run["conditions"]["carried"].startswith("the questions before it")
    (quality,) = [each for each in result["findings"] if each["metric"] == "accuracy"]
    assert "100 %" in quality["sentence"]


def test_a_plan_asks_for_a_longer_trace(suite):
    suite.offers(good=1.0)
    suite.write("monday.jsonl", "".join(f"{k / 100}\n" for k in range(100)))
    suite.tests("""
        @pytest.mark.scenario("replay", trace="monday.jsonl")
        @pytest.mark.bar("latency.p95", at_most="80 ms")
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run("--procure-plan")
    assert ended.status == 1
    assert "in `scenario`, replay a trace of 1,080 arrivals or more" in ended.words


def test_a_plan_counts_sessions_where_the_mark_does(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("sessions", starts=9, turns=4, count=10)
        @pytest.mark.bar("latency.p95", at_most="80 ms")
        def test_reads(procure):
            procure.run()
    """)
    assert "in `scenario`, change `count=10` to `count=270`" in suite.run("--procure-plan").words


@pytest.mark.parametrize(
    ("mark", "per_hour"),
    [
        ('"burst", base=100, peak=1100, period="0.1 s", duty=0.4, duration="0.5 s"', 500 * 3600),
        ('"ramp", start=100, end=900, duration="0.5 s"', 500 * 3600),
        ('"sessions", starts=100, turns=5, duration="0.5 s"', 500 * 3600),
    ],
)
def test_a_cost_by_the_hour_is_that_of_the_mean_declared_rate(suite, mark, per_hour):
    suite.offers(good=1.0)
    suite.tests(f"""
        @pytest.mark.scenario({mark})
        @pytest.mark.bar("cost_per_request", at_most="1 USD")
        def test_reads(procure):
            procure.run()
    """)
    (run,) = [suite.run("--procure-report").results["test_reads[good]"]]
    (cost,) = [each for each in run["findings"] if each["metric"] == "cost_per_request"]
    assert cost["estimate"]["number"] == pytest.approx(1 / (per_hour * 0.5))
    assert "at the declared rate" in cost["sentence"]
