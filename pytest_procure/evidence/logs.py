"""Request logs as files: gzipped CSV that any tool reads, integers only, the same bytes for the same run."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.driver.log import RequestLog
from pytest_procure.errors import EvidenceError
from pytest_procure.metrics import Execution

_COLUMNS = ("launch", "query", "scheduled_ns", "started_ns", "completed_ns", "status", "batch", "item")


def write_log(path: Path, run: Execution) -> str:
    """Write one row a sample and return the file's SHA-256.

    Columns: launch, query, scheduled, started and completed in ns since the launch's first scheduled time
    (-1: never), status (0 lost, 1 ok, 2 error, 3 timeout, 4 empty), batch, item of the slice, and a score a
    scorer. Raises `EvidenceError` when the file cannot be written.
    """
    scorers = list(run.scores)
    text = io.StringIO()
    text.write(",".join([*_COLUMNS, *scorers]) + "\n")
    done = 0
    for launch, log in enumerate(run.logs):
        table = _table(launch, log)
        scores = [run.scores[scorer][done : done + len(log.samples)] for scorer in scorers]
        np.savetxt(
            text,
            np.column_stack([table, *scores]) if scores else table,
            fmt=["%d"] * table.shape[1] + ["%.12g"] * len(scores),
            delimiter=",",
        )
        done += len(log.samples)
    data = gzip.compress(text.getvalue().encode(), compresslevel=6, mtime=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise EvidenceError(f"the request log {path.name} cannot be written: {error.strerror}") from error
    return hashlib.sha256(data).hexdigest()


def _table(launch: int, log: RequestLog) -> np.ndarray[Any, np.dtype[np.int64]]:
    query = np.repeat(np.arange(len(log)), log.samples_per_query)[: len(log.samples)]
    columns = [np.full(len(query), launch), query]
    columns += [
        column[query] for column in (log.scheduled, log.started, log.completed, log.status, log.batch)
    ]
    return np.column_stack([*columns, log.samples]).astype(np.int64)
