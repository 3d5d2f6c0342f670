"""A pipeline in a process of its own."""

OFFER = """
from pytest_procure import Pipeline

def double(numbers):
    return [2 * n for n in numbers]

def halve(numbers):
    return [n // 2 % 10 for n in numbers]
"""


def test_stages_are_timed_in_the_candidates_process(suite):
    suite.write("stages.py", OFFER)
    suite.conftest(
        """
import stages
from pytest_procure import Pipeline

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    pipeline = Pipeline([("double", stages.double), ("halve", stages.halve)])
    return [Candidate("staged", backend=pipeline, isolation="process")]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"n": Dataset.from_arrays("n", inputs=list(range(300)), references=[i % 10 for i in range(300)])}
"""
    )
    suite.tests(
        '@pytest.mark.bar("accuracy", at_least=0.9)\n'
        '@pytest.mark.bar("stage.halve.error_rate", at_most=0.05)\n'
        "def test_it(procure): procure.run()"
    )
    ran = suite.run("--procure-report")
    assert ran.verdicts == {"test_it[staged]": "accept"}, ran.text
    (run,) = ran.results["test_it[staged]"]["runs"]
    assert [stage["name"] for stage in run["stages"]] == ["waiting", "double", "halve"]
