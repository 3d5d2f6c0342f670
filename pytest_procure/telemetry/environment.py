"""The machine and the software that measured, as far as they can change a result.

Everything is read, nothing is guessed: what cannot be read is None. Host, user and folder names are left out,
and so is every variable that is not known to change how inference runs.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .nvml import gpus

_DISTRIBUTIONS = (
    "hypothesis",
    "jinja2",
    "numpy",
    "nvidia-ml-py",
    "onnxruntime",
    "onnxruntime-directml",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "pluggy",
    "pytest",
    "pytest-benchmark",
    "pytest-procure",
    "pytest-xdist",
    "safetensors",
    "scipy",
    "tensorrt",
    "tokenizers",
    "torch",
    "transformers",
    "uvloop",
)
_VARIABLES = frozenset(
    {
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "GOMP_CPU_AFFINITY",
        "GOMP_SPINCOUNT",
        "KMP_AFFINITY",
        "KMP_BLOCKTIME",
        "LD_PRELOAD",
        "MALLOC_ARENA_MAX",
        "MKL_NUM_THREADS",
        "NVIDIA_TF32_OVERRIDE",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_DYNAMIC",
        "OMP_NUM_THREADS",
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "OMP_WAIT_POLICY",
        "OPENBLAS_NUM_THREADS",
        "ORT_LOAD_CONFIG_FROM_MODEL",
        "ORT_TENSORRT_ENGINE_CACHE_ENABLE",
        "ORT_TENSORRT_FP16_ENABLE",
        "ORT_TENSORRT_INT8_ENABLE",
        "ORT_TENSORRT_MAX_WORKSPACE_SIZE",
        "PYTHONHASHSEED",
        "PYTHONMALLOC",
        "PYTHONOPTIMIZE",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "TORCH_NUM_THREADS",
    }
)


def environment() -> dict[str, Any]:
    """Describe this machine and process as plain JSON data. Sizes are in bytes."""
    found, reason = gpus()
    return {
        "python": _python(),
        "os": _os(),
        "cpu": _cpu(),
        "memory": _memory(Path("/proc/meminfo")),
        "container": _container(),
        "gpus": [gpu.describe() for gpu in found],
        "gpus_absent": reason or None,
        "distributions": _distributions(),
        "runtimes": _runtimes(),
        "variables": _variables(os.environ),
    }


def _python() -> dict[str, Any]:
    gil = getattr(sys, "_is_gil_enabled", None)
    return {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "compiler": platform.python_compiler(),
        "gil": True if gil is None else bool(gil()),
    }


def _os() -> dict[str, Any]:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        name = None
    library, version = platform.libc_ver()
    return {
        "system": platform.system(),
        "name": name,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "libc": f"{library} {version}".strip() or None,
    }


def _cpu() -> dict[str, Any]:
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "model": _cpu_model(Path("/proc/cpuinfo")),
        "count": os.cpu_count(),
        "usable": None if affinity is None else len(affinity(0)),
        "quota": _cpu_quota(Path("/sys/fs/cgroup/cpu.max")),
        "governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    }


def _cpu_model(cpuinfo: Path) -> str | None:
    for line in (_read(cpuinfo) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model"}:
            return value.strip()
    return None


def _cpu_quota(cpu_max: Path) -> float | None:
    """Processors that the container may use, from cgroup 2's `cpu.max`; None without a limit."""
    quota, _, period = (_read(cpu_max) or "").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _memory(meminfo: Path) -> int | None:
    for line in (_read(meminfo) or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _container() -> bool | None:
    if not Path("/proc/1").is_dir():
        return None
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return True
    groups = _read(Path("/proc/1/cgroup")) or ""
    return any(word in groups for word in ("docker", "kubepods", "containerd", "lxc", "libpod"))


def _distributions() -> dict[str, str]:
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _runtimes() -> dict[str, Any]:
    """How the runtimes in use were built: those imported already, for importing costs seconds."""
    found: dict[str, Any] = {}
    onnxruntime = sys.modules.get("onnxruntime")
    if onnxruntime is not None:
        found["onnxruntime"] = {
            "version": onnxruntime.__version__,
            "build": onnxruntime.get_build_info(),
            "providers": onnxruntime.get_available_providers(),
        }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = {
            "version": str(torch.__version__),
            "cuda": torch.version.cuda,
            "threads": torch.get_num_threads(),
        }
    return found


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    # A path could tell a user's or a customer's name; that something is preloaded is what matters.
    return {
        name: "(a path)" if "/" in environ[name] or "\\" in environ[name] else environ[name]
        for name in sorted(_VARIABLES & environ.keys())
    }


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
