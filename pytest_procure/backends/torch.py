"""PyTorch modules: eager, compiled, scripted or exported."""

from __future__ import annotations

import copy
import gc
import importlib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from pytest_procure.calling import declared, of_kind
from pytest_procure.errors import DeclarationError, ProvisionError, unknown

from .decode import Decode, decoder, decoder_name
from .files import checked_digest, file_record, model_file, one_line
from .function import qualified_name
from .precision import layers_of_torch, of_torch
from .torch_files import EXPORTED, program, restore
from .torch_weights import weights_of

#: Stands in the report.
_TRUSTED = "its files were read with `trust_pickle=True`, so they may have run code of their author's"
_MODES = ("default", "reduce-overhead", "max-autotune")
#: Those that replay CUDA graphs, and the torch since which more than one thread may (pytorch #123177).
_GRAPHS, _GRAPHS_IN_THREADS = _MODES[1:], (2, 13)


@declared
@dataclass(frozen=True, slots=True)
class TorchModule:
    """Declares a PyTorch module that runs in this process, without gradients.

    `module` is an `nn.Module`, a function without arguments that makes one, or a file relative to the
    conftest: a TorchScript program, or with `trust_pickle=True` an exported one (`.pt2`). `state` is its
    state dict: `.safetensors`, or what `torch.save` wrote, of which only weights are read and no code is run.
    `sha256` is the digest that the file has to have. `trust_pickle=True` lets files run code when they are
    read, which the report notes.

    `device` is `cpu`, `cuda:0`, ...; `dtype` (`bfloat16`) converts the weights, and the samples that are
    floats; `autocast` (`bfloat16`) computes in it where torch thinks it safe and leaves the weights.
    `compile` runs it by `torch.compile`: True, or the mode; it compiles at the first call of each shape, so
    warm up. `channels_last` lays pictures `(b, c, h, w)` out that way. `threads` sets PyTorch's threads for
    the whole process until the backend is closed. `decode` is `"argmax"`, `"top-5"`, a function of the
    module's output on its device, or None for rows as numpy arrays.
    """

    module: Any
    _: KW_ONLY
    state: str | Path | None = None
    device: str = "cpu"
    decode: Decode = None
    dtype: str | None = None
    autocast: str | None = None
    compile: bool | str = False
    channels_last: bool = False
    threads: int | None = None
    sha256: str | None = None
    trust_pickle: bool = False

    def __post_init__(self) -> None:
        if not (callable(self.module) or isinstance(self.module, str | Path)):
            raise DeclarationError(
                f"`TorchModule({self.module!r})`; expected an nn.Module, a function making one, or a file"
            )
        if isinstance(self.module, str | Path) and self.state is not None:
            raise DeclarationError(f"`{self.module}` has weights of its own; leave out `state=`")
        if not (isinstance(self.compile, bool) or self.compile in _MODES):
            raise DeclarationError(unknown("mode of compile", str(self.compile), _MODES))
        for what in ("trust_pickle", "channels_last"):
            if not isinstance(getattr(self, what), bool):
                raise DeclarationError(f"`{what}` of a TorchModule is no True or False")
        if self.sha256 is not None and self.state is None and callable(self.module):
            raise DeclarationError("`sha256=` of a TorchModule is of its file, and there is none")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise DeclarationError(f"`threads={self.threads!r}` of a TorchModule; expected 1 or more")
        of_kind(self.device, str, "device", of="a TorchModule", expected="text, as in 'cuda:0'")
        of_kind(self.sha256, (str, NoneType), "sha256", of="a TorchModule", expected="64 hexadecimal digits")
        decoder(self.decode)

    def load(self, base: Path) -> LoadedTorchModule:
        """Make the module. Raises `ProvisionError` if torch, the device or the state is not as declared."""
        try:
            torch: Any = importlib.import_module("torch")  # an extra, and slow to import
        except ImportError:
            raise ProvisionError(
                f"`{self._name()}` needs torch, which is not installed; "
                "run `pip install 'pytest-procure[torch]'`"
            ) from None
        device = _device(torch, self.device)
        self._check_compiler(torch, device)
        dtype = _dtype(torch, self.dtype)
        _dtype(torch, self.autocast, named="autocast")
        module, file, refused = None, None, ""
        try:
            module, file = self._brought(torch, base, device)
            module = module.to(device=device, dtype=dtype)
            if self.channels_last:
                module = module.to(memory_format=torch.channels_last)
            if file is None or file.suffix != EXPORTED:  # an exported program is what it was exported as
                module = module.eval()
        except RuntimeError as error:
            refused = one_line(error)
        if refused:  # out here, where the error no longer holds on to what fitted
            del module
            _give_back(torch, device)
            raise ProvisionError(f"`{self._name()}` cannot be put on {device}: {refused}")
        return LoadedTorchModule(self, torch, module, file)

    def _check_compiler(self, torch: Any, device: Any) -> None:
        """Refuse to compile where the first call, or the first of a second thread, would fail."""
        if not self.compile:
            return
        if device.type == "cpu":
            named = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
            self._need("C++", (shlex.split(named) or [""])[:1], "on the CPU", "g++")
        if device.type == "cuda":
            if self.compile in _GRAPHS and torch.__version__ < _GRAPHS_IN_THREADS:
                raise ProvisionError(
                    f"`{self._name()}`: compile={self.compile!r} fails in a second thread with torch "
                    f"{torch.__version__}; expected torch 2.13 or later, or compile=True"
                )
            if sys.platform == "linux":  # on Windows Triton brings a compiler
                file = os.environ.get("CC")  # Triton does not split it
                self._need("C", ["gcc", "clang"] if file is None else [file], "on CUDA", "gcc")

    def _need(self, language: str, names: Sequence[str], where: str, package: str) -> None:
        """Raise `ProvisionError` where none of these compilers is there."""
        if not any(shutil.which(name) for name in names):
            raise ProvisionError(
                f"`{self._name()}`: torch.compile needs a {language} compiler {where}; there is no "
                f"{' or '.join(f'`{name}`' for name in names)}; "
                f"install one (Debian: apt-get install {package}), or leave out `compile=`"
            )

    def _name(self) -> str:
        return qualified_name(self.module) if callable(self.module) else str(self.module)

    def _brought(self, torch: Any, base: Path, device: Any) -> tuple[Any, Path | None]:
        """The module with its weights, and the file that they are from."""
        if isinstance(self.module, str | Path):
            file = model_file(base, self.module)
            checked_digest(file, self.sha256, str(self.module))
            return program(torch, file, str(self.module), device, trusted=self.trust_pickle), file
        module = self._made(torch)
        if self.state is None:
            return module, None
        file = model_file(base, self.state)
        checked_digest(file, self.sha256, str(self.state))
        restore(torch, module, file, str(self.state), trusted=self.trust_pickle)
        return module, file

    def _made(self, torch: Any) -> Any:
        if isinstance(self.module, torch.nn.Module):
            # Two candidates may share a module and differ in dtype or device, which change it in place.
            return copy.deepcopy(self.module)
        try:
            made = self.module()
        except Exception as error:
            raise ProvisionError(
                f"`{self._name()}` raised {type(error).__name__}: {one_line(error)}"
            ) from error
        if not isinstance(made, torch.nn.Module):
            raise ProvisionError(f"`{self._name()}` made a {type(made).__name__}; expected an nn.Module")
        return made


class LoadedTorchModule:
    """A module that answers."""

    #: PyTorch's operators run without Python's lock, but eager dispatch holds it, and on small models that is
    #: most of the time.
    releases_gil = False

    def __init__(self, declared: TorchModule, torch: Any, module: Any, file: Path | None) -> None:
        self._declared = declared
        self._torch = torch
        self._module = module
        self._call = _compiled(torch, module, declared.compile)
        self._device = _device(torch, declared.device)
        self._dtype = _dtype(torch, declared.dtype)
        self._files = [] if file is None else [file_record(file)]
        self._decode = decoder(declared.decode)
        self._threads_before = torch.get_num_threads()
        if declared.threads is not None:
            torch.set_num_threads(declared.threads)

    @property
    def device(self) -> str:
        """Where it runs: `cpu`, `cuda:0`."""
        return str(self._device)

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch; returns after the device has finished."""
        with self._torch.inference_mode(), self._cast():
            outputs = self._call(self._tensor(inputs))
            self._finish()  # before anybody reads: a copy to the host waits for its own stream only
            if self._declared.decode is None:
                rows: Sequence[Any] = self._rows(outputs)
                return rows
            if isinstance(self._declared.decode, str):
                outputs = self._rows(outputs)
            answers: Sequence[Any] = self._decode(outputs)
        self._finish()  # with what a function decoder began
        return answers

    def _finish(self) -> None:
        if self._device.type != "cpu":
            # All of the device, and not one stream's event: a module may have put work on streams of its own.
            self._torch.accelerator.synchronize(self._device)

    def _cast(self) -> AbstractContextManager[Any]:
        if self._declared.autocast is None:
            return nullcontext()
        dtype = _dtype(self._torch, self._declared.autocast, named="autocast")
        cast: AbstractContextManager[Any] = self._torch.autocast(self._device.type, dtype=dtype)
        return cast

    def _tensor(self, inputs: Any) -> Any:
        # Copied, because the samples are read-only and a module may work in place.
        array = np.asarray(inputs)
        on_gpu = self._device.type == "cuda"
        tensor = self._pinned(array) if on_gpu else self._torch.tensor(array)
        tensor = tensor.to(device=self._device, non_blocking=on_gpu)
        if self._dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(dtype=self._dtype)  # there: the host's own conversion would not be pinned
        if self._declared.channels_last and tensor.ndim == 4:
            tensor = tensor.contiguous(memory_format=self._torch.channels_last)
        return tensor

    def _pinned(self, array: Any) -> Any:
        """Copy samples once, into memory that the device reads by itself: a pageable copy waits for the host.

        torch gives the memory to nobody else before the device has read it.
        """
        kind = self._torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype
        tensor = self._torch.empty(array.shape, dtype=kind, pin_memory=True)
        np.copyto(tensor.numpy(), array)
        return tensor

    def _rows(self, outputs: Any) -> Any:
        if not isinstance(outputs, self._torch.Tensor):
            raise TypeError(
                f"the module gave a {type(outputs).__name__}; "
                "expected a tensor, or TorchModule(..., decode=a function of the output)"
            )
        if outputs.dtype == self._torch.bfloat16:
            outputs = outputs.float()  # numpy has no bfloat16
        return outputs.cpu().numpy()

    def describe(self) -> dict[str, Any]:
        """Disclose the runtime, how it was set up, and the state file."""
        torch, declared = self._torch, self._declared
        weights = weights_of(torch, self._module)
        return {
            "runtime": f"torch {torch.__version__}",
            "mode": self._mode(),
            "cuda": torch.version.cuda,
            "device": self.device,
            "threads": torch.get_num_threads(),
            "dtype": declared.dtype,
            "autocast": declared.autocast,
            "channels_last": declared.channels_last,
            "tf32": self._tf32(),
            "weights": sorted({str(one.dtype).removeprefix("torch.") for one in weights}),
            "parameters": sum(one.numel() for one in self._module.parameters()),
            "module": qualified_name(declared.module) if callable(declared.module) else str(declared.module),
            "decode": decoder_name(declared.decode),
            "files": self._files,
            "declared": {"threads": declared.threads, "sha256": declared.sha256},
            "observed": {
                "device": self.device,
                "precision": of_torch(weights, declared.autocast),
                "layers": layers_of_torch(weights),
                "threads": torch.get_num_threads(),
                "sha256": self._files[0]["sha256"] if self._files else None,
            },
            "notes": self._notes(),
        }

    def _notes(self) -> list[str]:
        coarse = self._tf32()
        return [
            *([_TRUSTED] if self._declared.trust_pickle else []),
            *([f"its fp32 {', '.join(coarse)} may be computed in TF32, as torch is set"] if coarse else []),
        ]

    def _tf32(self) -> list[str]:
        """Which computations in fp32 an NVIDIA GPU may round to TF32, by torch's settings."""
        if self._device.type != "cuda":
            return []
        cudnn, blas = self._torch.backends.cudnn, self._torch.backends.cuda.matmul
        if hasattr(cudnn, "conv"):  # since torch 2.9; where they are set, the older names raise
            set_to = {"convolutions": cudnn.conv, "recurrent layers": cudnn.rnn, "matrix products": blas}
            return [what for what, one in set_to.items() if one.fp32_precision == "tf32"]
        found = ["convolutions", "recurrent layers"] if cudnn.allow_tf32 else []
        return found + ["matrix products"] * (self._torch.get_float32_matmul_precision() != "highest")

    def _mode(self) -> str:
        declared = self._declared
        if callable(declared.module):
            mode = "eager"
        else:
            mode = "torch.export" if str(declared.module).endswith(EXPORTED) else "TorchScript"
        if not declared.compile:
            return mode
        named = "" if declared.compile is True else f" ({declared.compile})"
        return f"{mode}, torch.compile{named}"

    def close(self) -> None:
        """Let go of the module and give PyTorch its number of threads back."""
        self._torch.set_num_threads(self._threads_before)
        del self._module, self._call
        try:
            if self._declared.compile:
                self._torch.compiler.reset()  # what was compiled holds the weights
        finally:
            _give_back(self._torch, self._device)


def _device(torch: Any, name: str) -> Any:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # a device that cannot give a number back is none
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        there = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        first = str(error).strip().splitlines()[0]
        raise ProvisionError(
            f"torch {torch.__version__} has no device `{name}`: {first}; it has {', '.join(there)}"
        ) from None
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _give_back(torch: Any, device: Any) -> None:
    """Give the device's memory back. Modules lie in cycles, and compiled ones always do."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()


def _compiled(torch: Any, module: Any, asked: bool | str) -> Any:  # noqa: FBT001 - as declared
    if not asked:
        return module
    return torch.compile(module, mode="default" if asked is True else asked)


def _dtype(torch: Any, name: str | None, *, named: str = "dtype") -> Any:
    if name is None:
        return None
    dtype: Any = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ProvisionError(
            f"`{named}={name!r}` is no floating point type of torch; expected for example 'bfloat16'"
        )
    return dtype
