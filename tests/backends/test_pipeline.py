import numpy as np
import pytest
from contract import refuses

from pytest_procure import RequestPrice
from pytest_procure.backends import Answer, Function, OnnxRuntime, Pipeline, Stage
from pytest_procure.backends.protocol import Passing
from pytest_procure.errors import DeclarationError


def retrieve(questions):
    return [[f"{question}-{rank}" for rank in range(3)] for question in questions]


def same(batch):
    return list(batch)


def first(lists):
    return [found[0] for found in lists]


def loaded(*stages):
    return Pipeline(list(stages)).load(None)


def test_each_stage_takes_what_the_one_before_gave():
    answers = loaded(("retrieve", retrieve), ("rerank", first)).predict(["a", "b"])
    assert [answer.output for answer in answers] == ["a-0", "b-0"]


def test_a_stage_may_take_the_sample_and_all_that_came_before():
    def takes(question, so_far):
        return (question, so_far["retrieve"][1])

    ask = Stage("ask", lambda pairs: [f"{q}:{d}" for q, d in pairs], takes=takes)
    (answer,) = loaded(("retrieve", retrieve), ("rerank", first), ask).predict(["a"])
    assert answer.output == "a:a-1"


def test_how_each_sample_passed_each_stage_is_told():
    (answer,) = loaded(("retrieve", retrieve), ("rerank", first)).predict(["a"])
    one, other = answer.stages
    assert (one.name, one.passing, one.output) == ("retrieve", Passing.OK, ["a-0", "a-1", "a-2"])
    assert (other.name, other.output) == ("rerank", "a-0")
    assert one.ns > 0 < other.ns


def test_what_a_stage_raises_goes_no_further_and_names_it():
    def fails(batch):
        raise ValueError("no index")

    (answer,) = loaded(("retrieve", fails), ("rerank", first)).predict(["a"])
    assert answer.output is None
    assert answer.error == "stage retrieve: ValueError: no index"
    assert [each.passing for each in answer.stages] == [Passing.FAILED, Passing.NOT_REACHED]


@pytest.mark.parametrize("nothing", [None, float("nan"), np.array([1.0, np.inf])])
def test_a_sample_that_a_stage_has_no_answer_to_stays_behind_alone(nothing):
    def some(batch):
        return [nothing if x == "b" else [x] for x in batch]

    answers = loaded(("retrieve", some), ("rerank", first)).predict(["a", "b", "c"])
    assert [answer.output for answer in answers] == ["a", None, "c"]
    assert answers[1].error.startswith("stage retrieve: answered with")
    assert [answer.stages[1].passing for answer in answers] == [Passing.OK, Passing.NOT_REACHED, Passing.OK]


def test_outputs_that_are_not_one_for_each_input_are_a_failure_of_the_stage():
    (answer, _) = loaded(("retrieve", lambda batch: batch[:1])).predict(["a", "b"])
    assert answer.error == "stage retrieve: ValueError: answered 2 inputs with 1 outputs"


def test_tokens_of_all_stages_add_up_and_stand_by_stage():
    generate = ("generate", lambda batch: [Answer(x, 10, 2) for x in batch])
    guard = ("guard", lambda batch: [Answer(x, 5, 1) for x in batch])
    (answer,) = loaded(("plain", same), generate, guard).predict(["a"])
    assert (answer.output, answer.input_tokens, answer.output_tokens) == ("a", 15, 3)
    assert [each.input_tokens for each in answer.stages] == [-1, 10, 5]


def test_no_tokens_are_a_count_too():
    generate = ("generate", lambda batch: [Answer(x, 7, 0, cached_tokens=0) for x in batch])
    (answer,) = loaded(generate).predict(["a"])
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == (7, 0, 0)


def test_without_any_that_counts_there_are_no_tokens():
    (answer,) = loaded(("plain", same)).predict(["a"])
    assert (answer.input_tokens, answer.output_tokens) == (-1, -1)


def test_the_pipeline_runs_where_its_accelerator_is_and_lets_go_where_all_do():
    one = loaded(Stage("a", Function(list, device="cuda:1", releases_gil=True)), ("b", same))
    assert (one.device, one.releases_gil) == ("cuda:1", False)


class Counted:
    """A backend that counts how often it is closed."""

    device, releases_gil = "cpu", True

    def __init__(self, *, fails=False):
        self.fails, self.closed = fails, 0

    def load(self, base):
        return Counted.Loaded(self)

    class Loaded:
        device, releases_gil = "cpu", True

        def __init__(self, owner):
            self.owner = owner

        def predict(self, inputs):
            return list(inputs)

        def describe(self):
            return {"runtime": "counted"}

        def close(self):
            self.owner.closed += 1
            if self.owner.fails:
                raise OSError("busy")


def test_a_stage_that_cannot_be_loaded_is_named_and_the_others_are_closed(tmp_path):
    counted = Counted()
    declared = Pipeline([("one", counted), ("two", OnnxRuntime("missing.onnx"))])
    refuses(declared, tmp_path, "stage `two`", "missing.onnx")
    assert counted.closed == 1


def test_all_stages_are_closed_whatever_one_raises(tmp_path):
    stages = [Counted(), Counted(fails=True), Counted()]
    brought = Pipeline([(f"s{i}", stage) for i, stage in enumerate(stages)]).load(tmp_path)
    with pytest.raises(RuntimeError, match="stage `s1`: OSError: busy"):
        brought.close()
    assert [stage.closed for stage in stages] == [1, 1, 1]


def test_each_stage_is_disclosed(tmp_path):
    price = RequestPrice("0.01 USD")
    told = Pipeline([Stage("retrieve", retrieve, price=price), ("rerank", first)]).load(tmp_path).describe()
    assert [stage["name"] for stage in told["stages"]] == ["retrieve", "rerank"]
    assert told["stages"][0]["backend"]["function"].endswith("retrieve")
    assert told["stages"][0]["price"]["label"] == "0.01 USD a request"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Pipeline([]), "expected a list of stages"),
        (lambda: Pipeline("retrieve"), "expected a list of stages"),
        (lambda: Pipeline([retrieve]), "is no stage"),
        (lambda: Pipeline([("a", retrieve), ("a", first)]), "two stages are named `a`"),
        (
            lambda: Pipeline(
                [
                    Stage("a", same, price=RequestPrice("1 USD")),
                    Stage("b", same, price=RequestPrice("1 EUR")),
                ]
            ),
            "priced in USD and EUR",
        ),
        (lambda: Stage("re rank", first), "cannot name a stage"),
        (lambda: Stage("waiting", first), "cannot name a stage"),
        (lambda: Stage("a.b", first), "cannot name a stage"),
        (lambda: Stage("a", 3), "expected a backend"),
        (lambda: Stage("a", OnnxRuntime), "expected a backend"),
        (lambda: Stage("a", first, takes=3), "expected a function of the sample"),
        (lambda: Stage("a", first, price=3), "expected for example a RequestPrice"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(make, told):
    with pytest.raises(DeclarationError) as refusal:
        make()
    assert told in str(refusal.value)


def test_spans_hold_names_and_sizes_and_nothing_that_was_asked(tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    trace.set_tracer_provider(provider)
    brought = Pipeline([("retrieve", retrieve), ("rerank", first)]).load(tmp_path)
    brought.predict(["secret question", "b"])
    spans = exported.get_finished_spans()
    assert [span.name for span in spans] == ["stage retrieve", "stage rerank", "pipeline"]
    assert spans[0].parent.span_id == spans[2].context.span_id
    assert dict(spans[0].attributes) == {"procure.batch": 2}
    assert "secret" not in "".join(span.to_json() for span in spans)
    assert brought.describe()["spans"] == "OpenTelemetry"


def test_where_nobody_listens_there_are_no_spans(tmp_path, monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    monkeypatch.setattr(trace, "get_tracer_provider", trace.NoOpTracerProvider)
    assert Pipeline([("retrieve", retrieve)]).load(tmp_path).describe()["spans"] == ""


def test_without_opentelemetry_there_are_no_spans(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.trace", None)
    assert Pipeline([("retrieve", retrieve)]).load(tmp_path).describe()["spans"] == ""
