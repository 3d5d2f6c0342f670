"""Declared bars: judged on each run of the marked scenario, three ways."""

import pytest

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""


@pytest.mark.parametrize(
    ("share", "verdict"), [(1.0, "accept"), (0.95, "accept"), (0.9, "inconclusive"), (0.8, "reject")]
)
def test_a_declared_bar_is_decided_three_ways(suite, share, verdict):
    suite.offers(only=share)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": verdict}
    assert ended.status == (verdict != "accept")


def test_an_undecided_bar_fails_with_value_range_bar_and_what_would_decide(suite):
    suite.offers(only=0.92)
    suite.tests(READS)
    ended = suite.run()
    assert "procure: only: inconclusive" in ended.text
    assert (
        "answers right: 92 % of 400 samples (likely range 89.4 % to 94.2 %); asked: at least 90 %"
        in ended.words
    )
    assert "a new run of " in ended.words
    assert " samples in all, about " in ended.words


def test_a_test_that_never_runs_its_scenario_is_not_tested_and_fails(suite):
    suite.offers(only=1.0)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure): pass
    """)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.outcomes, ended.verdicts) == (
        1,
        {"failed": 1},
        {"test_reads[only]": "not tested"},
    )
    assert "the test never ran its scenario" in ended.words


def test_bars_on_a_test_that_does_not_even_ask_for_procure_are_not_tested(suite):
    suite.offers(only=1.0)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(candidate): pass
    """)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.verdicts) == (1, {"test_reads[only]": "not tested"})


def test_declared_bars_are_not_judged_on_runs_with_arguments_alone(suite):
    suite.offers(only=1.0)
    suite.tests(READS.replace("procure.run()", "procure.run('offline')"))
    ended = suite.run("--procure-report")
    assert (ended.status, ended.verdicts) == (1, {"test_reads[only]": "not tested"})
    assert ended.results["test_reads[only]"]["problem"] == "the marked scenario never ran"


def test_a_test_without_bars_and_asserts_fails(suite):
    suite.offers(only=1.0)
    suite.tests("def test_reads(procure): procure.run()")
    ended = suite.run("--procure-report")
    assert (ended.status, ended.outcomes) == (1, {"failed": 1})
    assert ended.results["test_reads[only]"]["problem"] == "nothing was held against a bar"


def test_every_run_of_the_marked_scenario_is_judged(suite):
    suite.offers(only=1.0)
    suite.tests(READS.replace("procure.run()", "procure.run(); procure.run()"))
    ended = suite.run("--procure-report")
    assert len(ended.results["test_reads[only]"]["findings"]) == 2


def test_an_error_after_the_run_keeps_accepted_bars_from_acceptance(suite):
    suite.offers(only=1.0)
    suite.tests(READS.replace("procure.run()", "procure.run(); raise RuntimeError('tidying up')"))
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": "inconclusive"}
    assert ended.results["test_reads[only]"]["problem"] == "RuntimeError: tidying up"


def test_items_that_are_asked_again_count_as_one_each(suite):
    suite.offers(only=0.92)
    suite.tests("@pytest.mark.scenario('single_stream', count=4000)" + READS)
    (finding,) = suite.run("--procure-report").results["test_reads[only]"]["findings"]
    assert finding["n"] == 4000
    assert finding["n_effective"] <= 401
    assert finding["verdict"] == "inconclusive"


def test_fewer_than_twenty_items_asked_often_give_no_verdict(suite):
    suite.offers(only=1.0)
    suite.tests("@pytest.mark.scenario('single_stream', count=400)\n@pytest.mark.dataset_slice(n=19)" + READS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": "inconclusive"}
    assert "19 clusters are too few for a verdict; it takes 20" in ended.words


def test_one_item_asked_often_gives_no_verdict_and_no_error(suite):
    suite.offers(only=1.0)
    suite.tests("@pytest.mark.scenario('single_stream', count=40)\n@pytest.mark.dataset_slice(n=1)" + READS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": "inconclusive"}


def test_speed_and_cost_of_wrong_answers_are_struck_and_decide_nothing(suite):
    suite.offers(bad=0.5)
    suite.tests("""
        @pytest.mark.scenario("server", qps=2000, count=400)
        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.bar("latency.p50", at_most="10 s")
        @pytest.mark.bar("cost_per_request", at_most="0.000001 USD")
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    struck = {each["metric"]: each["struck"] for each in ended.results["test_reads[bad]"]["findings"]}
    assert struck == {
        "sustained_rate": False,
        "accuracy": False,
        "latency.p50": True,
        "cost_per_request": True,
    }
    assert ended.verdicts == {"test_reads[bad]": "reject"}


def test_nothing_is_said_to_decide_a_bar_that_wrong_answers_set_aside(suite):
    suite.offers(bad=0.5)
    suite.tests("""
        @pytest.mark.scenario("single_stream", count=50)
        @pytest.mark.bar("accuracy", at_least=0.9)
        @pytest.mark.bar("latency.p90", at_most="10 s")
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run()
    assert "procure: bad: reject" in ended.text
    assert "acceptance takes 100; decides nothing" in ended.text
    assert "would decide" not in ended.text


def test_cost_at_a_declared_rate_is_exact(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=2000, count=400)
        @pytest.mark.bar("cost_per_request", at_most="0.00000028 USD")
        def test_reads(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    (finding,) = [
        each for each in ended.results["test_reads[good]"]["findings"] if each["metric"] != "sustained_rate"
    ]
    assert finding["verdict"] == "accept"
    assert finding["estimate"]["number"] == pytest.approx(1 / (3600 * 2000 * 0.5), rel=1e-12)
    assert "at the declared rate" in finding["sentence"]


def test_a_test_that_needs_a_gpu_is_not_tested_without_one(suite, monkeypatch):
    monkeypatch.setattr("pytest_procure.telemetry.nvml.gpus", lambda: ((), "there is no driver"))
    suite.offers(good=1.0)
    suite.tests(READS.replace("procure)", "procure, gpu)"))
    ended = suite.run("--procure-report")
    assert (ended.status, ended.outcomes) == (1, {"skipped": 1})
    assert ended.results["test_reads[good]"]["problem"] == "Skipped: no GPU: there is no driver"


def test_an_offer_with_a_batch_policy_of_its_own_runs_with_it_and_says_so(suite):
    suite.conftest("""
        def pytest_procure_candidates():
            return [Candidate("batched", backend=answers(1.0), max_batch=64)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests("@pytest.mark.scenario('offline', max_batch=2)" + READS)
    (run,) = suite.run("--procure-report").results["test_reads[batched]"]["runs"]
    assert run["conditions"]["max_batch"] == 64


def test_the_question_is_the_docstrings_first_paragraph(suite):
    suite.offers(only=1.0)
    suite.tests('''
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure):
            """Can it read
            the forms?

            Not for the committee.
            """
            procure.run()
    ''')
    (requirement,) = suite.run("--procure-report").record["requirements"]
    assert requirement["question"] == "Can it read the forms?"


def test_who_measures_and_decides_comes_from_the_ini_file(suite):
    suite.offers(only=1.0)
    suite.write("pytest.ini", "[pytest]\nprocure_title = Forms\nprocure_measured_by = Ada\n")
    suite.tests(READS)
    record = suite.run("--procure-report").record
    assert (record["title"], record["measured_by"], record["decision"]) == ("Forms", "Ada", "")


def test_an_overloaded_candidate_is_rejected_and_the_harness_is_not_blamed(suite):
    suite.conftest(
        """
        import time

        def slow(inputs):
            time.sleep(0.1)
            return np.asarray(inputs) % 10

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("slow", backend=slow)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """
    )
    suite.tests("""
        @pytest.mark.scenario("server", qps=20, duration="3 s", drain="0 s", warmup=0)
        @pytest.mark.bar("accuracy", at_least=0.1)
        def test_it(procure):
            procure.run()
        """)
    ended = suite.run("--procure-report")
    (result,) = ended.results.values()
    condition = next(f for f in result["findings"] if f["kind"] == "condition")
    assert result["verdict"] == "reject"
    assert condition["verdict"] == "reject"


def test_a_corpus_metric_is_a_bar(suite):
    suite.conftest(
        """
        def share(outputs, references):
            return sum(o == r for o, r in zip(outputs, references)) / len(outputs)

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(0.9))]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers(corpus={"share": share})}
        """
    )
    suite.tests("""
        @pytest.mark.bar("corpus.share", at_least=0.8)
        def test_it(procure):
            assert procure.run().corpus.share >= 0.7
        """)
    assert suite.run("--procure-report").verdicts == {"test_it[good]": "accept"}


def test_a_mistyped_corpus_metric_is_one_sentence_with_the_nearest_name(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("corpus.acuracy", at_least=0.8)
        def test_it(procure):
            procure.run()
        """)
    ended = suite.run()
    assert ended.status == 1
    assert ended.quiet, ended.text
    assert "unknown scorer `corpus.acuracy`" in ended.words


def test_an_undecided_bar_says_how_many_requests_and_how_long_would_decide(suite):
    suite.offers(close=0.92)
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
        """)
    ended = suite.run("--procure-report")
    (hint,) = [f["hint"] for f in ended.results["test_it[close]"]["findings"]]
    assert "a new run of" in hint
    assert "at this pace" in hint


FICKLE = """
    class Fickle:
        "Another file at each load."
        loads = 0
        def load(self, base):
            Fickle.loads += 1
            return Loaded(f"{Fickle.loads:064}")

    class Loaded:
        device, releases_gil = "cpu", False
        def __init__(self, digest):
            self.digest = digest
        def predict(self, inputs):
            return np.asarray(inputs) % 10
        def describe(self):
            return {"files": [{"file": "model.bin", "sha256": self.digest}]}
        def close(self):
            pass

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("fickle", backend=Fickle())]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        return {"numbers": numbers}
"""


def test_an_offer_whose_files_change_between_two_launches_is_not_tested(suite):
    suite.conftest(FICKLE)
    suite.tests("@pytest.mark.scenario('offline', count=400, launches=2)" + READS)
    ended = suite.run("--procure-report")
    (result,) = ended.results.values()
    assert (ended.status, result["verdict"]) == (1, "not tested")
    assert result["problem"] == "the files of candidate `fickle` changed between two launches"
