from __future__ import annotations

import pytest

SUITE = """
    import os, signal

    calls = []

    def press_at(call):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)

    def answer(inputs):
        {answering}
        return np.asarray(inputs) % 10

    def exact(output, reference) -> bool:
        {scoring}
        return output == reference

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("good", backend=answer)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        return {{"numbers": lambda: numbers(scorer=exact)}}
"""
TEST = """
    @pytest.mark.scenario("single_stream", warmup=0, launches={launches})
    @pytest.mark.bar("quality.exact", at_least=0.5)
    def test_reads(procure):
        procure.run()
"""


def ended(suite, *, launches=1, answering="pass", scoring="pass"):
    suite.conftest(SUITE.format(answering=answering, scoring=scoring))
    suite.tests(TEST.format(launches=launches))
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    return ended.results["test_reads[good]"]


def test_ctrl_c_while_answers_are_scored_keeps_the_run(suite):
    (run,) = ended(suite, scoring="press_at(5)")["runs"]
    assert (run["requests"], run["ok"], run["stopped"]) == (400, 400, "")


def test_ctrl_c_in_a_later_launch_keeps_those_before_it(suite):
    result = ended(suite, launches=3, answering="press_at(450)")
    assert result["verdict"] == "not tested"
    assert not any(run["declared"] for run in result["runs"])
    assert sorted(run["stopped"] for run in result["runs"]) == ["", "interrupted"]
    assert max(run["ok"] for run in result["runs"]) == 400
