"""The audit of a run against an endpoint: what the load processes measured of themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_procure.backends.endpoints.failure import Failure
from pytest_procure.driver.arrivals import Arrivals, arrivals_of, law_of
from pytest_procure.driver.audit import Audit, Worked, audit, in_ms, quantile, stalled_ns
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.log import Int64, RequestLog
from pytest_procure.driver.readings import Readings

from .columns import MOST_LAG
from .departures import seen_of_endpoint

if TYPE_CHECKING:  # it takes the extra [endpoint], which whoever reads an audit may not have
    from .plan import Plan

_OF_SOME_LENGTH = 8  # tokens
#: Fewer looks at the loop than this have no 1 in 100.
_LEAST_LOOKS = 100


@dataclass(frozen=True, slots=True)
class EndpointAudit(Audit):
    """What is measured beside the rest: a load process late, busy, waiting or gone is the harness's fault.

    Send lag counts from when a query was due and a connection was free; a column of 32 bits holds it, so one
    of `MOST_LAG` (4.29 s) is that much or more, says so, and is a fault whatever is allowed. `loop_lag` is
    how late a load process came to look at the clock every 10 ms, so how late it may have stamped what
    arrived.
    """

    load_processes: int = 1
    load_cpu_share: float = 0.0  # the busiest load process, of the window
    loop_lag_p50_ns: int | None = None
    loop_lag_p99_ns: int | None = None
    loop_lag_max_ns: int | None = None
    short_of: tuple[str, ...] = ()  # what this machine had no more of for another connection
    lost_processes: tuple[str, ...] = ()  # load processes that ended without a report, and why
    connections: int = 0  # at most
    connections_opened: int = 0  # in the window
    connections_closed_early: int = 0  # answers that broke off
    unasked_for: int = 0  # connections on which bytes came that nothing had asked for
    pinned_share: float = 0.0  # of the window, all connections in use and queries waiting
    retried: int = 0  # attempts beyond the first
    keeps_connections: bool = True  # the server, as it says
    resent: int = 0  # requests sent again: the server closed a kept connection before it took them
    server_log_bytes: int = 0  # that a server which was started for the run wrote in it
    server_log_kept: int = 0  # of all that it writes, at most
    reported_tokens: int | None = None  # of the outputs that the buyer counted the tokens of
    counted_tokens: int | None = None  # by the buyer's own count
    uncounted: str = ""  # on how many texts that count failed, and how

    def faults(self, tightest_bar_ns: int | None = None) -> tuple[str, ...]:
        """Tell the harness's own faults, each with its mend. `tightest_bar_ns`: the least latency bar."""
        limits = self.limits
        allowed = limits.lag_ns(tightest_bar_ns)
        told = []
        if self.send_lag_p99_ns is not None and self.send_lag_p99_ns > min(allowed, MOST_LAG - 1):
            told.append(
                f"while a connection was free, 1 request in 100 was sent {_lag_in_ms(self.send_lag_p99_ns)} "
                f"late or more (allowed: {in_ms(allowed)}); run on a machine with nothing else to do"
            )
        if self.loop_lag_p99_ns is not None and self.loop_lag_p99_ns > allowed:
            told.append(
                f"a load process looked at the clock {in_ms(self.loop_lag_p99_ns)} late 1 time in 100 "
                f"(allowed: {in_ms(allowed)}), so answers were stamped late; give it a processor of its own, "
                "or raise `load_processes=`"
            )
        if self.load_cpu_share > limits.load_cpu:
            told.append(
                f"a load process computed {self.load_cpu_share:.0%} of the time (allowed: "
                f"{limits.load_cpu:.0%}); raise `load_processes=`, or ask for less traffic"
            )
        if self.run_delay_share is not None and self.run_delay_share > limits.run_delay:
            told.append(
                f"a load process waited for a processor {self.run_delay_share:.0%} of the time (allowed: "
                f"{limits.run_delay:.0%}); end other programs, or give the run processors of its own"
            )
        if still := self._still(self.loop_lag_max_ns, allowed):
            told.append(still)
        told += [
            f"a load process could open no more connections: {why}; raise the limit, or ask for less at once"
            for why in self.short_of
        ]
        told += [f"a load process was lost: {why}" for why in self.lost_processes]
        if stepped := self._stepped():
            told.append(stepped)
        told += [*self._shared(), *self._irregular()]
        return tuple(told)

    def candidate_notes(self) -> tuple[str, ...]:
        """Tell what the driver saw of the endpoint, which stands against it."""
        told, seen, limits = [], self.candidate, self.limits
        if self.backlog_grew:
            told.append(seen.growth("waited for an answer", "the endpoint", limits))
        if seen.leaves_unanswered(limits):
            told.append(
                f"the endpoint never kept up: it answered {seen.completed:,} of {seen.offered:,} requests"
            )
        if seen.leaves_unsent(limits):
            used = f", and all {self.connections:,} connections were in use" * (self.pinned_share > 0)
            told.append(f"{seen.unsent:,} requests found no connection before their time was over{used}")
        if seen.never_settled:
            told.append(
                f"the run never settled: requests of its last third took {seen.slower_share:.0%} longer than "
                f"those of its first"
            )
        if self.pinned_share > limits.connections_pinned:
            told.append(
                f"all {self.connections:,} connections were in use, and requests waited for one, "
                f"{self.pinned_share:.0%} of the time"
            )
        if self.retried:
            told.append(f"{self.retried:,} further attempts were made after a refusal or a broken connection")
        if self.connections_closed_early:
            told.append(f"{self.connections_closed_early:,} answers broke off: the connection was closed")
        if self.unasked_for:
            told.append(f"on {self.unasked_for:,} connections came bytes that no request had asked for")
        return (*told, *self._of_the_tokens(), *self._of_the_server(), *self._gpu_notes())

    def as_dict(self) -> dict[str, Any]:
        """Give all of it as plain JSON data; a lag that may be more than it reads is told as a text."""
        told = Audit.as_dict(self)
        for name in ("send_lag_p50_ns", "send_lag_p99_ns", "send_lag_max_ns"):
            if told[name] is not None and told[name] >= MOST_LAG:
                told[name] = f">= {told[name]}"
        return told

    def _of_the_tokens(self) -> list[str]:
        """Tell where the buyer's count of them and the endpoint's part, or where that count failed."""
        told = []
        if self._overcharged and self.reported_tokens and self.counted_tokens:
            told.append(
                f"the endpoint reports {self.reported_tokens / self.counted_tokens:.2f} times the output "
                f"tokens that the buyer counts ({self.reported_tokens:,} for {self.counted_tokens:,}); costs "
                "go by what it reports, because that is what it bills"
            )
        return [*told, self.uncounted] if self.uncounted else told

    def _of_the_server(self) -> list[str]:
        """Tell how the server treated its connections and its log."""
        told = []
        if not self.keeps_connections:
            again = f"; {self.resent:,} had to be sent again" if self.resent else ""
            told.append(
                "the server closed connections that it had said it would keep, so each request got one of "
                f"its own{again}"
            )
        if self.server_log_bytes > max(self.server_log_kept, self.limits.server_log):
            told.append(
                f"its server flooded its log: {self.server_log_bytes:,} bytes in this run, of which at most "
                f"{self.server_log_kept:,} are kept"
            )
        return told

    @property
    def is_capped(self) -> bool:
        """Whether requests waited because all connections were in use."""
        return self.candidate.rate_is_declared and self.pinned_share > self.limits.connections_pinned

    @property
    def is_broken(self) -> bool:
        """Whether a load process was lost, or had nothing to send with: what is missing is its own doing."""
        return bool(self.lost_processes or self.short_of)

    @property
    def _overcharged(self) -> bool:
        return (self.reported_tokens or 0) > self.limits.tokens_reported * (self.counted_tokens or math.inf)


def endpoint_audit(  # noqa: PLR0913 - what was seen on all sides of the window
    log: RequestLog,
    plan: Plan,
    *,
    before: Readings,
    after: Readings,
    reports: Sequence[dict[str, Any]],
    lost: Sequence[str],
    worked: Worked,
    limits: Limits,
    server_log: tuple[int, int] = (0, 0),
    uncounted: str = "",
) -> EndpointAudit:
    """Judge the load processes by their reports, the send lag by its column, and the rest by the log."""
    cpu = sum(report["cpu_ns"] for report in reports)
    after = replace(after, own_cpu_ns=after.own_cpu_ns + cpu)  # load processes are no strangers
    plain = audit(log, plan.scenario, before=before, after=after, worked=worked, limits=limits)
    late: Int64 = np.array([ns for report in reports for ns in report["lateness_ns"]], dtype=np.int64)
    assert log.wire is not None, "an endpoint's log has it"
    known = {field.name: getattr(plain, field.name) for field in fields(Audit)}
    known |= _lags(plan)
    known |= {
        "run_delay_share": max((r["run_delay_ns"] / max(1, r["window_ns"]) for r in reports), default=None),
        "arrivals_sent": _sent(log, plan, limits),
        "stalled_ns": max(
            (stalled_ns(np.array(r["lateness_ns"], np.int64), limits) for r in reports), default=0
        ),
        "candidate": seen_of_endpoint(plain.candidate, log, plan.scenario, plan.rate, limits),
    }
    enough = len(late) >= _LEAST_LOOKS
    reported, counted = _tokens(log)
    return EndpointAudit(
        **known,
        load_processes=plan.processes,
        load_cpu_share=max((r["cpu_ns"] / max(1, r["window_ns"]) for r in reports), default=0.0),
        loop_lag_p50_ns=quantile(late, 0.5),
        loop_lag_p99_ns=quantile(late, 0.99) if enough else None,
        loop_lag_max_ns=quantile(late, 1.0),
        short_of=tuple(sorted({why for report in reports for why in report["short_of"]})),
        lost_processes=tuple(lost),
        connections=plan.connections,
        connections_opened=sum(report["opened"] for report in reports),
        unasked_for=sum(report["unasked_for"] for report in reports),
        connections_closed_early=int(np.count_nonzero(log.wire.failure == Failure.RESET)),
        pinned_share=max((r["pinned_ns"] / max(1, r["window_ns"]) for r in reports), default=0.0),
        retried=int(log.wire.retries.sum()),
        keeps_connections=all(report["keeps"] for report in reports),
        resent=sum(report["resent"] for report in reports),
        server_log_bytes=server_log[0],
        server_log_kept=server_log[1],
        reported_tokens=reported,
        counted_tokens=counted,
        uncounted=uncounted,
    )


def _lags(plan: Plan) -> dict[str, int | None]:
    """Sum up how late requests were sent."""
    lag, sent = plan.table["lag"], plan.table["sent"] >= 0
    if not sent.all():
        lag = lag[sent]
    return {
        "sends": len(lag),
        "send_lag_p50_ns": quantile(lag, 0.5),
        "send_lag_p99_ns": quantile(lag, 0.99),
        "send_lag_max_ns": quantile(lag, 1.0),
    }


def _tokens(log: RequestLog) -> tuple[int | None, int | None]:
    """Sum the output tokens of answers that both the endpoint and the buyer have counted, each way.

    The token that ends a text is left out: llama.cpp and transformers count it, and nobody sees it. Of short
    texts it is not, or twice the bill for a word would go unseen.
    """
    if log.wire is None or log.output_tokens is None:
        return None, None
    reported, counted = log.output_tokens, log.wire.counted
    both = (reported >= 0) & (counted >= 0)
    if not both.any():
        return None, None
    ends = both & (reported - counted == 1) & (counted >= _OF_SOME_LENGTH)
    return int(reported.sum(where=both) - ends.sum()), int(counted.sum(where=both))


def _sent(log: RequestLog, plan: Plan, limits: Limits) -> Arrivals | None:
    """Hold the times at which requests reached a free connection against the scenario's law."""
    law, lag = law_of(plan.scenario), plan.table["lag"][: len(log)]
    if law is None:
        return None
    times = log.scheduled + lag
    longest = np.flatnonzero(lag == MOST_LAG)  # or more: of these it is known when they were sent
    times[longest] = np.maximum(times[longest], log.started[longest])
    times.sort()
    return arrivals_of(times, law, limits)


def _lag_in_ms(ns: int) -> str:
    return f"{'at least ' * (ns >= MOST_LAG)}{in_ms(ns)}"
