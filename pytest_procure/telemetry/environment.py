"""The machine and the software that measured, as far as they can change a result.

Everything is read, nothing is guessed: what cannot be read is None. Host, user and folder names are left out,
and so is every variable that is not known to change how inference runs.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_procure.redaction import redacted

from .nvml import gpus

#: Variables that are known to change how inference runs, by the first part of their names ...
_FAMILIES = (
    "CUDA_",
    "CUDNN_",
    "CUBLAS_",
    "GOMP_",
    "HIP_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "ORT_",
    "PYTORCH_",
    "ROCR_",
    "TORCH_",
    "VLLM_",
    "XLA_",
)
#: ... or by name.
_VARIABLES = frozenset({"LD_PRELOAD", "PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONOPTIMIZE"})
#: The two lines of a distribution's metadata that tell which one it is.
_NAMED = re.compile(r"^(Name|Version): *(.*\S)", re.MULTILINE)
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE")
#: Instructions that kernels of inference runtimes are chosen by.
_INSTRUCTIONS = frozenset(
    {
        "amx_bf16", "amx_int8", "amx_tile", "asimd", "asimddp", "avx", "avx2", "avx512_bf16", "avx512_vnni",
        "avx512bw", "avx512f", "avx_vnni", "bf16", "f16c", "fma", "i8mm", "neon", "sse4_2", "sve", "sve2",
    }
)  # fmt: skip


def environment(suite: Path | None = None) -> dict[str, Any]:
    """Describe this machine and process as plain JSON data. Sizes are in bytes; `suite`: its folder."""
    found, reason = gpus()
    return {
        "python": _python(),
        "os": _os(),
        "cpu": _cpu(),
        "memory": _memory(Path("/proc/meminfo")),
        "memory_limit": _memory_limit(Path("/sys/fs/cgroup/memory.max")),
        "container": _container(),
        "gpus": [gpu.describe() for gpu in found],
        "gpus_absent": reason or None,
        "distributions": _distributions(),
        "runtimes": _runtimes(),
        "variables": _variables(os.environ),
        "suite": None if suite is None else commit(suite),
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
        "instructions": _instructions(Path("/proc/cpuinfo")),
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


def _memory_limit(memory_max: Path) -> int | None:
    """Memory that the container may use, from cgroup 2's `memory.max`; None without a limit."""
    limit = _read(memory_max) or ""
    return int(limit) if limit.isdigit() else None


def _instructions(cpuinfo: Path) -> list[str] | None:
    for line in (_read(cpuinfo) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"flags", "Features"}:
            return sorted(_INSTRUCTIONS & set(value.split()))
    return None


def _distributions() -> dict[str, str]:
    """Every installed distribution with its version, by its normalised name.

    Of each one's metadata only the two lines are looked for: parsing all of it takes a second in a large
    environment.
    """
    found: dict[str, str] = {}
    for each in importlib.metadata.distributions():
        text = each.read_text("METADATA") or each.read_text("PKG-INFO") or ""
        told = dict(_NAMED.findall(text.partition("\n\n")[0]))
        if "Name" in told and "Version" in told:  # a broken installation has neither
            found.setdefault(re.sub(r"[-_.]+", "-", told["Name"]).lower(), told["Version"])
    return dict(sorted(found.items()))


def _runtimes() -> dict[str, Any]:
    """How the runtimes in use were built: those imported already, for importing costs seconds."""
    found: dict[str, Any] = {}
    onnxruntime = sys.modules.get("onnxruntime")
    if onnxruntime is not None:
        found["onnxruntime"] = {
            "version": onnxruntime.__version__,
            "build": redacted(str(onnxruntime.get_build_info())),
            "providers": onnxruntime.get_available_providers(),
        }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = {
            "version": str(torch.__version__),
            "cuda": torch.version.cuda,
            "cudnn": _asked(torch.backends.cudnn.version),
            "threads": torch.get_num_threads(),
            "config": _asked(lambda: redacted(str(torch.__config__.show()))),
        }
    return found


def _asked(question: Callable[[], Any]) -> Any:
    """Give the answer, or None where this build has none."""
    try:
        return question()
    except (AttributeError, RuntimeError, OSError, TypeError, ValueError):
        return None


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    # A path could tell a user's or a customer's name; that something is preloaded is what matters.
    named = (name for name in environ if name.startswith(_FAMILIES) or name in _VARIABLES)
    return {
        name: "(a path)" if "/" in environ[name] or "\\" in environ[name] else redacted(environ[name])
        for name in sorted(named)
        if not _SECRET.search(name)
    }


def commit(suite: Path) -> dict[str, Any] | None:
    """Which commit of the suite this is, and whether files differ from it; None without a repository."""
    head = _git(suite, "rev-parse", "HEAD")
    if head is None:
        return None
    changed = _git(suite, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    return {
        "commit": head,
        "dirty": None if changed is None else bool(changed),
        "changed_files": None if changed is None else len(changed.splitlines()),
    }


def _git(folder: Path, *arguments: str) -> str | None:
    """Ask git, without a lock, a hook, a pager or a question back; None where it has no answer."""
    git = shutil.which("git")
    if git is None:
        return None
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    settings = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    try:
        done = subprocess.run(  # noqa: S603 - the program is git, and the arguments are ours
            [git, *settings, "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
            env=dict(os.environ) | quiet,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
