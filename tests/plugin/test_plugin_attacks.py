"""Ways to a green session that is not deserved, each of them shut."""

import pytest

GOOD = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_good(procure):
    procure.run()
"""


def test_our_mark_on_a_test_without_procure_is_a_usage_error(suite):
    suite.offers(good=1.0)
    suite.tests(
        GOOD
        + """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_nothing():
    pass
"""
    )
    assert "the test does not ask for `procure`" in suite.mistake()


@pytest.mark.parametrize(
    ("arguments", "said"), [("", "does not ask for `procure`"), ("procura", "did you mean `procure`?")]
)
def test_marks_on_the_only_test_that_measures_nothing_are_a_usage_error(suite, arguments, said):
    suite.offers(good=1.0)
    suite.tests(f"@pytest.mark.bar('accuracy', at_least=0.9)\ndef test_reads({arguments}):\n    pass\n")
    assert said in suite.mistake()


@pytest.mark.parametrize(("written", "meant"), [("bars", "bar"), ("scenarios", "scenario")])
def test_a_mistyped_mark_is_a_usage_error_with_the_nearest_name(suite, written, meant):
    suite.offers(good=1.0)
    suite.tests(GOOD.replace("mark.bar", f"mark.{written}") + "    assert procure.candidate\n")
    assert f"did you mean `{meant}`?" in suite.mistake("-W", "ignore")


def test_a_file_that_is_skipped_as_a_whole_keeps_the_session_red(suite):
    suite.offers(good=1.0)
    suite.tests(GOOD)
    suite.tests('pytest.skip("not today", allow_module_level=True)', name="test_more.py")
    ended = suite.run()
    assert ended.status == 1
    assert "test_more.py was skipped" in ended.words


@pytest.mark.parametrize(
    "condition",
    [
        "result.accuracy >= 0",
        "result.error_rate <= 1",
        "not result.accuracy >= 0.99",
        "result.latency.p95 > ms(0.0001)",
    ],
)
def test_an_assert_that_every_offer_meets_is_no_bar(suite, condition):
    suite.offers(weak=0.5)
    suite.tests(f"""
        def test_it(procure):
            result = procure.run()
            assert {condition}
        """)
    assert suite.run().status == 1


def test_an_output_with_an_equality_of_its_own_is_not_compared(suite):
    suite.conftest("""
        class Right:
            def __eq__(self, other):
                return True
            __hash__ = None

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("sly", backend=lambda inputs: [Right() for _ in inputs])]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """)
    suite.tests(GOOD)
    ended = suite.run()
    assert ended.status == 1
    assert "answered with a Right, which may change after it was given" in ended.words


def test_a_candidate_that_changes_its_inputs_measures_nothing(suite):
    suite.conftest("""
        def spoil(inputs):
            for item in inputs:
                item[:] = 0
            return [0 for _ in inputs]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("spoiler", backend=spoil)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            inputs = [np.arange(3) + k for k in range(100)]
            return {"lists": Dataset.from_arrays("lists", inputs=inputs, references=[0] * 100)}
        """)
    suite.tests(GOOD)
    ended = suite.run()
    assert ended.status == 1
    assert "were changed during the run" in ended.words


def test_a_list_that_is_filled_after_it_was_given_is_no_answer(suite):
    suite.conftest("""
        given = []

        def late(inputs):
            for asked, answer in given:
                answer[:] = [int(x) % 10 for x in asked]
            answer = [None] * len(inputs)
            given.append((list(inputs), answer))
            return answer

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("late", backend=late)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """)
    suite.tests(GOOD)
    assert suite.run().status == 1


def test_a_candidate_that_cannot_be_closed_is_not_held_against_the_next(suite):
    suite.conftest("""
        class Loaded:
            device, releases_gil = "cpu", False
            def predict(self, inputs):
                return np.asarray(inputs) % 10
            def describe(self):
                return {}
            def close(self):
                raise ZeroDivisionError("no handle")

        class Fragile:
            def load(self, base):
                return Loaded()

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("fragile", backend=Fragile()), Candidate("good", backend=answers(1.0))]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
        """)
    suite.tests(GOOD)
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text
    assert "`fragile` could not be closed" in " ".join(ended.record["notes"])


UNSCORABLE = """
def some(inputs):
    return [np.zeros(2) if x == 7 else {said} for x in inputs]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("offer", backend=some)]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {{"ones": Dataset.from_arrays("ones", inputs=np.arange(200), references={labels})}}
"""


def test_an_answer_that_cannot_be_scored_ends_no_rejection(suite):
    suite.conftest(UNSCORABLE.format(said="0", labels="[1] * 200"))
    suite.tests(GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[offer]": "reject"}
    (run,) = ended.results["test_good[offer]"]["runs"]
    (note,) = run["notes"]
    assert note.startswith(
        "1 of its answers could not be scored by `accuracy` and count as wrong (an output of"
    )
    assert "could not be scored" in (ended.folder / "report.html").read_text("utf-8")


def test_answers_of_another_kind_than_the_labels_throughout_are_no_rejection(suite):
    suite.conftest(UNSCORABLE.replace("x == 7", "False").format(said="1", labels="['1'] * 200"))
    suite.tests(GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[offer]": "inconclusive"}
    assert "the labels are text and the answers numbers" in ended.words


LUCKY = """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("lucky", backend=lambda inputs: ["x"] * len(inputs))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
"""
COPIES = (
    LUCKY
    + """
    return {{"copies": Dataset.from_arrays(
        "copies", inputs=["the same question"] * 400, references=["x"] * 400{more})}}
"""
)


@pytest.mark.parametrize("more", ["", ", clusters=range(400)", ", strata=['a', 'b'] * 200"])
def test_copies_of_one_question_are_one_piece_of_evidence(suite, more):
    suite.conftest(COPIES.format(more=more))
    suite.tests(GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[lucky]": "inconclusive"}
    assert "1 cluster is too few for a verdict" in ended.words
    assert ended.record["datasets"][0]["repeats"] == 399


def test_copies_of_one_question_are_one_piece_of_evidence_where_strata_are_weighted(suite):
    suite.conftest(COPIES.format(more=", strata=['a', 'b'] * 200"))
    suite.tests("@pytest.mark.dataset_slice(weights={'a': 0.5, 'b': 0.5})" + GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[lucky]": "inconclusive"}
    assert "the run asked 1 samples of `a`" in ended.words


@pytest.mark.parametrize(
    "bar",
    [
        '"latency.p95", at_most="10 s"',
        '"error_rate", at_most=0.01',
        '"goodput", at_least=0.9, latency="10 s"',
    ],
)
def test_one_document_asked_a_thousand_times_shows_nothing_of_documents(suite, bar):
    suite.conftest(
        LUCKY
        + """
    return {"one": Dataset.from_arrays("one", inputs=["the document"], references=["x"])}
"""
    )
    suite.tests(f"""
@pytest.mark.scenario("single_stream", count=1000)
@pytest.mark.bar({bar})
def test_good(procure):
    procure.run()
""")
    ended = suite.run("--procure-report")
    (finding,) = ended.results["test_good[lucky]"]["findings"]
    assert finding["verdict"] != "accept"
    assert "1 cluster is too few for a verdict" in finding["sentence"]
    if finding["verdict"] == "inconclusive":  # a machine that is late makes times invalid
        assert "A new run over 20 different samples or more could decide" in finding["hint"]


def test_questions_that_declared_clusters_share_stay_one_piece_of_evidence(suite):
    suite.conftest(
        LUCKY
        + """
    shared = [f"question {i}" for i in range(9)]
    asked = [each for k in range(60) for each in (*shared, f"own question {k}")]
    return {"d": Dataset.from_arrays(
        "d", inputs=asked, references=["x"] * 600, clusters=[i // 10 for i in range(600)])}
"""
    )
    suite.tests(GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[lucky]": "inconclusive"}
    (finding,) = ended.results["test_good[lucky]"]["findings"]
    assert finding["n_effective"] < 20


def test_one_content_in_many_strata_is_one_piece_of_evidence(suite):
    suite.conftest(
        LUCKY
        + """
    return {"d": Dataset.from_arrays(
        "d", inputs=[f"question {i % 10}" for i in range(100)], references=["x"] * 100,
        strata=[f"queue {i // 10}" for i in range(100)])}
"""
    )
    weights = "weights={f'queue {i}': 0.1 for i in range(10)}"
    suite.tests(f"@pytest.mark.dataset_slice({weights})" + GOOD)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_good[lucky]": "inconclusive"}
    assert "10 clusters are too few for a verdict" in ended.words
