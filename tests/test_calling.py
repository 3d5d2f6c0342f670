"""What a suite declares with an argument that nobody knows, or of another kind, is one line."""

import pytest

from pytest_procure import (
    Candidate,
    Command,
    Dataset,
    Function,
    HourlyPrice,
    HttpJson,
    KServeV2,
    OnnxRuntime,
    OpenAIEndpoint,
    Pipeline,
    ProcureError,
    PublishedScore,
    RequestPrice,
    Served,
    Stage,
    TokenPrice,
    TorchModule,
)
from pytest_procure.calling import declared, declaring
from pytest_procure.datasets import llm_judge
from pytest_procure.errors import DeclarationError

URL = "http://127.0.0.1:1/v1"
#: Each call with one name mistyped, and the name that was meant.
MISTYPED = [
    (lambda: OnnxRuntime("x.onnx", thread=2), "OnnxRuntime", "threads"),
    (lambda: TorchModule("x.pt", devise="cpu"), "TorchModule", "device"),
    (lambda: OpenAIEndpoint(URL, modl="m"), "OpenAIEndpoint", "model"),
    (lambda: HttpJson(URL, tempalte={}), "HttpJson", "template"),
    (lambda: KServeV2(URL, modle="m"), "KServeV2", "model"),
    (lambda: Served(["a"], redy="/health"), "Served", "ready"),
    (lambda: Command(["a"], start_time="1 s"), "Command", "start_timeout"),
    (lambda: Pipeline(stage=[]), "Pipeline", "stages"),
    (lambda: Stage("a", len, prise=None), "Stage", "price"),
    (lambda: Function(callible=len), "Function", "callable"),
    (lambda: Candidate("a", backend=len, vendr="Acme"), "Candidate", "vendor"),
    (lambda: HourlyPrice("1 USD", utilization=0.5), "HourlyPrice", "utilisation"),
    (lambda: RequestPrice("1 USD", sorce="x"), "RequestPrice", "source"),
    (lambda: TokenPrice(inputs="1 USD", output="1 USD"), "TokenPrice", "input"),
    (lambda: PublishedScore("a", rond="v5.0"), "PublishedScore", "round"),
    (lambda: Dataset.from_arrays("a", input=[1]), "from_arrays", "inputs"),
    (lambda: Dataset.from_records("a", [], refrence="y"), "from_records", "reference"),
    (lambda: Dataset.from_csv("a", "a.csv", refrence="y"), "from_csv", "reference"),
    (lambda: Dataset.from_arrays("a", inputs=[1]).slice(sead=1), "slice", "seed"),
    (lambda: llm_judge(len, "{output}", label=[]), "llm_judge", "labels"),
]


@pytest.mark.parametrize(("call", "name", "meant"), MISTYPED, ids=[name for _, name, _ in MISTYPED])
def test_an_argument_that_is_mistyped_is_told_with_the_nearest_name(call, name, meant):
    with pytest.raises(
        DeclarationError, match=rf"{name}\(\.\.\.\)`: unknown argument `\w+`; did you mean `{meant}`\?"
    ):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (OnnxRuntime, "`OnnxRuntime(...)`: it needs `path`. Known: "),
        (lambda: OnnxRuntime("x", "argmax"), "`OnnxRuntime(...)`: too many positional arguments. Known: "),
        (
            lambda: OnnxRuntime("x", path="y"),
            "`OnnxRuntime(...)`: multiple values for argument 'path'. Known: ",
        ),
        (lambda: HourlyPrice("1 USD"), "`HourlyPrice(...)`: it needs `utilisation`. Known: "),
        (lambda: OnnxRuntime("x", inputs=3), "`inputs` of an OnnxRuntime is of type int; expected "),
        (lambda: OnnxRuntime("x", sha256=3), "`sha256` of an OnnxRuntime is of type int; expected "),
        (
            lambda: OpenAIEndpoint(URL, model="m", stream="yes"),
            "`stream` of an OpenAIEndpoint is of type str",
        ),
        (lambda: OpenAIEndpoint(URL, model="m", options=3), "`options` of an OpenAIEndpoint is of type int"),
        (lambda: OpenAIEndpoint(URL, model="m", headers=3), "`headers` of an OpenAIEndpoint is of type int"),
        (lambda: OpenAIEndpoint(URL, model="m", ca_file=3), "`ca_file` of an OpenAIEndpoint is of type int"),
        (lambda: HttpJson(URL, template="$sample", output="ab"), "`output` of an HttpJson is of type str"),
        (lambda: HttpJson(URL, template="$sample", headers=3), "`headers` of an HttpJson is of type int"),
        (lambda: KServeV2(URL, model="m", headers=3), "`headers` of a KServeV2 is of type int"),
        (lambda: TorchModule("x", device=3), "`device` of a TorchModule is of type int"),
        (lambda: Command(3), "`Command(3)`; expected a list"),
        (lambda: Candidate("a", backend=len, published=3), "`published` of candidate `a` is of type int"),
    ],
)
def test_an_argument_that_is_missing_or_of_another_kind_is_told(call, said):
    with pytest.raises(ProcureError) as raised:
        call()
    assert str(raised.value).startswith(said)


def test_a_value_that_may_be_a_key_is_not_quoted():
    with pytest.raises(DeclarationError) as raised:
        OpenAIEndpoint(URL, model="m", key="sk-very-secret")
    assert "very-secret" not in str(raised.value)


def test_what_is_declared_rightly_is_made_as_ever():
    @declared
    class Offer:
        def __init__(self, name, *, price=0):
            self.told = (name, price)

    @declaring
    def double(number, **more):
        return number * 2, more

    assert Offer("acme", price=3).told == ("acme", 3)
    assert double(2, tail=1) == (4, {"tail": 1})


def test_an_error_of_the_called_itself_is_not_taken_for_one_of_the_call():
    @declaring
    def broken():
        raise TypeError("unexpected keyword argument")

    with pytest.raises(TypeError) as raised:
        broken()
    assert not isinstance(raised.value, ProcureError)
