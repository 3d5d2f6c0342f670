"""The processors that a backend's threads may use."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """Count them: those that the system lets this process run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))
