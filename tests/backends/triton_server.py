"""NVIDIA's Triton, as the package nvidia-pytriton carries it, with models of its Python backend.

Of the package only the server and its libraries are used, which `pip install --no-deps` brings. They need no
GPU.
"""

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_procure.backends import Served

DIGITS = Path(__file__).parents[2] / "example_suite" / "form_digits"
DATATYPES = ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
DATATYPES += ("FP16", "FP32", "FP64", "BYTES")
ARGUMENTS = ["--model-repository", "models", "--backend-directory", "backends", "--http-port", "{port}"]
ARGUMENTS += ["--http-address", "127.0.0.1", "--allow-grpc", "false", "--allow-metrics", "false"]
#: A Triton that is killed leaves memory that it shared with its models, under this name.
ARGUMENTS += ["--backend-config", "python,shm-region-prefix-name=triton-{port}"]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

EACH = """
import triton_python_backend_utils as pb

class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
"""
DOUBLES = (
    EACH
    + """
        x = pb.get_input_tensor_by_name(request, "x").as_numpy()
        return pb.InferenceResponse([pb.Tensor("y", 2 * x)])
"""
)
GIVES_BACK = (
    EACH
    + """
        return pb.InferenceResponse(
            [pb.Tensor(each.name().lower(), each.as_numpy()) for each in request.inputs()]
        )
"""
)
FAILS = (
    EACH
    + """
        x = pb.get_input_tensor_by_name(request, "x").as_numpy()
        if x[0, 0] == 13:
            raise pb.TritonModelException("thirteen is out of stock")
        return pb.InferenceResponse([pb.Tensor("y", x)])
"""
)
READS_DIGITS = """
import json
import onnxruntime
import triton_python_backend_utils as pb

class TritonPythonModel:
    def initialize(self, arguments):
        path = json.loads(arguments["model_config"])["parameters"]["path"]["string_value"]
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        scans = pb.get_input_tensor_by_name(request, "x").as_numpy()
        (scores,) = self.session.run(None, {self.session.get_inputs()[0].name: scans})
        return pb.InferenceResponse([pb.Tensor("y", scores)])
"""


def tensors(which, named, dims):
    kinds = {"BYTES": "TYPE_STRING"}
    return "\n".join(
        f'{which} [{{ name: "{name}" data_type: {kinds.get(kind, f"TYPE_{kind}")} dims: {dims} }}]'
        for name, kind in named.items()
    )


def rows(model):
    """A model that takes and gives rows of three, in batches."""
    one = tensors("input", {"x": "FP32"}, [3]) + "\n" + tensors("output", {"y": "FP32"}, [3])
    return model, f"max_batch_size: 8\n{one}"


def every():
    """A model that gives back a tensor of each datatype, and takes no batches."""
    taken = tensors("input", {kind: kind for kind in DATATYPES}, [-1, 2])
    return GIVES_BACK, f"{taken}\n{tensors('output', {kind.lower(): kind for kind in DATATYPES}, [-1, 2])}"


def digits():
    """The example suite's own network."""
    path = DIGITS / "models" / "vendor-a-fp32.onnx"
    one = tensors("input", {"x": "FP32"}, [1, 8, 8]) + "\n" + tensors("output", {"y": "FP32"}, [10])
    found = f'parameters {{ key: "path" value {{ string_value: "{path}" }} }}'
    return READS_DIGITS, f"max_batch_size: 64\n{one}\n{found}"


MODELS = {"doubler": lambda: rows(DOUBLES), "faulty": lambda: rows(FAILS), "every": every, "digits": digits}


def remove_shared_memory(port):
    for each in Path("/dev/shm").glob(f"triton-{port}*"):  # noqa: S108 - where Linux has shared memory
        each.unlink()


def triton(folder, endpoint, *models):
    """Declare the server with these models. It writes into `folder`."""
    package = find_spec("pytriton")
    if package is None or package.origin is None:
        pytest.skip("nvidia-pytriton is not installed")
    home = Path(package.origin).parent
    for name in models:
        source, config = MODELS[name]()
        version = folder / "models" / name / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text(source)
        kind = 'backend: "python"\ninstance_group [{ kind: KIND_CPU }]\n'
        (version.parent / "config.pbtxt").write_text(kind + config)
    # A process of this Python runs each model; Triton looks for its program beside its library.
    backend = folder / "backends" / "python"
    backend.mkdir(parents=True)
    server = home / "tritonserver"
    stub = server / "python_backend_stubs" / PYTHON / "triton_python_backend_stub"
    for each in [*(server / "backends" / "python").iterdir(), stub]:
        (backend / each.name).symlink_to(each)
    libraries = [home.parent / "nvidia_pytriton.libs", sysconfig.get_config_var("LIBDIR")]
    return Served(
        [str(server / "bin" / "tritonserver"), *ARGUMENTS],
        endpoint,
        ready="/v2/health/ready",
        settings={
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",  # where the model finds its Python
        },
    )
