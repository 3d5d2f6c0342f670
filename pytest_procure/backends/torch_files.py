"""Files of PyTorch: weights, TorchScript programs and exported programs, read without running pickled code.

.safetensors             weights; nothing in it can run
.pt, .pth (state=)       weights by torch's own restricted reader; anything else takes `trust_pickle=True`
.pt, .ts (module=)       a TorchScript program: it runs in torch's interpreter, without Python
.pt2 (module=)           an exported program: its reader unpickles, so it takes `trust_pickle=True`
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_procure.errors import ProvisionError

from .files import one_line

EXPORTED = ".pt2"


def program(torch: Any, file: Path, shown: str, device: Any, *, trusted: bool) -> Any:
    """Read a program as a module on the device: its constants too, and the devices that its graph names.

    The module's own `.to` would move its weights only. Raises `ProvisionError`, or torch's own error where
    the device has no room.
    """
    if file.suffix != EXPORTED:
        return _script(torch, file, shown, device)
    if not trusted:
        raise ProvisionError(
            f"`{shown}` is an exported program, which torch reads by unpickling, and that can run any code "
            "in it; expected TorchScript, or `trust_pickle=True` where you know who wrote it"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own about its format
            passes = importlib.import_module("torch.export.passes")  # not imported with torch
            return passes.move_to_device_pass(torch.export.load(file), device).module()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a file from outside fails in every way there is
        raise ProvisionError(
            f"`{shown}` is no exported program: {one_line(error, hide=file)[:200]}"
        ) from None


def _script(torch: Any, file: Path, shown: str, device: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same
            return torch.jit.load(str(file), map_location=device)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the same
        raise ProvisionError(
            f"`{shown}` is no TorchScript program: {one_line(error, hide=file)[:200]}"
        ) from None


def restore(torch: Any, module: Any, file: Path, shown: str, *, trusted: bool) -> None:
    """Read weights into a module. Raises `ProvisionError`."""
    state: Any = (
        _safetensors(file, shown)
        if file.suffix == ".safetensors"
        else _pickled(torch, file, shown, trusted=trusted)
    )
    if isinstance(state, torch.nn.Module):
        state = state.state_dict()
    if not isinstance(state, Mapping):
        raise ProvisionError(f"`{shown}` holds a {type(state).__name__}; expected a state dict")
    try:
        module.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ProvisionError(f"`{shown}` is no state of this module: {one_line(error)[:300]}") from None


def _pickled(torch: Any, file: Path, shown: str, *, trusted: bool) -> Any:
    try:
        return torch.load(file, map_location="cpu", weights_only=not trusted)
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
