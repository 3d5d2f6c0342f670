"""`--procure-plan`: nothing is measured, the status is the plan's, and a pilot is never a verdict."""

import pytest
from sealed_suite import ledger

from pytest_procure.trials import Trial

DATA = """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
"""
#: A candidate that says when it is loaded, and cannot be; and a dataset that cannot be made.
LOCKED = """
class Locked:
    def load(self, base):
        raise MemoryError("nobody may load this")

def pytest_procure_candidates():
    return [Candidate("locked", backend=Locked(), price=HourlyPrice("0.60 USD", utilisation=0.5))]
"""
UNMADE = """
def pytest_procure_datasets():
    def make():
        raise OSError("nobody may make this")
    return {"numbers": make}
"""
READS = """
@pytest.mark.scenario("server", qps=40, duration="8 s")
@pytest.mark.dataset_slice("numbers", n=320)
@pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
def test_reads(procure):
    '''Does it read numbers?'''
    raise AssertionError("nobody may run this")
"""


def told(suite, *arguments, status=0):
    """Plan, see that it ends with this status and quietly, and give what it says without line breaks."""
    ended = suite.run("--procure-plan", *arguments)
    assert ended.status == status, ended.text
    assert ended.quiet, ended.text
    assert "passed" not in ended.outcomes, ended.text
    assert not ended.folder.exists()
    return ended.words


def test_a_plan_loads_no_backend_makes_no_dataset_and_runs_no_test(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS)
    said = told(suite)
    assert "1. Does it read numbers? Server: 40 requests/s on average" in said
    assert "locked: ● decides answers right at least 95 %" in said
    assert "needs 311 samples at a design value of 98 %; has 320" in said
    assert "as marked: 320 requests, 8 s, 0.00133 USD" in said
    assert "exit status 0 because what the marks ask for decides every bar that is planned" in said


def test_what_the_planned_number_would_accept_is_told(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace("n=320", "n=311").replace('duration="8 s"', "count=311"))
    assert "of 100 tests it accepts <1 at 93.5 %, 5 at 95 %, 35 at 96.5 %, 90 at 98 %" in told(suite)


def test_a_dataset_is_made_to_count_it_where_the_mark_does_not(suite):
    suite.conftest(LOCKED + DATA)
    suite.tests(READS.replace(", n=320", "").replace('duration="8 s"', "count=400"))
    assert "needs 311 samples at a design value of 98 %; has 400" in told(suite)


def test_a_dataset_that_cannot_be_made_is_told_and_fails(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace(", n=320", ""))
    said = told(suite, status=1)
    assert "◐ not known dataset `numbers` could not be made: OSError: nobody may make this" in said


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ('duration="8 s"', 'duration="7 s"', "change `duration='7 s'` to `duration='8 s'`"),
        ('duration="8 s"', "count=300", "change `count=300` to `count=311`"),
        ("n=320", "n=300", "in `dataset_slice`, change `n=300` to `n=312`"),
        (
            '"server", qps=40, duration="8 s"',
            '"single_stream", duration="10 s"',
            "change `duration='10 s'` to `count=311`",
        ),
    ],
)
def test_a_plan_that_cannot_decide_fails_and_names_the_number(suite, old, new, change):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace(old, new))
    said = told(suite, status=1)
    assert change in said
    assert "exit status 1 because 1 of 1 plan cannot decide at what the marks ask for" in said


def test_the_number_that_the_plan_names_decides(suite):
    suite.conftest(LOCKED + UNMADE)
    latency = '@pytest.mark.bar("latency.p95", at_most="80 ms")\n'
    few = latency + READS.replace('duration="8 s"', "count=400")
    suite.tests(few)
    said = told(suite, status=1)
    assert "change `count=400` to `count=1080`" in said
    assert "in `dataset_slice`, change `n=320` to `n=509`" in said  # asked twice they would count once
    suite.tests(few.replace("count=400", "count=1080").replace("n=320", "n=509"))
    said = told(suite)
    assert "needs 1,080 requests and 508 samples at a design value of 97.5 % within 80 ms" in said
    assert "limiting: slowest 5 in 100 requests (p95)" in said
    assert "`--procure-pilot 1000` measures how much" in said


def test_what_is_only_asserted_is_told_to_be_unplanned(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace("raise AssertionError", "assert 1 < 2\n    raise AssertionError"))
    assert "○ not planned 1 assert in the test" in told(suite)


def test_candidates_share_the_consumers_risk_where_any_may_win(suite):
    suite.offers(one=1.0, two=1.0)
    suite.tests(READS)
    assert "one, two: ● decides" in told(suite)
    said = told(suite, "--procure-award", "any", status=1)
    assert "Each bar at consumer's risk 2.5 %" in said
    assert "needs 390 samples" in said


def test_the_producers_risk_is_an_ini_key(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS)
    assert "producer's risk 10 %" in told(suite)
    said = told(suite, "-o", "procure_producer_risk=0.02", status=1)
    assert "producer's risk 2 %" in said
    assert suite.mistake("--procure-plan", "-o", "procure_producer_risk=2").startswith(
        "ini key `procure_producer_risk = 2`; expected a number"
    )


def test_only_the_candidate_that_the_command_names_is_planned(suite):
    suite.offers(one=1.0, two=1.0)
    suite.tests(READS)
    said = told(suite, "--procure-candidate", "two")
    assert "two: ● decides" in said
    assert "one" not in said.partition("procurement plan")[2].partition("two:")[0]


def test_other_tests_do_not_run(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS + "def test_other(): raise AssertionError('nobody may run this')\n")
    told(suite)


@pytest.mark.parametrize("text", ["def test_other(): pass\n", ""])
def test_a_session_without_requirements_has_nothing_to_plan_and_fails(suite, text):
    suite.tests(text)
    ended = suite.run("--procure-plan")
    assert ended.status in {1, 5}
    assert "there is nothing to plan" in ended.words


def test_a_file_that_cannot_be_collected_keeps_pytests_status(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS)
    suite.tests("import lost_module\n", name="test_broken.py")
    assert suite.run("--procure-plan").status == pytest.ExitCode.INTERRUPTED
    ended = suite.run("--procure-plan", "--continue-on-collection-errors")
    assert ended.status == 1
    assert "needs 311 samples" in ended.words
    assert "exit status 1 because pytest itself failed" in ended.words


def test_mistakes_in_marks_are_the_usage_errors_of_a_run(suite):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace("accuracy", "acuracy"))
    assert suite.mistake("--procure-plan") == suite.mistake()


def test_a_plan_is_quiet_where_asked_and_keeps_to_a_narrow_terminal(suite, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS.replace('duration="8 s"', "count=300"))
    ended = suite.run("--procure-plan", "-q")
    _, _, lines = ended.text.partition("procurement plan")
    assert ended.status == 1
    assert max(map(len, lines.splitlines())) <= 80
    assert "   to decide: in `scenario`, change `count=300` to `count=311`" in lines.splitlines()


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--procure-plan", "--procure-report"), "`--procure-plan` measures nothing, so `--procure-report`"),
        (("--procure-pilot", "200"), "`--procure-pilot` runs a pilot for a plan; add `--procure-plan`"),
        (("--procure-plan", "--procure-pilot", "0"), "`--procure-pilot 0`; expected a number of requests"),
    ],
)
def test_flags_that_exclude_each_other_are_refused_in_a_sentence(suite, arguments, said):
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS)
    assert suite.mistake(*arguments).startswith(said)


def test_workers_are_refused_in_a_sentence_and_none_is_no_worker(suite):
    pytest.importorskip("xdist")
    suite.conftest(LOCKED + UNMADE)
    suite.tests(READS)
    ended = suite.run("--procure-plan", "-n", "1", process=True)
    assert ended.status == pytest.ExitCode.USAGE_ERROR
    assert "`--procure-plan` is made in one process; leave `-n` out, or add `-n 0`" in ended.words
    assert suite.run("--procure-plan", "-n", "0", process=True).status == 0


# -- pilots --------------------------------------------------------------------------------------------------

SLOW = """
import time

LOADED = []

class Slow:
    device, releases_gil = "cpu", False

    def load(self, base):
        LOADED.append(1)
        assert len(LOADED) == 1, "loaded twice"
        return self

    def predict(self, inputs):
        return [-1] * len(inputs)

    def describe(self):
        return {}

    def close(self):
        pass

def pytest_procure_candidates():
    return [Candidate("slow", backend=Slow())]
"""
LOOP = """
@pytest.mark.scenario("single_stream", duration="600 s")
@pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
@pytest.mark.bar("latency.p90", at_most="80 ms")
def test_reads(procure):
    raise AssertionError("nobody may run this")
"""


def test_a_pilot_makes_a_closed_loop_known_and_judges_nothing(suite):
    suite.conftest(SLOW + DATA)
    suite.tests(LOOP + LOOP.replace("test_reads", "test_reads_again"))
    said = told(suite, "--procure-pilot", "60")
    assert "pilot of 60 requests, not judged" in said
    assert "a query" in said
    assert "the pilot's design effect of" in said
    assert "2 plans" not in said  # nothing fails: every answer of the pilot was wrong, which is no verdict
    assert "exit status 0" in said


def test_a_pilot_of_a_sealed_suite_stands_in_its_ledger_and_is_a_run_of_no_series(sealed):
    told(sealed, "--procure-pilot", "60")
    events = [(entry["event"], entry.get("kind")) for entry in ledger(sealed)]
    assert events == [("seal", None), ("begin", "pilot"), ("measured", None), ("end", None)]
    ended = sealed.run("--procure-report")
    assert (ended.status, ended.results["test_reads[good]"]["series"]["run"]) == (0, 1)
    page = (ended.folder / "report.html").read_text("utf-8")
    assert "0 screening(s) and 1 pilot(s)" in page
    assert "Other pilot of test_it.py::test_reads on good" in page


def test_a_plan_without_a_pilot_is_no_look(sealed):
    told(sealed)
    assert len(ledger(sealed)) == 1


def test_a_pilot_is_not_judged_and_its_tests_body_not_run(suite, monkeypatch):
    concluded = []
    monkeypatch.setattr(Trial, "conclude", lambda *arguments: concluded.append(arguments))
    suite.offers(bad=0.1)
    suite.tests(READS)
    told(suite, "--procure-pilot", "60")
    assert not concluded


def test_a_pilot_under_load_measures_the_design_effect(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=2000, count=20_000)
        @pytest.mark.bar("latency.p90", at_most="500 ms")
        def test_reads(procure): ...
    """)
    said = told(suite, "--procure-pilot", "400")
    assert "pilot of 400 requests, not judged" in said
    assert "within 500 ms, the pilot's design effect of " in said
    assert "`--procure-pilot" not in said


def test_a_pilot_that_is_too_short_to_tell_leaves_the_guess(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=2000, count=20_000)
        @pytest.mark.bar("latency.p90", at_most="500 ms")
        def test_reads(procure): ...
    """)
    said = told(suite, "--procure-pilot", "100")
    assert "the pilot's design effect" not in said
    assert "`--procure-pilot 1000` measures how much" in said


def test_a_pilot_that_cannot_be_run_is_told_and_fails(suite):
    suite.conftest(LOCKED + DATA)
    suite.tests(READS)
    said = told(suite, "--procure-pilot", "60", status=1)
    assert "no pilot: backend Locked could not be loaded: MemoryError: nobody may load this" in said
    assert "needs 311 samples" in said


def test_a_pilot_of_a_run_that_may_end_early_is_a_plain_run(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("single_stream", stopping="curtailed")
        @pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
        def test_reads(procure): ...
    """)
    assert "as marked: at most 400 requests" in told(suite, "--procure-pilot", "60")


def test_a_slice_of_the_suites_own_is_known_after_a_pilot(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.fixture
        def dataset_slice():
            import conftest
            return conftest.numbers(n=350).slice()

        @pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
        def test_reads(procure): ...
    """)
    assert "has an unknown number" in told(suite, status=1)
    assert "needs 311 samples at a design value of 98 %; has 350" in told(suite, "--procure-pilot", "60")


def test_a_candidate_of_the_suites_own_is_planned_without_a_price(suite):
    suite.conftest(DATA)
    suite.tests("""
        @pytest.fixture(scope="session")
        def candidate():
            return Candidate("mine", backend=lambda inputs: inputs % 10)

        @pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
        def test_reads(procure): ...
    """)
    said = told(suite)
    assert "the suite's own candidate: ● decides" in said
    assert "as marked: 400 requests, no price; time not known before a pilot" in said


@pytest.mark.parametrize(
    ("marks", "body", "why"),
    [
        ("", "assert procure.run().accuracy >= 0.9", "all bars stand in asserts, of which nothing is known"),
        ("", "procure.run()", "no bar stands in a mark, or in an assert of the test"),
        (
            "@pytest.mark.bar('own.joy', at_least=3)",
            "procure.run()",
            "of no bar is it known before a run how",
        ),
        (
            (
                "@pytest.mark.scenario('server', qps=40, count=40)\n"
                "@pytest.mark.bar('cost_per_request', at_most='1 USD')"
            ),
            "procure.run()",
            "the price alone gives what every bar is about",
        ),
    ],
)
def test_a_plan_in_which_nothing_is_planned_says_so_and_why(suite, marks, body, why):
    suite.offers(good=1.0)
    suite.tests(f"{marks}\ndef test_reads(procure):\n    {body}\n")
    said = told(suite)
    assert f"exit status 0 because there is nothing to plan: {why}" in said
    assert "decides every bar" not in said
    assert "0 ns" not in said


@pytest.mark.parametrize(
    ("test", "arguments", "why"),
    [
        ("def test_one():\n    pass\n", (), "no test takes the `procure` fixture"),
        ("def test_one(candidate):\n    pass\n", (), "no test that takes our fixtures takes `procure`"),
        (READS, ("-k", "nothing"), "the command deselects those that there are"),
    ],
)
def test_a_plan_without_requirements_says_why_there_are_none(suite, test, arguments, why):
    suite.offers(good=1.0)
    suite.tests(test)
    ended = suite.run("--procure-plan", *arguments)
    assert ended.status != 0
    assert f"so there is nothing to plan: {why}." in ended.words
