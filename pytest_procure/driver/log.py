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
    TIMEOUT = 3  # answered after the deadline, or given up at it
    EMPTY = 4  # answered with nothing: None, empty text, or fewer outputs than inputs


@dataclass(slots=True)
class StageLog:
    """How the samples passed one stage of a pipeline; columns are `(n * samples_per_query,)`, in send order.

    `ns`: what the stage's call took, -1 where it was not reached or nobody knows. `passing`: `Passing`.
    """

    passing: NDArray[np.uint8]
    ns: Int64
    outputs: list[Any]
    input_tokens: Int64  # -1 where not reported
    output_tokens: Int64
    cached_tokens: Int64  # of the input, from a cache

    @classmethod
    def empty(cls, samples: int) -> StageLog:
        """Make the columns of a stage of which nothing is known yet."""
        took, *tokens = (np.full(samples, -1, dtype=np.int64) for _ in range(4))
        return cls(np.zeros(samples, dtype=np.uint8), took, [None] * samples, *tokens)

    def part(self, samples: slice) -> StageLog:
        """Give these samples."""
        return StageLog(
            self.passing[samples],
            self.ns[samples],
            self.outputs[samples],
            self.input_tokens[samples],
            self.output_tokens[samples],
            self.cached_tokens[samples],
        )


@dataclass(slots=True)
class Wire:
    """What an endpoint's driver saw of each request. Times are ns, as in the log; columns are `(n,)`.

    A request asks one sample, so under multi_stream there are `samples_per_query` of them a query.

    `token_times[token_starts[i]:token_starts[i + 1]]`: when the tokens of request i arrived (CSR layout),
    `token_starts` has `(n + 1,)`. Tokens of one event arrive at one time. A request whose answer was no
    stream has none, and `chunks` -1. `started`, `completed` and `output_tokens` of the log are: the first
    attempt's sending, the last byte (or the giving up), and what the endpoint reports.
    """

    headers: Int64  # the answer's head, -1 where there was none
    token_starts: Int64
    token_times: Int64
    chunks: NDArray[np.int32]  # events that carried tokens
    counted_input: NDArray[np.signedinteger[Any]]  # tokens of the question's texts, by the buyer's own count
    counted: NDArray[np.signedinteger[Any]]  # the same of the output; -1: not counted
    cached: NDArray[np.int32]  # input tokens from the endpoint's cache, as it reports them; -1: not reported
    received: NDArray[np.uint32]  # bytes, over all attempts
    http: NDArray[np.uint16]  # status; 0: no answer
    retries: NDArray[np.uint8]  # attempts beyond the first
    failure: NDArray[np.uint8]  # `Failure`
    given_up: NDArray[np.bool_]  # `completed` is when it was given up, not an answer

    @property
    def streamed(self) -> NDArray[np.bool_]:
        """`(n,)`: the answer came as a stream."""
        result: NDArray[np.bool_] = self.chunks >= 0
        return result

    @property
    def first_token(self) -> Int64:
        """`(n,)` ns; -1 where no token came."""
        there = np.diff(self.token_starts) > 0
        times = np.append(self.token_times, -1)
        return np.where(there, times[np.where(there, self.token_starts[:-1], -1)], -1)

    @property
    def last_token(self) -> Int64:
        """`(n,)` ns; -1 where no token came."""
        there = np.diff(self.token_starts) > 0
        times = np.append(self.token_times, -1)
        return np.where(there, times[np.where(there, self.token_starts[1:] - 1, -1)], -1)

    def part(self, first: int, end: int, shift: int) -> Wire:
        """Give the rows from `first` to `end`, with times from `shift` ns on."""
        rows = slice(first, end)
        tokens = slice(int(self.token_starts[first]), int(self.token_starts[end]))
        return Wire(
            headers=np.where(self.headers[rows] >= 0, self.headers[rows] - shift, -1),
            token_starts=self.token_starts[first : end + 1] - self.token_starts[first],
            token_times=self.token_times[tokens] - shift,
            chunks=self.chunks[rows],
            counted_input=self.counted_input[rows],
            counted=self.counted[rows],
            cached=self.cached[rows],
            received=self.received[rows],
            http=self.http[rows],
            retries=self.retries[rows],
            failure=self.failure[rows],
            given_up=self.given_up[rows],
        )


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
    stages: dict[str, StageLog] = field(default_factory=dict)  # of a pipeline, in order; {} otherwise
    window_ns: int = 0  # from the first scheduled time to the last completion, or to the end of waiting
    wire: Wire | None = None  # of an endpoint
    cached_tokens: Int64 | None = None  # of the input, from a cache; those of an endpoint stand in `wire`

    def __len__(self) -> int:
        """Count queries."""
        return len(self.scheduled)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """`(n,)`: answered in time, without error."""
        result: NDArray[np.bool_] = self.status == Status.OK
        return result

    def heads(self) -> Int64:
        """Give the first query of each batch that was sent: `(b,)` int64, ascending."""
        return np.flatnonzero(self.leads)

    @property
    def leads(self) -> NDArray[np.bool_]:
        """`(n,)`: the first query of a batch that was sent."""
        first = np.ones(len(self), dtype=np.bool_)
        np.not_equal(self.batch[1:], self.batch[:-1], out=first[1:])
        first &= self.batch >= 0
        return first

    @property
    def answered(self) -> NDArray[np.bool_]:
        """`(n,)`: there was an answer, good or bad."""
        ended = self.completed >= 0
        if self.wire is None:
            return ended
        result: NDArray[np.bool_] = ended & ~self.wire.given_up.reshape(-1, self.samples_per_query).any(
            axis=1
        )
        return result

    def by_sample(self, column: NDArray[Any]) -> NDArray[Any]:
        """Repeat a column of queries for the samples of each: `(n * samples_per_query,)`."""
        if self.samples_per_query == 1:
            return column
        return np.repeat(column, self.samples_per_query)[: len(self.samples)]

    @property
    def latency(self) -> Int64:
        """`(n,)` int64 ns from the scheduled time to completion; a censored request shows the time it took.

        A request that never completed has waited until the end of the window.
        """
        took: Int64 = np.where(self.completed >= 0, self.completed, self.window_ns)
        took -= self.scheduled
        # A run that was cut off has queries that were never due: they have waited for nothing yet.
        return np.maximum(took, 0, out=took)
