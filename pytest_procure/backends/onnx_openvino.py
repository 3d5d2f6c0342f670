"""OpenVINO's provider of ONNX Runtime: it gives none of its options back, so what it was given is told.

`device_type`   which devices compute; a list among which it chooses by itself is refused
`num_of_threads`, and INFERENCE_NUM_THREADS in `load_config`: its own, not those of onnxruntime's sessions
`precision`, and INFERENCE_PRECISION_HINT in `load_config`: what it computes in, whatever the weights are
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from pytest_procure.errors import DeclarationError

OPENVINO = "OpenVINOExecutionProvider"
#: Ways to let it choose, or share out, where it computes.
_CHOOSES = ("AUTO", "HETERO", "MULTI")
_THREADS, _CONFIG = "num_of_threads", "load_config"
_WORDS = {"FP16": "fp16", "F16": "fp16", "BF16": "bf16", "INT8": "int8"}
#: What these compute in where nobody says (onnxruntime's `openvino_parser_utils.cc`).
_HALVES = ("GPU", "NPU")


def check(options: Mapping[str, Any]) -> None:
    """Raise `DeclarationError` for options that leave open where it computes, or that nobody can read."""
    device = _device(options)
    if device.startswith(_CHOOSES):
        raise DeclarationError(
            f"`device_type={options['device_type']!r}` lets OpenVINO choose where it computes, and it tells "
            "nobody; name one device, as in 'CPU' or 'GPU.0'"
        )
    if _CONFIG in options and _config(options) is None:
        raise DeclarationError(
            f"`{_CONFIG}` of {OPENVINO} is no JSON object; expected its text, so that it is disclosed"
        )


def given(options: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Give the options with as many threads as the session has, where they say nothing of them."""
    named = {} if not on_processor(options) or threads_of(options) else {_THREADS: str(threads)}
    return {**options, **named}


def on_processor(options: Mapping[str, Any]) -> bool:
    """Whether it computes on the processor."""
    return _device(options).startswith("CPU")


def threads_of(options: Mapping[str, Any]) -> int | None:
    """How many threads its options ask for on the processor; None where they do not say."""
    told = str(_property(options, "INFERENCE_NUM_THREADS") or options.get(_THREADS) or "")
    return int(told) if told.isdecimal() else None


def precision_of(options: Mapping[str, Any]) -> str:
    """What its options have it compute in; "" where that is what the model holds."""
    told = _property(options, "INFERENCE_PRECISION_HINT") or options.get("precision")
    device = _device(options)
    suffix = device.rpartition("_")[2]  # as older versions wrote it: GPU_FP16
    if told or suffix in _WORDS:
        return _WORDS.get(str(told or suffix).upper(), "")
    return "fp16" if device.startswith(_HALVES) and suffix != "FP32" else ""


def lacking(options: Mapping[str, Any]) -> str:
    """Say that the device which is asked for is not there; nothing where it is, or nobody can tell."""
    try:
        state: Any = importlib.import_module("onnxruntime.capi._pybind_state")
        found = list(state.get_available_openvino_device_ids())
    except (ImportError, AttributeError):
        return ""
    wanted = _device(options).partition(".")[0].partition("_")[0]
    if any(each.upper().startswith(wanted) for each in found):
        return ""
    return f"OpenVINO finds no {wanted} here, only {' and '.join(found) or 'nothing'}"


def _device(options: Mapping[str, Any]) -> str:
    return str(options.get("device_type") or "CPU").upper()


def _config(options: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        told = json.loads(options[_CONFIG])
    except (TypeError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _property(options: Mapping[str, Any], name: str) -> Any:
    """What `load_config` says of a property for the device that computes."""
    config = (_config(options) if _CONFIG in options else None) or {}
    own = config.get(_device(options).partition(".")[0].partition("_")[0])
    return own.get(name) if isinstance(own, dict) else None
