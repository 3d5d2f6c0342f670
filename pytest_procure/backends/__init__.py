"""Adapters that make a candidate answer queries: one file a runtime.

The names below are loaded when they are first used: importing this package imports no runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .command import Command as Command
    from .function import Function as Function
    from .http_json import HttpJson as HttpJson
    from .kserve import KServeV2 as KServeV2
    from .locks import device_lock as device_lock
    from .onnxruntime import OnnxRuntime as OnnxRuntime
    from .openai import OpenAIEndpoint as OpenAIEndpoint
    from .pipeline import Pipeline as Pipeline
    from .pipeline import Stage as Stage
    from .plugins import backend_named as backend_named
    from .protocol import Answer as Answer
    from .protocol import Backend as Backend
    from .protocol import LoadedBackend as LoadedBackend
    from .protocol import LoadedEndpoint as LoadedEndpoint
    from .served import Served as Served
    from .torch import TorchModule as TorchModule

_HOMES = {
    "Answer": "protocol",
    "Backend": "protocol",
    "Command": "command",
    "Function": "function",
    "HttpJson": "http_json",
    "KServeV2": "kserve",
    "LoadedBackend": "protocol",
    "LoadedEndpoint": "protocol",
    "OnnxRuntime": "onnxruntime",
    "OpenAIEndpoint": "openai",
    "Pipeline": "pipeline",
    "Served": "served",
    "Stage": "pipeline",
    "TorchModule": "torch",
    "backend_named": "plugins",
    "device_lock": "locks",
}

__all__ = [
    "Answer",
    "Backend",
    "Command",
    "Function",
    "HttpJson",
    "KServeV2",
    "LoadedBackend",
    "LoadedEndpoint",
    "OnnxRuntime",
    "OpenAIEndpoint",
    "Pipeline",
    "Served",
    "Stage",
    "TorchModule",
    "backend_named",
    "device_lock",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
