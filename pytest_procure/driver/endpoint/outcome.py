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

from pytest_procure.backends.endpoints.failure import UNANSWERED, Failure, line
from pytest_procure.driver.log import Int64, RequestLog, Status, Wire

from .plan import Plan, array_of

_STATUS = np.full(max(Failure) + 1, Status.ERROR, dtype=np.uint8)
_STATUS[[Failure.NONE, Failure.UNSENT]] = Status.LOST
_STATUS[Failure.TIMEOUT] = Status.TIMEOUT
_STATUS[Failure.EMPTY] = Status.EMPTY
#: From good to grave.
_GRAVITY = (Status.OK, Status.EMPTY, Status.ERROR, Status.TIMEOUT, Status.LOST)


def request_log(plan: Plan, texts: Sequence[Sequence[str]], stopped: str, window_ns: int) -> RequestLog:
    """Write the log; `texts` of each load process, `window_ns` from the origin to when it was stopped."""
    # As they stand, the shared columns themselves become the log's, so that nothing is there twice.
    order = _in_order(plan, plan.table)
    columns = plan.table if order is None else {name: column[order] for name, column in plan.table.items()}
    rows = np.arange(plan.rows, dtype=np.int64) if order is None else order
    scheduled, sent, ended = (columns[name] for name in ("scheduled", "sent", "ended"))
    if not plan.is_paced:  # what never became due has waited since the last that did
        scheduled = np.maximum.accumulate(np.maximum(scheduled, 0))
    good = columns["good"] == 1
    status = np.where(good, np.uint8(Status.OK), _STATUS[columns["failure"]])
    base = sent if plan.scenario.name == "offline" else scheduled
    status[good & (ended - base > plan.scenario.timeout.ns)] = Status.TIMEOUT
    answers, unread = _answers(plan, columns, rows, good)
    for place, trouble in unread.items():
        status[place] = Status.ERROR if trouble else Status.EMPTY
    errors = _errors(plan, columns, rows, texts) | {at: text for at, text in unread.items() if text}
    per = plan.scenario.samples_per_query
    if per > 1:
        scheduled, sent, ended = _together(scheduled, sent, ended, per)
        status = _worst(status, per)
        errors = {place // per: errors[place] for place in sorted(errors, reverse=True)}
    output_tokens = columns["output_tokens"].astype(np.int64)
    input_tokens = columns["input_tokens"].astype(np.int64)
    last = int(ended.max(initial=0))
    return RequestLog(
        scheduled=scheduled,
        started=sent,
        completed=ended,
        status=status,
        batch=np.where(sent >= 0, np.arange(len(sent)), -1).astype(np.int32),
        samples=plan.order[rows],
        answers=answers,
        samples_per_query=per,
        input_tokens=input_tokens if (input_tokens >= 0).any() else None,
        output_tokens=output_tokens if (output_tokens >= 0).any() else None,
        errors=errors,
        stopped=stopped,
        window_ns=max(last, window_ns) if stopped else last,
        wire=_wire(plan, columns, rows, _counted(plan.sending.count_tokens, answers)),
    )


def _in_order(plan: Plan, columns: dict[str, Any]) -> Int64 | None:
    """Rows in the order in which they were due, of a loop by duration only those; None: as they stand."""
    if plan.is_paced:
        return None
    due = columns["scheduled"]
    rows: Int64 = np.argsort(np.where(due >= 0, due, np.iinfo(np.int64).max), kind="stable").astype(np.int64)
    return rows[due[rows] >= 0] if plan.by_duration else rows


def _together(scheduled: Int64, sent: Int64, ended: Int64, per: int) -> tuple[Int64, Int64, Int64]:
    """From requests to queries: each begins with its first request, and ends with its last answer."""
    sent, ended = sent.reshape(-1, per), ended.reshape(-1, per)
    first = np.where(sent >= 0, sent, np.iinfo(np.int64).max).min(axis=1)
    return (
        scheduled[::per],
        np.where((sent >= 0).any(axis=1), first, -1),
        np.where((ended >= 0).all(axis=1), ended.max(axis=1), -1),
    )


def _worst(status: NDArray[np.uint8], per: int) -> NDArray[np.uint8]:
    """Give each query the gravest end of its requests."""
    grave = np.zeros(max(_GRAVITY) + 1, dtype=np.uint8)
    grave[list(_GRAVITY)] = range(len(_GRAVITY))
    found: NDArray[np.uint8] = np.array(_GRAVITY, dtype=np.uint8)[grave[status.reshape(-1, per)].max(axis=1)]
    return found


def _answers(
    plan: Plan, columns: dict[str, Any], rows: Int64, good: NDArray[np.bool_]
) -> tuple[list[Any], dict[int, str]]:
    """Make outputs of what was read; of which rows none could be made, and why ("": there is nothing)."""
    stores = [array_of(store, "u1") for store in plan.output_stores]
    answers: list[Any] = [None] * len(rows)
    unread: dict[int, str] = {}
    starts, sizes = columns["output_start"], columns["output_size"]
    owners = plan.process_of(rows)
    for place in np.flatnonzero(good).tolist():
        first, size = int(starts[place]), int(sizes[place])
        data = stores[owners[place]][first : first + size].tobytes()
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
    owners = plan.process_of(rows)
    told = {}
    for place in np.flatnonzero(numbers).tolist():
        known = texts[owners[place]]
        number = int(numbers[place])
        told[place] = known[number - 1] if number <= len(known) else "its load process ended too soon to say"
    return told


def _wire(plan: Plan, columns: dict[str, Any], rows: Int64, counted: Int64) -> Wire:
    starts, times = _token_times(plan, columns, rows)
    failure = columns["failure"]
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
        given_up=np.isin(failure, UNANSWERED),
    )


def _token_times(plan: Plan, columns: dict[str, Any], rows: Int64) -> tuple[Int64, Int64]:
    """Bring the stores of all load processes into one CSR layout, in send order."""
    stores = [array_of(store, "q") for store in plan.token_stores]
    bases = np.concatenate([[0], np.cumsum([len(store) for store in stores])]).astype(np.int64)
    every: Int64 = np.concatenate(stores) if stores else np.empty(0, dtype=np.int64)
    sizes = np.maximum(columns["chunks"], 0).astype(np.int64)
    owners = plan.process_of(rows)
    begins = columns["token_start"] + bases[owners]
    # A process that was killed has rows whose tokens were never written out.
    sizes[begins + sizes > bases[1:][owners]] = 0
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    within = np.arange(int(starts[-1])) - np.repeat(starts[:-1], sizes)
    return starts, every[np.repeat(begins, sizes) + within]
