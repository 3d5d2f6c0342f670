"""Backends and sources for the driver's tests: plain functions, plain numbers, and a clock that is set."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.clock import Clock
from pytest_procure.driver.log import RequestLog


@dataclass
class Offer:
    """A backend that answers with `predict`."""

    predict: Callable[[Any], Any]
    releases_gil: bool = True
    device: str = "cpu"

    def describe(self) -> Mapping[str, Any]:
        return {}

    def close(self) -> None:
        return


class Numbers:
    """A slice whose sample k is the number 100 + k."""

    def __init__(self, n: int) -> None:
        self.values = np.arange(100, 100 + n)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, indices: NDArray[np.int64], /) -> NDArray[np.int64]:
        return self.values[indices]


def log_of(scheduled: Any, started: Any, completed: Any) -> RequestLog:
    """Make the log of queries that were all answered, each by itself; times in ns."""
    n = len(scheduled)
    ended = np.asarray(completed, dtype=np.int64)
    return RequestLog(
        scheduled=np.asarray(scheduled, dtype=np.int64),
        started=np.asarray(started, dtype=np.int64),
        completed=ended,
        status=np.ones(n, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        window_ns=int(ended.max()),
    )


def negate(inputs: NDArray[np.int64]) -> Sequence[Any]:
    return -inputs


class SetClock:
    """Time that passes only when somebody sleeps, or serves."""

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += max(1, round(seconds * 1e9))

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.sleep, margin_ns=0)


def printed(program: str) -> str:
    """Run Python in a process of its own, which may be interrupted, and give what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
