"""Request logs as files: one numpy structured array a run, a row a sample.

`pandas.DataFrame(numpy.load("runs/NAME.npy"))` reads one without us. The same run gives the same bytes, and
the rows are of one length, so a million of them are written and read at the speed of the disk.

    launch, query          which launch of the candidate, and which query of it
    scheduled_ns           when it was due,
    started_ns             when it was sent (-1: never) and
    completed_ns           when its answer was there (-1: never), in ns since the first scheduled time
    status                 0 lost, 1 ok, 2 error, 3 timeout, 4 empty; 255 not known (a run that was killed)
    batch                  number of the batch that served it, -1 if none did
    item                   which sample of the slice was asked
    cluster                which samples belong together, -1 where all stand for themselves
    stratum                place of the sample's group in the case file's list, -1 without groups
    error                  place of what the backend raised in the case file's list, -1 for none
    output_sha256          of the output, empty where there is none
    input_tokens, ...      where the backend counts them; -1 where it did not
    stage.NAME.passing     of a pipeline: 0 not known, 1 ok, 2 failed, 3 not reached; ...
    stage.NAME.ns          what the stage's call took, -1 where nobody knows; ...
    stage.NAME.score       in [0, 1], where the dataset has labels for the stage; and its tokens
    SCORER                 a score in [0, 1] a scorer
"""

from __future__ import annotations

import ast
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import RequestLog, StageLog
from pytest_procure.errors import EvidenceError
from pytest_procure.metrics import Execution
from pytest_procure.metrics.stages import stage_names

from .outputs import Outputs
from .whole import new_file

Rows = NDArray[Any]

#: Every log has these, in this order: name -> little-endian type.
COLUMNS = {
    "launch": "<i4",
    "query": "<i4",
    "scheduled_ns": "<i8",
    "started_ns": "<i8",
    "completed_ns": "<i8",
    "status": "u1",
    "batch": "<i4",
    "item": "<i4",
    "cluster": "<i4",
    "stratum": "<i4",
    "error": "<i4",
    "output_sha256": "S64",
}
#: Columns of a `RequestLog` that only some backends fill, a value a sample.
COUNTED = ("input_tokens", "output_tokens", "cached_tokens")
#: Only where the items stand in clusters and repeat contents, and the two cross: name and type.
CONTENT = ("content", "<i4")
#: Columns of each stage that a pipeline's answers pass, as `stage.NAME.COLUMN`; scores only where there are.
STAGED = {
    "passing": "u1",
    "ns": "<i8",
    "input_tokens": "<i8",
    "output_tokens": "<i8",
    "cached_tokens": "<i8",
    "score": "<f8",
}
#: Those that are written where somebody knows one; -1 elsewhere.
RARE = "cached_tokens"
#: More different error texts than this are not kept; their requests point at the last place.
MOST_ERRORS = 1000
NOT_KEPT = "(further texts are not kept)"
UNKNOWN = 255  # status of a row whose answer nobody looked at any more

_HEADER = 16_384  # bytes of a file's head, at most
_LONGEST_NAME = 200
STAGE = "stage."


@dataclass(frozen=True, slots=True)
class LogFile:
    """A request log as written: its digest, and what its rows point at."""

    sha256: str
    errors: tuple[str, ...]
    strata: tuple[str, ...]


def columns(
    scorers: Sequence[str],
    counted: Sequence[str] = (),
    staged: Sequence[str] = (),
    *,
    crossed: bool = False,
) -> np.dtype[Any]:
    """Give the type of a log's rows. `staged`: whole names of stages' columns. `crossed`: with contents."""
    fields = [*COLUMNS.items(), *([CONTENT] if crossed else []), *((name, "<i8") for name in counted)]
    fields += [(name, STAGED[name.rpartition(".")[2]]) for name in staged]
    return np.dtype([*fields, *((name, "<f8") for name in scorers)])


def write_log(path: Path, run: Execution, outputs: Outputs | None = None) -> LogFile:
    """Write a run's rows; what it answered goes to `outputs`. Raises `EvidenceError`."""
    counted = [name for name in COUNTED if all(getattr(log, name) is not None for log in run.logs)]
    if RARE not in counted and any(log.cached_tokens is not None for log in run.logs):
        counted.append(RARE)
    staged = _staged(run)
    groupings = run.slice.groupings
    kind = columns(list(run.scores), counted, [*staged], crossed=len(groupings) > 1)
    rows = np.zeros(sum(len(log.samples) for log in run.logs), kind)
    for name, column in staged.items():
        rows[name] = column
    for scorer, scores in run.scores.items():
        rows[scorer] = scores
    errors: dict[str, int] = {}
    names, codes = _strata(run)
    done = 0
    for launch, log in enumerate(run.logs):
        part = rows[done : done + len(log.samples)]
        part["launch"] = launch
        fill(part, log, errors)
        for name in counted:
            known = getattr(log, name)
            part[name] = -1 if known is None else known
        if outputs is not None:
            part["output_sha256"] = outputs.digests(log.answers)
        done += len(log.samples)
    rows["stratum"] = -1 if codes is None else codes[rows["item"]]
    rows["cluster"] = -1
    for name, labels in zip(("cluster", CONTENT[0]), groupings, strict=False):
        rows[name] = labels[rows["item"]]
    return LogFile(save(path, rows), tuple(errors), names)


def save(path: Path, rows: Rows) -> str:
    """Write rows as they are, and give the file's SHA-256. Raises `EvidenceError`."""
    head = _head(rows.dtype, len(rows))
    data = np.ascontiguousarray(rows).view(np.uint8).data
    digest = hashlib.sha256(head)
    digest.update(data)
    with new_file(path, f"the request log {path.name}") as file:
        file.write(head)
        file.write(data)
    return digest.hexdigest()


def load(path: Path, kind: np.dtype[Any] | None = None) -> Rows:
    """Read rows, mapped from the file: those of a log, or of this kind. Raises `EvidenceError` for any other.

    Nothing of the file is run, no more memory is taken than it is long, and its head has one spelling only.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER)
        size = path.stat().st_size
        start = 10 + int.from_bytes(head[8:10], "little")
        told = ast.literal_eval(head[10:start].decode("latin-1"))
        (n,) = told["shape"]
        kind = kind or _kind([name for name, _ in told["descr"]])
        if head[:start] != _head(kind, n) or start + n * kind.itemsize != size:
            raise EvidenceError(f"{path.name}: not rows as we write them: the head does not fit the rows")
    except (OSError, ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError) as error:
        raise EvidenceError(f"{path.name}: not rows as we write them: {str(error)[:120]}") from None
    return np.memmap(path, kind, "r", start, (n,)) if n else np.zeros(0, kind)


def _head(kind: np.dtype[Any], n: int) -> bytes:
    """Give the head of a file of `n` rows, as numpy writes it."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (n,)}
    )
    return head.getvalue()


def _kind(names: Sequence[str]) -> np.dtype[Any]:
    """Give the kind of rows that has these columns. Raises `ValueError`."""
    if any(not isinstance(name, str) or len(name) > _LONGEST_NAME for name in names):
        raise ValueError("a column has no name, or too long a one")
    staged = [name for name in names if name.startswith(STAGE)]
    known = {*COLUMNS, CONTENT[0], *COUNTED, *staged}
    return columns(
        [name for name in names if name not in known],
        [name for name in names if name in COUNTED],
        staged,
        crossed=CONTENT[0] in names,
    )


def fill(part: Rows, log: RequestLog, errors: dict[str, int]) -> None:
    """Fill in what the driver saw; `errors` numbers the texts."""
    query = np.repeat(np.arange(len(log)), log.samples_per_query)[: len(part)]
    part["query"] = query
    part["scheduled_ns"] = log.scheduled[query]
    part["started_ns"] = log.started[query]
    part["completed_ns"] = log.completed[query]
    part["status"] = log.status[query]
    part["batch"] = log.batch[query]
    part["item"] = log.samples
    codes = np.full(len(log), -1, dtype=np.int32)
    for number in sorted(log.errors):
        text = log.errors[number]
        if text not in errors and len(errors) >= MOST_ERRORS:
            text = NOT_KEPT
        codes[number] = errors.setdefault(text, len(errors))
    part["error"] = codes[query]


def _staged(run: Execution) -> dict[str, NDArray[Any]]:
    """Give the stages' columns by their names, over all launches; one that answered nothing knows none."""
    found: dict[str, NDArray[Any]] = {}
    for stage in stage_names(run):
        logs = [log.stages.get(stage) or StageLog.empty(len(log.samples)) for log in run.logs]
        parts = {name: [getattr(log, name) for log in logs] for name in STAGED if name != "score"}
        joined = {name: np.concatenate(each) for name, each in parts.items()}
        if (joined[RARE] < 0).all():
            del joined[RARE]
        found |= {f"{STAGE}{stage}.{name}": each for name, each in joined.items()}
        if stage in run.stage_scores:
            found[f"{STAGE}{stage}.score"] = run.stage_scores[stage]
    return found


def _strata(run: Execution) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    if run.slice.strata is None:
        return (), None
    names, codes = np.unique(run.slice.strata, return_inverse=True)
    return tuple(names.tolist()), codes.astype(np.int32)
