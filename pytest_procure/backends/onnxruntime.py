"""ONNX models, run by ONNX Runtime."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal

import numpy as np

from pytest_procure.calling import declared, of_kind
from pytest_procure.errors import DeclarationError, ProvisionError, unknown

from .decode import Decode, decoder, decoder_name
from .files import checked_digest, file_record, model_file, one_line
from .onnx_files import external_files
from .onnx_openvino import OPENVINO, threads_of
from .onnx_providers import (
    CPU,
    Provider,
    check,
    computed_in,
    device_of,
    given,
    known,
    lacking,
    name_of,
    refuse_variables,
    tf32_notes,
)
from .precision import in_onnx

_OPTIMISATION = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
_TEXT = "tensor(string)"
#: All of these install into one folder: with two of them, what runs is whatever was installed last.
_DISTRIBUTIONS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-directml",
    "onnxruntime-openvino",
    "onnxruntime-qnn",
    "onnxruntime-rocm",
)


@declared
@dataclass(frozen=True, slots=True)
class OnnxRuntime:
    """Declares an ONNX model that runs in this process.

    `path` is relative to the conftest. `decode` makes outputs of what the model gives: `"argmax"` the number
    of the largest score, `"top-5"` those of the five largest, a callable whatever it returns for the batch,
    None the rows themselves. Models with several inputs take samples that are mappings; `inputs` maps a model
    input to its key, which is the input's own name by default. `dtype` converts samples before each call, and
    that time is measured.

    `providers` are tried in this order and are used as asked for, or loading fails: a node runs on the CPU
    only if `CPUExecutionProvider` is listed. With `io_binding=True` onnxruntime's own binding puts inputs on
    the device and fetches outputs from it, and not its plain call. `threads` is the number of threads inside
    one operator.
    `sha256` is the digest that the model file has to have.
    """

    path: str | Path
    _: KW_ONLY
    decode: Decode = None
    inputs: Mapping[str, str] | None = None
    threads: int = 1
    providers: Sequence[Provider] = (CPU,)
    io_binding: bool = False
    graph_optimisation: Literal["none", "basic", "extended", "all"] = "all"
    dtype: str | None = None
    sha256: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise DeclarationError(f"`OnnxRuntime({self.path!r})`; expected the path of a model file")
        if self.graph_optimisation not in _OPTIMISATION:
            raise DeclarationError(unknown("graph_optimisation", str(self.graph_optimisation), _OPTIMISATION))
        if not isinstance(self.threads, int) or self.threads < 1:
            raise DeclarationError(f"`threads={self.threads!r}` of `{self.path}`; expected 1 or more")
        if isinstance(self.providers, str) or not self.providers:
            raise DeclarationError(
                f"`providers={self.providers!r}` of `{self.path}`; expected a list of names, as in ['{CPU}']"
            )
        of_kind(
            self.inputs,
            (Mapping, NoneType),
            "inputs",
            of="an OnnxRuntime",
            expected="names by the model's own",
        )
        of_kind(self.sha256, (str, NoneType), "sha256", of="an OnnxRuntime", expected="64 hexadecimal digits")
        if not isinstance(self.io_binding, bool):
            raise DeclarationError(f"`io_binding={self.io_binding!r}` of `{self.path}` is no True or False")
        check(self.providers)
        decoder(self.decode)
        if self.dtype is not None:
            try:
                np.dtype(self.dtype)
            except TypeError:
                raise DeclarationError(
                    f"`dtype={self.dtype!r}` is no numpy type; expected 'float32'"
                ) from None

    def load(self, base: Path) -> LoadedOnnxRuntime:
        """Make the session. Raises `ProvisionError` if the model, the runtime or a provider is not there."""
        refuse_mixed_distributions()
        if os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL") == "1":
            raise ProvisionError(
                f"ORT_LOAD_CONFIG_FROM_MODEL=1 would let `{self.path}` bring its own session settings, "
                "not the declared ones; unset it"
            )
        refuse_variables(self.providers)
        try:
            onnxruntime: Any = importlib.import_module("onnxruntime")  # an extra, and slow to import
        except ImportError:
            raise ProvisionError(
                f"`{self.path}` needs onnxruntime, which is not installed; "
                "run `pip install 'pytest-procure[onnx]'`"
            ) from None
        file = model_file(base, self.path)
        checked_digest(file, self.sha256, str(self.path))
        beside = external_files(file, shown=str(self.path))
        precision = in_onnx(file, shown=str(self.path))
        known(self.providers, onnxruntime.get_available_providers())
        providers = list(given(self.providers, self.threads).items())
        lack = lacking(onnxruntime, dict(providers))
        try:
            session = onnxruntime.InferenceSession(
                str(file),
                self._options(onnxruntime, providers),
                providers=providers,
                # Never a second attempt on the CPU, neither now nor in a run.
                enable_fallback=0,
            )
        except Exception as error:  # noqa: BLE001 - onnxruntime raises subclasses of Exception itself
            raise ProvisionError(self._refusal(error, file, onnxruntime.__version__, lack)) from None
        files = [file_record(file), *(file_record(path, name) for name, path in beside.items())]
        loaded = LoadedOnnxRuntime(self, onnxruntime, session, files, precision)
        loaded.check(lack)
        return loaded

    def _options(self, onnxruntime: Any, providers: Sequence[tuple[str, dict[str, Any]]]) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = getattr(
            onnxruntime.GraphOptimizationLevel, _OPTIMISATION[self.graph_optimisation]
        )
        options.log_severity_level = 3  # errors: the only place that says why a provider could not start
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        if all(name != CPU for name, _ in providers):
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        return options

    def _refusal(self, error: Exception, file: Path, version: str, lack: str) -> str:
        reason = one_line(error, hide=file)
        asked = name_of(self.providers[0])
        if asked != CPU and lack:
            return f"`{self.path}`: {asked} was asked for, but {lack}"
        if asked != CPU and "CPU EP" in reason:
            return (
                f"`{self.path}`: {asked} was asked for, but onnxruntime {version} would run parts of the "
                f"model on the CPU; mend the provider's set-up, or list {CPU} after it to allow that"
            )
        return f"onnxruntime {version} cannot load `{self.path}`: {reason}"


class LoadedOnnxRuntime:
    """A session that answers."""

    releases_gil = True

    def __init__(
        self,
        declared: OnnxRuntime,
        onnxruntime: Any,
        session: Any,
        files: list[dict[str, Any]],
        precision: tuple[dict[str, float], dict[str, float]],
    ) -> None:
        self._declared = declared
        self._session = session
        self._files = files
        self._onnxruntime = onnxruntime
        self._weights, self._layers = precision
        self._run = self._bound if declared.io_binding else session.run
        self._inputs = session.get_inputs()
        keys = declared.inputs or {}
        alone = len(self._inputs) == 1 and not keys  # then a sample is the input itself
        self._keys = {} if alone else {each.name: keys.get(each.name, each.name) for each in self._inputs}
        self._output_names = [output.name for output in session.get_outputs()]
        self._dtype = None if declared.dtype is None else np.dtype(declared.dtype)
        self._decode = decoder(declared.decode)

    @property
    def device(self) -> str:
        """`cpu`, `cuda:0`, or the provider's name in small letters."""
        name, *_ = self._session.get_providers()
        # Some providers do not give back the options that they were given.
        return device_of(name, self._options.get(name, {}))

    @property
    def _options(self) -> dict[str, dict[str, Any]]:
        """The options of each provider that is used: as it tells them, else as it was given them."""
        asked = given(self._declared.providers, self._declared.threads)
        return {
            name: asked.get(name, {}) | told for name, told in self._session.get_provider_options().items()
        }

    def check(self, lack: str = "") -> None:
        """Refuse a session that does not run where it was asked to, or cannot be fed or read as declared.

        `lack`: what its provider lacks on this machine.
        """
        declared, path = self._declared, self._declared.path
        asked = name_of(declared.providers[0])
        used = self._session.get_providers()[0]
        if used != asked:
            why = f"; {lack}" if lack else ""
            raise ProvisionError(f"`{path}`: {asked} was asked for, but onnxruntime runs it on {used}{why}")
        nodes = self._nodes()
        if nodes and asked not in nodes:
            raise ProvisionError(
                f"`{path}`: {asked} was asked for, but it runs none of the model's nodes "
                f"({', '.join(f'{name}: {count}' for name, count in nodes.items())})"
            )
        names = [node.name for node in self._inputs]
        for key in declared.inputs or ():
            if key not in names:
                raise ProvisionError(f"`{path}`: {unknown('model input', key, names)}")
        outputs = self._session.get_outputs()
        text = [node.name for node in [*self._inputs, *outputs] if node.type == _TEXT]
        if declared.io_binding and text:  # of such an input it says so when asked; of an output it crashes
            raise ProvisionError(
                f"`{path}`: `{text[0]}` is text, which cannot be bound; leave out `io_binding=`"
            )
        if isinstance(declared.decode, str) and (len(outputs) != 1 or len(outputs[0].shape) != 2):
            shapes = ", ".join(f"{output.name} {output.shape}" for output in outputs)
            raise ProvisionError(
                f"`{path}`: decode={declared.decode!r} needs one output of shape (batch, classes), the "
                f"model gives {shapes}; expected decode=a function of the outputs"
            )

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch. Raises `RuntimeError` with one line of what onnxruntime says."""
        feed = self._feed(inputs)
        try:
            outputs = self._run(self._output_names, feed)
        except Exception as error:  # noqa: BLE001 - onnxruntime raises subclasses of Exception itself
            raise RuntimeError(self._explained(error)) from None
        if len(outputs) == 1:
            return self._decode(outputs[0])
        if self._declared.decode is not None:
            return self._decode(outputs)
        rows = [len(output) for output in outputs]
        if len(set(rows)) > 1:
            raise RuntimeError(
                f"the model's outputs {', '.join(self._output_names)} have {rows} rows; "
                "expected as many as inputs, or OnnxRuntime(..., decode=a function of the outputs)"
            )
        return [dict(zip(self._output_names, row, strict=True)) for row in zip(*outputs, strict=True)]

    def _bound(self, names: Sequence[str], feed: Mapping[str, Any]) -> Any:
        """Run with inputs and outputs on the device; each call, so each thread, has a binding of its own."""
        kind, _, number = self.device.partition(":")
        # Others than these have no memory that onnxruntime could bind to by name.
        kind, place = (kind, int(number)) if kind in {"cuda", "rocm"} else ("cpu", 0)
        binding = self._session.io_binding()
        for name, array in feed.items():
            value = self._onnxruntime.OrtValue.ortvalue_from_numpy(array, kind, place)
            binding.bind_ortvalue_input(name, value)
        for name in names:
            binding.bind_output(name, kind, place)
        binding.synchronize_inputs()
        self._session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return binding.copy_outputs_to_cpu()

    def _feed(self, inputs: Any) -> dict[str, Any]:
        if not self._keys:
            return {node.name: self._array(inputs) for node in self._inputs}
        return {name: self._array([sample[key] for sample in inputs]) for name, key in self._keys.items()}

    def _array(self, inputs: Any) -> Any:
        array = inputs if isinstance(inputs, np.ndarray) else np.asarray(inputs)
        if self._dtype is not None and array.dtype != self._dtype:
            array = array.astype(self._dtype)
        if array.dtype.kind == "U":
            array = array.astype(object)  # how onnxruntime takes text
        return array

    def _explained(self, error: Exception) -> str:
        reason = one_line(error)
        if "input data type" in reason and self._declared.dtype is None:
            return f"{reason}; expected samples of the model's type, or OnnxRuntime(..., dtype='float32')"
        return reason

    def _nodes(self) -> dict[str, int]:
        """Nodes a provider runs; empty where this onnxruntime does not tell."""
        tell = getattr(self._session, "get_provider_graph_assignment_info", None)
        if tell is None:
            return {}
        count: Counter[str] = Counter()
        for part in tell():
            count[part.ep_name] += len(part.get_nodes())
        return dict(sorted(count.items()))

    def describe(self) -> dict[str, Any]:
        """Disclose the runtime, how it was set up, and the model file."""
        declared = self._declared
        return {
            "runtime": f"onnxruntime {self._onnxruntime.__version__}",
            "device": self.device,
            "providers": list(self._session.get_providers()),
            "provider_nodes": self._nodes(),
            "provider_options": {
                name: {key: str(value) for key, value in options.items()}
                for name, options in given(declared.providers, declared.threads).items()
                if options
            },
            "keys": self._keys,
            "io_binding": declared.io_binding,
            "threads": declared.threads,
            "graph_optimisation": declared.graph_optimisation,
            "decode": decoder_name(declared.decode),
            "dtype": declared.dtype,
            "files": self._files,
            "declared": {
                "providers": [name_of(provider) for provider in declared.providers],
                "threads": declared.threads,
                "sha256": declared.sha256,
            },
            "observed": self._observed(),
            "notes": self._notes(),
            "inputs": [_tensor(node) for node in self._session.get_inputs()],
            "outputs": [_tensor(node) for node in self._session.get_outputs()],
        }

    def _observed(self) -> dict[str, Any]:
        """What the session says of itself, and the model's weights of theirs, whatever was declared."""
        threads = self._session.get_session_options().intra_op_num_threads
        used = self._options
        if self._session.get_providers()[0] == OPENVINO:
            threads = threads_of(used[OPENVINO])  # which does not look at the session's
        told = {
            "device": self.device,
            "providers": list(self._session.get_providers()),
            "nodes": self._nodes(),
            "precision": self._weights | computed_in(used),
            "layers": self._layers,
            "threads": threads,
            "sha256": self._files[0]["sha256"],
        }
        first = {node.shape[0] for node in self._inputs if node.shape}
        if len(first) == 1 and isinstance(size := first.pop(), int):
            told["batch"] = size  # the model takes batches of this size and no other
        return told

    def _notes(self) -> list[str]:
        """NVIDIA's providers round fp32 to TF32 unless they are told not to."""
        return tf32_notes(self._session.get_provider_options()) if "fp32" in self._weights else []

    def close(self) -> None:
        """Let go of the session and its memory."""
        del self._run, self._session


def refuse_mixed_distributions() -> None:
    """Raise `ProvisionError` when two distributions of onnxruntime lie in one environment."""
    installed = []
    for name in _DISTRIBUTIONS:
        try:
            installed.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    if len(installed) > 1:
        raise ProvisionError(
            f"{' and '.join(installed)} are installed over each other, so nobody can say which one runs; "
            "make a fresh environment with one of them"
        )


def _tensor(node: Any) -> dict[str, Any]:
    shape = [size if isinstance(size, int) else str(size) for size in node.shape]
    return {"name": node.name, "type": node.type, "shape": shape}
