"""From the board to the request log: what became of each query. All of it happens after the window.

LOST ── not started, or no answer when waiting was over
ERROR ── the backend raised
EMPTY ── no outputs, not one for each input, or not a number
TIMEOUT ── answered after the deadline
OK
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.protocol import Answer

from .board import Snapshot
from .log import Int64, RequestLog, Status


@dataclass(frozen=True, slots=True)
class Plan:
    """What was to be sent. `schedule` is None for closed loops, whose queries follow each other."""

    order: Int64  # (queries * samples_per_query,)
    schedule: Int64 | None  # (queries,)
    samples_per_query: int
    timeout_ns: int
    from_start: bool  # offline: the deadline counts from a query's start, since all wait for each other
    by_duration: bool  # unsent queries were never meant to be sent


@dataclass(slots=True)
class _Rows:
    """Columns under construction."""

    status: NDArray[np.uint8]
    answers: list[Any]
    errors: dict[int, str] = field(default_factory=dict)
    input_tokens: Int64 | None = None
    output_tokens: Int64 | None = None


def request_log(board: Snapshot, plan: Plan, origin: int, stopped: str) -> RequestLog:
    """Write the log of a run that began at `origin`; `stopped` says why it was cut, if it was."""
    batch, started, completed = _by_query(board)
    if plan.schedule is None:
        sent = int(np.count_nonzero(started >= 0))
        origin = int(started[0]) if sent else board.taken
        if plan.by_duration:
            batch, started, completed = batch[:sent], started[:sent], completed[:sent]
    n = len(batch)
    last = int(completed.max(initial=origin))
    window = (max(last, board.taken) if stopped else last) - origin
    started = np.where(started >= 0, started - origin, -1)
    completed = np.where(completed >= 0, completed - origin, -1)
    scheduled = _sent_in_turn(started) if plan.schedule is None else plan.schedule
    rows = _Rows(np.zeros(n, dtype=np.uint8), [None] * (n * plan.samples_per_query))
    _settle(board, plan, rows, batch, completed)
    waited = completed - (started if plan.from_start else scheduled)
    rows.status[(rows.status == Status.OK) & (waited > plan.timeout_ns)] = Status.TIMEOUT
    return RequestLog(
        scheduled=scheduled,
        started=started,
        completed=completed,
        status=rows.status,
        batch=batch.astype(np.int32),
        samples=plan.order[: n * plan.samples_per_query],
        answers=rows.answers,
        samples_per_query=plan.samples_per_query,
        input_tokens=rows.input_tokens,
        output_tokens=rows.output_tokens,
        errors=rows.errors,
        stopped=stopped,
        window_ns=window,
    )


def _by_query(board: Snapshot) -> tuple[Int64, Int64, Int64]:
    """Spread batches over their queries: `(n,)` batch, started, completed, -1 for what did not happen."""
    n = len(board.started)
    # A worker that began while the board was copied began too late.
    started = np.where(
        board.started <= max(board.taken, int(board.completed.max(initial=-1))), board.started, -1
    )
    begun = np.flatnonzero(started >= 0)
    used = int(begun[-1]) + 1 if len(begun) else 0
    numbers = np.repeat(np.arange(used), np.diff(board.ends[:used], prepend=0))
    columns = np.full((3, n), -1, dtype=np.int64)
    columns[0, : len(numbers)] = np.where(started[numbers] >= 0, numbers, -1)
    columns[1, : len(numbers)] = started[numbers]
    columns[2, : len(numbers)] = board.completed[numbers]
    return columns[0], columns[1], columns[2]


def _sent_in_turn(started: Int64) -> Int64:
    """Give the scheduled times of a closed loop: when each query was sent.

    One that was never sent has been waiting since the query before it was.
    """
    return np.maximum.accumulate(np.maximum(started, 0))


def _settle(board: Snapshot, plan: Plan, rows: _Rows, batch: Int64, completed: Int64) -> None:
    """Fill status, answers, errors and tokens of everything that completed."""
    done = np.flatnonzero(completed >= 0)
    if not len(done):
        return
    numbers = batch[done]
    firsts = done[np.flatnonzero(np.diff(numbers, prepend=-1))]
    sizes = np.diff(board.ends, prepend=0)
    per = plan.samples_per_query
    for first, number in zip(firsts.tolist(), batch[firsts].tolist(), strict=True):
        size = int(sizes[number])
        message = board.failures.get(number)
        if message is not None:
            _fail(rows, first, size, Status.ERROR, message)
            continue
        returned, expected = board.outputs[number], size * per
        if _is_sound(returned, expected):
            rows.status[first : first + size] = Status.OK
            rows.answers[first * per : (first + size) * per] = list(returned)
            continue
        outputs, message = _outputs(returned, expected)
        if message:
            _fail(rows, first, size, Status.EMPTY, message)
            continue
        for query in range(size):
            _answer(rows, first + query, (first + query) * per, outputs[query * per : (query + 1) * per])


def _fail(rows: _Rows, first: int, size: int, status: Status, message: str) -> None:
    rows.status[first : first + size] = status
    rows.errors.update(dict.fromkeys(range(first, first + size), message))


def _answer(rows: _Rows, query: int, offset: int, outputs: list[Any]) -> None:
    """Put one query's outputs into its rows."""
    rows.status[query] = Status.OK
    for place, output in enumerate(outputs, start=offset):
        plain = output
        if isinstance(output, Answer):
            plain = output.output
            _count_tokens(rows, place, output)
        fault = _fault(plain)
        if fault:
            rows.status[query] = Status.EMPTY
            rows.errors[query] = fault
        rows.answers[place] = plain


def _count_tokens(rows: _Rows, place: int, answer: Answer) -> None:
    if rows.input_tokens is None or rows.output_tokens is None:
        rows.input_tokens = np.full(len(rows.answers), -1, dtype=np.int64)
        rows.output_tokens = np.full(len(rows.answers), -1, dtype=np.int64)
    for column, count in (
        (rows.input_tokens, answer.input_tokens),
        (rows.output_tokens, answer.output_tokens),
    ):
        if isinstance(count, (int, np.integer)) and 0 <= count < 2**63:
            column[place] = count


def _is_sound(returned: Any, expected: int) -> bool:
    """Whether all outputs are good at a glance: an array of finite numbers, one row each."""
    return (
        isinstance(returned, np.ndarray)
        and returned.dtype.kind in "biufc"
        and returned.ndim > 0
        and len(returned) == expected
        and bool(np.isfinite(returned).all())
    )


def _outputs(returned: Any, expected: int) -> tuple[list[Any], str]:
    """Read what `predict` returned as a list of outputs, or say why it is none."""
    if returned is None:
        return [], "answered with nothing: the backend returned None"
    if isinstance(returned, (str, bytes, Mapping, AbstractSet)) or not hasattr(returned, "__len__"):
        return [], f"answered with a {type(returned).__name__}; expected a sequence of {expected} outputs"
    try:
        outputs = list(returned)
    except Exception as error:  # noqa: BLE001 - reading what a candidate returned runs the candidate's code
        return [], f"answered with a {type(returned).__name__} that cannot be read: {type(error).__name__}"
    if len(outputs) != expected:
        return [], f"answered {expected} inputs with {len(outputs)} outputs"
    return outputs, ""


def _fault(output: Any) -> str:
    """Say why an output is no answer: there is none, or a float or an array that is not finite."""
    if output is None:
        return "answered with nothing: the output is None"
    if isinstance(output, (float, complex)):
        return "" if cmath.isfinite(output) else f"answered with {output}"
    if (
        isinstance(output, (np.ndarray, np.generic))
        and output.dtype.kind in "fc"
        and not np.isfinite(output).all()
    ):
        return "answered with an array that holds NaN or infinity"
    return ""
