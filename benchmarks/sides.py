"""What both sides of a comparison share."""

from __future__ import annotations

import os

import numpy as np

Figures = dict[str, float]


def scheduling(fifo: bool) -> str:  # noqa: FBT001 - a flag of the command line
    """Ask for SCHED_FIFO, which takes neighbours out of a measurement; say what was given."""
    if not fifo:
        return "normal"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (OSError, AttributeError):
        return "normal, because SCHED_FIFO is not permitted"
    return "SCHED_FIFO"


def percentiles(ns: np.ndarray) -> Figures:
    """Give p50, p99 and the largest in microseconds (nearest rank)."""
    p50, p99, most = np.quantile(ns, (0.5, 0.99, 1.0), method="inverted_cdf") / 1e3
    return {"p50_us": float(p50), "p99_us": float(p99), "max_us": float(most)}
