"""The table of a run's audit: its thresholds, with their reasons, and which of them an ini key sets.

What is no threshold but a part of how something is measured stands where it is measured; `docs/driver.md`
names it. This module is read at the start of every session, so it holds nothing that takes time to make.
"""

from __future__ import annotations

from typing import NamedTuple


class Threshold(NamedTuple):
    """One of them.

    `lax`: whether an offer passes more easily with "more" or "less" of it; "" where it is about the harness,
    whose faults let nothing pass that would not have passed.
    """

    key: str  # of the ini, less `procure_`
    default: float  # in ns, bytes, or as a plain number
    kind: str  # "time", "size", "share", "factor", "number" or "count"
    lax: str
    text: str  # for the ini's help


#: By the field of `Limits`. Up to `arrival_correlation` they are about the harness: beyond them a run is
#: invalid. The others are about the candidate: beyond them something stands against it.
THRESHOLDS: dict[str, Threshold] = {
    #: A harness that sends later than this while a worker is free would be seen in the latencies: 1 ms is
    #: above what an idle machine shows (p99 15 us) and below what any bar in ms can hide ...
    "send_lag_ns": Threshold(
        "max_send_lag", 1_000_000, "time", "", "how late the harness may send while a worker is free (1 ms)"
    ),
    #: ... and for bars of more than 20 ms, one part in twenty of the bar does no harm to a verdict.
    "send_lag_of_bar": Threshold(
        "max_send_lag_of_bar",
        0.05,
        "share",
        "",
        "the same as a share of the tightest latency bar, where that is more (0.05)",
    ),
    #: Workers that wait this long for a processor run a candidate that is a twentieth slower than it is.
    "run_delay": Threshold(
        "max_run_delay",
        0.05,
        "share",
        "",
        "share of the run that worker threads may wait for a processor (0.05)",
    ),
    #: With less than this used by other processes, the candidate's own threads are what the workers waited
    #: for.
    "foreign_cpu": Threshold(
        "max_foreign_cpu",
        0.05,
        "share",
        "",
        "share of all processors from which on other processes are what workers waited for (0.05)",
    ),
    #: Python threads of this process that are neither workers nor the candidate's: whatever share of a
    #: processor they use, they hold Python's lock as long, and the workers wait for it ...
    "other_threads": Threshold(
        "max_other_threads",
        0.05,
        "share",
        "",
        "share of a processor for Python threads of nobody under test (0.05)",
    ),
    #: ... where that is more than starting the workers and looking after them takes (about 1 ms).
    "other_threads_ns": Threshold(
        "max_other_threads_time", 10_000_000, "time", "", "the same in all, where that is more (10 ms)"
    ),
    #: A spell in which nothing was sent is one from this length on. They are a fault where together they last
    #: for more than a hundredth of the run, which a p95 or p99 would show, and longer than a short run's
    #: noise.
    "stall_ns": Threshold(
        "stall", 20_000_000, "time", "", "from which length on the harness stood still (20 ms)"
    ),
    "stalled": Threshold(
        "max_stalled_share", 0.01, "share", "", "share of a run that the harness may stand still (0.01)"
    ),
    "stalled_ns": Threshold(
        "max_stalled", 250_000_000, "time", "", "the same in all, where that is more (250 ms)"
    ),
    #: A pass of the garbage collector that the candidate did not start holds everything up.
    "gc_pause_ns": Threshold(
        "max_gc_pause",
        1_000_000,
        "time",
        "",
        "longest garbage collection that the candidate did not start (1 ms)",
    ),
    #: Both clocks are read within microseconds of each other, and slewing (NTP) moves both alike: more than
    #: this is a step, or a machine that slept, and a sleep is missing from every latency it fell into.
    "clock_step_ns": Threshold(
        "max_clock_step",
        1_000_000,
        "time",
        "more",
        "how far the wall clock may move against the steady one (1 ms)",
    ),
    #: A load process that computes for more of the time has no time left to stamp what arrives when it does.
    "load_cpu": Threshold(
        "max_load_cpu", 0.9, "share", "", "share of the run that a load process may compute (0.9)"
    ),
    #: The chance that arrivals as declared are called irregular, over all tests of a run: once in a million
    #: runs.
    "arrival_false_alarm": Threshold(
        "arrival_false_alarm",
        1e-6,
        "share",
        "less",
        "chance that the audit calls arrivals irregular that are as declared (1e-6)",
    ),
    #: What is significant, but smaller than this, changes no result: the rate by one part in a hundred, ...
    "arrival_rate": Threshold(
        "max_arrival_rate", 0.01, "share", "more", "by how much of it the rate of arrivals may be off (0.01)"
    ),
    #: ... the distribution functions of the gaps by 0.03, the spread of equal gaps by a twentieth of one, ...
    "arrival_distance": Threshold(
        "max_arrival_distance",
        0.03,
        "share",
        "more",
        "how far the gaps' distribution may lie from the declared one (0.03)",
    ),
    "arrival_spread": Threshold(
        "max_arrival_spread", 0.05, "share", "more", "by how much of a gap equal gaps may vary (0.05)"
    ),
    #: ... the correlation of neighbouring gaps by 0.05 (waits in a queue move by about as much, in parts).
    "arrival_correlation": Threshold(
        "max_arrival_correlation", 0.05, "share", "more", "how far neighbouring gaps may correlate (0.05)"
    ),
    #: Answered out of due: below it the candidate did not carry the declared rate.
    "answered": Threshold(
        "min_answered",
        0.999,
        "share",
        "less",
        "share of the requests at a declared rate that has to be answered (0.999)",
    ),
    #: Sent out of due, behind a busy candidate.
    "sent": Threshold(
        "min_sent",
        1.0,
        "share",
        "less",
        "share of the due requests that has to be sent, else it is noted (1)",
    ),
    #: A queue that grows steadily is five times longer in the last third than in the first, else as long.
    "backlog_growth": Threshold(
        "max_backlog_growth",
        3.0,
        "factor",
        "more",
        "a candidate's queue may be this many times longer at the end of a run (3)",
    ),
    #: Too much is asked if the load is above 1 by one standard error and above 0.9 by 2.1; a second look at a
    #: run has to be surer: above 1 by 2.1. `benchmarks/backlog.py` simulates both sides.
    "sure_load": Threshold(
        "sure_load", 0.9, "share", "more", "what a load has to be above for sure, to be too much (0.9)"
    ),
    "load_errors": Threshold(
        "load_errors", 2.1, "number", "more", "how many standard errors of a load are for sure (2.1)"
    ),
    #: An overload of which not two thirds were answered by its end is rejected; less of one is not accepted.
    "gross": Threshold(
        "gross_overload",
        1.5,
        "factor",
        "more",
        "requests over those answered when the last was due, from which on overload is rejected (1.5)",
    ),
    #: Behind a URL nobody knows how many are served side by side: a backlog is longer than so many, ...
    "side_by_side": Threshold(
        "side_by_side", 8, "count", "more", "how many an endpoint may well serve side by side (8)"
    ),
    #: ... than what comes in while any machine between here and there is busy with something else, ...
    "hiccup_ns": Threshold(
        "hiccup", 50_000_000, "time", "more", "for how long a machine on the way may be busy (50 ms)"
    ),
    #: ... and than chance makes it: requests of which a few take very long differ from third to third.
    "backlog_errors": Threshold(
        "backlog_errors",
        3.0,
        "number",
        "more",
        "standard errors by which more are under way at an endpoint's end than by chance (3)",
    ),
    #: A candidate whose workers are all busy for more of the window has nothing left at this rate.
    "pinned": Threshold(
        "max_pinned",
        0.98,
        "share",
        "more",
        "share of a run that a candidate may be busy all over without a note (0.98)",
    ),
    #: All connections in use, and queries waiting, for more of the time than this is worth telling, and keeps
    #: a rate from being accepted: the endpoint was not asked for it.
    "connections_pinned": Threshold(
        "max_connections_pinned",
        0.01,
        "share",
        "more",
        "share of a run that requests may wait for a connection (0.01)",
    ),
    #: A run settles if MSER-5 cuts less than this share of it, ...
    "unsettled": Threshold(
        "max_unsettled",
        0.4,
        "share",
        "more",
        "share of a run that may pass until it settles, by MSER-5 (0.4)",
    ),
    #: ... or if its last third is not slower than its first by a tenth and by four standard errors. Both
    #: together call a queue at 80 % load unsettled in 1 of 150 runs of 300 requests, in none of 400 of 1,000.
    "slower": Threshold(
        "max_slower", 0.1, "share", "more", "by how much the last third may be slower than the first (0.1)"
    ),
    "slower_errors": Threshold(
        "slower_errors", 4.0, "number", "more", "the same in standard errors; both count (4)"
    ),
    #: Tokens that the endpoint reports over those that the buyer counts: a tokenizer of another version may
    #: differ by a hundredth or two.
    "tokens_reported": Threshold(
        "max_tokens_reported",
        1.05,
        "factor",
        "more",
        "tokens that an endpoint reports over those that the buyer counts, without a note (1.05)",
    ),
    #: A server that writes more into its log in a run is said to flood it.
    "server_log": Threshold(
        "max_server_log", 16 << 20, "size", "more", "what a server may write into its log in a run (16 MiB)"
    ),
}
