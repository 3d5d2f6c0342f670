"""A suite lets hypothesis search for the slice on which a candidate is worst."""

import pytest

CONFTEST = """
    import pytest
    from pytest_procure import Candidate, Dataset

    def answer(batch):
        return [text if len(text) < {broken} else "?" for text in batch]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("offer", backend=answer)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = ["x" * (1 + k % 100) + str(k) for k in range(800)]
        return {{"texts": lambda: Dataset.from_arrays("texts", inputs=texts, references=texts)}}
"""
TEST = """
    @pytest.mark.bar("accuracy", at_least=0.8)
    @pytest.mark.bar("own.worst_slice", at_least=0.7)
    def test_reads_all_kinds(procure):
        "Are there letters that it reads badly?"
        found = procure.find_slice(procure.run(), {"length": len}, examples=60)
        print("FOUND", found.name, found.n)
"""


def ask(suite, broken):
    suite.conftest(CONFTEST.format(broken=broken))
    suite.tests(TEST)
    return suite.run("--procure-report", "-s")


def test_a_bad_slice_behind_a_good_mean_is_found_and_rejected(suite):
    ended = ask(suite, broken=90)
    assert ended.status == 1
    assert "FOUND length >= " in ended.text
    (result,) = ended.results.values()
    found = {finding["metric"]: finding for finding in result["findings"]}
    assert found["accuracy"]["verdict"] == "accept"
    worst = found["own.worst_slice"]
    assert worst["verdict"] == "reject"
    assert worst["estimate"]["number"] < 0.2
    assert worst["n"] > 20
    assert "length >= " in worst["n_unit"]
    assert "items where length" in (ended.folder / "report.html").read_text("utf-8").replace("&gt;", ">")


def test_where_nothing_is_wrong_the_worst_slice_is_accepted(suite):
    ended = ask(suite, broken=1000)
    assert ended.status == 0, ended.text
    (result,) = ended.results.values()
    assert {finding["verdict"] for finding in result["findings"]} == {"accept"}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("scores='acuracy'", "did you mean `accuracy`"),
        ("least=1", "`least=1` of a search"),
        ("least=5000", "no condition holds for 5000 samples"),
        ("name='accuracy'", "name your own value `own.NAME`"),
    ],
)
def test_a_search_that_cannot_be_meant_is_told(suite, asked, told):
    suite.conftest(CONFTEST.format(broken=1000))
    suite.tests(TEST.replace("examples=60", f"examples=60, {asked}"))
    ended = suite.run()
    assert ended.status == 1
    assert told in ended.words


JUDGED = """
    import pytest
    from pytest_procure import Candidate, Dataset
    from pytest_procure.datasets import llm_judge

    LABELS = [(f"good {{i}}", "", True) for i in range(20)] + [(f"bad {{i}}", "", False) for i in range(20)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("offer", backend=lambda batch: ["good " + text for text in batch])]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        texts = ["x" * (1 + k % 100) + str(k) for k in range(400)]
        judge = llm_judge({judge}, "Right? {{output}}", labels={labels})
        return {{"texts": lambda: Dataset.from_arrays("texts", inputs=texts, references=texts, scorer=judge)}}
"""
CONTENT = 'lambda batch: ["Yes"] * len(batch)'
HONEST = 'lambda batch: ["Yes" if "good" in text else "No" for text in batch]'


@pytest.mark.parametrize(
    ("judge", "labels", "verdict", "told"),
    [
        (HONEST, "LABELS", "accept", ""),
        (HONEST, "()", "inconclusive", "nothing rests on a judge alone"),
        (CONTENT, "LABELS", "inconclusive", "it may decide from 80.0% on"),
    ],
    ids=["proven", "without labels", "always content"],
)
def test_no_slice_is_decided_by_a_judge_that_nobody_has_proven(suite, judge, labels, verdict, told):
    suite.conftest(JUDGED.format(judge=judge, labels=labels))
    test = TEST.replace('    @pytest.mark.bar("accuracy", at_least=0.8)\n', "")
    suite.tests(test.replace("examples=60", "examples=30, scores='quality.judge'"))
    ended = suite.run("--procure-report", "-s")
    assert ended.verdicts == {"test_reads_all_kinds[offer]": verdict}
    assert told in ended.words
    assert "FOUND " in ended.text
