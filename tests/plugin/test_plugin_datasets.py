"""The buyer's data: which dataset a test is about, when it is made, and what a suite may put in its place."""

import pytest

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""
OFFER = """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate(name, backend=answers(1.0)) for name in ("one", "two")]
"""


def counted(suite):
    """A conftest whose dataset counts how often it is made; gives the file that it counts in."""
    made = suite.path / "made.txt"
    suite.conftest(
        OFFER
        + f"""
def make():
    with open({str(made)!r}, "a") as file:
        file.write("made")
    return numbers()

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {{"numbers": make}}
"""
    )
    return made


def test_a_dataset_is_made_once_for_all_tests_and_candidates(suite):
    made = counted(suite)
    suite.tests(READS + READS.replace("test_reads", "test_reads_again"))
    assert suite.run().status == 0
    assert made.read_text() == "made"


def test_a_dataset_is_not_made_before_a_test_needs_it(suite):
    made = counted(suite)
    suite.tests(READS)
    assert suite.run("--collect-only").status == 0
    assert not made.exists()


def test_the_name_of_the_only_dataset_may_be_left_out(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.dataset_slice(n=50)" + READS)
    (run,) = suite.run("--procure-report").results["test_reads[good]"]["runs"]
    assert (run["slice"]["name"], run["slice"]["n"]) == ("numbers", 50)


def test_two_datasets_and_no_name_are_a_usage_error(suite):
    suite.conftest(OFFER + "def pytest_procure_datasets(): return {'north': numbers, 'south': numbers}")
    suite.tests(READS)
    said = suite.mistake()
    assert said.startswith("test_it.py::test_reads: there are 2 datasets, so name one")


def test_an_unknown_dataset_is_a_usage_error_with_the_nearest_name(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.dataset_slice('number')" + READS)
    assert "unknown dataset `number`; did you mean `numbers`?" in suite.mistake()


THERE = """
DATA = numbers(strata=np.where(np.arange(400) % 2, "billing", "legal"))

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": DATA}
"""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("@pytest.mark.bar('quality.f1', at_least=0.5)", "unknown scorer `quality.f1`. Known: accuracy"),
        ("@pytest.mark.bar('goodput', at_least=0.5, correct='quality.f1')", "unknown scorer `quality.f1`"),
        ("@pytest.mark.dataset_slice('numbers', where='biling')", "did you mean `billing`?"),
        ("@pytest.mark.dataset_slice('numbers', n=500)", "500"),
        ("@pytest.mark.dataset_slice('numbers', weights={'legl': 1.0})", "did you mean `legal`?"),
    ],
)
def test_what_a_dataset_that_is_there_does_not_have_is_a_usage_error(suite, wrong, said):
    suite.conftest(OFFER + THERE)
    suite.tests(wrong + READS)
    told = suite.mistake()
    assert said in told
    assert told.startswith("test_it.py::test_reads: ")


def test_what_a_dataset_that_is_still_to_be_made_does_not_have_is_one_line_of_its_test(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('quality.f1', at_least=0.5)" + READS)
    ended = suite.run()
    assert ended.status == 1
    assert ended.quiet
    assert "procure: dataset `numbers`: unknown scorer `quality.f1`. Known: accuracy" in ended.text


SETS = """
@pytest.mark.bar("accuracy", at_least=0.9)
@pytest.mark.parametrize("queue", [
    pytest.param("few", marks=pytest.mark.dataset_slice("numbers", n=50)),
    pytest.param("all", marks=pytest.mark.dataset_slice({name!r})),
])
def test_reads(procure, queue):
    procure.run()
"""


def test_a_parameter_set_may_ask_for_a_slice_of_its_own(suite):
    suite.offers(good=1.0)
    suite.tests(SETS.replace("{name!r}", "'numbers'"))
    results = suite.run("--procure-report").results
    assert {test: each["runs"][0]["slice"]["n"] for test, each in results.items()} == {
        "test_reads[good-few]": 50,
        "test_reads[good-all]": 400,
    }


def test_a_mistake_in_the_mark_of_a_parameter_set_is_told(suite):
    suite.offers(good=1.0)
    suite.tests(SETS.replace("{name!r}", "'number'"))
    assert "unknown dataset `number`; did you mean `numbers`?" in suite.mistake()


def test_no_dataset_is_a_usage_error(suite):
    suite.conftest(OFFER)
    suite.tests(READS)
    assert "there is no dataset; return one from `pytest_procure_datasets`" in suite.mistake()


def test_datasets_of_all_conftests_above_are_known_and_the_nearest_counts(suite):
    suite.conftest(OFFER + "def pytest_procure_datasets(): return {'far': numbers, 'both': numbers}")
    suite.conftest(
        "def pytest_procure_datasets(): return {'both': lambda: numbers(60)}",
        folder="near",
    )
    suite.tests(
        "@pytest.mark.dataset_slice('far')"
        + READS
        + "\n@pytest.mark.dataset_slice('both')"
        + READS.replace("test_reads", "test_nearest"),
        name="near/test_it.py",
    )
    results = suite.run("--procure-report").results
    assert results["test_reads[one]"]["runs"][0]["slice"]["of"] == 400
    assert results["test_nearest[one]"]["runs"][0]["slice"]["of"] == 60


def test_a_dataset_that_cannot_be_made_is_told_in_a_sentence(suite):
    suite.conftest(OFFER + "def pytest_procure_datasets(): return {'lost': lambda: open('/no/such/file')}")
    suite.tests(READS)
    ended = suite.run()
    assert ended.status == 1
    assert "procure: dataset `lost` could not be made: FileNotFoundError" in ended.text
    assert ended.quiet


def test_a_hook_for_datasets_that_raises_is_a_usage_error_in_one_line(suite):
    suite.conftest(OFFER + "def pytest_procure_datasets(): raise RuntimeError('the archive is closed')")
    suite.tests(READS)
    assert "`pytest_procure_datasets` raised RuntimeError: the archive is closed" in suite.mistake()


def test_a_suite_may_put_its_own_dataset_in_place(suite):
    path = suite.offers(good=1.0)
    path.write_text(
        path.read_text() + "\n@pytest.fixture(scope='session')\ndef dataset():\n    return numbers(70)\n"
    )
    suite.tests("@pytest.mark.dataset_slice(n=60)" + READS)
    (run,) = suite.run("--procure-report").results["test_reads[good]"]["runs"]
    assert (run["slice"]["n"], run["slice"]["of"]) == (60, 70)


def test_a_suite_may_put_its_own_slice_in_place(suite):
    path = suite.offers(good=1.0)
    path.write_text(
        path.read_text()
        + "\n@pytest.fixture(scope='session')\ndef dataset_slice(dataset):\n    return dataset.slice(n=50)\n"
    )
    suite.tests(READS)
    (run,) = suite.run("--procure-report").results["test_reads[good]"]["runs"]
    assert run["slice"]["n"] == 50


def test_a_suite_with_its_own_dataset_fixture_need_not_declare_any(suite):
    suite.conftest(
        """
        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0))]

        @pytest.fixture(scope="session")
        def dataset():
            return numbers()
        """
    )
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
        """)
    assert suite.run().status == 0


def test_a_dataset_slice_fixture_of_another_kind_is_one_sentence(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.fixture
        def dataset_slice():
            return [1, 2, 3]

        @pytest.mark.bar("accuracy", at_least=0.9)
        def test_it(procure):
            procure.run()
        """)
    ended = suite.run()
    assert ended.status == 1
    assert ended.quiet, ended.text
    assert "the `dataset_slice` fixture gave list; expected a slice" in ended.words


def test_files_of_a_dataset_lie_beside_the_conftest_that_names_them(suite):
    (suite.path / "tickets.jsonl").write_text(
        "".join(f'{{"x": {i}, "y": {i}, "queue": "{"ab"[i % 2]}"}}\n' for i in range(200))
    )
    suite.conftest(
        """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("same", backend=lambda batch: list(batch))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    from pytest_procure import Dataset
    return {"t": lambda: Dataset.from_jsonl("t", "tickets.jsonl", input="x", reference="y", stratum="queue")}
"""
    )
    suite.tests(
        '@pytest.mark.dataset_slice("t", n=100, weights={"a": 0.25, "b": 0.75})' + READS,
    )
    (run,) = suite.run("--procure-report").results["test_reads[same]"]["runs"]
    assert run["slice"]["strata"] == {"a": 25, "b": 75}
    assert run["slice"]["weights"] == {"a": 0.25, "b": 0.75}


def test_a_weighted_slice_is_judged_by_the_shares_of_production(suite):
    suite.conftest(
        """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("rare", backend=lambda batch: [0 if x < 40 else x for x in batch])]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    from pytest_procure import Dataset
    strata = ["rare" if x < 41 else "common" for x in range(1, 401)]
    return {"t": Dataset.from_arrays("t", inputs=list(range(1, 401)), references=list(range(1, 401)),
                                     strata=strata)}
"""
    )
    suite.tests('@pytest.mark.dataset_slice(weights={"rare": 0.5, "common": 0.5})' + READS)
    (finding,) = suite.run("--procure-report").results["test_reads[rare]"]["findings"]
    assert finding["verdict"] == "reject"
    assert 0.45 < finding["estimate"]["number"] < 0.55
    assert "strata weighted by their shares of production" in finding["rule"]
