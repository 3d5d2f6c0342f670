"""From the board to the request log: what became of each query. All of it happens after the window.

LOST ── not started, or no answer when waiting was over
ERROR ── the backend raised
EMPTY ── no outputs, not one for each input, an empty text, or not a number
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

from pytest_procure.backends.protocol import Answer, Passing, StagePass

from .board import Snapshot, printable
from .log import Int64, RequestLog, StageLog, Status
from .taking import Unread

_PART = 10_000  # queries
_PASSINGS = tuple(Passing)
#: Each takes as much memory as a log; no pipeline has so many.
_MOST_STAGES = 64
_NO_SEQUENCES = (str, bytes, Mapping, AbstractSet, Unread)


@dataclass(frozen=True, slots=True)
class Plan:
    """What was to be sent. `schedule` is None where queries follow each other.

    `due` is then when each was due, where that is not when it was sent.
    """

    order: Int64  # (queries * samples_per_query,)
    schedule: Int64 | None  # (queries,)
    samples_per_query: int
    timeout_ns: int
    from_start: bool  # offline: the deadline counts from a query's start, since all wait for each other
    by_duration: bool  # unsent queries were never meant to be sent
    due: Int64 | None = None  # (queries,) absolute ns, -1 where a query never became due


@dataclass(slots=True)
class _Rows:
    """Columns under construction."""

    status: NDArray[np.uint8]
    answers: list[Any]
    errors: dict[int, str] = field(default_factory=dict)
    input_tokens: Int64 | None = None
    output_tokens: Int64 | None = None
    cached_tokens: Int64 | None = None
    stages: dict[str, StageLog] = field(default_factory=dict)


def request_log(board: Snapshot, plan: Plan, origin: int, stopped: str) -> RequestLog:
    """Write the log of a run that began at `origin`; `stopped` says why it was cut, if it was."""
    batch, started, completed = _by_query(board)
    due = plan.due
    if plan.schedule is None:
        sent = int(np.count_nonzero((started if due is None else due) >= 0))
        if due is None:
            origin = int(started[0]) if sent else board.taken
        if plan.by_duration:  # copies, so that a million rows for a thousand queries are given back
            batch, started, completed = batch[:sent].copy(), started[:sent].copy(), completed[:sent].copy()
            due = None if due is None else due[:sent]
    n = len(batch)
    last = int(completed.max(initial=origin))
    window = (max(last, board.taken) if stopped else last) - origin
    for column in (started, completed):
        np.subtract(column, origin, out=column, where=column >= 0)
    scheduled = plan.schedule
    if scheduled is None:
        scheduled = _sent_in_turn(started if due is None else np.where(due >= 0, due - origin, -1))
    rows = _Rows(np.zeros(n, dtype=np.uint8), [None] * (n * plan.samples_per_query))
    _settle(board, plan, rows, batch, completed)
    waited = completed - (started if plan.from_start else scheduled)
    rows.status[(rows.status == Status.OK) & (waited > plan.timeout_ns)] = Status.TIMEOUT
    return RequestLog(
        scheduled=scheduled,
        started=started,
        completed=completed,
        status=rows.status,
        batch=batch,
        samples=plan.order[: n * plan.samples_per_query],
        answers=rows.answers,
        samples_per_query=plan.samples_per_query,
        input_tokens=rows.input_tokens,
        output_tokens=rows.output_tokens,
        cached_tokens=rows.cached_tokens,
        errors=rows.errors,
        stopped=stopped,
        stages=rows.stages,
        window_ns=window,
    )


def _by_query(board: Snapshot) -> tuple[NDArray[np.int32], Int64, Int64]:
    """Spread batches over their queries: `(n,)` batch, started, completed, -1 for what did not happen."""
    n = len(board.started)
    # What began or ended after the board was taken did so too late.
    for column in (board.started, board.completed):
        column[column > board.taken] = -1
    begun = np.flatnonzero(board.started >= 0)
    used = int(begun[-1]) + 1 if len(begun) else 0
    if used == 0 or board.ends[used - 1] == used:  # every batch is one query
        batch = np.arange(n, dtype=np.int32)
        started, completed = board.started, board.completed
    else:
        sizes = np.diff(board.ends[:used], prepend=0)
        batch = np.full(n, -1, dtype=np.int32)
        batch[: sizes.sum()] = np.repeat(np.arange(used, dtype=np.int32), sizes)
        started, completed = board.started[batch], board.completed[batch]
        completed[batch < 0] = started[batch < 0] = -1
    batch[started < 0] = -1
    return batch, started, completed


def _sent_in_turn(started: Int64) -> Int64:
    """Give the scheduled times of a closed loop: when each query was sent.

    One that was never sent has been waiting since the query before it was.
    """
    return np.maximum.accumulate(np.maximum(started, 0))


def _settle(board: Snapshot, plan: Plan, rows: _Rows, batch: NDArray[np.int32], completed: Int64) -> None:
    """Fill status, answers, errors and tokens of everything that completed.

    Part by part: as Python numbers, places of ten million batches would take ten times their columns.
    """
    start = 0
    while start < len(batch):
        end = min(start + _PART, len(batch))
        part = batch[start:end]
        done = np.flatnonzero((completed[start:end] >= 0) & (np.diff(part, prepend=-1) != 0))
        for first, number in zip((start + done).tolist(), part[done].tolist(), strict=True):
            if first == 0 or batch[first - 1] != number:
                _settle_batch(board, plan, rows, first, number)
        start = end


def _settle_batch(board: Snapshot, plan: Plan, rows: _Rows, first: int, number: int) -> None:
    """Fill the rows of one batch that completed, from its query `first` on."""
    size, per = int(board.ends[number]) - first, plan.samples_per_query
    message = board.failures.get(number)
    if message is not None:
        _fail(rows, first, size, Status.ERROR, message)
        return
    returned, expected = board.outputs[number], size * per
    if _is_sound(returned, expected):
        rows.status[first : first + size] = Status.OK
        rows.answers[first * per : (first + size) * per] = list(returned)
        return
    outputs, message = _outputs(returned, expected)
    if message:
        _fail(rows, first, size, Status.EMPTY, message)
        return
    for query in range(size):
        _answer(rows, first + query, (first + query) * per, outputs[query * per : (query + 1) * per])


def _fail(rows: _Rows, first: int, size: int, status: Status, message: str) -> None:
    rows.status[first : first + size] = status
    rows.errors.update(dict.fromkeys(range(first, first + size), message))


def _answer(rows: _Rows, query: int, offset: int, outputs: list[Any]) -> None:
    """Put one query's outputs into its rows."""
    rows.status[query] = Status.OK
    for place, output in enumerate(outputs, start=offset):
        plain, status, fault = output, Status.EMPTY, ""
        if isinstance(output, Answer):
            plain = output.output
            _count_tokens(rows, place, output)
            _pass_stages(rows, place, output)
            if output.error:
                status, fault = Status.ERROR, printable(_text(output.error))
        fault = fault or fault_of(plain)
        if fault:
            rows.status[query] = status
            rows.errors[query] = fault
        rows.answers[place] = plain


def _pass_stages(rows: _Rows, place: int, answer: Answer) -> None:
    """Put down how a sample passed the stages of a pipeline; what is none is passed over."""
    for each in answer.stages if isinstance(answer.stages, tuple) else ():
        if not _is_pass(each) or (each.name not in rows.stages and len(rows.stages) >= _MOST_STAGES):
            continue
        if each.name not in rows.stages:
            rows.stages[each.name] = StageLog.empty(len(rows.answers))
        stage = rows.stages[each.name]
        stage.passing[place] = each.passing
        stage.ns[place] = each.ns
        stage.outputs[place] = each.output
        stage.input_tokens[place] = each.input_tokens
        stage.output_tokens[place] = each.output_tokens
        stage.cached_tokens[place] = each.cached_tokens


def _is_pass(each: object) -> bool:
    """Whether it holds what a log can: an answer may come from anybody."""
    return (
        isinstance(each, StagePass)
        and isinstance(each.name, str)
        and each.passing in _PASSINGS
        and all(
            isinstance(count, int) and -1 <= count < 2**63
            for count in (each.ns, each.input_tokens, each.output_tokens, each.cached_tokens)
        )
    )


def _text(error: object) -> str:
    return error if isinstance(error, str) else f"an error that is a {type(error).__name__}"


def _count_tokens(rows: _Rows, place: int, answer: Answer) -> None:
    if answer.input_tokens == answer.output_tokens == -1:
        return  # nobody counted
    if rows.input_tokens is None or rows.output_tokens is None:
        rows.input_tokens = np.full(len(rows.answers), -1, dtype=np.int64)
        rows.output_tokens = np.full(len(rows.answers), -1, dtype=np.int64)
    counted = [(rows.input_tokens, answer.input_tokens), (rows.output_tokens, answer.output_tokens)]
    if answer.cached_tokens != -1:
        if rows.cached_tokens is None:
            rows.cached_tokens = np.full(len(rows.answers), -1, dtype=np.int64)
        counted.append((rows.cached_tokens, answer.cached_tokens))
    for column, count in counted:
        if isinstance(count, (int, np.integer)) and 0 <= count < 2**63:
            column[place] = count


def answer_at(outputs: list[Any], failures: Mapping[int, str], number: int, place: int, size: int) -> Any:
    """Give one output of batch `number`, which has ended; None where it is no answer."""
    returned, message = _outputs(outputs[number], size)
    if number in failures or message:
        return None
    output = returned[place]
    if isinstance(output, Answer):
        output = None if output.error else output.output
    return None if fault_of(output) else output


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
    if isinstance(returned, _NO_SEQUENCES) or not hasattr(returned, "__len__"):
        kind = returned.kind if isinstance(returned, Unread) else type(returned).__name__
        return [], f"answered with a {kind}; expected a sequence of {expected} outputs"
    try:
        outputs = list(returned)
    except Exception as error:  # noqa: BLE001 - reading what a candidate returned runs the candidate's code
        return [], f"answered with a {type(returned).__name__} that cannot be read: {type(error).__name__}"
    if len(outputs) != expected:
        return [], f"answered {expected} inputs with {len(outputs)} outputs"
    return outputs, ""


def fault_of(output: Any) -> str:
    """Say why an output is no answer: there is none, or a float or an array that is not finite.

    Text without a sign is none either, as it is none where an endpoint sends it.
    """
    if output is None:
        return "answered with nothing: the output is None"
    if isinstance(output, (str, bytes)) and len(output) == 0:
        return "answered with nothing: the output is an empty text"
    if isinstance(output, (float, complex)):
        return "" if cmath.isfinite(output) else f"answered with {output}"
    if (
        isinstance(output, (np.ndarray, np.generic))
        and output.dtype.kind in "fc"
        and not np.isfinite(output).all()
    ):
        return "answered with an array that holds NaN or infinity"
    return ""
