"""Execution providers of ONNX Runtime: where they compute, and what they lack to begin."""

from __future__ import annotations

import ctypes
import io
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pytest_procure.errors import DeclarationError, ProvisionError, unknown

from . import onnx_openvino as openvino

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
                unknown("execution provider", name_of(provider), available) + _package(name_of(provider))
            )
    return [(name_of(p), {} if isinstance(p, str) else dict(p[1])) for p in asked]


def _package(name: str) -> str:
    extra = "onnx-openvino" if name == openvino.OPENVINO else "onnx-gpu"
    what = "OpenVINO" if name == openvino.OPENVINO else "CUDA and TensorRT"
    return f" (for {what}: `pip install 'pytest-procure[{extra}]'` in a fresh environment)"


def given(asked: Sequence[Provider], threads: int) -> dict[str, dict[str, Any]]:
    """Give the options by provider, with the threads of those that do not take the session's."""
    options = {name_of(p): {} if isinstance(p, str) else dict(p[1]) for p in asked}
    if openvino.OPENVINO in options:
        options[openvino.OPENVINO] = openvino.given(options[openvino.OPENVINO], threads)
    return options


def check(asked: Sequence[Provider]) -> None:
    """Raise `DeclarationError` for what is no provider, and for options that replay CUDA graphs."""
    for provider in asked:
        if isinstance(provider, str):
            continue
        match provider:
            case (str(name), Mapping() as options):
                captures = [option for option in options if option in _CAPTURE and _on(options[option])]
                if name == openvino.OPENVINO:
                    openvino.check(options)
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
        return "cpu" if openvino.on_processor(options) else f"openvino:{str(options['device_type']).lower()}"
    return "cpu" if short in _ON_PROCESSOR else short


def computed_in(used: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Precisions that providers compute in by their own options, whatever the weights are stored as."""
    found = {
        word: 1.0
        for options in used.values()
        for word in ("fp16", "bf16", "int8", "fp8")
        if _on(options.get(f"trt_{word}_enable", "0"))
    }
    if word := openvino.precision_of(used[openvino.OPENVINO]) if openvino.OPENVINO in used else "":
        found[word] = 1.0
    return found


def lacking(onnxruntime: Any, asked: Mapping[str, Mapping[str, Any]]) -> str:
    """Load NVIDIA's libraries from where pip puts them, which onnxruntime does only when asked to.

    Gives what cannot be found, in words; nothing where all is there, or no provider needs them.
    """
    if openvino.OPENVINO in asked:
        return openvino.lacking(asked[openvino.OPENVINO])
    missing = _lacking_nvidia(onnxruntime, list(asked))
    lost = _lacking_tensorrt(onnxruntime) if _TENSORRT in asked else ""
    return "; and ".join(filter(None, [missing, lost]))


def _lacking_tensorrt(onnxruntime: Any) -> str:
    """Try the library of TensorRT that this onnxruntime was built for: its packages bring none."""
    folder = Path(getattr(onnxruntime, "__file__", None) or "").parent / "capi"
    try:
        built = (folder / "libonnxruntime_providers_tensorrt.so").read_bytes()
    except OSError:
        return ""
    wanted = re.search(rb"libnvinfer\.so\.\d+", built)
    if wanted is None:
        return ""
    try:
        ctypes.CDLL(wanted[0].decode())
    except OSError:
        return (
            f"{wanted[0].decode()} cannot be loaded, which is TensorRT's own (install TensorRT, and put its "
            "folder into LD_LIBRARY_PATH)"
        )
    return ""


def _lacking_nvidia(onnxruntime: Any, names: Sequence[str]) -> str:
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
