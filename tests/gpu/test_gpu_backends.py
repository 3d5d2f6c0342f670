"""Backends on a real GPU: the contract, where it runs, what it gives back."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pytest_procure.backends import OnnxRuntime, TorchModule
from pytest_procure.errors import ProvisionError
from pytest_procure.telemetry.driver import gpus_of
from pytest_procure.testing import backend_contract

pytestmark = pytest.mark.gpu

ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)
ROWS.flags.writeable = False
DIGITS = Path(__file__).parents[2] / "example_suite" / "form_digits"
CUDA = "CUDAExecutionProvider"


def scans(n=256):
    grey = np.load(DIGITS / "data" / "scans-clean.npy")[:n]
    return (grey / np.float32(255))[:, np.newaxis].astype(np.float32)


def used(device="cuda:0"):
    """Bytes in use on a GPU."""
    ((gpu,), _) = gpus_of(device)
    return gpu.nvml.nvmlDeviceGetMemoryInfo(gpu.gpu).used


# PyTorch


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"dtype": "float16"},
        {"dtype": "bfloat16"},
        {"autocast": "float16"},
        {"compile": True},
        {"compile": "reduce-overhead"},
    ],
    ids=str,
)
def test_a_torch_module_keeps_the_contract_on_a_gpu(torch, tmp_path, how):
    module = torch.nn.Linear(3, 3)
    with torch.no_grad():
        module.weight.copy_(torch.eye(3))
        module.bias.zero_()
    declared = TorchModule(module, device="cuda:0", decode="argmax", **how)
    backend_contract(declared, base=tmp_path, inputs=ROWS, expected=[2, 0, 1])


def test_torch_reads_the_scans_on_the_gpu_as_on_the_processor(torch):
    sys.path.insert(0, str(DIGITS))
    from network import DigitReader

    answers = []
    for how in ({}, {"device": "cuda:0"}, {"device": "cuda:0", "channels_last": True}):
        loaded = TorchModule(DigitReader, state="models/vendor-a-fp32.state.pt", decode="argmax", **how).load(
            DIGITS
        )
        answers.append(np.array(loaded.predict(scans())))
        loaded.close()
    assert (answers[0] == answers[1]).mean() >= 0.99
    assert (answers[0] == answers[2]).mean() >= 0.99


@pytest.mark.parametrize(
    "decode", [None, "argmax", list, lambda y: [y]], ids=["rows", "argmax", "list", "tensor"]
)
def test_answers_are_there_when_a_call_returns_whatever_stream_they_were_made_on(torch, tmp_path, decode):
    class Aside(torch.nn.Module):
        """Works on a stream of its own and waits for nothing."""

        def forward(self, x):
            done, own = torch.zeros_like(x), torch.cuda.Stream()
            own.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(own):
                torch.cuda._sleep(200_000_000)  # about a tenth of a second
                done += x
            return done

    function = (lambda y: y.tolist()) if decode is list else decode
    loaded = TorchModule(Aside(), device="cuda:0", decode=function).load(tmp_path)
    answers = loaded.predict(ROWS)
    assert torch.cuda.current_stream().query()
    if decode == "argmax":
        assert list(answers) == [2, 0, 1]
    else:
        rows = answers[0].cpu() if isinstance(answers[0], torch.Tensor) else answers
        assert np.asarray(rows).tolist() == ROWS.tolist()
    loaded.close()


@pytest.mark.parametrize(
    "setting",
    ["backends.fp32_precision = 'tf32'", "backends.cudnn.conv.fp32_precision = 'ieee'", "set_num_threads(1)"],
)
def test_tf32_is_told_however_torch_was_set(torch, setting):
    # In a process of its own: torch does not forget that a setting was made.
    code = (
        "import pathlib, torch\n"
        "from pytest_procure.backends import TorchModule\n"
        f"torch.{setting}\n"
        "loaded = TorchModule(torch.nn.Linear(3, 3), device='cuda:0').load(pathlib.Path())\n"
        "print(loaded.describe()['tf32'])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "recurrent layers" in ran.stdout
    assert ("matrix products" in ran.stdout) == ("'tf32'" in setting)
    assert ("convolutions" in ran.stdout) == ("'ieee'" not in setting)


@pytest.mark.parametrize("name", ["model.pt2", "model.ts"])
def test_a_program_computes_on_the_gpu_with_its_constants(torch, tmp_path, name):
    class Constant(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)
            self.plain = torch.ones(3)

        def forward(self, x):
            return self.layer(x) + self.plain

    class Here(Constant):
        def forward(self, x):
            return super().forward(x) + torch.arange(3, device=x.device)

    module = (Here if name == "model.pt2" else Constant)().eval()  # a script goes with its constants only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "model.pt2":
            torch.export.save(torch.export.export(module, (torch.zeros(3, 3),)), tmp_path / name)
        else:
            torch.jit.save(torch.jit.trace(module, torch.zeros(3, 3)), str(tmp_path / name))
    answers = []
    for device in ("cpu", "cuda:0"):
        loaded = TorchModule(name, device=device, trust_pickle=True).load(tmp_path)
        answers.append(loaded.predict(ROWS))
        loaded.close()
    assert np.allclose(answers[0], answers[1], atol=1e-2)


@pytest.mark.parametrize("mode", [True, "reduce-overhead"])
def test_a_compiled_module_answers_in_more_threads_than_one(torch, tmp_path, mode):
    loaded = TorchModule(torch.nn.ReLU(), device="cuda:0", compile=mode).load(tmp_path)
    for _ in range(2):  # threads of warm-up and of the run
        with ThreadPoolExecutor(2) as pool:
            for answer in pool.map(loaded.predict, [ROWS + k for k in range(20)]):
                assert answer.shape == ROWS.shape
    assert np.array_equal(loaded.predict(ROWS), ROWS)
    loaded.close()


@pytest.mark.parametrize("mode", [False, True, "reduce-overhead"])
def test_memory_is_given_back_by_torch(torch, tmp_path, mode):
    torch.zeros(1, device="cuda:0")  # what the runtime itself holds stays
    make = lambda: torch.nn.Linear(16_384, 16_384)  # noqa: E731 - 1 GiB, as a conftest writes it
    samples = np.zeros((4, 16_384), dtype=np.float32)

    def round_trip():
        loaded = TorchModule(make, device="cuda:0", compile=mode).load(tmp_path)
        with ThreadPoolExecutor(1) as pool:  # as the driver asks
            for _ in range(4):
                pool.submit(loaded.predict, samples).result()
        most = used()
        loaded.close()
        return most

    round_trip()  # what libraries take once and keep is no candidate's
    before = used()
    assert round_trip() - before >= 2**30
    assert used() - before < 2**26


def test_a_module_that_does_not_fit_is_told_and_leaves_nothing(torch, tmp_path):
    torch.zeros(1, device="cuda:0")
    before = used()

    class Large(torch.nn.Module):
        def _apply(self, function, recurse=True):  # noqa: FBT002 - torch's own signature
            room = torch.cuda.get_device_properties(0).total_memory
            self.half = torch.empty(room // 2, dtype=torch.uint8, device="cuda:0")
            self.more = torch.empty(room, dtype=torch.uint8, device="cuda:0")

    with pytest.raises(ProvisionError, match="cannot be put on cuda:0"):
        TorchModule(Large, device="cuda:0").load(tmp_path)
    assert used() - before < 2**26


def test_a_second_gpu_is_the_one_that_computes_and_is_looked_at(torch, tmp_path):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU here")
    ((first, second), reason) = gpus_of("cuda:0,1")
    assert reason == ""
    assert first.gpu is not second.gpu
    assert second.name == torch.cuda.get_device_name(1)
    before = used("cuda:1")
    loaded = TorchModule(lambda: torch.nn.Linear(16_384, 16_384), device="cuda:1").load(tmp_path)
    assert loaded.describe()["observed"]["device"] == "cuda:1"
    assert loaded.predict(np.zeros((1, 16_384), dtype=np.float32)).shape == (1, 16_384)
    assert used("cuda:1") - before >= 2**30
    loaded.close()


# ONNX Runtime


@pytest.mark.parametrize("io_binding", [False, True])
def test_an_onnx_model_keeps_the_contract_on_a_gpu(onnxruntime, io_binding):
    images = scans(8)
    expected = list(OnnxRuntime("models/vendor-a-fp32.onnx", decode="argmax").load(DIGITS).predict(images))
    declared = OnnxRuntime(
        "models/vendor-a-fp32.onnx", decode="argmax", providers=[CUDA], io_binding=io_binding
    )
    backend_contract(declared, base=DIGITS, inputs=images, expected=expected)


def test_every_node_runs_on_the_gpu_and_the_device_is_named(onnxruntime):
    loaded = OnnxRuntime("models/vendor-a-fp32.onnx", decode="argmax", providers=[CUDA]).load(DIGITS)
    told = loaded.describe()
    assert loaded.device == "cuda:0"
    assert set(told["provider_nodes"]) == {CUDA}
    loaded.close()


def test_memory_is_given_back_by_onnxruntime(onnxruntime):
    first = OnnxRuntime("models/vendor-a-fp32.onnx", providers=[CUDA]).load(DIGITS)
    first.predict(scans(8))
    first.close()
    before = used()
    for _ in range(5):
        loaded = OnnxRuntime("models/vendor-a-fp32.onnx", providers=[CUDA]).load(DIGITS)
        loaded.predict(scans())
        loaded.close()
    assert used() - before < 2**28


def test_tensorrt_computes_what_cuda_does(onnxruntime):
    if "TensorrtExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has no TensorRT")
    try:
        loaded = OnnxRuntime(
            "models/vendor-a-fp32.onnx", decode="argmax", providers=["TensorrtExecutionProvider", CUDA]
        ).load(DIGITS)
    except ProvisionError as refusal:
        pytest.skip(str(refusal))
    plain = OnnxRuntime("models/vendor-a-fp32.onnx", decode="argmax", providers=[CUDA]).load(DIGITS)
    assert (np.array(loaded.predict(scans())) == np.array(plain.predict(scans()))).mean() >= 0.99
    assert any("TensorRT" in note for note in loaded.describe()["notes"])
