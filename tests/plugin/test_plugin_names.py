"""Names and values that a test gets wrong: one line each, with what is valid."""

from __future__ import annotations

import re

import pytest

OFFER = """
from pytest_procure import Pipeline, Stage

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    same = lambda inputs: list(inputs)
    return [Candidate("acme", backend=Pipeline([Stage("find", same), Stage("rank", same)]))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
"""
MISTAKES = {
    "procure.sweep(rates=5)": "`rates=5`; expected a list, as in `rates=[10, 20, 40]`",
    "procure.sweep(concurrency='5')": "`concurrency='5'`; expected a list, as in `concurrency=[1, 4, 16]`",
    "procure.sweep(rates=[5], short=[1])": "`short=[1]`: `[1]` is no quantity; expected a number, or text",
    "procure.run().stage.a": "unknown stage `a`. Known: find, rank",
    "procure.run().stage.rerank": "unknown stage `rerank`; did you mean `rank`? Known: find, rank",
    "procure.run().stage.find.latncy": "unknown name of a stage's result `latncy`; did you mean `latency`?",
    "procure.run().quality.foo": "unknown quality metric `foo`. Known: accuracy",
    "procure.run().latency['p101']": "unknown latency metric `p101`. Known: p50, p90, p95, p99, p99.9",
    "procure.run().latency[95]": "unknown latency metric `95`; did you mean `p95`?",
    "procure.run().latencies": "unknown name of a result `latencies`; did you mean `latency`?",
    "procure.sweep(rate=[5])": "`Procure.sweep(...)`: unknown argument `rate`; did you mean `rates`? Known:",
    "procure.run(bakend=3)": "`procure.run(...)`: unknown argument `bakend`; did you mean `backend`?",
    "procure.measure('own.joy', 3, units='s')": "`Procure.measure(...)`: unknown argument `units`; did you",
    "procure.measure('own.joy')": "`Procure.measure(...)`: it needs `value`. Known: interval, name, unit",
    "procure.find_capacity(lauches=5)": "unknown argument `lauches`; did you mean `launches`?",
    "procure.find_slice(procure.run(), lest=3)": "unknown argument `lest`; did you mean `least`? Known:",
    "procure.run().goodput(latncy='1 s')": "`Result.goodput(...)`: unknown argument `latncy`; did you mean",
    "procure.runs()": "unknown name of a `procure` fixture `runs`; did you mean `run`?",
}


def test_a_wrong_name_or_value_in_a_test_is_one_line(suite):
    suite.conftest(OFFER)
    tests = [
        f"@pytest.mark.scenario('single_stream', count=20)\ndef test_{place}(procure):\n    {wrong}\n"
        for place, wrong in enumerate(MISTAKES)
    ]
    suite.tests("\n".join(tests))
    ended = suite.run()
    assert ended.status == 1
    for told in MISTAKES.values():
        assert re.search(f"procure: .*{re.escape(told)}", ended.text), told
    assert "Error: " not in ended.text  # no traceback
    assert "During handling" not in ended.text


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("pytest_procure_candidate", "pytest_procure_candidates"),
        ("pytest_procure_dataset", "pytest_procure_datasets"),
    ],
)
@pytest.mark.parametrize("folder", [".", "below"])
@pytest.mark.parametrize("mark", ["@pytest.hookimpl(optionalhook=True)", "@pytest.hookimpl", ""])
def test_a_hook_that_is_spelt_nearly_like_ours_is_one_line(suite, typed, nearest, folder, mark):
    made = OFFER.replace("@pytest.hookimpl(optionalhook=True)", mark).replace(nearest, typed)
    suite.conftest(made, folder=folder)
    suite.tests("def test_of_another():\n    pass\n", name=f"{folder}/test_it.py")
    assert f"unknown hook `{typed}`; did you mean `{nearest}`?" in suite.mistake()
    assert "conftest.py:" in suite.mistake()


@pytest.mark.parametrize("hook", ["pytest_procure_candidates", "pytest_procure_datasets"])
@pytest.mark.parametrize("folder", [".", "below"])
@pytest.mark.parametrize("mark", ["@pytest.hookimpl(optionalhook=True)", ""])
def test_a_parameter_that_our_hook_does_not_have_is_one_line(suite, hook, folder, mark):
    made = OFFER.replace("@pytest.hookimpl(optionalhook=True)", mark).replace(f"{hook}()", f"{hook}(cfg)")
    suite.conftest(made, folder=folder)
    suite.tests("def test_of_another():\n    pass\n", name=f"{folder}/test_it.py")
    said = suite.mistake()
    assert f": hook `{hook}`: unknown parameter `cfg`; did you mean `config`? Known: config" in said
    assert said.startswith("conftest.py:")


def test_a_parameter_that_our_hook_does_not_have_in_an_early_plugin_is_one_line(suite, monkeypatch):
    monkeypatch.syspath_prepend(suite.path)
    suite.write("early.py", "def pytest_procure_candidates(configuration):\n    return []\n")
    suite.tests("def test_of_another():\n    pass\n")
    ended = suite.run("-p", "early", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert ended.quiet, ended.text
    assert "early.py:1: hook `pytest_procure_candidates`: unknown parameter `configuration`" in ended.text


def test_our_hooks_may_leave_the_parameter_out_or_give_others_a_default(suite):
    suite.conftest(OFFER.replace("candidates()", "candidates(config, more=1)"))
    suite.tests("def test_of_another():\n    pass\n")
    assert suite.run().status == 0


def test_a_hook_spelt_nearly_like_ours_in_a_plugin_of_the_suite_is_one_line(suite, monkeypatch):
    monkeypatch.syspath_prepend(suite.path)
    suite.write("ours.py", "def pytest_procure_offers(config):\n    return []\n")
    suite.tests("def test_of_another():\n    pass\n")
    said = suite.mistake("-p", "ours")
    assert said.startswith("ours.py:1: unknown hook `pytest_procure_offers`")


@pytest.mark.parametrize("by", ["file", "flag"])
def test_a_mistyped_setting_is_one_line(suite, by):
    suite.tests("def test_of_another():\n    pass\n")
    flags = ["-o", "procure_consumer_risc=0.01"] if by == "flag" else []
    if by == "file":
        suite.write("pytest.ini", "[pytest]\nprocure_consumer_risc = 0.01\n")
    said = suite.mistake(*flags)
    assert said.startswith("unknown ini key `procure_consumer_risc`; did you mean `procure_consumer_risk`?")


def test_a_bare_number_against_a_time_is_one_line_with_its_place(suite):
    suite.offers(good=1.0)
    suite.tests("def test_reads(procure):\n    assert procure.run().latency.p95 <= 80\n")
    ended = suite.run()
    assert ended.quiet, ended.text
    assert (
        "procure: test_it.py:5: latency.p95 is a duration, so 80 needs its unit, as in ms(80)" in ended.text
    )


def test_workers_tell_a_hook_spelt_nearly_like_ours_in_one_line(suite):
    suite.conftest(OFFER.replace("procure_candidates", "procure_candidate"), folder="below")
    suite.tests("def test_reads(procure):\n    procure.run()\n", name="below/test_it.py")
    ended = suite.run("-p", "xdist", "-n", "1", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert ended.quiet, ended.text
    assert ended.text.count("unknown hook `pytest_procure_candidate`; did you mean") == 1


def test_a_mistyped_argument_of_an_offer_is_one_line(suite):
    suite.conftest("""
        from pytest_procure import OnnxRuntime

        def pytest_procure_datasets():
            return {"numbers": numbers}

        def pytest_procure_candidates():
            return [Candidate("acme", backend=OnnxRuntime("x.onnx", thread=2))]
        """)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.9)\ndef test_reads(procure):\n    procure.run()\n")
    said = suite.mistake("--collect-only")
    assert "conftest.py: `OnnxRuntime(...)`: unknown argument `thread`; did you mean `threads`?" in said


def test_a_mistyped_argument_outside_a_hook_is_told_by_the_line_that_calls(suite):
    suite.write(
        "conftest.py", "from pytest_procure import OnnxRuntime\n\nOFFER = OnnxRuntime('x.onnx', thread=2)\n"
    )
    suite.tests("def test_one():\n    pass\n")
    ended = suite.run()
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "unknown argument `thread`; did you mean `threads`?" in ended.text
    assert "calling.py" not in ended.text


def test_names_that_are_not_for_tests_are_not_listed(suite):
    suite.offers(good=1.0)
    suite.tests("def test_reads(procure):\n    procure.run().acuracy\n")
    said = suite.run().text
    assert "Known: accuracy, answers, corpus" in said
    assert not [name for name in ("holds", "joint", "measurement", "taken") if f" {name}, " in said]
