"""Mistakes in marks: each is one line with the test's id, before anything is measured."""

import pytest

LATENCY = '"latency.p95", at_most="80 ms"'


def marked(suite, *marks):
    """A suite whose only test carries these marks, and uses `procure`."""
    suite.offers(good=1.0)
    lines = "\n".join(f"@pytest.mark.{mark}" for mark in marks)
    suite.tests(f"{lines}\ndef test_peak(procure): procure.run()\n")


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('bar("latency.p9x", at_most="80 ms")', "unknown metric `latency.p9x`; did you mean `latency.p9"),
        ('bar("acuracy", at_least=0.9)', "unknown metric `acuracy`; did you mean `accuracy`?"),
        (
            'bar("latency.p95", at_most="80 kg")',
            "unknown unit `kg`. Units of time: ns, us, ms, s, min, h, µs, sec",
        ),
        ('bar("accuracy", 0.9)', "`0.9` stands without a direction; write `at_least=0.9` or `at_most=0.9`"),
        ('bar("cost", at_most="1 USD")', "unknown metric `cost`; did you mean `cost_per_request`?"),
        ('bar("f1", at_least=0.9)', "unknown metric `f1`; did you mean `corpus.macro_f1`?"),
        ('bar("p95", at_most="80 ms")', "unknown metric `p95`; did you mean `latency.p95`?"),
        ('bar("cost_per_request", at_most="1 UDS")', "unknown unit `UDS`; did you mean `USD`?"),
        ("bar(0.9)", "a metric is named by a text such as `latency.p95`, not by 0.9"),
        ("bar()", "expected one metric, as in `bar('latency.p95', at_most='80 ms')`"),
        ('bar("accuracy", atleast=0.9)', "unknown argument `atleast`; did you mean `at_least`?"),
        ('bar("accuracy")', "bar `accuracy` needs one of `at_least=` and `at_most=`"),
        ('bar("accuracy", at_least=0.9, where="here")', "unknown argument `where`"),
        ('bar("accuracy", at_least=0.9, metric_name="x")', "unknown argument `metric_name`"),
        (
            'bar("accuracy", at_least=0.9, at_most=1)',
            "bar `accuracy` needs one of `at_least=` and `at_most=`",
        ),
        ('bar("accuracy", at_most=0.9)', "so it is `at_least=`, not the other way"),
        ('bar("latency.p95", at_most=80)', "a duration was expected, with its unit"),
        ('bar("latency.p95", at_most="80 mss")', "unknown unit `mss`; did you mean `ms`?"),
        ('bar("latency.p95", at_most="0.9 USD")', "a duration was expected"),
        ('bar("cost_per_request", at_most=0.1)', "without a unit; money was expected, with its unit"),
        ('bar("accuracy", at_least=95)', "expected a share between 0 and 1, both excluded"),
        ('bar("accuracy", at_least=1.0)', "expected a share between 0 and 1, both excluded"),
        ('bar("accuracy", at_least=float("nan"))', "expected a finite number"),
        ('bar("accuracy", at_least="very")', "`very` is no quantity"),
        ('bar("accuracy", at_least=0.9, design=0.8)', "so it must be better than 0.9"),
        (
            'bar("latency.p95", at_most="80 ms", design="40 ms")',
            "expected the share of requests within the limit",
        ),
        ('bar("latency.p95", at_most="80 ms", design=0.9)', "above 0.95 and below 1"),
        ('bar("cost_per_request", at_most="0.1 EUR")', "is in EUR, and candidate `good` is priced in USD"),
    ],
)
def test_a_bar_that_cannot_be_meant_is_told_in_one_line(suite, mark, said):
    marked(suite, mark)
    told = suite.mistake()
    assert told.startswith("mark `bar` on test_it.py::test_peak: ")
    assert said in told


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('Bar("accuracy", at_least=0.9)', "did you mean `bar`?"),
        ('brr("accuracy", at_least=0.9)', "did you mean `bar`?"),
        ('limit("accuracy", at_least=0.9)', "expected one of scenario, bar, dataset_slice, mlperf_context"),
        ("scene('server', qps=200, duration='2 s')", "there is no such mark"),
        ("load('server', qps=200, duration='2 s')", "there is no such mark"),
        ("slice(n=10)", "a mark of your own has to be registered under `markers`"),
    ],
)
def test_a_mark_that_nobody_registered_is_no_requirement_lost(suite, mark, said):
    marked(suite, mark)
    told = suite.mistake("-W", "ignore")
    name = mark.partition("(")[0]
    assert told.startswith(f"mark `{name}` on test_it.py::test_peak: there is no such mark; ")
    assert said in told


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("scenario('sever', qps=40)", "unknown scenario `sever`; did you mean `server`?"),
        ("scenario()", "expected one name, as in"),
        ("scenario(40)", "expected one of burst, closed_loop, multi_stream, offline"),
        ("scenario('server', qsp=40)", "unknown argument `qsp`; did you mean `qps`?"),
        ("scenario('offline', qps=40)", "argument `qps` does not belong to scenario `offline`"),
        ("scenario('server', qps=0, duration='1 s')", "`qps=0`; expected requests a second, above 0"),
        ("scenario('server', qps=40, duration=60)", "has no unit of time"),
        ("scenario('server', name='server')", "expected one name, as in"),
    ],
)
def test_a_scenario_that_cannot_be_meant_is_told_in_one_line(suite, mark, said):
    marked(suite, mark)
    told = suite.mistake()
    assert told.startswith("mark `scenario` on test_it.py::test_peak: ")
    assert said in told


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("dataset_slice('numbers', seeds=3)", "unknown argument `seeds`; did you mean `seed`?"),
        ("dataset_slice('numbers', n=0)", "`n=0`; expected a whole number above 0"),
        ("dataset_slice('numbers', n='many')", "`n='many'`; expected a whole number above 0"),
        ("dataset_slice('numbers', seed=-1)", "`seed=-1`; expected a whole number, 0 or more"),
        ("dataset_slice(50)", "expected the dataset's name, as in `dataset_slice('tickets')`"),
    ],
)
def test_a_slice_that_cannot_be_meant_is_told_in_one_line(suite, mark, said):
    marked(suite, mark)
    told = suite.mistake()
    assert told.startswith("mark `dataset_slice` on test_it.py::test_peak: ")
    assert said in told


def test_a_latency_bar_under_offline_is_refused(suite):
    marked(suite, "scenario('offline')", f"bar({LATENCY})")
    assert "`latency.p95` under offline, where all samples are due at once" in suite.mistake()


def test_a_throughput_bar_at_a_declared_rate_is_refused(suite):
    marked(suite, "scenario('server', qps=40, count=10)", "bar('throughput', at_least='40 1/s')")
    assert "`throughput` at a declared rate, which is a condition, not a result" in suite.mistake()


def test_a_cost_bar_on_a_candidate_without_a_price_is_refused(suite):
    suite.conftest("""
        def pytest_procure_candidates():
            return [Candidate("free", backend=answers(1.0))]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests("""
        @pytest.mark.bar("cost_per_request", at_most="0.1 USD")
        def test_peak(procure): procure.run()
    """)
    assert "`cost_per_request` is asked, and candidate `free` has no price" in suite.mistake()


def test_two_bars_of_one_metric_and_sense_on_one_function_are_refused(suite):
    marked(suite, 'bar("accuracy", at_least=0.9)', 'bar("accuracy", at_least=0.8)')
    assert "two bars on `accuracy` (at least); keep one" in suite.mistake()


def test_a_mistake_is_told_once_for_all_candidates(suite):
    suite.offers(one=1.0, two=1.0, three=1.0)
    suite.tests("@pytest.mark.bar('acuracy', at_least=0.9)\ndef test_peak(procure): procure.run()\n")
    suite.mistake()


def test_mistakes_in_several_tests_are_told_together(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("acuracy", at_least=0.9)
        def test_one(procure): procure.run()

        @pytest.mark.scenario("sever")
        def test_two(procure): procure.run()
    """)
    ended = suite.run()
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "test_one" in ended.text
    assert "test_two" in ended.text


def bars_of(ended, test):
    return [(each["metric"], each["bar"]["text"]) for each in ended.results[test]["findings"]]


def test_a_nearer_bar_replaces_a_farther_one_and_others_stay(suite):
    suite.offers(good=1.0)
    suite.tests("""
        pytestmark = [
            pytest.mark.bar("accuracy", at_least=0.5),
            pytest.mark.bar("latency.p50", at_most="10 s"),
            pytest.mark.bar("error_rate", at_most=0.3),
        ]

        @pytest.mark.bar("accuracy", at_least=0.6)
        @pytest.mark.bar("error_rate", at_most=0.2)
        class TestForms:
            @pytest.mark.bar("accuracy", at_least=0.7)
            def test_reads(self, procure):
                procure.run()
    """)
    found = dict(bars_of(suite.run("--procure-report"), "test_reads[good]"))
    assert found == {"accuracy": "70 %", "error_rate": "20 %", "latency.p50": "10 s"}


def test_bars_stand_in_the_order_in_which_they_are_written(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("latency.p50", at_most="10 s")
        @pytest.mark.bar("accuracy", at_least=0.7)
        @pytest.mark.bar("error_rate", at_most=0.2)
        def test_reads(procure):
            assert procure.run().latency.p90 <= seconds(10)
    """)
    found = bars_of(suite.run("--procure-report"), "test_reads[good]")
    assert [metric for metric, _ in found] == ["latency.p50", "accuracy", "error_rate", "latency.p90"]


@pytest.mark.parametrize(
    "mark", ['bar("accuracy", at_least=0.99)', 'scenario("server", qps=10_000, count=200)']
)
def test_a_mark_that_a_hook_adds_too_late_is_told_and_not_ignored(suite, mark):
    path = suite.offers(bad=0.5)
    path.write_text(
        path.read_text()
        + f"""
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.{mark})
"""
    )
    suite.tests('@pytest.mark.bar("error_rate", at_most=0.9)\ndef test_reads(procure): procure.run()\n')
    ended = suite.run("--procure-report")
    assert (ended.status, ended.verdicts) == (1, {"test_reads[bad]": "not tested"})
    assert "it was added by a hook after the marks were read" in ended.words


def test_a_mark_named_bar_on_a_test_without_our_fixtures_is_left_alone(suite):
    suite.tests("""
        @pytest.mark.bar("chocolate", pieces=4)
        @pytest.mark.scenario("breakfast")
        def test_sweet(): pass
    """)
    ended = suite.run()
    assert (ended.status, ended.outcomes) == (0, {"passed": 1})
    assert "procure" not in ended.text.partition("collected")[2]


def test_our_marks_are_known_under_strict_markers(suite):
    marked(suite, 'bar("accuracy", at_least=0.9)', "scenario('single_stream')", "dataset_slice('numbers')")
    assert suite.run("--strict-markers").status == 0
