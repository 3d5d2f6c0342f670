"""Times and counts of tokens, from an endpoint's log.

ttft   time to first token: from the scheduled time to the first event that carries a token; one a request
itl    inter-token latency: from one arrival of tokens to the next; one a gap. What arrives together has no
       gap between, so no time shorter than an arrival is claimed
tpot   time per output token: (last token - first token) / (tokens - 1); one a request of two tokens or more

Tokens are those of the buyer's own count where there is one, else those that the endpoint reports, else the
events that carried some.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import Int64, RequestLog, Wire

from .measurement import NEVER

#: What one value of each stands for.
UNITS = {"latency": "requests", "ttft": "requests", "itl": "gaps between tokens", "tpot": "requests"}


def absent(log: RequestLog) -> str:
    """Say why tokens have no times; nothing where they have."""
    if log.wire is None:
        return "the backend is no endpoint that streams, so its tokens have no times"
    good = log.by_sample(log.ok)
    whole = int(np.count_nonzero(good & ~log.wire.streamed))
    if whole:
        return f"{whole:,} of {int(good.sum()):,} good answers came in one piece, not as a stream"
    return ""


def times_of(family: str, log: RequestLog) -> Int64:
    """Give the values of `ttft`, `itl` or `tpot` in send order, ns; `NEVER` where the request failed.

    A failed request counts in `itl` for as many gaps as the median good one has: its own never came.
    """
    return _times(family, log)[1]


def owners_of(family: str, log: RequestLog) -> Int64:
    """Give the sample that each value of `ttft`, `itl` or `tpot` is of, in the same order."""
    return _times(family, log)[0]


def _times(family: str, log: RequestLog) -> tuple[Int64, Int64]:
    wire = log.wire
    assert wire is not None, "`absent` was asked"
    if family == "ttft":
        first = np.where(log.by_sample(log.ok), wire.first_token - log.by_sample(log.scheduled), NEVER)
        return np.arange(len(first)), first
    return _gaps(log, wire) if family == "itl" else _per_token(log, wire)


def output_tokens(log: RequestLog) -> Int64 | None:
    """Give the output tokens of each sample, `(n,)`; None where those of a good one are not known."""
    known: Int64 = np.full(len(log.samples), -1, dtype=np.int64)
    if log.wire is not None:
        known = log.wire.chunks.astype(np.int64)
    if log.output_tokens is not None:
        known = np.where(log.output_tokens >= 0, log.output_tokens, known)
    if log.wire is not None:
        known = np.where(log.wire.counted >= 0, log.wire.counted, known)
    return None if (known[log.by_sample(log.ok)] < 0).any() else known


def gaps(log: RequestLog, wire: Wire) -> tuple[Int64, Int64, Int64]:
    """Give each gap within a good answer: `(g,)` its sample, when it began, and how long it was, ns."""
    good = log.by_sample(log.ok)
    of = np.repeat(np.arange(len(good)), np.diff(wire.token_starts))
    if not len(of):
        return of, of, of
    steps = np.diff(wire.token_times)
    # Steps between two requests are none, and neither are those of tokens that came together.
    real = (np.diff(of) == 0) & (steps > 0) & good[of[:-1]]
    return of[1:][real], wire.token_times[:-1][real], steps[real]


def _gaps(log: RequestLog, wire: Wire) -> tuple[Int64, Int64]:
    """Give the sample and the length of each gap, and of those that never came."""
    good = log.by_sample(log.ok)
    owner, _, values = gaps(log, wire)
    counts = np.bincount(owner, minlength=len(good))[good]
    lost = max(1, int(np.median(counts))) if len(counts) else 1
    failed = np.repeat(np.flatnonzero(~good), lost)
    owner = np.concatenate([owner, failed])
    values = np.concatenate([values, np.full(len(failed), NEVER)])
    order = np.argsort(owner, kind="stable")
    return owner[order], values[order]


def _per_token(log: RequestLog, wire: Wire) -> tuple[Int64, Int64]:
    """Give the sample and the value of each request of two tokens or more, and of each that failed."""
    tokens = output_tokens(log)
    if tokens is None:
        tokens = wire.chunks.astype(np.int64)
    good = log.by_sample(log.ok)
    several: NDArray[np.bool_] = good & (tokens > 1)
    spread = wire.last_token - wire.first_token
    values = np.where(several, spread // np.maximum(tokens - 1, 1), NEVER)
    owner = np.flatnonzero(several | ~good)
    return owner, values[owner]
