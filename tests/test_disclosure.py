import numpy as np
import pytest

from pytest_procure import Candidate
from pytest_procure.deviation import answered_by
from pytest_procure.disclosure import deviations, notes_of, refuse_deviating, refuse_unfit
from pytest_procure.errors import DataError, ProvisionError


def offer(**stated):
    return Candidate("acme", backend=lambda batch: batch, **stated)


def told(**observed):
    return {"runtime": "onnxruntime 1.32.0", "observed": observed}


def invalidating(found):
    return [each.what for each in found if each.invalidates]


def test_another_precision_than_declared_invalidates():
    (found,) = deviations(offer(precision="int8"), told(precision={"fp32": 1.0}))
    assert found.invalidates
    assert found.sentence == "precision: declared `int8`, observed weights or operators in fp32 (100%)"


@pytest.mark.parametrize("precision", ["fp32", "FP32", "float32", "", "unheard of"])
def test_what_is_as_declared_or_not_known_is_no_deviation(precision):
    assert deviations(offer(precision=precision), told(precision={"fp32": 0.995, "int8": 0.005})) == []


def test_a_mixture_that_was_not_declared_is_told_and_invalidates_nothing():
    (found,) = deviations(offer(precision="int8"), told(precision={"int8": 0.6, "fp32": 0.4}))
    assert not found.invalidates


def test_a_small_part_in_a_narrower_precision_is_told_and_one_in_a_wider_is_not():
    (found,) = deviations(offer(precision="fp32"), told(precision={"fp32": 0.97, "int8": 0.03}))
    assert found.sentence == (
        "precision: declared `fp32`, observed weights or operators in fp32 (97%), int8 (3%)"
    )
    assert not found.invalidates
    assert deviations(offer(precision="int8"), told(precision={"int8": 0.97, "fp32": 0.03})) == []


def test_layers_in_another_precision_are_told_however_small_their_weights_are():
    observed = told(precision={"fp32": 0.996, "int8": 0.004}, layers={"int8": 0.9, "fp32": 0.1})
    (found,) = deviations(offer(precision="fp32"), observed)
    assert found.sentence.endswith("in fp32 (100%), int8 (below 1%), and layers in int8 (90%), fp32 (10%)")
    assert not found.invalidates
    (found,) = deviations(offer(precision="int8"), observed)
    assert not found.invalidates  # which runs, beside a table in fp32
    (found,) = deviations(offer(precision="fp16"), observed)
    assert found.invalidates


def test_an_accelerator_that_was_declared_and_not_used_invalidates():
    for hardware in ("1 x NVIDIA H100", "L4", "RTX 4090", "A100 80GB"):
        assert invalidating(deviations(offer(hardware=hardware), told(device="cpu"))) == ["device"]
        assert deviations(offer(hardware=hardware), told(device="cuda:0")) == []
    assert deviations(offer(hardware="2 x c7i.large"), told(device="cpu")) == []


def test_a_processor_that_was_declared_and_a_gpu_used_invalidates():
    for hardware in ("8 vCPUs", "one CPU core of the machine that measured", "AMD EPYC 9654", "Graviton4"):
        assert invalidating(deviations(offer(hardware=hardware), told(device="cuda:0"))) == ["device"]
        assert deviations(offer(hardware=hardware), told(device="cpu")) == []
    assert deviations(offer(hardware="8 vCPUs and an L4"), told(device="cuda:0")) == []


@pytest.mark.parametrize(
    ("hardware", "gpu", "same"),
    [
        ("1 x H100", "NVIDIA H100 80GB HBM3", True),
        ("2 x A100 80GB", "NVIDIA A100-SXM4-80GB", True),
        ("T4", "Tesla T4", True),
        ("RTX 4090", "NVIDIA GeForce RTX 4090", True),
        ("GH200", "NVIDIA GH200 480GB", True),
        ("a GPU", "NVIDIA L4", True),
        ("1 x H100", "NVIDIA L4", False),
        ("L40S", "NVIDIA L4", False),
        ("H200", "NVIDIA GH200 480GB", False),
        ("RTX 4090", "NVIDIA GeForce RTX 4080", False),
    ],
)
def test_another_gpu_than_declared_invalidates(hardware, gpu, same):
    found = deviations(offer(hardware=hardware), told(device="cuda:0") | {"gpus": [gpu]})
    assert invalidating(found) == ([] if same else ["device"])


def stated(declared, **observed):
    return {"declared": declared, "observed": observed}


def test_another_model_than_declared_invalidates():
    found = deviations(offer(), stated({"sha256": "a" * 64}, sha256="b" * 64))
    assert invalidating(found) == ["model digest"]
    assert deviations(offer(), stated({"sha256": "A" * 64}, sha256="a" * 64)) == []
    assert deviations(offer(), stated({"sha256": None}, sha256="a" * 64)) == []


CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def test_a_provider_that_did_not_start_is_told():
    (found,) = deviations(offer(), stated({"providers": [CUDA, CPU]}, providers=[CPU]))
    assert (found.what, found.invalidates) == ("provider", False)
    assert found.sentence == f"provider: declared `{CUDA}, {CPU}`, observed {CPU}"
    assert deviations(offer(), stated({"providers": [CUDA]}, providers=[CUDA, CPU])) == []


def test_nodes_that_a_provider_left_to_the_cpu_are_told():
    (found,) = deviations(offer(), stated({"providers": [CUDA, CPU]}, nodes={CUDA: 5, CPU: 6}))
    assert found.sentence == f"provider: declared `{CUDA}`, observed 6 of 11 nodes on {CPU}"
    assert deviations(offer(), stated({"providers": [CUDA, CPU]}, nodes={CUDA: 99, CPU: 6})) == []
    assert deviations(offer(), stated({"providers": [CPU]}, nodes={CPU: 6})) == []


def test_a_model_of_another_size_of_batch_than_declared_is_told():
    (found,) = deviations(offer(max_batch=8), told(batch=1))
    assert found.sentence == "batch: declared `8`, observed a model that takes 1 at a time and no other"
    assert not found.invalidates
    assert deviations(offer(max_batch=8), told(batch=8), max_batch=2) == []
    assert [each.what for each in deviations(offer(), told(batch=4), max_batch=1)] == ["batch"]
    assert deviations(offer(max_batch=8), told()) == []


def test_other_threads_than_declared_or_than_there_are_processors_for_are_told():
    (found,) = deviations(offer(), stated({"threads": 4}, threads=1), processors=8)
    assert found.sentence == "threads: declared `4`, observed 1"
    (found,) = deviations(offer(), stated({"threads": 8}, threads=8), processors=2)
    assert found.sentence == "threads: declared `8`, observed processors for 2 of them"
    assert deviations(offer(), stated({"threads": 2}, threads=2), processors=2) == []
    assert deviations(offer(), stated({"threads": None}, threads=2), processors=1) == []


def test_another_runtime_than_declared_is_told():
    assert deviations(offer(runtime="onnxruntime 1.32"), told()) == []
    (found,) = deviations(offer(runtime="onnxruntime 1.3"), told())
    assert (found.what, found.invalidates) == ("runtime", False)
    (found,) = deviations(offer(runtime="tensorrt 10.1"), told())
    assert found.observed == "`onnxruntime 1.32.0`"


def test_what_a_backend_does_not_observe_is_not_compared():
    assert (
        deviations(offer(precision="int8", hardware="H100"), {"runtime": "Python 3", "device": "cpu"}) == []
    )


def test_the_stages_of_a_pipeline_are_looked_at():
    stages = [{"name": "a", "backend": told(precision={"fp32": 1.0}, device="cpu")}]
    found = deviations(offer(precision="int8", hardware="H100"), {"stages": stages})
    assert invalidating(found) == ["precision", "device"]


def test_an_offer_that_is_not_what_it_says_is_no_measure_for_others():
    with pytest.raises(ProvisionError, match="candidate `acme` is no measure for others: precision"):
        refuse_deviating(offer(precision="int8"), told(precision={"fp32": 1.0}))
    refuse_deviating(offer(precision="fp32"), told(precision={"fp32": 1.0}))


def test_notes_name_their_candidate():
    backend = {"notes": ["it ran code"], "deviations": ["precision: ..."]}
    assert notes_of([{"name": "a", "backend": backend}, {"name": "b", "backend": {}}]) == [
        "Candidate `a`: it ran code.",
        "Candidate `a`: precision: ....",
    ]


@pytest.mark.parametrize("backend", [told(), told(precision={}), {"runtime": "Python 3"}, {"stages": []}])
def test_a_precision_that_nobody_could_observe_is_told_and_is_no_deviation(backend):
    assert deviations(offer(precision="int8"), backend) == []
    assert notes_of([{"name": "acme", "precision": "int8", "backend": backend}]) == [
        "Candidate `acme`: precision: declared `int8`, and not observed, because nothing that runs shows it."
    ]


def test_nothing_is_told_of_a_precision_that_was_observed_or_not_declared_or_of_what_was_not_loaded():
    seen = told(precision={"int8": 1.0})
    stages = {"stages": [{"name": "a", "backend": told()}, {"name": "b", "backend": seen}]}
    for precision, backend in (("int8", seen), ("int8", stages), ("", told()), ("int8", {})):
        assert notes_of([{"name": "acme", "precision": precision, "backend": backend}]) == []


PAIR = {"keys": {"a": "question", "b": "types"}}
RECORD = np.zeros(2, dtype=[("question", "f4"), ("typ", "i4")])


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (
            [{"question": 1, "types": 2}, {"question": 1, "typ": 2}],
            "unknown key `types`; did you mean `typ`?",
        ),
        (RECORD, "unknown key `types`; did you mean `typ`?"),
        (np.zeros((2, 3)), "a sample is a ndarray; the model takes a mapping with `question`, `types`"),
        (["a text"], "a sample is a str; the model takes a mapping with `question`, `types`"),
        ([3], "a sample is a int; the model takes"),
    ],
)
def test_samples_without_what_the_model_takes_are_refused(inputs, said):
    for backend in (PAIR, {"stages": [{"name": "s", "takes": None, "backend": PAIR}]}):
        with pytest.raises(DataError) as refusal:
            refuse_unfit(backend, inputs)
        assert said in str(refusal.value)


def test_samples_that_have_what_the_model_takes_are_not_refused():
    both = [{"question": 1, "types": 2, "more": 3}]
    later = {"stages": [{"name": "s", "backend": {}}, {"name": "t", "backend": PAIR}]}
    taken = {"stages": [{"name": "s", "takes": "pairs", "backend": PAIR}]}
    for backend, inputs in (
        (PAIR, both),
        (PAIR, []),
        (PAIR, np.zeros(2, dtype=[("question", "f4"), ("types", "i4")])),
        ({"keys": {}}, [1]),
        ({"keys": ["another's own"]}, [1]),
        ({}, [1]),
        (later, [1]),
        (taken, [1]),
    ):
        refuse_unfit(backend, inputs)


def named(asked, *answered):
    return answered_by({"model_asked": asked, "answers_say": {"model": list(answered)}})


def test_another_model_in_the_answers_than_was_asked_for_is_told_and_invalidates_nothing():
    found = named("gpt-x", "mock")
    assert found.sentence == "model: declared `gpt-x`, observed answers of `mock`"
    assert not found.invalidates
    assert named("gpt-4o", "gpt-4o-mini").observed == "answers of `gpt-4o-mini`"
    assert named("a", "a", "b").observed == "answers of `a` and `b`"
    assert named("acme/m-2", "else/m-2") is not None
    assert named("llama-3-70b", "llama-3-70b-q4_0") is not None  # no file of the offer's own
    assert named("m", "/home/a/n.gguf").observed == "answers of `n.gguf`"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("GPT-4o", "gpt-4o"),
        ("mistral-large-latest", "mistral-large-2411"),
        ("llama3", "llama3:latest"),
        ("openai/gpt-4o", "gpt-4o-2024-08-06"),
        ("m", "/models/m.gguf"),
        ("SmolLM2-135M-Instruct", "/home/a/SmolLM2-135M-Instruct.Q4_0.gguf"),
        ("acme/m", "acme/m@main"),
    ],
)
def test_a_dated_or_versioned_name_of_the_same_model_is_no_deviation(asked, answered):
    assert named(asked, answered) is None


def test_answers_that_name_no_model_contradict_nothing():
    assert named("gpt-x") is None
    assert answered_by({"model_asked": "gpt-x"}) is None
    assert answered_by({}) is None
