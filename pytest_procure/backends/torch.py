"""PyTorch modules, run eagerly."""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.errors import DeclarationError, ProvisionError

from .decode import Decode, decoder, decoder_name
from .files import file_record, model_file, one_line
from .function import qualified_name


@dataclass(frozen=True, slots=True)
class TorchModule:
    """Declares a PyTorch module that runs in this process, eagerly and without gradients.

    `module` is an `nn.Module` or a function without arguments that makes one. `state` is its state dict,
    relative to the conftest: `.safetensors`, or what `torch.save` wrote, of which only weights are read and
    no code is run. `device` is `cpu`, `cuda:0`, ...; `dtype` (`bfloat16`) converts the weights, and the
    samples that are floats. `threads` sets PyTorch's threads for the whole process until the backend is
    closed. `decode` is `"argmax"`, a function of the module's output on its device, or None for rows as numpy
    arrays.
    """

    module: Any
    _: KW_ONLY
    state: str | Path | None = None
    device: str = "cpu"
    decode: Decode = None
    dtype: str | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.module):
            raise DeclarationError(
                f"`TorchModule({self.module!r})`; expected an nn.Module or a function making one"
            )
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise DeclarationError(f"`threads={self.threads!r}` of a TorchModule; expected 1 or more")
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
        dtype = _dtype(torch, self.dtype)
        module = self._made(torch)
        file = None if self.state is None else model_file(base, self.state)
        if file is not None:
            _restore(torch, module, file, str(self.state))
        try:
            module = module.to(device=device, dtype=dtype).eval()
        except RuntimeError as error:
            raise ProvisionError(f"`{self._name()}` does not fit on {device}: {one_line(error)}") from None
        return LoadedTorchModule(self, torch, module, file)

    def _name(self) -> str:
        return qualified_name(self.module)

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
        with self._torch.inference_mode():
            outputs = self._module(self._tensor(inputs))
            if self._declared.decode is None:
                rows: Sequence[Any] = self._rows(outputs)
                return rows
            if self._declared.decode == "argmax":
                outputs = self._rows(outputs)
            answers: Sequence[Any] = self._decode(outputs)
        if self._device.type != "cpu":
            self._torch.accelerator.synchronize(self._device)
        return answers

    def _tensor(self, inputs: Any) -> Any:
        # Copied, because the samples are read-only and a module may work in place.
        tensor = self._torch.tensor(np.asarray(inputs))
        dtype = self._dtype if tensor.is_floating_point() else None
        return tensor.to(device=self._device, dtype=dtype)

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
        return {
            "runtime": f"torch {torch.__version__}",
            "mode": "eager",
            "cuda": torch.version.cuda,
            "device": self.device,
            "threads": torch.get_num_threads(),
            "dtype": declared.dtype,
            "weights": sorted({str(one.dtype).removeprefix("torch.") for one in self._module.parameters()}),
            "parameters": sum(one.numel() for one in self._module.parameters()),
            "module": qualified_name(declared.module),
            "decode": decoder_name(declared.decode),
            "files": self._files,
        }

    def close(self) -> None:
        """Let go of the module and give PyTorch its number of threads back."""
        self._torch.set_num_threads(self._threads_before)
        del self._module
        if self._device.type == "cuda":
            self._torch.cuda.empty_cache()


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


def _dtype(torch: Any, name: str | None) -> Any:
    if name is None:
        return None
    dtype: Any = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ProvisionError(
            f"`dtype={name!r}` is no floating point type of torch; expected for example 'bfloat16'"
        )
    return dtype


def _restore(torch: Any, module: Any, file: Path, shown: str) -> None:
    state = _safetensors(file, shown) if file.suffix == ".safetensors" else _pickled(torch, file, shown)
    if not isinstance(state, Mapping):
        raise ProvisionError(f"`{shown}` holds a {type(state).__name__}; expected a state dict")
    try:
        module.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ProvisionError(f"`{shown}` is no state of this module: {one_line(error)[:300]}") from None


def _pickled(torch: Any, file: Path, shown: str) -> Any:
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - a file from outside fails in every way there is
        # torch's own text goes on to advise running the code in the file.
        wanted = re.search(r"GLOBAL (\S+)", str(error))
        wrong = f"would run `{wanted[1]}` when read, which is refused" if wanted else "holds no weights"
        raise ProvisionError(
            f"`{shown}` {wrong}; expected what `torch.save(module.state_dict(), ...)` writes, "
            "or a .safetensors file"
        ) from None


def _safetensors(file: Path, shown: str) -> Any:
    try:
        safetensors: Any = importlib.import_module("safetensors.torch")  # optional
    except ImportError:
        raise ProvisionError(
            f"`{shown}` needs safetensors, which is not installed; run `pip install safetensors`"
        ) from None
    try:
        return safetensors.load_file(file)
    except Exception as error:  # noqa: BLE001 - a file from outside fails in every way there is
        raise ProvisionError(f"`{shown}` is no safetensors file: {one_line(error)[:200]}") from None
