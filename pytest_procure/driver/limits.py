"""What the harness allows itself, and from where on what it saw of a candidate is worth a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of a run's audit; each is an ini key of the suite, `procure_max_...`.

    Up to `clock_step_ns` they are about the harness: beyond them a run is invalid. The others are about the
    candidate: beyond them something stands against it.
    """

    #: A harness that sends later than this while a worker is free would be seen in the latencies: 1 ms is
    #: above what an idle machine shows (p99 15 us) and below what any bar in ms can hide ...
    send_lag_ns: int = 1_000_000
    #: ... and for bars of more than 20 ms, one part in twenty of the bar does no harm to a verdict.
    send_lag_of_bar: float = 0.05
    #: Workers that wait this long for a processor run a candidate that is a twentieth slower than it is.
    run_delay: float = 0.05
    #: Python threads of this process that are neither workers nor the candidate's: whatever share of a
    #: processor they use, they hold Python's lock as long, and the workers wait for it.
    other_threads: float = 0.05
    #: A pass of the garbage collector that the candidate did not start holds everything up.
    gc_pause_ns: int = 1_000_000
    #: Both clocks are read within microseconds of each other, and slewing (NTP) moves both alike: more than
    #: this is a step, or a machine that slept, and a sleep is missing from every latency it fell into.
    clock_step_ns: int = 1_000_000
    #: A queue that grows steadily is five times longer in the last third than in the first, else as long.
    backlog_growth: float = 3.0
    #: A candidate whose workers are all busy for more of the window has nothing left at this rate.
    pinned: float = 0.98

    def lag_ns(self, tightest_bar_ns: int | None) -> int:
        """Give how late a query may be sent, for the tightest latency bar that it will be held against."""
        return max(self.send_lag_ns, int(self.send_lag_of_bar * (tightest_bar_ns or 0)))
