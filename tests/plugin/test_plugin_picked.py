"""What a test may run beside the run that decides, and what none of it can do to the verdict."""

import json

import pytest
from sealed_suite import seal

from pytest_procure.verify import verify

OFFERS = """
import itertools
turns = itertools.count()

def by_turns(inputs):
    '''Right on 95 %, and on all of every third run of 400.'''
    inputs = np.asarray(inputs)
    good = next(turns) // 400 % 3 == 2
    return np.where(good | (inputs * 37 % 100 < 95), inputs % 10, -1)

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("offer", backend={backend})]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {{"numbers": numbers}}
"""
UNTIL_IT_PASSES = """
def test_reads(procure):
    '''Does it read?'''
    for _ in range(60):
        result = procure.run({arguments})
        {more}
        if result.accuracy.value >= 0.99:
            break
    assert result.accuracy >= 0.98
"""
RUN = '"single_stream", count=400, warmup=0'


def ended(suite, tests, *, backend="answers(1.0)", sealed=True):
    suite.conftest(OFFERS.format(backend=backend))
    suite.tests(tests)
    if sealed:
        seal(suite)
    return suite.run("--procure-report")


# -- another backend ----------------------------------------------------------------------------------------


ON_ANOTHER = """
from conftest import answers

def test_reads(procure):
    '''Does it read?'''
    {own}
    result = procure.run(backend=answers(1.0))
    assert result.accuracy >= 0.9
"""


@pytest.mark.parametrize("sealed", [True, False])
def test_an_assert_on_another_backend_accepts_no_offer(suite, sealed):
    found = ended(suite, ON_ANOTHER.format(own=""), backend="answers(0.0)", sealed=sealed)
    assert found.status == 1
    (result,) = found.results.values()
    assert (result["verdict"], result["problem"]) == ("not tested", "nothing was held against a bar")
    assert [each["observed_only"] for each in result["findings"]] == [True]


def test_what_ran_in_place_of_the_offer_is_named_in_record_and_page(suite):
    found = ended(suite, ON_ANOTHER.format(own=""), backend="answers(0.0)")
    (run,) = next(iter(found.results.values()))["runs"]
    assert run["instead"]["function"] == "conftest.answers.<locals>.answer"
    page = (found.folder / "report.html").read_text("utf-8")
    assert "A run on another backend than the offer&#39;s" in page
    assert "which decides nothing of the offer" in page


def test_a_run_on_another_backend_may_stand_beside_the_offers(suite):
    found = ended(suite, ON_ANOTHER.format(own="assert procure.run().accuracy >= 0.9"))
    assert found.status == 0, found.text
    (result,) = found.results.values()
    assert [each.get("looks", 0) for each in result["findings"]] == [0, 0]


def test_another_backend_that_fails_turns_no_offer_down(suite):
    tests = ON_ANOTHER.replace("answers(1.0)", "lambda inputs: 1 / 0").replace(">= 0.9\n", ">= 0.9 or True\n")
    found = ended(suite, tests.format(own="assert procure.run().error_rate <= 0.1"))
    assert found.status == 0, found.text


def test_the_worst_slice_of_another_backend_is_none_of_the_offers(suite):
    tests = ON_ANOTHER.format(own="").replace(
        "assert result.accuracy >= 0.9", "assert procure.find_slice(result).share >= 0.5"
    )
    found = ended(suite, tests)
    assert found.status == 1
    assert "`find_slice` searches a run of the offer" in found.words


def test_a_verifier_takes_no_case_file_s_word_for_it(suite):
    """That an assert decides nothing follows from what ran, and not from what is written beside it."""
    found = ended(suite, ON_ANOTHER.format(own=""), backend="answers(0.0)")
    (path,) = (found.folder / "cases").iterdir()
    told = json.loads(path.read_text("utf-8"))
    told["compared"][0]["observed_only"] = False
    path.write_text(json.dumps(told, sort_keys=True, indent=1) + "\n", "utf-8")
    recomputed = verify(found.folder)
    assert not recomputed.holds
    assert recomputed.record is None or not recomputed.record["outcome"]["accepted"]


# -- several runs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        pytest.param("", "pass", id="the marked scenario"),
        pytest.param(RUN, "pass", id="one of its own"),
        pytest.param(f"{RUN}, seed=_", "pass", id="another seed each time"),
        pytest.param(RUN, "assert result.accuracy >= 0.5", id="a bar for show on each run"),
        pytest.param(RUN, "assert result.error_rate <= 0.5", id="another bar on each run"),
    ],
)
def test_the_best_run_of_a_test_cannot_be_picked(suite, arguments, more):
    tests = UNTIL_IT_PASSES.format(arguments=arguments, more=more)
    found = ended(suite, tests, backend="by_turns", sealed=False)
    last = next(iter(found.results.values()))["findings"][-1]
    assert last["looks"] == 2
    assert last["confidence"] == pytest.approx(1 - 0.05 / 4)
    assert "the test made 2 other runs that it does not hold to this" in last["sentence"]


def test_a_picked_run_that_the_full_risk_would_accept_is_not_accepted(suite):
    """All of 400 right: at 5 % that shows 0.9925, and at 5 % / 4 it shows 0.9891."""
    tests = UNTIL_IT_PASSES.format(arguments=RUN, more="pass").replace("0.98", "0.9905")
    found = ended(suite, tests, backend="by_turns")
    assert found.status == 1
    assert "offer is accepted." not in found.words


def test_runs_that_are_each_held_to_the_bar_cost_nothing(suite):
    found = ended(
        suite,
        """
        def test_reads(procure):
            '''Does it read, whoever asks?'''
            for users in (1, 2, 4):
                assert procure.run("closed_loop", concurrency=users, count=400).accuracy >= 0.9
        """,
    )
    assert found.status == 0, found.text
    assert [each.get("looks", 0) for each in next(iter(found.results.values()))["findings"]] == [0, 0, 0]


def test_a_declared_bar_beside_another_run_costs_nothing(suite):
    found = ended(
        suite,
        """
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure):
            '''Does it read?'''
            procure.run("offline", count=40)
            procure.run()
        """,
    )
    assert found.status == 0, found.text
    assert [each.get("looks", 0) for each in next(iter(found.results.values()))["findings"]] == [0]


def test_a_sweep_costs_nothing(suite):
    found = ended(
        suite,
        """
        def test_reads(procure):
            '''Does it read?'''
            procure.sweep(concurrency=[1, 2], short="0.1 s")
            assert procure.run().accuracy >= 0.9
        """,
    )
    assert found.status == 0, found.text
    assert [each.get("looks", 0) for each in next(iter(found.results.values()))["findings"]] == [0]


def test_each_further_search_is_judged_at_half_the_risk(suite):
    suite.tests("")
    found = ended(
        suite,
        """
        @pytest.mark.scenario("server", qps=100, count=100)
        def test_reads(procure):
            '''How many can it read?'''
            for _ in range(2):
                found = procure.find_capacity({"accuracy": 0.5}, most=100, short="0.1 s", confirm="1 s")
            assert found.capacity >= "50 1/s"
        """,
        sealed=False,
    )
    shown = [each for each in next(iter(found.results.values()))["findings"] if each["metric"] == "accuracy"]
    assert [each.get("looks", 0) for each in shown] == [0, 1]


# -- values of the test's own -------------------------------------------------------------------------------


def test_a_value_of_the_tests_own_cannot_be_measured_until_it_fits(suite):
    found = ended(
        suite,
        """
        @pytest.mark.bar("own.joy", at_least=0.9)
        def test_reads(procure):
            procure.run()
            procure.measure("own.joy", 0.2)
            procure.measure("own.joy", 0.99)
        """,
    )
    assert found.status == 1
    assert "`own.joy` was measured before in this test, and its first value stands" in found.words
    assert "offer is accepted." not in found.words
