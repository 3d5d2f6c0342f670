"""KServe's V2 protocol, in JSON and in raw bytes, against a stand-in; test_contract.py asks MLServer."""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from contract import refuses

from pytest_procure.backends import KServeV2, Served
from pytest_procure.backends.endpoints import readers
from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.backends.endpoints.target import Target
from pytest_procure.backends.kserve import LoadedKServe
from pytest_procure.backends.protocol import Sending
from pytest_procure.errors import DataError, DeclarationError

pytest.importorskip("httptools")
HERE = Path(__file__).parent
URL = "http://127.0.0.1:{port}"
WAYS = ("JSON", "binary")


@pytest.fixture(scope="module", params=WAYS)
def url(request):
    """A server that takes tensors this way."""
    with_extension = Served(
        [sys.executable, str(HERE / "stand_in.py"), "{port}"],
        KServeV2(URL, model="doubler"),
        ready="/health",
        settings={"EXTENSION": request.param},
    )
    loaded = with_extension.load(HERE)
    assert loaded.describe()["tensors_as"] == ("JSON" if request.param == "JSON" else "raw bytes")
    yield f"http://127.0.0.1:{loaded.target.port}"
    loaded.close()


def asked(url, samples, **named):
    named.setdefault("model", "doubler")
    return KServeV2(url, **named).load(HERE).predict(samples)


ROWS = np.array([[1, 2, 9], [7, 1, 1]], dtype=np.float32)


def test_a_row_is_asked_and_a_row_comes_back(url):
    given = asked(url, ROWS)
    assert [each.tolist() for each in given] == [[2, 4, 18], [14, 2, 2]]
    assert given[0].dtype == np.float32


def test_lists_of_numbers_are_taken_as_what_the_model_takes(url):
    assert [each.tolist() for each in asked(url, [[1, 2, 3]])] == [[2, 4, 6]]
    assert [each.tolist() for each in asked(url, [[1, 2]], model="whole")] == [[2, 4]]


def test_outputs_are_decoded(url):
    assert asked(url, ROWS, decode="argmax") == [2, 0]
    assert asked(url, ROWS, decode="top-2") == [[2, 1], [0, 1]]
    assert asked(url, ROWS, decode=lambda scores: scores.sum(axis=1).tolist()) == [24, 18]


def test_texts_go_both_ways(url):
    assert asked(url, ["grüß dich", " "], model="upper") == ["GRÜSS DICH", " "]
    with pytest.raises(RuntimeError, match="the output is an empty text"):
        asked(url, [""], model="upper")


def test_several_inputs_are_keys_of_a_sample_and_several_outputs_a_mapping(url):
    sample = {"left": np.array([1.0, 2.0]), "right": np.array([True, False])}
    (given,) = asked(url, [sample], model="pair", inputs={"a": "left", "b": "right"})
    assert given["sum"].tolist() == [2, 2]
    assert bool(given["any"]) is True
    keyed = {"a": [1.5, 2.5], "b": [False, False]}
    (one,) = asked(url, [keyed], model="pair", output="sum")
    assert one.tolist() == [1.5, 2.5]


def test_an_array_of_another_type_is_refused_unless_it_is_to_be_cast(url):
    wide = ROWS.astype(np.float64)
    with pytest.raises(DataError, match="float64, and input `x` of model `doubler` takes FP32 of shape"):
        asked(url, wide)
    assert [each.tolist() for each in asked(url, wide, cast=True)] == [[2, 4, 18], [14, 2, 2]]


@pytest.mark.parametrize(
    ("model", "sample", "told"),
    [
        ("doubler", np.zeros(4, dtype=np.float32), "has shape [4], and input `x`"),
        ("doubler", [[1, 2, 3], [1, 2]], "cannot be a tensor"),
        ("doubler", "text", "is of type"),
        ("whole", [1.5, 2], "holds fractions"),
        ("upper", 3, "is no text"),
        ("pair", [1.0, 2.0], "expected a mapping with a, b"),
        ("pair", {"a": [1.0, 2.0], "c": 1}, "unknown key `b`"),
    ],
)
def test_a_sample_that_the_model_does_not_take_is_told_before_it_is_asked(url, model, sample, told):
    loaded = KServeV2(url, model=model).load(HERE)
    with pytest.raises(DataError) as refusal:
        loaded.body(sample)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"model": "none"}, "HTTP 404"),
        ({"model": "silent"}, "does not say which inputs it has"),
        ({"model": "odd"}, "is of datatype COMPLEX"),
        ({"model": "odder"}, "is of datatype ['FP32']"),
        ({"model": "doubler", "inputs": {"X": "pixels"}}, "unknown input `X`; did you mean `x`? Known: x"),
        ({"model": "doubler", "output": "Y"}, "unknown output `Y`; did you mean `y`? Known: y"),
        ({"model": "pair", "decode": "argmax"}, "expected `output=`"),
    ],
)
def test_what_is_not_as_declared_is_told_when_it_is_loaded(url, named, told):
    refuses(KServeV2(url, **named), HERE, told)


def test_a_server_that_is_not_there_or_no_such_server_is_told(url):
    refuses(KServeV2("http://127.0.0.1:9", model="m"), HERE, "the server does not answer")
    refuses(KServeV2(f"{url}/other", model="m"), HERE, "HTTP 404")


@pytest.mark.parametrize("extensions", [5, True, "binary_tensor_data", {"binary_tensor_data": 1}, None])
def test_extensions_that_are_no_list_announce_nothing(extensions):
    model = {key: [{"name": "x", "datatype": "FP32", "shape": [1]}] for key in ("inputs", "outputs")}
    target = Target("http", "host", 80, "/", "kserve")
    server = {"extensions": extensions}
    loaded = LoadedKServe(KServeV2("http://host", model="m"), target, server, model, Sending(1, 0, 1))
    assert loaded.describe()["tensors_as"] == "JSON"


def test_all_requests_have_one_header_whatever_they_hold(url):
    loaded = KServeV2(url, model="upper").load(HERE)
    short, long = loaded.body(""), loaded.body("x" * 5000)
    for body in (short, long):
        size = dict(loaded.target.headers).get("Inference-Header-Content-Length", len(body))
        json.loads(body[: int(size)])
    assert loaded.describe()["header_fields"] == []


def test_server_model_and_tensors_are_disclosed(url):
    told = KServeV2(url, model="pair", output="sum").load(HERE).describe()
    assert told["runtime"] == "stand-in 1.0"
    assert told["inputs"] == {"a": "FP64 of shape [-1, 2]", "b": "BOOL of shape [-1, 2]"}
    assert told["output"] == "sum"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"model": ""}, "expected the model's name"),
        ({"model": "m", "version": 3}, "expected a text"),
        ({"model": "m", "decode": "argmin"}, "expected 'argmax'"),
        ({"model": "m", "binary": "yes"}, "expected True, False or None"),
        ({"model": "m", "retries": -1}, "from 0 to 10"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(named, told):
    with pytest.raises(DeclarationError) as refusal:
        KServeV2("http://a.example", **named)
    assert told in str(refusal.value)


def out(**more):
    return {"name": "y", "datatype": "FP32", "shape": [2], "data": [1, 2]} | more


@pytest.mark.parametrize(
    ("answer", "behind", "told"),
    [
        (b"no JSON", b"", "does not begin with JSON"),
        (b"[1]", b"", "is no JSON object"),
        ({}, b"", "has no list of outputs"),
        ({"outputs": [out(shape=[3])]}, b"", "has 2 values, and the shape [3]"),
        ({"outputs": [out(shape=[-1])]}, b"", "has the shape"),
        ({"outputs": [out(datatype="FP8")]}, b"", "of datatype 'FP8'"),
        ({"outputs": [out(datatype=[])]}, b"", "of datatype []"),
        ({"outputs": [out(datatype={"FP32": 1})]}, b"", "of datatype {'FP32': 1}"),
        ({"outputs": [out(data=["a", "b"])]}, b"", "holds what is no FP32"),
        ({"outputs": [out(data=[1, [2]])]}, b"", "nested unevenly"),
        ({"outputs": [out(name="z")]}, b"", "has no output `y`; it has z"),
        ({"outputs": [out(parameters={"binary_data_size": 8})]}, b"\0" * 4, "it announces others"),
        ({"outputs": [out(parameters={"binary_data_size": 4})]}, b"\0" * 4, "has 4 bytes, and the shape"),
        ({"outputs": [out(parameters={"binary_data_size": -1})]}, b"", "announces -1 bytes"),
        ({"outputs": [out()]}, b"more", "4 bytes stand behind"),
        (
            {"outputs": [out(datatype="BYTES", parameters={"binary_data_size": 4})]},
            b"\xff\0\0\0",
            "has 4 bytes, and the shape",
        ),
    ],
)
def test_an_answer_that_is_none_is_told(answer, behind, told):
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    reading = readers.whole("kserve", body + behind, ["y"])
    assert reading.failure is Failure.BODY
    assert told in reading.text


def test_an_error_and_an_empty_output_in_a_good_answer_are_failures():
    reading = readers.whole("kserve", b'{"error": "out of memory"}')
    assert (reading.failure, reading.text) == (Failure.STREAM_ERROR, "the answer is an error: out of memory")
    empty = json.dumps({"outputs": [out(shape=[0], data=[])]}).encode()
    assert readers.whole("kserve", empty).failure is Failure.EMPTY


@pytest.mark.parametrize(
    ("data", "failure"),
    [(["", ""], Failure.EMPTY), (["", "a"], Failure.NONE), ([None, "a"], Failure.BODY)],
)
def test_texts_without_a_sign_are_no_answer(data, failure):
    answer = {"outputs": [out(datatype="BYTES", data=data)]}
    assert readers.whole("kserve", json.dumps(answer).encode()).failure is failure


def test_names_that_are_no_ascii_do_not_move_the_bytes_behind_them():
    head = json.dumps(
        {"outputs": [out(name="größe", parameters={"binary_data_size": 8}) | {"data": None}]},
        ensure_ascii=False,
    )
    reading = readers.whole("kserve", head.encode() + struct.pack("<2f", 1, 2))
    assert readers.output("kserve", reading.output)["größe"].tolist() == [1, 2]
