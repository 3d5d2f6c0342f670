"""Execution providers of ONNX Runtime: where they compute, and what they lack to begin."""

from __future__ import annotations

import ctypes
import io
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from pytest_procure.errors import DeclarationError, ProvisionError, unknown

Provider = str | tuple[str, Mapping[str, Any]]

CPU = "CPUExecutionProvider"
_TENSORRT = "TensorrtExecutionProvider"
_ENDING = "ExecutionProvider"
#: Computed by NVIDIA's, and by AMD's, libraries.
_CUDA, _ROCM = frozenset({"cuda", "tensorrt", "nvtensorrtrtx"}), frozenset({"rocm", "migraphx"})
#: Other ways to compute on the processor.
_ON_PROCESSOR = frozenset({"cpu", "dnnl", "xnnpack", "acl", "armnn"})
#: Options that have a provider capture its first calls and replay them, reading inputs where they lay then.
_CAPTURE = frozenset(
    {
        "enable_cuda_graph",
        "trt_cuda_graph_enable",
        "nv_cuda_graph_enable",
        "enable_hip_graph",
        "enableGraphCapture",
    }
)
#: How the variables begin that set up TensorRT's provider where it is given no options; the other one is
#: onnxruntime's own mark, where it finds no TensorRT.
_TENSORRT_SET_UP, _MARK = "ORT_TENSORRT_", "ORT_TENSORRT_UNAVAILABLE"
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


def check(asked: Sequence[Provider]) -> None:
    """Raise `DeclarationError` for what is no provider, and for options that replay CUDA graphs."""
    for provider in asked:
        if isinstance(provider, str):
            continue
        match provider:
            case (str(name), Mapping() as options):
                captures = [option for option in options if option in _CAPTURE and _on(options[option])]
            case _:
                raise DeclarationError(
                    f"`providers=` holds {provider!r}; expected a name, or (name, options)"
                )
        if captures:
            raise DeclarationError(
                f"`{captures[0]}` of {name}: a captured graph reads inputs where the first calls had them, "
                "and each call brings its own, so it would answer from the first ones; leave it out"
            )


def refuse_variables(asked: Sequence[Provider]) -> None:
    """Raise `ProvisionError` for variables that set up TensorRT in ways that its options do not tell."""
    bare = any(name_of(p) == _TENSORRT and (isinstance(p, str) or not p[1]) for p in asked)
    found = sorted(name for name in os.environ if name.startswith(_TENSORRT_SET_UP) and name != _MARK)
    if bare and found:
        raise ProvisionError(
            f"{found[0]} would set up {_TENSORRT} and be told nowhere; unset it, and give the provider its "
            "options"
        )


def tf32_notes(used: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which providers, with the options that they tell, may compute in TF32 what is stored as fp32."""
    notes = []
    if _on(used.get("CUDAExecutionProvider", {}).get("use_tf32", "0")):
        notes.append("its fp32 may be computed in TF32 (`use_tf32` of CUDAExecutionProvider)")
    if _TENSORRT in used:  # onnxruntime leaves TensorRT's default, and has no option for it
        notes.append(
            f"its fp32 may be computed in TF32, as TensorRT does by default ({_TENSORRT}; "
            "NVIDIA_TF32_OVERRIDE=0 in the environment turns it off)"
        )
    return notes


def _on(value: Any) -> bool:
    return str(value).lower() not in {"0", "false"}


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
