"""From the shared columns to the request log. All of it happens after the window.

LOST ── not sent, or no answer when waiting was over
TIMEOUT ── given up at the deadline, or answered after it
EMPTY ── an answer without a token, a number, an output
ERROR ── every other failure
OK
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.endpoints.failure import UNANSWERED, Failure, line
from pytest_procure.driver.log import Int64, RequestLog, Status, Wire
from pytest_procure.driver.outcomes import fault_of

from .columns import SIZE
from .plan import Plan
from .recount import Counts, Recount
from .stores import Rows, Stores

_STATUS = np.full(max(Failure) + 1, Status.ERROR, dtype=np.uint8)
_STATUS[[Failure.NONE, Failure.UNSENT]] = Status.LOST
_STATUS[Failure.TIMEOUT] = Status.TIMEOUT
_STATUS[Failure.EMPTY] = Status.EMPTY
#: Rows of which endings are counted at once, and how many different ones are told.
_AT_ONCE, _MOST_ENDINGS = 1 << 16, 20
#: From good to grave.
_GRAVITY = (Status.OK, Status.EMPTY, Status.ERROR, Status.TIMEOUT, Status.LOST)


def endings_of(plan: Plan, texts: Sequence[Sequence[str]]) -> dict[str, int]:
    """Count good answers by what their server says ended them, and take that out of the column of messages.

    `texts` of each load process. To be asked before the log is written, which takes what is left for errors.
    """
    counted: Counter[str] = Counter()
    for first in range(0, plan.rows, _AT_ONCE):
        good, numbers = (plan.table[name][first : first + _AT_ONCE] for name in ("good", "text"))
        named = np.flatnonzero((good == 1) & (numbers > 0))
        owners = plan.process_of(named + first)
        for process, own in enumerate(texts):
            found, times = np.unique(numbers[named[owners == process]], return_counts=True)
            for number, often in zip(map(int, found), map(int, times), strict=True):
                if number <= len(own):
                    counted[own[number - 1]] += often
        numbers[named] = 0
    told = dict(counted.most_common(_MOST_ENDINGS))
    rest = counted.total() - sum(told.values())
    return told | ({"(others)": rest} if rest else {})


def request_log(
    plan: Plan, texts: Sequence[Sequence[str]], recount: Recount, stopped: str, window_ns: int
) -> RequestLog:
    """Write the log; `texts` of each load process, `window_ns` from the origin to when it was stopped."""
    # The shared columns themselves become the log's, and those that are read out are given back at once, so
    # that nothing is there twice.
    rows, columns = _in_order(plan), plan.table
    scheduled, sent, ended = (columns[name] for name in ("scheduled", "sent", "ended"))
    if not plan.is_paced:  # what never became due has waited since the last that did
        np.maximum(scheduled, 0, out=scheduled)
        np.maximum.accumulate(scheduled, out=scheduled)
    good = columns["good"] == 1
    answers, unread = _answers(plan, columns, rows, good)
    errors = _errors(columns, rows, texts) | {at: text for at, (_, text) in unread.items()}
    plan.drop("good", "output_start", "text")
    status = np.where(good, np.uint8(Status.OK), _STATUS[columns["failure"]])
    for place, (ending, _) in unread.items():
        status[place] = ending
    base = sent if plan.scenario.name == "offline" else scheduled
    status[good & (ended - base > plan.scenario.timeout.ns)] = Status.TIMEOUT
    outputs = recount.outputs(answers)
    wire = _wire(plan, columns, rows, (recount.questions(plan, rows, good, outputs), outputs))
    plan.drop("token_start")
    per = plan.scenario.samples_per_query
    if per > 1:
        scheduled, sent, ended = _together(scheduled, sent, ended, per)
        status = _worst(status, per)
        errors = {place // per: errors[place] for place in sorted(errors, reverse=True)}
    output_tokens, input_tokens = columns["output_tokens"], columns["input_tokens"]
    batch = np.arange(len(sent), dtype=np.int32)
    batch[sent < 0] = -1
    last = int(ended.max(initial=0))
    return RequestLog(
        scheduled=scheduled,
        started=sent,
        completed=ended,
        status=status,
        batch=batch,
        samples=columns["item"],
        answers=answers,
        samples_per_query=per,
        input_tokens=input_tokens if (input_tokens >= 0).any() else None,
        output_tokens=output_tokens if (output_tokens >= 0).any() else None,
        errors=errors,
        stopped=stopped,
        window_ns=max(last, window_ns) if stopped else last,
        wire=wire,
    )


def _in_order(plan: Plan) -> Rows:
    """Put the rows into the order in which they were due, of a loop by duration only those."""
    due = plan.table["scheduled"]
    if plan.is_paced or (due[0] >= 0 and (due[1:] >= due[:-1]).all()):
        return Rows(plan, None)
    order: Int64 = np.argsort(due.view(np.uint64), kind="stable")  # -1, which never became due, is the most
    for column in plan.table.values():
        column[:] = column[order]
    if plan.by_duration:
        order = order[: np.count_nonzero(due >= 0)].copy()
        plan.shorten(len(order))
    return Rows(plan, order)


def _together(scheduled: Int64, sent: Int64, ended: Int64, per: int) -> tuple[Int64, Int64, Int64]:
    """From requests to queries: each begins with its first request, and ends with its last answer."""
    # -1, which has not happened, is the most of unsigned numbers: never the first, and always the last.
    begun, over = (column.view(np.uint64).reshape(-1, per) for column in (sent, ended))
    return scheduled[::per], begun.min(axis=1).view(np.int64), over.max(axis=1).view(np.int64)


def _worst(status: NDArray[np.uint8], per: int) -> NDArray[np.uint8]:
    """Give each query the gravest end of its requests."""
    grave = np.zeros(max(_GRAVITY) + 1, dtype=np.uint8)
    grave[list(_GRAVITY)] = range(len(_GRAVITY))
    found: NDArray[np.uint8] = np.array(_GRAVITY, dtype=np.uint8)[grave[status.reshape(-1, per)].max(axis=1)]
    return found


def _answers(
    plan: Plan, columns: dict[str, Any], rows: Rows, good: NDArray[np.bool_]
) -> tuple[list[Any], dict[int, tuple[Status, str]]]:
    """Read the outputs; those that a process which was killed has not written out are no longer `good`.

    With them goes of which rows no output could be made, and why.
    """
    stores = Stores(plan.output_stores, "u1")
    answers: list[Any] = [None] * rows.count
    unread: dict[int, tuple[Status, str]] = {}
    starts = columns["output_start"]
    needed = rows.needed_from(starts, good)
    for number, piece in enumerate(rows.pieces()):
        owners = rows.owners(piece)
        for place in np.flatnonzero(good[piece]).tolist():
            store, first = stores[owners[place]], int(starts[piece.start + place])
            size = SIZE.unpack_from(store, first)[0] if first + SIZE.size <= len(store) else len(store)
            first += SIZE.size
            if first + size <= len(store):
                at = piece.start + place
                answers[at], trouble = _output(plan, store[first : first + size].tobytes())
                if trouble is not None:
                    unread[at] = trouble
            else:
                good[piece.start + place] = False
        stores.give_back_before(needed[number])
    return answers, unread


def _output(plan: Plan, data: bytes) -> tuple[Any, tuple[Status, str] | None]:
    """Make an output of what was kept of an answer, or say how that ends, and why."""
    try:
        output = plan.output(data)
    except Exception as error:  # noqa: BLE001 - the buyer's own `decode=` may raise anything
        said = line(f"decoding its answer raised {type(error).__name__}: {error}")
        return None, (Status.ERROR, said)
    fault = fault_of(output)
    return output, (Status.EMPTY, fault) if fault else None


def _errors(columns: dict[str, Any], rows: Rows, texts: Sequence[Sequence[str]]) -> dict[int, str]:
    numbers = columns["text"]
    told = {}
    for piece in rows.pieces():
        owners = rows.owners(piece)
        for place in np.flatnonzero(numbers[piece]).tolist():
            known, number = texts[owners[place]], int(numbers[piece.start + place])
            told[piece.start + place] = (
                known[number - 1] if number <= len(known) else "its load process ended too soon to say"
            )
    return told


def _wire(plan: Plan, columns: dict[str, Any], rows: Rows, counted: tuple[Counts, Counts]) -> Wire:
    starts, times = _token_times(plan, columns, rows)
    failure = columns["failure"]
    return Wire(
        headers=columns["headers"],
        token_starts=starts,
        token_times=times,
        chunks=columns["chunks"],
        counted_input=counted[0],
        counted=counted[1],
        cached=columns["cached_tokens"],
        received=columns["received"],
        http=columns["http"],
        retries=columns["retries"],
        failure=failure,
        given_up=np.isin(failure, UNANSWERED),
    )


def _token_times(plan: Plan, columns: dict[str, Any], rows: Rows) -> tuple[Int64, Int64]:
    """Bring the stores of all load processes into one CSR layout, in send order."""
    stores = Stores(plan.token_stores, "q")
    begins, chunks = columns["token_start"], columns["chunks"]
    starts: Int64 = np.zeros(rows.count + 1, dtype=np.int64)
    for piece in rows.pieces():
        sizes = np.maximum(chunks[piece], 0).astype(np.int64)
        sizes[~stores.has(rows.owners(piece), begins[piece] + sizes)] = 0
        starts[piece.start + 1 : piece.stop + 1] = sizes
    np.cumsum(starts, out=starts)
    times: Int64 = np.empty(int(starts[-1]), dtype=np.int64)
    needed = rows.needed_from(begins, chunks > 0)
    for number, piece in enumerate(rows.pieces()):
        bounds = starts[piece.start : piece.stop + 1]
        sizes = np.diff(bounds)
        within = np.arange(int(bounds[-1] - bounds[0])) - np.repeat(bounds[:-1] - bounds[0], sizes)
        places = np.repeat(begins[piece].astype(np.int64), sizes) + within
        owners = np.repeat(rows.owners(piece), sizes)
        into = times[bounds[0] : bounds[-1]]
        for process in range(plan.processes):
            own = owners == process
            into[own] = stores[process][places[own]]
        stores.give_back_before(needed[number])
    return starts, times
