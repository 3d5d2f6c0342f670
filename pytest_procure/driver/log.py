"""The request log: one row per query, in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


class Status(IntEnum):
    """How a request ended. Everything but `OK` counts as a failure and stays in the denominator."""

    LOST = 0  # never answered: unsent, or still running when the drain time was over
    OK = 1
    ERROR = 2  # the backend raised
    TIMEOUT = 3  # answered after the deadline
    EMPTY = 4  # answered with nothing: None, or fewer outputs than inputs


@dataclass(slots=True)
class RequestLog:
    """What happened, in send order. Times are ns since the run's first scheduled time.

    `scheduled`, `started`, `completed`: `(n,)` int64 ns. `started` and `completed` are -1 where the request
    was never started or never ended. A query of multi_stream holds `samples_per_query` samples: `samples` and
    `answers` are per sample, everything else per query. Offline has a row a sample, all scheduled at 0.
    """

    scheduled: Int64
    started: Int64
    completed: Int64
    status: NDArray[np.uint8]
    batch: NDArray[np.int32]  # (n,) number of the batch that served the query, -1 if none did
    samples: Int64  # (n * samples_per_query,) index into the slice, in send order
    answers: list[Any]  # the same length: outputs, None where there is none
    samples_per_query: int = 1
    input_tokens: Int64 | None = None  # (n * samples_per_query,) -1 where not reported
    output_tokens: Int64 | None = None
    errors: dict[int, str] = field(default_factory=dict)  # query -> what the backend raised, one line
    stopped: str = ""  # why the run ended early; empty for a complete run
    window_ns: int = 0  # from the first scheduled time to the last completion, or to the end of waiting

    def __len__(self) -> int:
        """Count queries."""
        return len(self.scheduled)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """`(n,)`: answered in time, without error."""
        result: NDArray[np.bool_] = self.status == Status.OK
        return result

    @property
    def latency(self) -> Int64:
        """`(n,)` int64 ns from the scheduled time to completion; a censored request shows the time it took.

        A request that never completed has waited until the end of the window.
        """
        ended = np.where(self.completed >= 0, self.completed, self.window_ns)
        # A run that was cut off has queries that were never due: they have waited for nothing yet.
        result: Int64 = np.maximum(ended - self.scheduled, 0)
        return result
