"""Goodput, and costs of good answers, as a test's author writes them."""

import pytest

LIMITS = """
@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("goodput", at_least=0.5, latency="10 s", correct=True)
def test_serves(procure):
    procure.run()
"""
SCORED = """
def exact(output, reference) -> bool:
    return output == reference

def pytest_procure_candidates():
    return [Candidate("only", backend=answers(1.0))]

def pytest_procure_datasets():
    return {"numbers": lambda: numbers(scorer=exact)}
"""
PRICED = """
from pytest_procure import RequestPrice

def accepted(output, reference) -> bool:
    return output == reference

def pytest_procure_candidates():
    return [Candidate("only", backend=answers(0.95), price=RequestPrice("0.0000001 USD"))]

def pytest_procure_datasets():
    return {"numbers": lambda: numbers(scorer={"accuracy": "accuracy", "accepted": accepted})}
"""


def run_of(suite, text, share=1.0):
    suite.offers(only=share)
    suite.tests(text)
    return suite.run("--procure-report")


def finding_of(ended, metric="goodput"):
    (result,) = ended.results.values()
    (finding,) = [each for each in result["findings"] if each["metric"] == metric]
    return finding


@pytest.mark.parametrize(
    ("share", "verdict"), [(1.0, "accept"), (0.95, "accept"), (0.9, "inconclusive"), (0.7, "reject")]
)
def test_goodput_is_decided_three_ways(suite, share, verdict):
    text = LIMITS.replace('0.5, latency="10 s"', "0.9").replace("single_stream", "offline")
    finding = finding_of(run_of(suite, text, share))
    assert finding["estimate"]["number"] == share
    # A machine that was late has nothing to do with right answers, but goodput counts as timed.
    assert finding["verdict"] in ({verdict} if verdict == "accept" else {verdict, "invalid"})


def test_the_finding_says_what_each_request_had_to_meet(suite):
    finding = finding_of(run_of(suite, LIMITS))
    assert finding["title"] == "requests within 10 s and right by `accuracy`"
    assert finding["sentence"].startswith(
        "requests within 10 s and right by `accuracy`: 100 % of 400 requests"
    )
    assert "share of requests within 10 s and right by `accuracy`" in finding["rule"]
    assert finding["n_unit"] == "requests"


def test_a_scorer_of_the_suites_own_may_say_what_is_right(suite):
    suite.conftest(SCORED)
    suite.tests(LIMITS.replace("correct=True", 'correct="quality.exact"'))
    assert suite.run("--procure-report").verdicts == {"test_serves[only]": "accept"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("correct=True", "unknown scorer `accuracy`. Known: quality.exact"),
        ('correct="quality.exakt"', "unknown scorer `quality.exakt`; did you mean `quality.exact`?"),
    ],
)
def test_a_scorer_that_the_dataset_has_not_is_one_sentence_before_the_run(suite, asked, said):
    suite.conftest(SCORED)
    suite.tests(LIMITS.replace("correct=True", asked))
    ended = suite.run("--procure-report")
    assert ended.quiet
    assert ended.verdicts == {"test_serves[only]": "not tested"}
    assert said in ended.results["test_serves[only]"]["problem"]


@pytest.mark.parametrize(
    "asked",
    [
        'goodput(latency="10 s", correct=True) >= 0.5',
        'goodput(latency=seconds(10), correct="accuracy") >= percent(50)',
        'goodput(latency="10 s") >= 0.5',
        "goodput(correct=True) >= 0.9",
    ],
)
def test_goodput_is_asserted_on_a_result(suite, asked):
    ended = run_of(suite, f"def test_serves(procure):\n    assert procure.run().{asked}\n")
    assert ended.status == 0, ended.text
    finding = finding_of(ended)
    assert (finding["source"], finding["verdict"]) == ("asserted", "accept")
    assert finding["rule"].startswith(f"Decision rule: share of {finding['title']}: one-sided")


def test_an_assert_that_is_not_met_fails_in_its_own_words(suite):
    ended = run_of(
        suite, "def test_serves(procure):\n    assert procure.run().goodput(correct=True) >= 0.9\n", 0.5
    )
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert "requests right by `accuracy`: 50 % of 400 requests" in ended.words


def test_declared_and_asserted_goodput_counts_once(suite):
    text = LIMITS.replace(
        "procure.run()", 'assert procure.run().goodput(latency="10000 ms", correct=True) >= 0.5'
    )
    (result,) = run_of(suite, text).results.values()
    assert [each["source"] for each in result["findings"]] == ["declared"]


def test_other_limits_are_another_question(suite):
    text = LIMITS.replace("procure.run()", 'assert procure.run().goodput(latency="9 s", correct=True) >= 0.5')
    (result,) = run_of(suite, text).results.values()
    assert [each["source"] for each in result["findings"]] == ["declared", "asserted"]


def test_goodput_without_limits_says_what_to_write(suite):
    ended = run_of(suite, "def test_serves(procure):\n    assert procure.run().goodput() >= 0.9\n")
    assert ended.quiet
    assert "`goodput` needs `latency='80 ms'`, `correct=True`, or both" in ended.words


def test_queries_of_several_samples_count_as_queries(suite):
    text = LIMITS.replace('"single_stream"', '"multi_stream", samples_per_query=4').replace("0.5", "0.2")
    finding = finding_of(run_of(suite, text))
    assert (finding["n"], finding["verdict"]) == (100, "accept")


def test_items_asked_again_tell_no_more(suite):
    finding = finding_of(run_of(suite, LIMITS.replace("warmup=0", "warmup=0, count=800")))
    assert finding["n"] == 800
    assert finding["n_effective"] <= 400


def test_goodput_is_struck_where_quality_is_not_met(suite):
    text = LIMITS.replace("def test", '@pytest.mark.bar("accuracy", at_least=0.99)\ndef test')
    ended = run_of(suite, text, 0.95)
    assert finding_of(ended)["struck"]
    assert ended.verdicts == {"test_serves[only]": "reject"}


@pytest.mark.parametrize(
    ("bar", "said"),
    [
        ("at_least=0.9", "needs what each request has to meet: `latency='80 ms'`, `correct=True`, or both"),
        ("at_least=0.9, correct=False", "needs what each request has to meet"),
        ("at_least=0.9, latency=None, correct=None", "expected True, or a scorer's metric"),
        ("at_least=0.9, correct=''", "needs what each request has to meet"),
        ("at_least=0.9, correct=['accuracy']", "`correct=['accuracy']`: expected True, or a scorer's metric"),
        ("at_least=0.9, correct=1", "`correct=1`: expected True, or a scorer's metric"),
        ("at_least=0.9, latency=80", "`latency=80` has no unit of time"),
        ("at_least=0.9, latency=[80]", "`latency=[80]`: "),
        ("at_most=0.9, correct=True", "so it is `at_least=`, not the other way"),
        ("at_least=1, correct=True", "expected a share between 0 and 1, both excluded"),
        ("at_least=[0.9], correct=True", "`at_least=[0.9]`: "),
    ],
)
def test_a_mistake_in_goodput_is_one_sentence(suite, bar, said):
    suite.offers(only=1.0)
    suite.tests(LIMITS.replace('at_least=0.5, latency="10 s", correct=True', bar))
    assert said in suite.mistake()


def test_limits_belong_to_goodput_alone(suite):
    suite.offers(only=1.0)
    suite.tests(LIMITS.replace('"goodput"', '"accuracy"'))
    assert "bar `accuracy`: `latency=` is for `goodput`" in suite.mistake()


# Costs of good answers


COSTS = """
@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("cost_per_correct", at_most="0.00000011 USD")
@pytest.mark.bar("cost_per_accepted", at_most="0.00000011 USD")
def test_is_cheap(procure):
    procure.run()
"""


def test_costs_of_good_answers_are_decided_by_the_share_they_need(suite):
    suite.conftest(PRICED)
    suite.tests(COSTS)
    ended = suite.run("--procure-report")
    for metric in ("cost_per_correct", "cost_per_accepted"):
        finding = finding_of(ended, metric)
        assert finding["estimate"]["number"] == pytest.approx(1e-7 / 0.95)
        assert finding["verdict"] == "accept"
        assert "the exact cost over the one-sided Clopper-Pearson lower bound" in finding["rule"]


def test_costs_of_good_answers_are_asserted(suite):
    suite.conftest(PRICED)
    suite.tests("""
        def test_is_cheap(procure):
            result = procure.run()
            assert result.cost_per_correct <= "0.00000011 USD"
            assert result.cost_per_accepted <= money("0.00000011 USD")
    """)
    assert suite.run().status == 0


def test_a_cost_in_another_currency_is_one_sentence(suite):
    suite.conftest(PRICED)
    suite.tests(COSTS.replace('"0.00000011 USD")\ndef', '"0.00000011 EUR")\ndef'))
    assert "`cost_per_accepted` is in EUR, and candidate `only` is priced in USD" in suite.mistake()


def test_a_cost_whose_scorer_the_dataset_has_not_is_one_sentence_before_the_run(suite):
    ended = run_of(suite, COSTS)
    assert ended.quiet
    assert ended.verdicts == {"test_is_cheap[only]": "not tested"}
    assert "unknown scorer `quality.accepted`" in ended.results["test_is_cheap[only]"]["problem"]


def test_no_good_answer_has_no_cost(suite):
    suite.conftest(PRICED.replace("answers(0.95)", "answers(0.0)"))
    suite.tests(COSTS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_is_cheap[only]": "inconclusive"}
    finding = finding_of(ended, "cost_per_correct")
    assert finding["estimate"] is None
    assert "no answer scored by `accuracy`, so none has a cost" in finding["sentence"]


def test_energy_without_a_counter_is_not_measurable_and_accepts_nothing(suite):
    suite.conftest(
        "from pytest_procure import Function\n"
        + PRICED.replace("answers(0.95)", 'Function(answers(1.0), device="remote")')
    )
    suite.tests("""
        @pytest.mark.bar("energy_per_request", at_most="1000 J")
        def test_is_frugal(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    finding = finding_of(ended, "energy_per_request")
    assert finding["estimate"] is None
    assert "the device has no energy counter that can be read here" in finding["sentence"]
