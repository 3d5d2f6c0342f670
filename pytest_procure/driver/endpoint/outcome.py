"""From the shared columns to the request log. All of it happens after the window.

LOST ── not sent, or no answer when waiting was over
TIMEOUT ── given up at the deadline, or answered after it
EMPTY ── an answer without a token, a number, an output
ERROR ── every other failure
OK
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.endpoints.failure import Failure, line
from pytest_procure.driver.log import Int64, RequestLog, Status, Wire

from .plan import Plan, array_of

_STATUS = np.full(max(Failure) + 1, Status.ERROR, dtype=np.uint8)
_STATUS[[Failure.NONE, Failure.UNSENT]] = Status.LOST
_STATUS[Failure.TIMEOUT] = Status.TIMEOUT
_STATUS[Failure.EMPTY] = Status.EMPTY


def request_log(plan: Plan, texts: Sequence[Sequence[str]], stopped: str, window_ns: int) -> RequestLog:
    """Write the log; `texts` of each load process, `window_ns` from the origin to when it was stopped."""
    # As they stand, the shared columns themselves become the log's, so that nothing is there twice.
    order = _in_order(plan, plan.table)
    columns = plan.table if order is None else {name: column[order] for name, column in plan.table.items()}
    rows = np.arange(plan.rows, dtype=np.int64) if order is None else order
    scheduled, sent, ended = (columns[name] for name in ("scheduled", "sent", "ended"))
    if plan.schedule is None:
        scheduled = np.maximum.accumulate(np.where(sent >= 0, scheduled, 0))
    failure = columns["failure"]
    good = columns["good"] == 1
    status = np.where(good, np.uint8(Status.OK), _STATUS[failure])
    base = sent if plan.scenario.name == "offline" else scheduled
    status[good & (ended - base > plan.scenario.timeout.ns)] = Status.TIMEOUT
    answers, unread = _answers(plan, columns, rows, good)
    for place, trouble in unread.items():
        status[place] = Status.ERROR if trouble else Status.EMPTY
    output_tokens = columns["output_tokens"].astype(np.int64)
    input_tokens = columns["input_tokens"].astype(np.int64)
    last = int(ended.max(initial=0))
    return RequestLog(
        scheduled=scheduled,
        started=sent,
        completed=ended,
        status=status,
        batch=np.where(sent >= 0, np.arange(len(rows)), -1).astype(np.int32),
        samples=plan.order[rows],
        answers=answers,
        input_tokens=input_tokens if (input_tokens >= 0).any() else None,
        output_tokens=output_tokens if (output_tokens >= 0).any() else None,
        errors=_errors(plan, columns, rows, texts) | {at: text for at, text in unread.items() if text},
        stopped=stopped,
        window_ns=max(last, window_ns) if stopped else last,
        wire=_wire(plan, columns, rows, _counted(plan.sending.count_tokens, answers)),
    )


def _in_order(plan: Plan, columns: dict[str, Any]) -> Int64 | None:
    """Rows in send order, of a closed loop by duration only those that were sent; None: as they stand."""
    if plan.schedule is not None:
        return None
    sent = columns["sent"]
    rows: Int64 = np.argsort(np.where(sent >= 0, sent, np.iinfo(np.int64).max), kind="stable").astype(
        np.int64
    )
    return rows[sent[rows] >= 0] if plan.by_duration else rows


def _answers(
    plan: Plan, columns: dict[str, Any], rows: Int64, good: NDArray[np.bool_]
) -> tuple[list[Any], dict[int, str]]:
    """Make outputs of what was read; of which rows none could be made, and why ("": there is nothing)."""
    stores = [array_of(store, "u1") for store in plan.output_stores]
    answers: list[Any] = [None] * len(rows)
    unread: dict[int, str] = {}
    starts, sizes = columns["output_start"], columns["output_size"]
    for place in np.flatnonzero(good).tolist():
        first, size = int(starts[place]), int(sizes[place])
        data = stores[int(rows[place]) % plan.processes][first : first + size].tobytes()
        try:
            answers[place] = plan.output(data)
        except Exception as error:  # noqa: BLE001 - the buyer's own `decode=` may raise anything
            unread[place] = line(f"decoding its answer raised {type(error).__name__}: {error}")
            continue
        if answers[place] is None:
            unread[place] = ""
    return answers, unread


def _counted(count: Callable[[str], int] | None, answers: list[Any]) -> Int64:
    """Count the tokens of each output the buyer's way."""
    counted = np.full(len(answers), -1, dtype=np.int64)
    if count is not None:
        for place, answer in enumerate(answers):
            if isinstance(answer, str):
                counted[place] = count(answer)
    return counted


def _errors(
    plan: Plan, columns: dict[str, Any], rows: Int64, texts: Sequence[Sequence[str]]
) -> dict[int, str]:
    numbers = columns["text"]
    told = {}
    for place in np.flatnonzero(numbers).tolist():
        known = texts[int(rows[place]) % plan.processes]
        number = int(numbers[place])
        told[place] = known[number - 1] if number <= len(known) else "its load process ended too soon to say"
    return told


def _wire(plan: Plan, columns: dict[str, Any], rows: Int64, counted: Int64) -> Wire:
    starts, times = _token_times(plan, columns, rows)
    failure = columns["failure"]
    unanswered = (Failure.TIMEOUT, Failure.UNSENT, Failure.CONNECT, Failure.TLS)
    return Wire(
        headers=columns["headers"],
        token_starts=starts,
        token_times=times,
        chunks=columns["chunks"],
        counted=counted,
        cached=columns["cached_tokens"],
        received=columns["received"],
        http=columns["http"],
        retries=columns["retries"],
        failure=failure,
        given_up=np.isin(failure, unanswered),
    )


def _token_times(plan: Plan, columns: dict[str, Any], rows: Int64) -> tuple[Int64, Int64]:
    """Bring the stores of all load processes into one CSR layout, in send order."""
    stores = [array_of(store, "q") for store in plan.token_stores]
    bases = np.concatenate([[0], np.cumsum([len(store) for store in stores])]).astype(np.int64)
    every: Int64 = np.concatenate(stores) if stores else np.empty(0, dtype=np.int64)
    sizes = np.maximum(columns["chunks"], 0).astype(np.int64)
    begins = columns["token_start"] + bases[rows % plan.processes]
    # A process that was killed has rows whose tokens were never written out.
    sizes[begins + sizes > bases[1:][rows % plan.processes]] = 0
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    within = np.arange(int(starts[-1])) - np.repeat(starts[:-1], sizes)
    return starts, every[np.repeat(begins, sizes) + within]
