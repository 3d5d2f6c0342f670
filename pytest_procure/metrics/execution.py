"""An execution: what one run of a scenario on a candidate over a slice left behind, ready to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.candidates import Candidate
from pytest_procure.datasets import DatasetSlice
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.scenarios import Scenario

#: A run that is ended by what it saw has bounds for that alone.
STOPPED = "the run ended when its right answers were settled, which tells nothing else"


@dataclass(frozen=True, slots=True)
class Execution:
    """`launches` holds one driver run each; `scores` one score a sample, over all launches in send order.

    `stage_scores`: stage of a pipeline -> the same, of what the stage gave, where the dataset labels it.
    `instead`: what another backend disclosed that ran in place of the offer's; None where the offer's ran.
    """

    candidate: Candidate
    scenario: Scenario
    slice: DatasetSlice
    launches: tuple[Run, ...]
    scores: Mapping[str, NDArray[np.float64]]
    energy: tuple[float, ...] | None = None  # joules of each launch, where the device counts them
    blocks: bool = False  # the launches are blocks of a comparison: no fresh loads, so no capacity claim
    stage_scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    instead: Mapping[str, Any] | None = None

    @property
    def logs(self) -> tuple[RequestLog, ...]:
        """The request log of each launch."""
        return tuple(run.log for run in self.launches)

    @property
    def requests(self) -> int:
        """Queries scheduled, over all launches."""
        return sum(len(log) for log in self.logs)

    @property
    def seconds(self) -> float:
        """How long the measured windows took, over all launches."""
        return sum(log.window_ns for log in self.logs) / 1e9

    @property
    def status(self) -> NDArray[np.uint8]:
        """`(requests,)` how each query ended."""
        return np.concatenate([log.status for log in self.logs])

    @property
    def items(self) -> NDArray[np.int64]:
        """`(samples,)` which item of the slice each sample was."""
        return np.concatenate([log.samples for log in self.logs])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """`(requests,)` everything but an answer in time."""
        result: NDArray[np.bool_] = self.status != Status.OK
        return result

    @property
    def stopped(self) -> str:
        """Why the run ended early, or nothing."""
        return next((log.stopped for log in self.logs if log.stopped), "")
