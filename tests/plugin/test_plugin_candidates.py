"""Candidates: who is tested, in which order, and what a suite may put in their place."""

from pathlib import Path

import pytest

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""

#: A backend that writes down when it is loaded and closed, and from which folder.
RECORDED = """
from pathlib import Path

class Recorded:
    device, releases_gil = "cpu", False

    def __init__(self, name):
        self.name = name

    def note(self, event):
        with (Path(EVENTS)).open("a") as file:
            file.write(event + "\\n")

    def load(self, base):
        self.note(f"load {self.name} {base.name}")
        return self

    def predict(self, inputs):
        return np.asarray(inputs) % 10

    def describe(self):
        return {"runtime": self.name}

    def close(self):
        self.note(f"close {self.name}")
"""


def recorded(suite, hooks):
    """A conftest with recording backends; gives the file that they write to."""
    events = suite.path / "events.txt"
    return f"EVENTS = {str(events)!r}\n{RECORDED}\n{hooks}", events


def test_a_requirement_is_asked_of_every_candidate_of_the_conftest(suite):
    suite.offers(good=1.0, better=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[good]": "accept", "test_reads[better]": "accept"}
    assert len(ended.record["requirements"]) == 1


@pytest.mark.parametrize(
    "offer",
    [
        "backend=len, price=RequestPrice('1 USD', date='2999-01-01')",
        "backend=Pipeline([Stage('s', len, price=RequestPrice('1 USD', date='2999-01-01'))])",
    ],
)
def test_a_price_of_a_day_to_come_is_refused(suite, offer):
    suite.conftest(
        f"""
from pytest_procure import Pipeline, RequestPrice, Stage

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("early", {offer})]
"""
    )
    suite.tests(READS)
    ran = suite.run()
    assert ran.status == 4
    assert "`date='2999-01-01'` of a price of candidate `early` is in the future" in ran.text


def test_two_folders_with_candidates_of_their_own_stay_apart(suite):
    suite.offers(folder="north", fast=1.0)
    suite.offers(folder="south", cheap=1.0)
    suite.tests(READS.replace("test_reads", "test_north"), name="north/test_north.py")
    suite.tests(READS.replace("test_reads", "test_south"), name="south/test_south.py")
    ended = suite.run("--procure-report", "north", "south")  # which loads both conftests first
    assert ended.verdicts == {"test_north[fast]": "accept", "test_south[cheap]": "accept"}


def test_the_nearest_conftest_with_candidates_decides(suite):
    suite.offers(outer=1.0)
    suite.offers(folder="inner", inner=1.0)
    suite.tests(READS, name="inner/test_it.py")
    assert suite.run("--procure-report").verdicts == {"test_reads[inner]": "accept"}


def test_candidates_are_loaded_one_at_a_time_and_closed_once(suite):
    text, events = recorded(
        suite,
        """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate(name, backend=Recorded(name)) for name in ("first", "second")]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
""",
    )
    suite.conftest(text)
    suite.tests(READS + READS.replace("test_reads", "test_reads_again"))
    assert suite.run().status == 0
    told = [" ".join(line.split()[:2]) for line in events.read_text().splitlines()]
    assert told == ["load first", "close first", "load second", "close second"]


def test_only_the_candidate_that_the_command_names_is_tested(suite):
    suite.offers(good=1.0, bad=0.1)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--procure-candidate", "good")
    assert ended.verdicts == {"test_reads[good]": "accept"}
    assert ended.status == 0


def test_the_command_may_name_several_candidates(suite):
    suite.offers(good=1.0, bad=0.1, other=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report", "--procure-candidate", "good", "--procure-candidate", "other")
    assert set(ended.verdicts) == {"test_reads[good]", "test_reads[other]"}


def test_an_unknown_candidate_is_a_usage_error_with_the_nearest_name(suite):
    suite.offers(good=1.0, bad=0.1)
    suite.tests(READS)
    assert "unknown candidate `god`; did you mean `good`?" in suite.mistake("--procure-candidate", "god")


def test_an_empty_list_of_candidates_is_a_usage_error(suite):
    suite.offers()
    suite.tests(READS)
    said = suite.mistake()
    assert said.startswith("test_it.py::test_reads: there is no candidate")
    assert "`pytest_procure_candidates`" in said


def test_no_conftest_with_candidates_is_a_usage_error(suite):
    suite.tests(READS)
    assert "there is no candidate" in "".join(suite.run().errors)


def test_two_candidates_of_one_name_are_a_usage_error(suite):
    suite.conftest("""
        def pytest_procure_candidates():
            return [Candidate("twin", backend=answers(1.0)) for _ in range(2)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    assert "there are two candidates named `twin`; rename one" in suite.mistake()


def test_a_hook_that_raises_is_a_usage_error_in_one_line(suite):
    suite.conftest("""
        def pytest_procure_candidates():
            raise RuntimeError("the price list is gone")
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    said = suite.mistake()
    assert "`pytest_procure_candidates` raised RuntimeError: the price list is gone" in said


def test_a_hook_that_gives_something_else_is_a_usage_error(suite):
    suite.conftest("""
        def pytest_procure_candidates():
            return ["acme"]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    assert "gave 'acme'; expected a `Candidate`" in suite.mistake()


@pytest.mark.parametrize(("one", "other"), [("größer", "kleiner"), ("a/b c", "a"), ("[fp16]", "x-[fp16]")])
def test_candidates_share_a_requirement_whatever_their_names(suite, one, other):
    suite.offers(**{one: 1.0, other: 1.0})
    suite.tests(READS)
    (requirement,) = suite.run("--procure-report").record["requirements"]
    assert requirement["id"] == "test_it.py::test_reads"
    assert [result["candidate"] for result in requirement["results"]] == [one, other]


def test_a_parameter_of_the_tests_own_makes_requirements_of_its_own(suite):
    suite.offers(one=1.0, two=1.0)
    suite.tests("""
        @pytest.mark.parametrize("queue", ["one", "claims"])
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_reads(procure, queue):
            procure.run()
    """)
    requirements = suite.run("--procure-report").record["requirements"]
    assert {each["id"]: len(each["results"]) for each in requirements} == {
        "test_it.py::test_reads[one]": 2,
        "test_it.py::test_reads[claims]": 2,
    }


def test_relative_paths_start_from_the_conftest_that_declares_the_candidate(suite):
    text, events = recorded(
        suite,
        """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("only", backend=Recorded("only"))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
""",
    )
    suite.conftest(text, folder="offers")
    suite.tests(READS, name="offers/deep/test_it.py")
    assert suite.run().status == 0
    assert events.read_text().splitlines()[0] == "load only offers"


def test_a_suite_may_put_its_own_backend_in_place(suite):
    path = suite.offers(bad=0.1)
    path.write_text(
        path.read_text() + "\n@pytest.fixture(scope='session')\ndef backend():\n    return answers(1.0)\n"
    )
    suite.tests(READS)
    assert suite.run().status == 0


def test_a_backend_that_a_suite_puts_in_place_is_told_wherever_the_verdict_is(suite):
    path = suite.offers(bad=0.1)
    path.write_text(
        path.read_text() + "\n@pytest.fixture(scope='session')\ndef backend():\n    return answers(1.0)\n"
    )
    suite.tests(READS)
    ended = suite.run("--procure-report")
    told = "declared `Function`, observed `conftest.answers.<locals>.answer`, put in its place by the suite's"
    assert f"bad is not as declared: backend: {told}" in ended.words
    summary = (ended.folder / "summary.md").read_text()
    assert "bad is not as declared: backend" in summary


def test_an_offer_s_own_backend_is_its_own_whoever_hands_it_over(suite):
    suite.offers(good=1.0)
    suite.tests("""
def test_reads(procure):
    assert procure.run(backend=procure.candidate.backend).accuracy >= 0.9
""")
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert "another backend" not in ended.words


def test_a_declared_backend_that_a_suite_puts_in_place_is_closed_again(suite):
    text, events = recorded(
        suite,
        """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("only", backend=answers(0.1))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}

@pytest.fixture(scope="session")
def backend():
    return Recorded("mine")
""",
    )
    suite.conftest(text)
    suite.tests(READS)
    assert suite.run().status == 0
    told = [" ".join(line.split()[:2]) for line in events.read_text().splitlines()]
    assert told == ["load mine", "close mine"]


def test_a_loaded_backend_that_a_suite_puts_in_place_is_left_to_the_suite(suite):
    text, events = recorded(
        suite,
        """
class Loaded(Recorded):
    load = None

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("only", backend=answers(0.1))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}

class Ready:
    device, releases_gil = "cpu", False
    predict, describe, close = Recorded.predict, Recorded.describe, Recorded.close
    note, name = Recorded.note, "ready"

@pytest.fixture(scope="session")
def backend():
    return Ready()
""",
    )
    suite.conftest(text)
    suite.tests(READS)
    assert suite.run().status == 0
    assert not events.exists()


def test_a_suite_may_build_its_backend_on_ours(suite):
    path = suite.offers(bad=0.1)
    path.write_text(
        path.read_text()
        + """
@pytest.fixture(scope="session")
def backend(backend):
    return lambda inputs: np.where(backend.predict(inputs) < 0, inputs % 10, inputs % 10)
"""
    )
    suite.tests(READS)
    assert suite.run().status == 0


def test_a_suite_may_put_its_own_candidate_in_place(suite):
    path = suite.offers(bad=0.1)
    path.write_text(
        path.read_text()
        + """
@pytest.fixture(scope="session")
def candidate():
    return Candidate("mine", backend=answers(1.0))
"""
    )
    suite.tests(READS)
    assert suite.run().status == 0


def test_a_suite_may_wrap_procure(suite):
    path = suite.offers(good=1.0)
    path.write_text(path.read_text() + "\n@pytest.fixture\ndef procure(procure):\n    return procure\n")
    suite.tests(READS)
    assert suite.run("--procure-report").verdicts == {"test_reads[good]": "accept"}


def test_a_foreign_fixture_named_candidate_keeps_its_own_parameters(suite):
    suite.tests("""
        @pytest.fixture(params=["ada", "grace"])
        def candidate(request):
            return request.param

        def test_votes(candidate):
            assert candidate in {"ada", "grace"}
    """)
    ended = suite.run()
    assert ended.outcomes == {"passed": 2}
    assert "procure" not in ended.text.partition("collected")[2]


def test_a_foreign_fixture_named_candidate_stands_beside_ours(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.write(
        "votes/test_votes.py",
        """
        import pytest

        @pytest.fixture(params=["ada", "grace"])
        def candidate(request):
            return request.param

        def test_votes(candidate):
            assert candidate in {"ada", "grace"}
        """,
    )
    ended = suite.run("--procure-report")
    assert ended.outcomes == {"passed": 3}
    assert set(ended.verdicts) == {"test_reads[good]"}


def test_a_foreign_fixture_named_procure_is_left_alone(suite):
    suite.tests("""
        @pytest.fixture
        def procure():
            return 7

        @pytest.mark.bar(3, unheard_of=True)
        def test_counts(procure):
            assert procure == 7
    """)
    ended = suite.run()
    assert (ended.status, ended.outcomes) == (0, {"passed": 1})


def test_without_the_plugin_a_suite_with_our_hooks_still_runs(suite):
    suite.offers(good=1.0)
    suite.tests("def test_something_else(): pass")
    ended = suite.run("-p", "no:procure", process=True)
    assert (ended.status, ended.outcomes) == (0, {"passed": 1})


def test_without_the_plugin_the_example_suite_says_which_fixture_is_missing(suite):
    example = Path(__file__).parents[2] / "example_suite"
    ended = suite.run("-p", "no:procure", "-W", "ignore", str(example), process=True)
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert "fixture 'procure' not found" in ended.text
    assert ended.quiet


def test_one_name_for_two_offers_is_a_usage_error(suite):
    suite.offers(folder="a", good=1.0)
    suite.offers(folder="b", good=0.0)
    for folder in ("a", "b"):
        suite.tests(
            """
            @pytest.mark.bar("accuracy", at_least=0.9)
            def test_it(procure):
                procure.run()
            """,
            name=f"{folder}/test_{folder}.py",
        )
    assert "each declare a candidate `good`" in suite.mistake()


def test_procure_is_asked_for_as_an_argument(suite):
    suite.offers(good=1.0)
    suite.tests("""
        def test_it(candidate, backend, dataset_slice, request):
            request.getfixturevalue("procure")
        """)
    ended = suite.run()
    assert ended.status == 1
    assert ended.quiet, ended.text
    assert "ask for `procure` as an argument of the test" in ended.words
