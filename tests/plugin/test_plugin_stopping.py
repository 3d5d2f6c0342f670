"""`stopping=`: the run ends when its declared bars are settled, and says so."""

import pytest

READS = """
@pytest.mark.scenario("single_stream", stopping="curtailed", warmup=0)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""
COUNTING = """
CALLS = Path(__file__).with_name("calls.txt")

def counted(output, reference) -> bool:
    with CALLS.open("a") as file:
        file.write(".")
    return output == reference

def pytest_procure_candidates():
    return [Candidate("only", backend=answers(1.0))]

def pytest_procure_datasets():
    return {"numbers": lambda: numbers(scorer={"counted": counted})}
"""


def ended_with(suite, text, share=1.0):
    suite.offers(only=share)
    suite.tests(text)
    return suite.run("--procure-report")


def finding_of(ended):
    result = ended.results["test_reads[only]"]
    return result["findings"][0], result["runs"][0]


@pytest.mark.parametrize(
    ("share", "verdict", "asked"), [(1.0, "accept", 380), (0.0, "reject", 60), (0.9, "inconclusive", 400)]
)
def test_a_curtailed_run_ends_when_no_continuation_can_change_it(suite, share, verdict, asked):
    ended = ended_with(suite, READS, share)
    finding, run = finding_of(ended)
    assert (finding["verdict"], finding["n"], run["requests"]) == (verdict, asked, asked)
    assert f"for the 400 planned samples, {'all' if asked == 400 else 'of which'}" in finding["rule"]


def test_a_curtailed_run_offline_asks_in_batches(suite):
    text = READS.replace("single_stream", "offline").replace("warmup=0", "warmup=0, max_batch=4")
    finding, run = finding_of(ended_with(suite, text))
    assert (finding["verdict"], finding["n"], run["conditions"]["max_batch"]) == ("accept", 380, 4)


def test_a_run_at_any_time_ends_when_its_bounds_clear_the_bar(suite):
    finding, _ = finding_of(ended_with(suite, READS.replace("curtailed", "anytime")))
    assert finding["verdict"] == "accept"
    assert finding["n"] == 70
    assert "confidence sequence" in finding["rule"]
    assert "after 70 samples" in finding["rule"]


def test_a_fixed_run_asks_everything(suite):
    finding, _ = finding_of(ended_with(suite, READS.replace('stopping="curtailed", ', "")))
    assert (finding["verdict"], finding["n"]) == ("accept", 400)


def test_a_count_is_the_planned_number(suite):
    finding, _ = finding_of(ended_with(suite, READS.replace("warmup=0", "warmup=0, count=200")))
    assert "for the 200 planned samples" in finding["rule"]
    assert finding["n"] < 200


def test_the_run_says_how_it_was_to_be_stopped(suite):
    _, run = finding_of(ended_with(suite, READS))
    assert run["conditions"]["stopping"] == "curtailed"


def test_each_answer_is_scored_once_however_often_one_looks(suite):
    suite.conftest("from pathlib import Path\n" + COUNTING)
    suite.tests(READS.replace('"accuracy"', '"quality.counted"'))
    finding, _ = finding_of(suite.run("--procure-report"))
    assert len((suite.path / "calls.txt").read_text("utf-8")) == finding["n"] == 380


def test_an_assert_on_right_answers_holds_on_a_curtailed_run(suite):
    ended = ended_with(suite, READS.replace("procure.run()", "assert procure.run().accuracy >= 0.8"))
    assert ended.status == 0


def test_an_assert_on_anything_else_is_not_measurable_there(suite):
    ended = ended_with(suite, READS.replace("procure.run()", "assert procure.run().error_rate <= 0.5"))
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert "the run ended when its right answers were settled, which tells nothing else" in ended.words


def test_a_run_of_ones_own_is_not_stopped(suite):
    ended = ended_with(suite, READS.replace("run()", 'run("offline", stopping="curtailed")'))
    problem = "`stopping=` is for the marked scenario, on which the declared bars are judged"
    assert ended.results["test_reads[only]"]["problem"] == problem
    assert ended.quiet


def told(suite, text, data="numbers"):
    """Run the suite, see that nothing was tested, and give the sentence that says why."""
    suite.conftest(
        "def pytest_procure_candidates(): return [Candidate('only', backend=answers(1.0))]\n"
        f"def pytest_procure_datasets(): return {{'numbers': {data}}}\n"
    )
    suite.tests(text)
    ended = suite.run("--procure-report")
    assert ended.quiet
    assert ended.verdicts == {"test_reads[only]": "not tested"}
    return ended.results["test_reads[only]"]["problem"]


@pytest.mark.parametrize("kind", ["curtailed", "anytime"])
def test_a_latency_bar_forbids_it(suite, kind):
    text = READS.replace("def test", '@pytest.mark.bar("latency.p95", at_most="1 s")\ndef test')
    assert told(suite, text.replace("curtailed", kind)) == (
        f"`stopping='{kind}'` is for declared bars on right answers alone, not for latency.p95"
    )


def test_items_asked_twice_forbid_it(suite):
    assert told(suite, READS.replace("warmup=0", "count=401")) == (
        "`stopping='curtailed'` asks each item once at most; lower `count` to 400"
    )


def test_clusters_forbid_it(suite):
    assert told(suite, READS, "lambda: numbers(clusters=np.arange(400) // 4)") == (
        "`stopping='curtailed'` takes items that stand for themselves; this dataset has clusters"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (READS.replace("single_stream", "server"), "`stopping` does not belong to scenario `server`"),
        (READS.replace("curtailed", "curtail"), "unknown stopping `curtail`; did you mean `curtailed`?"),
    ],
)
def test_a_mistake_in_it_is_one_sentence(suite, text, said):
    suite.offers(only=1.0)
    suite.tests(text)
    assert said in suite.mistake()
