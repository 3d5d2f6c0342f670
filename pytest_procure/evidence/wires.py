"""What an endpoint's driver saw of each request, as two numpy files that any tool reads.

`NAME.wire.npy`, a row a request in the order of the request log:

    launch, query          as in the request log
    headers_ns             when the answer's head was there (-1: never), ns since the first scheduled time
    first_token_ns         when the first token was there (-1: no stream, or no token)
    last_token_ns          when the last was
    token_times            how many of the times in `NAME.tokens.npy` are this request's
    chunks                 events that carried tokens; -1: the answer came in one piece
    counted_input_tokens   tokens of the question's texts by the buyer's own count; -1: not counted
    counted_tokens         tokens of the output by the buyer's own count; -1: not counted
    cached_tokens          input tokens from a cache, as reported; -1: not reported
    received_bytes         over all attempts
    http_status            0: no answer
    retries                attempts beyond the first
    failure                error class, 0 for a good answer: see `Failure`
    given_up               1 where `completed_ns` is when it was given up

`NAME.tokens.npy`, int64: when each token arrived, request by request, ns since the first scheduled time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import Int64, Wire
from pytest_procure.errors import EvidenceError
from pytest_procure.metrics import Execution

from .logs import save

Rows = NDArray[Any]

#: Of the times of tokens.
TIMES = np.dtype("<i8")
COLUMNS = np.dtype(
    [
        ("launch", "<i4"),
        ("query", "<i4"),
        ("headers_ns", "<i8"),
        ("first_token_ns", "<i8"),
        ("last_token_ns", "<i8"),
        ("token_times", "<i4"),
        ("chunks", "<i4"),
        ("counted_input_tokens", "<i4"),
        ("counted_tokens", "<i8"),
        ("cached_tokens", "<i4"),
        ("received_bytes", "<u4"),
        ("http_status", "<u2"),
        ("retries", "u1"),
        ("failure", "u1"),
        ("given_up", "u1"),
    ]
)


def write_wires(path: Path, run: Execution) -> dict[str, str]:
    """Write `path` + `.wire.npy` and `.tokens.npy`; give name and SHA-256 of each, nothing for no endpoint.

    Raises `EvidenceError` when a file cannot be written.
    """
    wires = [log.wire for log in run.logs]
    if any(wire is None for wire in wires):
        return {}
    each = run.scenario.samples_per_query
    parts = [rows_of(number, wire, each) for number, wire in enumerate(wires) if wire is not None]
    times = [wire.token_times for wire in wires if wire is not None]
    return {
        _name(path, "wire"): save(_path(path, "wire"), np.concatenate(parts)),
        _name(path, "tokens"): save(_path(path, "tokens"), np.concatenate(times).astype("<i8")),
    }


def rows_of(launch: int, wire: Wire, each: int = 1) -> Rows:
    """Give the rows of one launch; `each` query was so many requests."""
    rows = np.zeros(len(wire.chunks), COLUMNS)
    rows["launch"] = launch
    rows["query"] = np.arange(len(rows)) // each
    rows["headers_ns"] = wire.headers
    rows["first_token_ns"] = wire.first_token
    rows["last_token_ns"] = wire.last_token
    rows["token_times"] = np.diff(wire.token_starts)
    rows["chunks"] = wire.chunks
    rows["counted_input_tokens"] = wire.counted_input
    rows["counted_tokens"] = wire.counted
    rows["cached_tokens"] = wire.cached
    rows["received_bytes"] = wire.received
    rows["http_status"] = wire.http
    rows["retries"] = wire.retries
    rows["failure"] = wire.failure
    rows["given_up"] = wire.given_up
    return rows


def wires(rows: Rows, times: Int64) -> list[Wire]:
    """Give back what was written, launch by launch. Raises `EvidenceError` where rows and times disagree."""
    sizes = rows["token_times"].astype(np.int64)
    if (sizes < 0).any() or int(sizes.sum()) != len(times):
        raise EvidenceError("the token times are not as many as the requests say")
    found: list[Wire] = []
    made: list[Rows] = []
    begin = 0
    for launch in np.unique(rows["launch"]).tolist():
        part = rows[rows["launch"] == launch]
        starts = np.concatenate([[0], np.cumsum(part["token_times"].astype(np.int64))])
        end = begin + int(starts[-1])
        found.append(
            Wire(
                headers=part["headers_ns"].astype(np.int64),
                token_starts=starts.astype(np.int64),
                token_times=np.asarray(times[begin:end], dtype=np.int64),
                chunks=part["chunks"].astype(np.int32),
                counted_input=part["counted_input_tokens"].astype(np.int32),
                counted=part["counted_tokens"].astype(np.int32),
                cached=part["cached_tokens"].astype(np.int32),
                received=part["received_bytes"].astype(np.uint32),
                http=part["http_status"].astype(np.uint16),
                retries=part["retries"].astype(np.uint8),
                failure=part["failure"].astype(np.uint8),
                given_up=part["given_up"] == 1,
            )
        )
        begin = end
        made.append(rows_of(len(made), found[-1], max(1, int((part["query"] == 0).sum()))))
    if made and not np.array_equal(np.concatenate(made), rows):
        raise EvidenceError("the requests are not in order, or their first and last tokens not those given")
    return found


def _name(path: Path, kind: str) -> str:
    return f"{path.name}.{kind}.npy"


def _path(path: Path, kind: str) -> Path:
    return path.with_name(_name(path, kind))
