"""Adapters that make a candidate answer queries: one file a runtime.

The names below are loaded when they are first used: importing this package imports no runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .function import Function as Function
    from .locks import device_lock as device_lock
    from .onnxruntime import OnnxRuntime as OnnxRuntime
    from .protocol import Answer as Answer
    from .protocol import Backend as Backend
    from .protocol import LoadedBackend as LoadedBackend
    from .torch import TorchModule as TorchModule

_HOMES = {
    "Answer": "protocol",
    "Backend": "protocol",
    "Function": "function",
    "LoadedBackend": "protocol",
    "OnnxRuntime": "onnxruntime",
    "TorchModule": "torch",
    "device_lock": "locks",
}

__all__ = [
    "Answer",
    "Backend",
    "Function",
    "LoadedBackend",
    "OnnxRuntime",
    "TorchModule",
    "device_lock",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
