"""Asserts on measured values: recorded, and judged by the decision rule wherever they stand."""

import pytest

CLOSE = 0.95  # right on 380 of 400 samples: more than 0.9 for certain, less than 0.99 too, 0.94 undecided


def asserting(suite, body, *arguments, head="", **shares):
    """Run one test with this body on an offer, `close` unless told otherwise; gives how it ended."""
    suite.offers(**(shares or {"close": CLOSE}))
    lines = "\n    ".join(["def test_reads(procure):", *body.strip().splitlines()])
    suite.tests(f"{head}\n{lines}\n")
    return suite.run("--procure-report", *arguments)


def the_result(ended):
    (result,) = ended.results.values()
    return result


def findings(ended):
    """(metric, sense, verdict) of each finding that decides."""
    return [
        (each["metric"], each["sense"], each["verdict"])
        for each in the_result(ended)["findings"]
        if not each["observed_only"]
    ]


def observed(ended):
    return [each["metric"] for each in the_result(ended)["findings"] if each["observed_only"]]


ACCEPTED = ("accuracy", "at least", "accept")


def test_an_assert_that_the_evidence_shows_is_accepted(suite):
    ended = asserting(suite, "assert procure.run().accuracy >= 0.9")
    assert (ended.status, findings(ended)) == (0, [ACCEPTED])


def test_an_assert_that_only_the_point_value_meets_fails_as_undecided(suite):
    ended = asserting(suite, "assert procure.run().accuracy >= 0.94")
    assert ended.status == 1
    assert findings(ended) == [("accuracy", "at least", "inconclusive")]


def test_an_assert_whose_opposite_is_shown_is_rejected(suite):
    ended = asserting(suite, "assert procure.run().accuracy >= 0.99")
    assert findings(ended) == [("accuracy", "at least", "reject")]


def test_an_undecided_assert_says_value_range_bar_and_what_would_decide(suite):
    ended = asserting(suite, "assert procure.run().accuracy >= 0.94")
    assert (
        "answers right: 95 % of 400 samples (likely range 92.8 % to 96.7 %); asked: at least 94 %"
        in ended.words
    )
    assert "a new run of " in ended.words


def test_the_record_keeps_the_asserted_text_and_its_place(suite):
    ended = asserting(suite, "result = procure.run()\nassert result.accuracy >= 0.9")
    (finding,) = the_result(ended)["findings"]
    assert finding["text"] == "assert result.accuracy >= 0.9"
    assert finding["where"] == "test_it.py:7"
    assert finding["source"] == "asserted"


DECIDING = [
    "assert 0.9 <= result.accuracy",
    "assert percent(90) <= result.accuracy",
    "assert not result.accuracy < 0.9",
    "assert not (result.accuracy < 0.9)",
    "assert result.accuracy >= 0.9 and result.error_rate <= 0.1",
    "assert not (result.accuracy < 0.9 or result.error_rate > 0.1)",
    "assert 0.9 <= result.accuracy, 'too many are wrong'",
    "assert all(each.accuracy >= 0.9 for each in [result])",
    "assert all([each.accuracy >= 0.9 for each in [result]])",
    "assert not any(each.accuracy < 0.9 for each in [result])",
    "assert np.float64(0.9) <= result.accuracy",
    "assert result.accuracy >= np.float64(0.9)",
    "assert (\n    result.accuracy\n    >= 0.9\n)",
    "good = result\nassert good.accuracy >= percent(90)",
    "assert result.accuracy >= '90 %'",
]
UNDECIDED = [
    "assert not result.accuracy < 0.94",
    "assert not result.accuracy <= 0.94",
    "assert result.error_rate <= 0.1 and result.accuracy >= 0.94",
    "assert all(each.accuracy >= 0.94 for each in [result])",
    "assert not any(each.accuracy < 0.94 for each in [result])",
    "assert (result.accuracy >= 0.94) is True",
    "assert not (result.accuracy >= 0.94)",
    "assert not (result.accuracy < 0.94 and result.error_rate <= 0.1)",
]
#: The test passes, as Python sees it; the bar stays where it is.
GREEN = [
    "assert [result.accuracy >= 0.94]",
    "assert (result.accuracy >= 0.94) is False",
    "assert str(result.accuracy >= 0.94)",
    "with pytest.raises(AssertionError):\n    assert result.accuracy >= 0.94",
    "try:\n    assert result.accuracy >= 0.94\nexcept AssertionError:\n    pass",
]


def each_alone(suite, bodies, *arguments):
    """Run one test a body, all in one session; gives their results in order."""
    suite.offers(close=CLOSE)
    tests = []
    for number, body in enumerate(bodies):
        lines = ["result = procure.run()", *body.splitlines()]
        tests.append("\n    ".join([f"def test_{number}(procure):", *lines]))
    suite.tests("import numpy as np\n" + "\n\n".join(tests) + "\n")
    ended = suite.run("--procure-report", *arguments)
    return [ended.results[f"test_{number}[close]"] for number in range(len(bodies))]


@pytest.mark.parametrize("assertions", ["rewrite", "plain"])
def test_an_assert_decides_however_it_is_written(suite, assertions):
    results = each_alone(suite, DECIDING, "--assert", assertions)
    assert [(body, each["verdict"]) for body, each in zip(DECIDING, results, strict=True)] == [
        (body, "accept") for body in DECIDING
    ]
    for result in results:
        (first, *_) = result["findings"]
        assert (first["metric"], first["sense"], first["observed_only"]) == ("accuracy", "at least", False)


@pytest.mark.parametrize("assertions", ["rewrite", "plain"])
def test_an_undecided_value_makes_no_test_green_however_the_assert_is_written(suite, assertions):
    results = each_alone(suite, UNDECIDED, "--assert", assertions)
    accepted = [body for body, each in zip(UNDECIDED, results, strict=True) if each["verdict"] == "accept"]
    assert accepted == []


def test_a_failed_bar_stays_failed_when_the_test_passes_all_the_same(suite):
    for body, result in zip(GREEN, each_alone(suite, GREEN), strict=True):
        (finding,) = result["findings"]
        assert (body, finding["verdict"], finding["observed_only"]) == (body, "inconclusive", False)
        assert result["verdict"] == "inconclusive"


def test_both_ends_of_a_chained_comparison_are_bars(suite):
    body = """
procure.run()
own = procure.measure("own.share", 0.5, interval=(0.4, 0.6))
assert 0.3 <= own <= 0.7
"""
    ended = asserting(suite, body)
    assert findings(ended) == [("own.share", "at least", "accept"), ("own.share", "at most", "accept")]


def test_an_arm_of_an_or_is_shown_and_decides_nothing(suite):
    ended = asserting(
        suite,
        "result = procure.run()\nassert result.accuracy >= 0.9\n"
        "assert result.accuracy >= 0.99 or result.error_rate <= 0.1",
    )
    assert ended.status == 0
    assert findings(ended) == [ACCEPTED]
    assert observed(ended) == ["accuracy", "error_rate"]


def test_a_comparison_in_an_if_decides_nothing(suite):
    body = """
result = procure.run()
assert result.accuracy >= 0.9
if result.accuracy >= 0.99:
    print("superb")
"""
    ended = asserting(suite, body)
    assert ended.status == 0
    assert observed(ended) == ["accuracy"]


def test_a_comparison_kept_for_later_decides_nothing_and_is_shown(suite):
    ended = asserting(suite, "fine = procure.run().accuracy >= 0.9\nassert fine")
    assert observed(ended) == ["accuracy"]
    assert (ended.status, the_result(ended)["verdict"]) == (1, "not tested")


def test_an_assert_in_a_helper_module_counts(suite):
    suite.write("helping.py", "def check(result):\n    assert result.accuracy >= 0.9\n")
    ended = asserting(suite, "check(procure.run())", head="from helping import check")
    assert (ended.status, findings(ended)) == (0, [ACCEPTED])
    assert the_result(ended)["findings"][0]["where"] == "helping.py:2"


def test_an_assert_in_a_fixture_counts(suite):
    suite.offers(close=CLOSE)
    suite.tests("""
        @pytest.fixture
        def result(procure):
            result = procure.run()
            assert result.accuracy >= 0.9
            return result

        def test_reads(result):
            assert result.error_rate <= 0.1
    """)
    ended = suite.run("--procure-report")
    assert findings(ended) == [ACCEPTED, ("error_rate", "at most", "accept")]


def test_asserts_behind_one_that_failed_read_not_reached(suite):
    ended = asserting(
        suite,
        "result = procure.run()\nassert result.accuracy >= 0.99\nassert result.error_rate <= 0.1\n"
        "for each in [result]:\n    assert each.latency.p50 <= seconds(9)",
    )
    assert [each["text"] for each in the_result(ended)["not_reached"]] == [
        "assert result.error_rate <= 0.1",
        "assert each.latency.p50 <= seconds(9)",
    ]
    assert "not reached: assert result.error_rate <= 0.1" in ended.text


def test_behind_a_decorator_the_lines_of_the_test_itself_count(suite):
    suite.write(
        "wrapping.py",
        """
        import functools

        def wrapped(test):
            @functools.wraps(test)
            def inner(*arguments, **more):
                return test(*arguments, **more)
            return inner
        """,
    )
    body = """
result = procure.run()
assert result.error_rate <= 0.1
assert result.accuracy >= 0.99
assert result.latency.p50 <= seconds(9)
"""
    ended = asserting(suite, body, head="from wrapping import wrapped\n@wrapped")
    assert [each["text"] for each in the_result(ended)["not_reached"]] == [
        "assert result.latency.p50 <= seconds(9)"
    ]


def test_declared_bars_are_judged_even_when_an_assert_fails(suite):
    ended = asserting(
        suite,
        "assert procure.run().accuracy >= 0.99",
        head="@pytest.mark.bar('error_rate', at_most=0.1)",
    )
    assert findings(ended) == [("error_rate", "at most", "accept"), ("accuracy", "at least", "reject")]


def test_a_bar_that_is_declared_and_asserted_counts_once(suite):
    ended = asserting(
        suite,
        "assert procure.run().accuracy >= percent(90)",
        head="@pytest.mark.bar('accuracy', at_least=0.9)",
    )
    assert findings(ended) == [ACCEPTED]
    assert the_result(ended)["findings"][0]["source"] == "declared"


MEANINGLESS = {
    "result.latency.p95 <= 80": "latency.p95 is a duration, so 80 needs its unit, as in ms(80)",
    "80 >= result.latency.p95": "latency.p95 is a duration, so 80 needs its unit, as in ms(80)",
    "result.latency.p95 <= 0.9": "needs its unit, as in ms(80)",
    "result.latency.p95 <= money('3 USD')": "so 3 USD needs its unit, as in ms(80)",
    "result.throughput >= 40": "needs its unit, as in per_second(40)",
    "result.cost_per_request <= 0.1": 'needs its unit, as in money("0.0002 USD")',
    "result.accuracy >= ms(3)": "accuracy is a number, and 3 ms is none",
    "result.accuracy >= result.error_rate": "are both measured; hold each against a bar of its own",
    "result.accuracy >= None": "not supported between instances of 'Measured' and 'NoneType'",
    "result.accuracy == 0.95": "equals no number; ask for <= or >=",
    "result.accuracy": "is neither true nor false; ask for <= or >=",
    "result.latency.p95 <= float('nan')": "expected a finite number",
}


def test_a_comparison_that_cannot_be_meant_says_why_in_a_line(suite):
    results = each_alone(suite, [f"assert {compared}" for compared in MEANINGLESS])
    for said, result in zip(MEANINGLESS.values(), results, strict=True):
        assert said in result["problem"]
        assert "\n" not in result["problem"]
        assert result["verdict"] == "not tested"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("latency.p9x", "unknown latency metric `p9x`; did you mean `p9"),
        ("quality.rouge", "unknown quality metric `rouge`"),
    ],
)
def test_an_unknown_metric_of_a_result_names_the_nearest(suite, asked, said):
    ended = asserting(suite, f"assert procure.run().{asked} >= 0.9")
    assert ended.status == 1
    assert said in the_result(ended)["problem"]


def test_a_bar_outside_its_range_is_told_in_a_sentence(suite):
    ended = asserting(suite, "assert procure.run().accuracy >= 95")
    assert ended.status == 1
    assert ended.quiet
    assert "expected a number from 0 to 1" in the_result(ended)["problem"]


def test_a_strict_comparison_is_not_met_by_an_exact_value_at_the_bar(suite):
    ended = asserting(suite, "procure.run()\nassert procure.measure('own.pages', 5) < 5")
    assert ended.status == 1


def test_a_value_of_ones_own_carries_a_declared_bar(suite):
    ended = asserting(
        suite,
        "procure.run()\nprocure.measure('own.ramp_up', 2.5, unit='s', interval=(2.0, 2.9))",
        head="@pytest.mark.bar('own.ramp_up', at_most='3 s')",
    )
    assert findings(ended) == [("own.ramp_up", "at most", "accept")]


def test_a_value_of_ones_own_whose_range_holds_the_bar_is_undecided(suite):
    ended = asserting(
        suite,
        "procure.run()\nprocure.measure('own.ramp_up', 2.5, unit='s', interval=(2.0, 3.1))",
        head="@pytest.mark.bar('own.ramp_up', at_most='3 s')",
    )
    assert findings(ended) == [("own.ramp_up", "at most", "inconclusive")]


def test_a_declared_value_of_ones_own_that_never_comes_is_not_accepted(suite):
    ended = asserting(suite, "procure.run()", head="@pytest.mark.bar('own.ramp_up', at_most='3 s')")
    assert ended.status == 1
    assert "the test gave no `procure.measure('own.ramp_up', ...)`" in ended.words


def test_a_run_with_arguments_carries_asserts_and_no_declared_bars(suite):
    ended = asserting(
        suite,
        "procure.run()\nother = procure.run('offline', count=60)\nassert other.error_rate <= 0.1",
        head="@pytest.mark.bar('accuracy', at_least=0.9)",
    )
    assert findings(ended) == [ACCEPTED, ("error_rate", "at most", "accept")]
    assert [run["declared"] for run in the_result(ended)["runs"]] == [True, False]


def test_a_run_on_another_backend_leaves_it_open_when_it_was_given_loaded(suite):
    suite.conftest("""
        class Loaded:
            device, releases_gil, closed = "cpu", False, 0
            def predict(self, inputs):
                assert not self.closed
                return np.asarray(inputs) % 10
            def describe(self): return {}
            def close(self): self.closed += 1

        def pytest_procure_candidates(): return [Candidate("close", backend=answers(1.0))]
        def pytest_procure_datasets(): return {"numbers": numbers}
    """)
    suite.tests("""
        from conftest import Loaded

        def test_reads(procure):
            other = Loaded()
            assert procure.run().accuracy >= 0.9
            for _ in range(2):
                assert procure.run(backend=other).accuracy >= 0.9
            assert other.closed == 0
    """)
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text


@pytest.mark.parametrize(
    "written",
    [
        "assert (r.accuracy < 0.94) is False",
        "assert (r.accuracy < 0.94) == False",
        "assert (r.accuracy < 0.94) in (False, None)",
        "assert sum([r.accuracy < 0.94]) == 0",
        "assert [b for b in [0.94] if r.accuracy < b] == []",
        "assert next((b for b in [0.94] if r.accuracy < b), None) is None",
        "assert True ^ (r.accuracy < 0.94)",
        "assert True not in [r.accuracy < 0.94]",
    ],
)
def test_no_spelling_of_a_negation_accepts_what_is_undecided(suite, written):
    ended = asserting(suite, f"r = procure.run()\nassert r.error_rate <= 0.05\n{written}")
    assert ended.status == 1
    assert ("accuracy", "at least", "inconclusive") in findings(ended)


def test_a_negation_in_another_spelling_accepts_what_is_shown(suite):
    ended = asserting(suite, "assert (procure.run().accuracy < 0.9) is False")
    assert (ended.status, findings(ended)) == (0, [ACCEPTED])


def test_python_without_asserts_is_refused(suite, monkeypatch):
    suite.offers(close=CLOSE)
    suite.tests("def test_reads(procure):\n    assert procure.run().accuracy >= 0.9\n")
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    ended = suite.run(process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "Python was started with `-O`" in ended.text
