"""Execution providers of ONNX Runtime: where they compute, and what they lack to begin."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from pytest_procure.errors import ProvisionError, unknown

Provider = str | tuple[str, Mapping[str, Any]]

CPU = "CPUExecutionProvider"
_ENDING = "ExecutionProvider"
#: Computed by NVIDIA's, and by AMD's, libraries.
_CUDA, _ROCM = frozenset({"cuda", "tensorrt", "nvtensorrtrtx"}), frozenset({"rocm", "migraphx"})
#: Other ways to compute on the processor.
_ON_PROCESSOR = frozenset({"cpu", "dnnl", "xnnpack", "acl", "armnn"})
_FAILED = re.compile(r"Failed to load (\S+?): (.*)")


def name_of(provider: Provider) -> str:
    """The provider's name, with or without options."""
    return provider if isinstance(provider, str) else provider[0]


def known(asked: Sequence[Provider], available: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Give providers with their options; `ProvisionError` for one that this package does not bring."""
    for provider in asked:
        if name_of(provider) not in available:
            raise ProvisionError(
                unknown("execution provider", name_of(provider), available)
                + " (for CUDA: `pip install 'pytest-procure[onnx-gpu]'` in a fresh environment)"
            )
    return [(name_of(p), {} if isinstance(p, str) else dict(p[1])) for p in asked]


def device_of(name: str, options: Mapping[str, Any]) -> str:
    """Where a provider with these options computes: `cpu`, `cuda:0`, `openvino:npu`, or its short name."""
    short = name.removesuffix(_ENDING).lower()
    if short in _CUDA | _ROCM:
        return f"{'cuda' if short in _CUDA else 'rocm'}:{options.get('device_id', '0')}"
    if short == "openvino":
        where = str(options.get("device_type") or "CPU")
        return "cpu" if where.upper().startswith("CPU") else f"openvino:{where.lower()}"
    return "cpu" if short in _ON_PROCESSOR else short


def lacking(onnxruntime: Any, names: Sequence[str]) -> str:
    """Load NVIDIA's libraries from where pip puts them, which onnxruntime does only when asked to.

    Gives what cannot be found, in words; nothing where all is there, or no provider needs them.
    """
    if not any(name.removesuffix(_ENDING).lower() in _CUDA for name in names):
        return ""
    preload = getattr(onnxruntime, "preload_dlls", None)  # since 1.21
    if preload is not None:
        with redirect_stdout(io.StringIO()) as said:  # it prints what it does not find
            preload()
        missing = _FAILED.search(said.getvalue())
        if missing is not None:
            return (
                f"{missing[1].rpartition('/')[2]} cannot be loaded "
                "(`pip install 'onnxruntime-gpu[cuda,cudnn]'` brings NVIDIA's libraries)"
            )
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver (libcuda.so.1) here"
    return ""
