"""The precision of a PyTorch module is that of the tensors it computes with, wherever it keeps them."""

import warnings

import numpy as np
import pytest

from pytest_procure import Candidate
from pytest_procure.backends import TorchModule
from pytest_procure.backends.precision import of_torch
from pytest_procure.backends.torch_weights import weights_of
from pytest_procure.disclosure import deviations, notes_of

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, on programs and quantised layers


class Int8(torch.nn.Module):
    """Keeps 300 weights in a buffer, and 10 biases in fp32."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.ones(10, 30, dtype=torch.int8))
        self.bias = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        return x @ (self.w.float() / 40).T + self.bias


class Decoy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = Int8()
        self.decoy = torch.nn.Parameter(torch.ones(100_000))

    def forward(self, x):
        return self.used(x)


def dynamic():
    layers = torch.nn.Sequential(torch.nn.Linear(30, 10))
    return torch.ao.quantization.quantize_dynamic(layers, {torch.nn.Linear}, dtype=torch.qint8).eval()


def scripted(make):
    return torch.jit.script(make().eval())


def traced(make):
    return torch.jit.trace(make().eval(), torch.ones(2, 30))


def program(how, make, folder):
    torch.jit.save(how(make), str(folder / "m.ts"))
    return "m.ts"


def told(module, folder):
    loaded = TorchModule(module).load(folder)
    try:
        assert np.shape(loaded.predict(np.ones((2, 30), dtype=np.float32))) == (2, 10)
        return loaded.describe()
    finally:
        loaded.close()


def invalid(precision, described):
    offer = Candidate("acme", backend=lambda batch: batch, precision=precision)
    return [each.sentence for each in deviations(offer, described) if each.invalidates]


@pytest.mark.parametrize("make", [Int8, dynamic], ids=["buffers", "packed"])
@pytest.mark.parametrize("how", [None, scripted, traced], ids=["eager", "scripted", "traced"])
def test_weights_outside_of_parameters_count(make, how, tmp_path):
    described = told(make if how is None else program(how, make, tmp_path), tmp_path)
    assert described["observed"]["precision"] == {"fp32": 0.032258, "int8": 0.967742}
    assert invalid("int8", described) == []
    assert invalid("fp32", described) == [
        "precision: declared `fp32`, observed weights or operators in int8 (97%), fp32 (3%)"
    ]


def test_weights_in_an_exported_program_count(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(Int8(), (torch.ones(2, 30),)), tmp_path / "m.pt2")
        loaded = TorchModule("m.pt2", trust_pickle=True).load(tmp_path)
    assert loaded.describe()["observed"]["precision"]["int8"] > 0.9


def test_what_a_program_never_reads_is_no_weight(tmp_path):
    described = told(program(scripted, Decoy, tmp_path), tmp_path)
    assert described["observed"]["precision"]["int8"] > 0.9


def test_constants_of_a_frozen_program_count(tmp_path):
    name = program(lambda make: torch.jit.freeze(scripted(make)), lambda: torch.nn.Linear(30, 10), tmp_path)
    described = told(name, tmp_path)
    assert described["parameters"] == 0
    assert described["observed"]["precision"] == {"fp32": 1.0}


def test_tensors_in_plain_attributes_and_lists_count_once():
    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.ones(5, dtype=torch.float16)
            self.more = [self.one, {"a": (torch.ones(7),)}, torch.nn.Linear(1, 1)]
            self.itself = [self]

    assert sorted(each.numel() for each in weights_of(torch, Plain())) == [1, 1, 5, 7]


def test_a_tensor_that_wraps_others_counts_as_these():
    class Packed(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=torch.float32)

        def __init__(self, inner):
            self.inner = inner

        __torch_dispatch__ = None  # nothing is computed with it

        def __tensor_flatten__(self):
            return ["inner"], None

    module = torch.nn.Module()
    module.weight = Packed(torch.ones(4, dtype=torch.int8))
    assert module.weight.dtype == torch.float32
    assert [each.dtype for each in weights_of(torch, module)] == [torch.int8]


def test_indices_and_masks_are_no_weights(tmp_path):
    class Masked(Int8):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.ones(1000, dtype=torch.bool))
            self.register_buffer("places", torch.arange(1000))

    assert told(Masked, tmp_path)["observed"]["precision"] == {"fp32": 0.032258, "int8": 0.967742}


def test_weights_that_are_packed_into_wider_numbers_are_told_and_are_no_fp32(tmp_path):
    class Packed(Int8):
        def __init__(self):
            super().__init__()
            self.w = self.w.int()

    described = told(Packed, tmp_path)
    offer = Candidate("acme", backend=lambda batch: batch, precision="int4")
    (found,) = deviations(offer, described)
    assert (found.invalidates, found.observed) == (False, "weights or operators in int32 (97%), fp32 (3%)")
    assert invalid("fp32", described) != []


def test_a_module_that_shows_no_weights_is_told_as_not_observed(tmp_path):
    class Nothing(torch.nn.Module):
        def forward(self, x):
            return x[:, :10]

    described = told(Nothing, tmp_path)
    assert notes_of([{"name": "acme", "precision": "int8", "backend": described}]) == [
        "Candidate `acme`: precision: declared `int8`, and not observed, because nothing that runs shows it."
    ]


def test_layers_are_counted_whatever_their_size(tmp_path):
    module = torch.nn.Sequential(torch.nn.Embedding(10_000, 8), torch.nn.Linear(8, 8).half())
    observed = TorchModule(module).load(tmp_path).describe()["observed"]
    assert observed["precision"]["fp16"] < 0.01
    assert observed["layers"] == {"fp16": 0.5, "fp32": 0.5}


class State:
    """What a tensor of bitsandbytes says of itself: two weights lie in each byte."""

    def __init__(self, kind):
        self.quant_type, self.shape = kind, torch.Size([10, 30])


class FourBits(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(150, 1, dtype=torch.uint8), requires_grad=False)
        self.w.quant_state = State(kind)
        self.bias = torch.nn.Parameter(torch.zeros(10))


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_weights_of_four_bits_in_bytes_count_as_what_they_stand_for(kind):
    assert of_torch(weights_of(torch, FourBits(kind)), None) == {kind: 0.967742, "fp32": 0.032258}
    assert "int8" in of_torch(weights_of(torch, FourBits("made up")), None)


@pytest.mark.parametrize(("kind", "layer"), [("nf4", "LinearNF4"), ("fp4", "LinearFP4")])
def test_layers_of_bitsandbytes_are_of_four_bits(tmp_path, kind, layer):
    bitsandbytes = pytest.importorskip("bitsandbytes")
    made = torch.nn.Sequential(getattr(bitsandbytes.nn, layer)(64, 32)).eval()
    loaded = TorchModule(made).load(tmp_path)
    for _ in range(2):  # before the first call, and behind it
        observed = loaded.describe()["observed"]["precision"]
        assert observed[kind] > 0.9
        assert "int8" not in observed
        found = deviations(Candidate("c", backend=len, precision="int8"), loaded.describe())
        assert [each.invalidates for each in found] == [True]
        assert not deviations(Candidate("c", backend=len, precision=kind), loaded.describe())
        loaded.predict(np.ones((2, 64), dtype=np.float32))
