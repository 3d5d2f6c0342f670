"""What only shows when a test runs: each is one clear sentence, and the status tells it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "backends"))
import tiny_onnx as tiny

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""
DATA = "def pytest_procure_datasets(): return {'numbers': numbers}\n"


def told(suite):
    """Run the suite, see that it fails without a traceback, and give what it says on one line."""
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.TESTS_FAILED, ended.text
    assert ended.quiet, ended.text
    assert ended.verdicts == {"test_reads[only]": "not tested"}
    problem = ended.results["test_reads[only]"]["problem"]
    assert problem in ended.words
    return problem


def offer(backend):
    """A hook with one candidate, and this for its backend."""
    return f"def pytest_procure_candidates(): return [Candidate('only', backend={backend})]\n"


def test_a_dataset_without_labels_cannot_carry_an_accuracy_bar(suite):
    suite.conftest(
        offer("answers(1.0)")
        + "def pytest_procure_datasets():\n"
        + "    return {'numbers': lambda: Dataset.from_arrays('numbers', inputs=np.arange(50))}\n"
    )
    suite.tests(READS)
    assert told(suite).startswith("bar `accuracy`: dataset `numbers` has no references to score against")


def test_a_bar_on_a_scorer_that_the_dataset_lacks_names_the_nearest(suite):
    suite.conftest(
        offer("answers(1.0)")
        + "def near(output, reference): return True\n"
        + "def pytest_procure_datasets(): return {'numbers': lambda: numbers(scorer=near)}\n"
    )
    suite.tests(READS.replace('"accuracy"', '"quality.nears"'))
    assert told(suite) == (
        "dataset `numbers`: unknown scorer `quality.nears`; did you mean `quality.near`? Known: quality.near"
    )


def test_an_empty_slice_is_told(suite):
    suite.conftest(offer("answers(1.0)") + DATA)
    suite.tests(
        "@pytest.mark.dataset_slice('numbers', where=lambda number, label, stratum: number < 0)" + READS
    )
    assert told(suite).startswith("no sample of dataset `numbers` matches")


def test_a_dataset_without_samples_is_told(suite):
    suite.conftest(
        offer("answers(1.0)") + "def pytest_procure_datasets(): return {'numbers': lambda: numbers(0)}"
    )
    suite.tests(READS)
    assert told(suite) == "dataset `numbers` has no samples; expected at least one"


def test_more_samples_than_there_are_is_told_with_the_number_that_would_do(suite):
    suite.conftest(offer("answers(1.0)") + DATA)
    suite.tests("@pytest.mark.dataset_slice('numbers', n=401)" + READS)
    assert "ask for n=400 or fewer" in told(suite)


def test_strata_that_are_not_there_are_told(suite):
    suite.conftest(offer("answers(1.0)") + DATA)
    suite.tests("@pytest.mark.dataset_slice('numbers', n=40, stratify=True)" + READS)
    assert "dataset `numbers` has no strata" in told(suite)


def test_a_model_file_that_is_missing_is_told_with_its_path(suite):
    pytest.importorskip("onnxruntime")
    suite.conftest(
        "from pytest_procure import OnnxRuntime\n" + offer("OnnxRuntime('models/lost.onnx')") + DATA
    )
    suite.tests(READS)
    assert "models/lost.onnx" in told(suite)


def test_a_model_file_that_is_no_model_is_told(suite):
    pytest.importorskip("onnxruntime")
    suite.write("models/poem.onnx", "roses are red")
    suite.conftest(
        "from pytest_procure import OnnxRuntime\n" + offer("OnnxRuntime('models/poem.onnx')") + DATA
    )
    suite.tests(READS)
    assert "poem.onnx" in told(suite)


def test_a_backend_that_raises_when_loaded_is_told(suite):
    suite.conftest(
        """
class Broken:
    def load(self, base):
        raise MemoryError("3 GB wanted")
"""
        + offer("Broken()")
        + DATA
    )
    suite.tests(READS)
    assert told(suite) == "backend Broken could not be loaded: MemoryError: 3 GB wanted"


def test_a_scorer_that_raises_is_told_with_the_sample(suite):
    suite.conftest(
        offer("answers(1.0)")
        + "def strict(output, reference): raise KeyError('blue')\n"
        + "SCORERS = {'accuracy': 'accuracy', 'strict': strict}\n"
        + "def pytest_procure_datasets(): return {'numbers': lambda: numbers(scorer=SCORERS)}\n"
    )
    suite.tests(READS)
    said = told(suite)
    assert said.startswith("the scorer of `quality.strict` raised KeyError on sample ")


def test_a_scorer_that_gives_no_score_is_told(suite):
    suite.conftest(
        offer("answers(1.0)")
        + "def strange(output, reference): return 7\n"
        + "def pytest_procure_datasets(): return {'numbers': lambda: numbers(scorer=strange)}\n"
    )
    suite.tests(READS.replace('"accuracy"', '"quality.strange"'))
    assert "gave 7" in told(suite)


def test_a_backend_that_describes_itself_in_no_plain_data_is_told(suite):
    suite.conftest(
        """
from pytest_procure.backends.function import LoadedFunction

class Odd(Function):
    def load(self, base):
        loaded = LoadedFunction(self)
        loaded.describe = lambda: {"runtime": base, "threads": np.int64(1)}
        return loaded
"""
        + offer("Odd(answers(1.0))")
        + DATA
    )
    suite.tests(READS)
    assert told(suite).startswith("`describe()` of the backend gave what is no plain JSON data")


@pytest.mark.parametrize("output", ["np.full(len(inputs), np.nan)", "[None] * len(inputs)", "[]"])
def test_what_is_no_answer_counts_as_a_failed_request(suite, output):
    suite.conftest(offer(f"lambda inputs: {output}") + DATA)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.verdicts) == (1, {"test_reads[only]": "reject"})
    assert ended.results["test_reads[only]"]["runs"][0]["failures"] == {"empty": 400}
    assert ended.quiet


def test_a_backend_that_raises_on_one_request_fails_that_one_and_goes_on(suite):
    suite.conftest(
        """
def stumbles(inputs):
    if 13 in inputs:
        raise ValueError("thirteen")
    return np.asarray(inputs) % 10
"""
        + offer("stumbles")
        + DATA
    )
    suite.tests(READS)
    ended = suite.run("--procure-report")
    (run,) = ended.results["test_reads[only]"]["runs"]
    assert ended.verdicts == {"test_reads[only]": "accept"}
    assert (run["requests"], run["failures"], run["error_texts"]) == (
        400,
        {"error": 1},
        ["ValueError: thirteen"],
    )
    assert run["scores"]["accuracy"] == 399 / 400


def test_a_candidate_that_cannot_be_loaded_leaves_the_others_tested(suite):
    suite.conftest(
        """
class Broken:
    def load(self, base):
        raise OSError("no such device")

def pytest_procure_candidates():
    return [Candidate("broken", backend=Broken()), Candidate("sound", backend=answers(1.0))]
"""
        + DATA
    )
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[broken]": "not tested", "test_reads[sound]": "accept"}
    assert ended.status == 1


def test_that_nobody_serves_an_endpoint_is_told_once_above_the_verdict(suite):
    suite.conftest(
        """
from pytest_procure import OpenAIEndpoint

def pytest_procure_candidates():
    return [Candidate("dead", backend=OpenAIEndpoint("http://127.0.0.1:9/v1", model="m"))]

def pytest_procure_datasets():
    return {"texts": Dataset.from_arrays("texts", inputs=["a", "b"], references=["a", "b"])}
"""
    )
    suite.tests(READS)
    failure, verdict = suite.run().text.split("procurement verdict")
    assert failure.count("connection refused") == 1
    assert "connection refused" in verdict


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("procure.run('sever', qps=3)", "unknown scenario `sever`; did you mean `server`?"),
        ("procure.run(count=3)", "needs the scenario's name first"),
        ("procure.run(backend=3)", "gave int; expected a backend such as OnnxRuntime(...)"),
        ("procure.measure('accuracy', 3)", "name your own value `own.NAME`"),
        ("procure.measure('own.joy', float('nan'))", "expected a finite number"),
        ("procure.measure('own.joy', 3, interval=(4, 5))", "lies outside its own range, 4 to 5"),
    ],
)
def test_a_mistake_in_the_test_itself_is_told_in_a_sentence(suite, call, said):
    suite.conftest(offer("answers(1.0)") + DATA)
    suite.tests(f"def test_reads(procure):\n    {call}\n")
    assert said in told(suite)


def test_a_bar_of_ones_own_and_a_value_in_another_unit_are_told(suite):
    suite.conftest(offer("answers(1.0)") + DATA)
    suite.tests("""
        @pytest.mark.bar("own.ramp_up", at_most="3 s")
        def test_reads(procure):
            procure.run()
            procure.measure("own.ramp_up", 2.5, unit="USD")
    """)
    assert told(suite) == "bar `own.ramp_up` is 3 s, and the measured value is in USD"


MODEL = "OnnxRuntime('m.onnx', decode='argmax', inputs={'x': 'vektor'})"
NO_SUCH_KEY = "a sample: unknown key `vektor`; did you mean `vector`? Known: vector"


@pytest.fixture
def keyed(suite):
    """A suite whose samples have the key `vector`, without candidates."""
    pytest.importorskip("onnxruntime")
    (suite.path / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))

    def write(candidates):
        suite.conftest(
            "from pytest_procure import OnnxRuntime, Pipeline, Stage\n"
            + candidates
            + "def pytest_procure_datasets():\n"
            + "    rows = [{'vector': np.eye(3, dtype='f')[i % 3]} for i in range(60)]\n"
            + "    return {'d': Dataset.from_arrays('d', inputs=rows, references=np.arange(60) % 3)}\n"
        )
        return suite

    return write


@pytest.mark.parametrize("isolation", ["", ", isolation='process'"])
@pytest.mark.parametrize("backend", [MODEL, f"Pipeline([Stage('read', {MODEL})])"])
def test_a_key_that_no_sample_has_is_told_before_the_run(keyed, backend, isolation):
    suite = keyed(offer(backend + isolation))
    suite.tests(READS)
    assert told(suite) == NO_SUCH_KEY


RIGHT = MODEL.replace("vektor", "vector")


def test_so_is_one_of_another_backend(keyed):
    suite = keyed(offer(RIGHT))
    suite.tests(
        "from pytest_procure import OnnxRuntime\n"
        + READS.replace("procure.run()", f"procure.run(backend={MODEL})")
    )
    assert told(suite) == NO_SUCH_KEY


def test_so_is_one_of_an_offer_to_compare_with(keyed):
    suite = keyed(
        "def pytest_procure_candidates():\n"
        f"    return [Candidate('only', backend={RIGHT}), Candidate('other', backend={MODEL})]\n"
    )
    suite.tests(READS.replace("at_least=0.9", "below='other', margin=0.05"))
    assert told(suite) == NO_SUCH_KEY
