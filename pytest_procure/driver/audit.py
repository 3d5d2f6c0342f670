"""The harness's check on itself. What it saw of the candidate on the way is `seen`'s, and kept apart."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pytest_procure import threads
from pytest_procure.scenarios import Scenario
from pytest_procure.telemetry.gpu import GpuSeen

from .arrivals import Arrivals, arrivals_of, law_of
from .limits import Limits
from .log import Int64, RequestLog
from .readings import Readings, cpu_share, foreign_share, usable_cpus
from .seen import Seen, seen

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Audit:
    """What the driver measured of itself during one run.

    A late harness can only lengthen latencies, because they start at the scheduled time: its faults may take
    a rejection away, never give an acceptance. What may flatter instead says so (`may_flatter`). A candidate
    that is too slow is no fault of the harness; that stands in `candidate_notes`.
    """

    sends: int
    send_lag_p50_ns: int | None  # from when a worker was free and the policy said go; None: nothing was sent
    send_lag_p99_ns: int | None
    send_lag_max_ns: int | None
    run_delay_share: float | None  # of the window, the worst worker thread; None: not told by this system
    worker_cpu_share: float | None  # of one processor, all worker threads, with the calls they make
    other_threads_share: float | None  # of one processor, Python threads of neither workers nor candidate
    candidate_threads_share: float | None  # of one processor, Python threads that the candidate started
    busiest_thread: str  # of the others; "" if there is none
    process_cpu_share: float  # of all processors, this process
    foreign_cpu_share: float | None  # of all processors, used by other processes
    sampling_cpu_share: float | None  # of one processor, reading counters meanwhile; None: nothing was read
    clock_step_ns: int
    gc_passes: int  # during the window, where the driver has turned collection off
    gc_pause_ns: int  # all of them together
    gc_pause_max_ns: int  # the longest of those that the candidate did not start; 0: none
    cpus: int
    load_average: float | None  # over the minute before the window
    window_ns: int  # between the readings on both sides
    arrivals: Arrivals | None  # as scheduled; None: too few, or the scenario declares no law
    arrivals_sent: Arrivals | None  # as they reached a free worker
    candidate: Seen
    limits: Limits
    stalled_ns: int = 0  # in which the harness stood still, in spells of `limits.stall_ns` or more
    gpus: tuple[GpuSeen, ...] = ()  # that the candidate's device names, where a driver tells of them
    gpus_unseen: str = ""  # why one that it names was not looked at

    def faults(self, tightest_bar_ns: int | None = None) -> tuple[str, ...]:
        """Tell the harness's own faults, each with its mend. `tightest_bar_ns`: the least latency bar."""
        told = [
            self._late(self.limits.lag_ns(tightest_bar_ns)),
            self._still(self.send_lag_max_ns, self.limits.lag_ns(tightest_bar_ns)),
            self._starved(),
            self._crowded(),
            self._collected(),
            self._stepped(),
            *self._shared(),
            *self._irregular(),
        ]
        return tuple(sentence for sentence in told if sentence)

    @property
    def taken(self) -> float:
        """The share of the run in which nothing was asked because other programs ran, as far as is known."""
        return min(1.0, max(self.run_delay_share or 0.0, self.stalled_ns / max(1, self.window_ns)))

    @property
    def is_broken(self) -> bool:
        """Whether a part of the harness was lost, so that nothing follows from what is missing."""
        return False

    @property
    def clock_stepped(self) -> bool:
        """Whether the clocks parted."""
        return abs(self.clock_step_ns) > self.limits.clock_step_ns

    @property
    def may_flatter(self) -> bool:
        """Whether a fault may have shortened latencies: a sleep in one, or traffic other than declared."""
        return self.clock_stepped or bool(self.arrivals and self.arrivals.irregular)

    @property
    def backlog_grew(self) -> bool:
        """Whether more and more queries waited under a declared rate, and more than are served at once."""
        return self.candidate.backlog_grew(self.limits)

    @property
    def is_capped(self) -> bool:
        """Whether it was the harness's own limit that let requests wait."""
        return False

    @property
    def never_settled(self) -> bool:
        """Whether a run at a declared rate was slower and slower to its end."""
        return self.candidate.rate_is_declared and self.candidate.never_settled

    def candidate_notes(self) -> tuple[str, ...]:
        """Tell what the driver saw of the candidate, which stands against the candidate."""
        told = self.candidate.notes(self.limits)
        if self._waited_for_cpu and self._own_threads:
            told.append(
                f"the worker threads waited for a processor {self.run_delay_share:.0%} of the time, "
                f"behind the candidate's own threads"
            )
        if self._uses(self.candidate_threads_share):
            told.append(
                f"the candidate's own Python threads used {self.candidate_threads_share:.0%} of a processor, "
                f"and held Python's lock meanwhile"
            )
        if self.gc_passes and not self.gc_pause_max_ns:
            times = "once" if self.gc_passes == 1 else f"{self.gc_passes} times"
            told.append(
                f"the candidate's code ran Python's garbage collector {times}, for {in_ms(self.gc_pause_ns)}"
            )
        return (*told, *self._gpu_notes())

    def as_dict(self) -> dict[str, Any]:
        """Give all of it as plain JSON data."""
        told = asdict(self)
        for name in ("gpus", "gpus_unseen"):  # of candidates that use none
            if not told[name]:
                del told[name]
        return told

    def _shared(self) -> list[str]:
        return [gpu.fault for gpu in self.gpus if gpu.fault]

    def _gpu_notes(self) -> list[str]:
        """Tell what stands against the candidate's own hardware, and what of it could not be seen."""
        unseen = [f"its GPU was not looked at: {self.gpus_unseen}"] if self.gpus_unseen else []
        return [note for gpu in self.gpus for note in gpu.notes()] + unseen

    def _late(self, allowed: int) -> str:
        if self.send_lag_p99_ns is None or self.send_lag_p99_ns <= allowed:
            return ""
        return (
            f"while a worker was free, 1 query in 100 was sent {in_ms(self.send_lag_p99_ns)} late or "
            f"more (allowed: {in_ms(allowed)}); run on a machine with nothing else to do"
        )

    def _still(self, longest_ns: int | None, allowed: int) -> str:
        """Tell of spells in which nothing was sent: few sends are late then, and much of the traffic is."""
        is_much = self.stalled_ns > max(self.limits.stalled * self.window_ns, self.limits.stalled_ns)
        if not is_much or longest_ns is None or longest_ns <= allowed:
            return ""
        return (
            f"the harness stood still for {in_ms(self.stalled_ns)} of the run, {in_ms(longest_ns)} at the "
            "most, and what was due then came late; run on a machine that does not stop its programs"
        )

    def _starved(self) -> str:
        if not self._waited_for_cpu or self._own_threads:
            return ""
        return (
            f"the worker threads waited for a processor {self.run_delay_share:.0%} of the time "
            f"(allowed: {self.limits.run_delay:.0%}); end other programs, or give the run its own processors"
        )

    def _crowded(self) -> str:
        if not self._uses(self.other_threads_share):
            return ""
        return (
            f"other Python threads of this process, `{self.busiest_thread}` above all, used "
            f"{self.other_threads_share:.0%} of a processor (allowed: {self.limits.other_threads:.0%}), and "
            f"the workers waited for Python's lock meanwhile; end them before the run"
        )

    def _collected(self) -> str:
        if self.gc_pause_max_ns <= self.limits.gc_pause_ns:
            return ""
        return (
            f"a thread that is not the candidate's ran Python's garbage collector, for "
            f"{in_ms(self.gc_pause_max_ns)} (allowed: {in_ms(self.limits.gc_pause_ns)}); end it before "
            f"the run"
        )

    def _stepped(self) -> str:
        if not self.clock_stepped:
            return ""
        return (
            f"the wall clock moved by {in_ms(self.clock_step_ns)} against the steady clock: it was set, or "
            f"the machine slept; turn off suspending, and let a time service set the clock before the run"
        )

    def _irregular(self) -> list[str]:
        if self.arrivals is not None and self.arrivals.irregular:
            return [f"as scheduled, {what}; take another seed" for what in self.arrivals.irregular]
        if self.arrivals_sent is None:
            return []
        mend = "the harness sent late; run on a machine with nothing else to do"
        return [f"as sent, {what}: {mend}" for what in self.arrivals_sent.irregular]

    @property
    def _waited_for_cpu(self) -> bool:
        return self.run_delay_share is not None and self.run_delay_share > self.limits.run_delay

    @property
    def _own_threads(self) -> bool:
        return self.foreign_cpu_share is not None and self.foreign_cpu_share < self.limits.foreign_cpu

    def _uses(self, share: float | None) -> bool:
        """Whether threads use more than they may, and more than the driver itself takes for its start."""
        limits = self.limits
        return (
            share is not None
            and share > limits.other_threads
            and share * self.window_ns > limits.other_threads_ns
        )


@dataclass(frozen=True, slots=True)
class Worked:
    """What the window's threads tell of themselves."""

    ran_ns: int | None = None  # processor time of all workers; None where the system does not tell
    waited_ns: int | None = None  # for a processor, the worst worker
    others: threads.Used = threads.Used(None, None, "")  # noqa: RUF009 - frozen
    gc_pauses_ns: Sequence[int] = ()
    gc_foreign_ns: int = 0  # the longest pass that the candidate did not start
    sampling_ns: int | None = None


def audit(  # noqa: PLR0913 - what was read on both sides of the window, and by whom
    log: RequestLog,
    scenario: Scenario,
    *,
    before: Readings,
    after: Readings,
    worked: Worked = Worked(),
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Audit:
    """Judge the harness from the log and from readings on both sides of the window."""
    window = max(1, after.monotonic_ns - before.monotonic_ns)
    # Load processes note of each request how late they sent it: nothing has to be found out from the log.
    lag = send_lag(log, scenario) if log.wire is None else np.empty(0, dtype=np.int64)
    scheduled, sent = _arrivals(log, scenario, lag, limits)
    return Audit(
        sends=len(lag),
        send_lag_p50_ns=quantile(lag, 0.5),
        send_lag_p99_ns=quantile(lag, 0.99),
        send_lag_max_ns=quantile(lag, 1.0),
        run_delay_share=_share(worked.waited_ns, window),
        worker_cpu_share=_share(worked.ran_ns, window),
        other_threads_share=_share(worked.others.others_ns, window),
        candidate_threads_share=_share(worked.others.candidates_ns, window),
        busiest_thread=worked.others.busiest,
        process_cpu_share=cpu_share(before, after),
        foreign_cpu_share=foreign_share(before, after),
        sampling_cpu_share=_share(worked.sampling_ns, window),
        clock_step_ns=after.wall_minus_monotonic_ns - before.wall_minus_monotonic_ns,
        gc_passes=len(worked.gc_pauses_ns),
        gc_pause_ns=sum(worked.gc_pauses_ns),
        gc_pause_max_ns=worked.gc_foreign_ns,
        cpus=usable_cpus(),
        load_average=before.load_average,
        window_ns=window,
        arrivals=scheduled,
        arrivals_sent=sent,
        candidate=seen(log, scenario, limits),
        limits=limits,
        stalled_ns=0 if scenario.is_in_turn else stalled_ns(lag, limits) // scenario.workers,
    )


def send_lag(log: RequestLog, scenario: Scenario) -> Int64:
    """Give for each batch how late it was sent: `(b,)` int64 ns.

    A batch has to be sent when a worker is free and it is full or its oldest query has waited `max_wait`.
    Which worker is free first follows from the measured completions, so a busy candidate makes no lag.
    """
    heads = log.heads()
    leave = np.zeros(len(heads), dtype=np.int64)
    if not scenario.is_in_turn:
        leave += log.scheduled[heads]
        if scenario.max_wait.ns:
            leave += scenario.max_wait.ns
            full = heads + scenario.max_batch - 1
            known = full < len(log)
            leave[known] = np.minimum(leave[known], log.scheduled[full[known]])
    # A worker whose batch never ended is never free again.
    freed = log.completed[heads]
    freed[freed < 0] = _NEVER
    if scenario.workers == 1:
        np.maximum(leave[1:], freed[:-1], out=leave[1:])
    else:
        idle, leaves = [0] * scenario.workers, leave.data
        for number, end in enumerate(freed.data):
            leaves[number] = max(leaves[number], heapq.heapreplace(idle, end))
    lag: Int64 = np.subtract(log.started[heads], leave, out=leave)
    return np.maximum(lag, 0, out=lag)


def _arrivals(
    log: RequestLog, scenario: Scenario, lag: Int64, limits: Limits
) -> tuple[Arrivals | None, Arrivals | None]:
    """Hold the schedule, and what the harness made of it, against the scenario's law.

    A query arrives with its batch's lag after it was due: that it waits for a busy candidate is no arrival.
    """
    law = law_of(scenario)
    if law is None:
        return None, None
    if log.wire is not None:
        return arrivals_of(log.scheduled, law, limits), None
    heads = log.heads()
    sent = log.scheduled.copy()
    sent[heads] += lag
    # Those that became due while their batch was late arrived with it at the latest.
    np.maximum.accumulate(sent, out=sent)
    begun = log.started >= 0
    np.minimum(sent, np.maximum(log.started, log.scheduled), out=sent, where=begun)
    reached = arrivals_of(sent, law, limits) if begun.all() else None
    return arrivals_of(log.scheduled, law, limits), reached


def _share(ns: int | None, window: int) -> float | None:
    return None if ns is None else ns / window


def stalled_ns(late: Int64, limits: Limits) -> int:
    """Sum up how late a harness was where it was so late that it stood still: ns, of `(n,)` ns."""
    return int(late.sum(where=late >= limits.stall_ns))


def quantile(values: Int64, share: float) -> int | None:
    """Give a quantile by nearest rank; None of nothing."""
    return int(np.quantile(values, share, method="inverted_cdf")) if len(values) else None


def in_ms(ns: int) -> str:
    """Write a time in ms, or in s where those would be thousands, for a sentence."""
    return f"{ns / 1e6:.3g} ms" if abs(ns) < 999_500_000 else f"{ns / 1e9:.3g} s"
