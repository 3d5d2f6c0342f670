"""Pipelines: bars on the whole by default and on a stage where asked, stage times in log and record."""

import numpy as np

SUITE = """
from pytest_procure import Answer, Pipeline, Stage, RequestPrice, TokenPrice

def retrieve(numbers):
    return [[n % 10, -1] if n % 20 else [-1, n % 10] for n in numbers]

def rerank(lists):
    return [max(found) for found in lists]

def breaks(lists):
    raise ValueError("no model")

def generate(labels):
    return [Answer(label, 100, 5) for label in labels]

def staged(rerank):
    return Pipeline([
        Stage("retrieve", retrieve, price=RequestPrice("0.001 USD")),
        ("rerank", rerank),
        Stage("generate", generate, price=TokenPrice(input="1 USD", output="2 USD")),
    ])

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("good", backend=staged(rerank)), Candidate("broken", backend=staged(breaks)),
            Candidate("single", backend=lambda numbers: [n % 10 for n in numbers])]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    inputs = np.arange(400)
    labels = {"retrieve": ([[n % 10] for n in range(400)], lambda found, right: found[0] == right[0])}
    right = (inputs % 10).tolist()
    numbers = Dataset.from_arrays("numbers", inputs=inputs.tolist(), references=right, stages=labels)
    return {"numbers": numbers}
"""


def ended(suite, *bars, body="procure.run()", candidate="good", source=SUITE):
    suite.conftest(source)
    marks = "\n".join(f"@pytest.mark.bar({bar})" for bar in bars)
    suite.tests(
        f"{marks}\n@pytest.mark.scenario('single_stream', count=400)\ndef test_it(procure):\n    {body}\n"
    )
    ran = suite.run("--procure-report", "--procure-candidate", candidate)
    assert ran.quiet, ran.text
    return ran


def findings(ran, candidate="good"):
    return {each["metric"]: each for each in ran.results[f"test_it[{candidate}]"]["findings"]}


def test_bars_are_on_the_whole_and_on_the_stages_that_they_name(suite):
    ran = ended(
        suite,
        '"accuracy", at_least=0.95',
        '"stage.rerank.latency.p95", at_most="5 s"',
        '"stage.rerank.error_rate", at_most=0.05',
        '"stage.retrieve.quality", at_least=0.99',
        '"stage.retrieve.cost_per_request", at_most="0.002 USD"',
        '"stage.generate.cost_per_request", at_most="0.0002 USD"',
    )
    found = findings(ran)
    verdicts = {metric: each["verdict"] for metric, each in found.items()}
    assert verdicts.pop("stage.retrieve.quality") == "reject"  # one in 20 has the right document second
    assert found["stage.retrieve.quality"]["estimate"]["number"] == 0.95
    assert found["stage.generate.cost_per_request"]["estimate"]["number"] == 0.00011
    assert verdicts.pop("accuracy") == "accept"
    assert ran.verdicts == {"test_it[good]": "reject"}


def test_a_whole_that_is_right_is_accepted_with_all_its_stages(suite):
    ran = ended(
        suite,
        '"accuracy", at_least=0.95',
        '"stage.rerank.latency.p95", at_most="5 s"',
        '"stage.generate.error_rate", at_most=0.05',
        body="assert procure.run().stage.retrieve.quality >= 0.9",
    )
    assert ran.verdicts == {"test_it[good]": "accept"}, ran.text


def test_the_stages_and_the_waiting_add_up_to_the_mean_latency(suite):
    (run,) = ended(suite, '"accuracy", at_least=0.9').results["test_it[good]"]["runs"]
    stages = run["stages"]
    assert [stage["name"] for stage in stages] == ["waiting", "retrieve", "rerank", "generate"]
    assert stages[1]["score"] == 0.95
    assert (stages[1]["cost"], stages[3]["cost"]) == ("0.001 USD", "0.00011 USD")
    assert all(stage["reached"] == 400 and stage["failed"] == 0 for stage in stages[1:])
    ran = {stage["name"]: stage["mean_ms"] for stage in stages}
    assert abs(sum(ran.values()) - mean_latency(suite, run)) < 1e-3


def test_what_a_stage_reads_from_a_cache_costs_what_the_cache_costs(suite):
    source = SUITE.replace("Answer(label, 100, 5)", "Answer(label, 100, 5, cached_tokens=90)").replace(
        'input="1 USD", output', 'input="1 USD", cached_input="0 USD", output'
    )
    ran = ended(suite, '"accuracy", at_least=0.9', source=source)
    (run,) = ran.results["test_it[good]"]["runs"]
    assert run["stages"][3]["cost"] == "0.00002 USD"
    assert {int(row["stage.generate.cached_tokens"]) for row in rows(suite, run)} == {90}


def rows(suite, run):
    return np.load(suite.path / "procure-report" / run["log"])


def mean_latency(suite, run):
    taken = [int(row["completed_ns"]) - int(row["scheduled_ns"]) for row in rows(suite, run)]
    return sum(taken) / len(taken) / 1e6


def test_stage_times_stand_in_the_log(suite):
    (run,) = ended(suite, '"accuracy", at_least=0.9').results["test_it[good]"]["runs"]
    for row in rows(suite, run):
        assert row["stage.rerank.passing"] == 1
        assert row["stage.generate.input_tokens"] == 100
        assert row["stage.retrieve.score"] == (0 if int(row["item"]) % 20 == 0 else 1)
        assert 0 < int(row["stage.rerank.ns"]) < int(row["completed_ns"]) - int(row["started_ns"])


def test_a_stage_that_fails_is_named_and_counts_where_it_failed(suite):
    ran = ended(
        suite,
        '"error_rate", at_most=0.05',
        '"stage.retrieve.error_rate", at_most=0.05',
        '"stage.rerank.error_rate", at_most=0.05',
        '"stage.rerank.latency.p95", at_most="5 s"',
        '"stage.generate.error_rate", at_most=0.05',
        candidate="broken",
    )
    found = findings(ran, "broken")
    # On a machine that is late a latency that is not accepted says nothing.
    assert found.pop("stage.rerank.latency.p95")["verdict"] in {"reject", "invalid"}
    assert {metric: each["verdict"] for metric, each in found.items()} == {
        "error_rate": "reject",
        "stage.retrieve.error_rate": "accept",
        "stage.rerank.error_rate": "reject",
        "stage.generate.error_rate": "inconclusive",
    }
    assert "no request came to this stage" in found["stage.generate.error_rate"]["sentence"]
    (run,) = ran.results["test_it[broken]"]["runs"]
    assert run["error_texts"] == ["stage rerank: ValueError: no model"]
    assert run["failures"] == {"error": 400}


def test_an_offer_without_stages_is_not_accepted_on_one(suite):
    ran = ended(suite, '"stage.rerank.latency.p95", at_most="5 s"', candidate="single")
    assert ran.verdicts == {"test_it[single]": "inconclusive"}
    assert "passed no stage `rerank` (it passed: none)" in ran.text


def test_stages_that_a_candidate_claims_itself_are_not_measured(suite):
    claims = """lambda numbers: [
        Answer(n % 10, stages=(StagePass("rerank", Passing.OK, 1), "nonsense")) for n in numbers]"""
    head = "from pytest_procure.backends.protocol import Passing, StagePass\n"
    suite.conftest(head + SUITE.replace("lambda numbers: [n % 10 for n in numbers]", claims))
    suite.tests(
        '@pytest.mark.bar("accuracy", at_least=0.9)\n'
        '@pytest.mark.bar("stage.rerank.latency.p95", at_most="5 s")\n'
        "@pytest.mark.scenario('single_stream', count=400)\ndef test_it(procure): procure.run()"
    )
    ran = suite.run("--procure-report", "--procure-candidate", "single")
    verdicts = {metric: each["verdict"] for metric, each in findings(ran, "single").items()}
    assert verdicts == {"accuracy": "accept", "stage.rerank.latency.p95": "inconclusive"}
    (run,) = ran.results["test_it[single]"]["runs"]
    assert "stages" not in run


def test_a_mistyped_stage_is_told_before_the_run(suite):
    ran = ended(suite, '"stage.rerankk.latency.p95", at_most="5 s"')
    assert ran.status != 0
    assert "unknown stage `rerankk`; did you mean `rerank`?" in ran.words


def test_a_mistyped_metric_of_a_stage_is_a_usage_error(suite):
    suite.conftest(SUITE)
    suite.tests(
        '@pytest.mark.bar("stage.rerank.latncy.p95", at_most="5 s")\ndef test_it(procure): procure.run()'
    )
    assert "unknown metric of stage `rerank` `latncy.p95`; did you mean `latency.p95`?" in suite.mistake()


def test_quality_of_a_stage_without_labels_is_told_before_the_run(suite):
    ran = ended(suite, '"stage.rerank.quality", at_least=0.9')
    assert "unknown stage with labels `rerank`" in ran.words


def test_a_stage_is_not_compared_between_candidates(suite):
    suite.conftest(SUITE)
    suite.tests(
        '@pytest.mark.bar("stage.rerank.latency.p95", at_most="90 %", of="broken")\n'
        "def test_it(procure): procure.run()"
    )
    assert "cannot be compared between candidates" in suite.mistake()


def test_an_offer_without_a_price_costs_what_its_stages_cost(suite):
    suite.conftest(
        SUITE.replace('("rerank", rerank)', 'Stage("rerank", rerank, price=RequestPrice("0.002 USD"))')
    )
    suite.tests(
        "@pytest.mark.bar('cost_per_request', at_most='0.01 USD')\n"
        "@pytest.mark.scenario('single_stream', count=400)\ndef test_it(procure): procure.run()"
    )
    ran = suite.run("--procure-report", "--procure-candidate", "good")
    (finding,) = ran.results["test_it[good]"]["findings"]
    assert (finding["verdict"], finding["estimate"]["number"]) == ("accept", 0.00311)


def test_an_offer_without_a_price_on_every_stage_has_none(suite):
    suite.conftest(SUITE)
    suite.tests(
        "@pytest.mark.bar('cost_per_request', at_most='0.01 USD')\ndef test_it(procure): procure.run()"
    )
    assert "candidate `good` has no price" in suite.mistake()


def test_a_stage_does_not_end_a_run_early(suite):
    suite.conftest(SUITE)
    suite.tests(
        '@pytest.mark.bar("stage.retrieve.quality", at_least=0.9)\n'
        '@pytest.mark.scenario("single_stream", stopping="curtailed")\n'
        "def test_it(procure): procure.run()"
    )
    ran = suite.run("--procure-candidate", "good")
    assert "is for declared bars on right answers alone, not for stage.retrieve.quality" in ran.words


def test_a_plan_says_that_a_stage_is_not_planned(suite):
    suite.conftest(SUITE)
    suite.tests(
        '@pytest.mark.bar("stage.rerank.latency.p95", at_most="5 s")\ndef test_it(procure): procure.run()'
    )
    ran = suite.run("--procure-plan")
    assert "nothing is known of it before a run" in ran.words
