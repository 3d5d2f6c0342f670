"""pytest-procure: acceptance tests for the purchase of ML inference.

The public names, each resolved when it is first used: importing this package imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backends.command import Command as Command
    from .backends.function import Function as Function
    from .backends.http_json import HttpJson as HttpJson
    from .backends.kserve import KServeV2 as KServeV2
    from .backends.onnxruntime import OnnxRuntime as OnnxRuntime
    from .backends.openai import OpenAIEndpoint as OpenAIEndpoint
    from .backends.pipeline import Pipeline as Pipeline
    from .backends.pipeline import Stage as Stage
    from .backends.plugins import backend_named as backend_named
    from .backends.protocol import Answer as Answer
    from .backends.protocol import Backend as Backend
    from .backends.protocol import LoadedBackend as LoadedBackend
    from .backends.served import Served as Served
    from .backends.torch import TorchModule as TorchModule
    from .candidates import Candidate as Candidate
    from .candidates import HourlyPrice as HourlyPrice
    from .candidates import RequestPrice as RequestPrice
    from .candidates import TokenPrice as TokenPrice
    from .datasets import Dataset as Dataset
    from .datasets import DatasetSlice as DatasetSlice
    from .errors import ProcureError as ProcureError
    from .mlperf.reference import PublishedScore as PublishedScore
    from .procure import Procure as Procure
    from .result import Result as Result
    from .scenarios import Scenario as Scenario
    from .units import Quantity as Quantity
    from .units import money as money
    from .units import ms as ms
    from .units import per_second as per_second
    from .units import percent as percent
    from .units import seconds as seconds
    from .units import us as us

__version__ = "0.1.0"

_HOMES = {
    "Answer": "backends.protocol",
    "Backend": "backends.protocol",
    "Candidate": "candidates",
    "Command": "backends.command",
    "Dataset": "datasets",
    "DatasetSlice": "datasets",
    "Function": "backends.function",
    "HourlyPrice": "candidates",
    "HttpJson": "backends.http_json",
    "KServeV2": "backends.kserve",
    "LoadedBackend": "backends.protocol",
    "OnnxRuntime": "backends.onnxruntime",
    "OpenAIEndpoint": "backends.openai",
    "Pipeline": "backends.pipeline",
    "Procure": "procure",
    "ProcureError": "errors",
    "PublishedScore": "mlperf.reference",
    "Quantity": "units",
    "RequestPrice": "candidates",
    "Result": "result",
    "Scenario": "scenarios",
    "Served": "backends.served",
    "Stage": "backends.pipeline",
    "TokenPrice": "candidates",
    "TorchModule": "backends.torch",
    "backend_named": "backends.plugins",
    "money": "units",
    "ms": "units",
    "per_second": "units",
    "percent": "units",
    "seconds": "units",
    "us": "units",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the names are typed above  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
