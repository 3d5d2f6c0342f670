"""What a scenario is made of: its parameters, and what follows from its name alone."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_procure.units import Quantity, ms, seconds

from .loadgen import LoadGen
from .traces import Trace

NO_WAIT, PATIENCE, WALL_LIMIT = ms(0), seconds(10), Quantity.of(10, "min")

#: One query in flight, sent when the last is answered.
IN_TURN = frozenset({"single_stream", "multi_stream"})
CLOSED = IN_TURN | {"closed_loop"}
#: The rate of queries is declared, so that it is a condition and no result.
DECLARED = frozenset({"server", "burst", "ramp", "replay", "sessions"})
#: How the gaps between arrivals are drawn, where the scenario declares a rate.
ARRIVALS = ("poisson", "gamma", "constant")


@dataclass(frozen=True, slots=True)
class Traffic:
    """Traffic and run conditions of one test, unchecked.

    qps                server: requests a second, on average
    arrivals           server, burst, ramp: "poisson", "gamma" or "constant"
    burstiness         gamma arrivals: the shape; 1 is Poisson, less is burstier, more is steadier
    base, peak         burst: requests a second outside and inside of the peak
    period, duty       burst: from one peak to the next, and the share of that time that is peak
    start, end, steps  ramp: requests a second at both ends; in so many equal steps, else evenly
    trace, speed       replay: recorded arrivals, and how many times faster they come
    concurrency        closed_loop: users, each with one query at a time
    starts, turns      sessions: sessions that begin a second, on average, and queries of each
    conversations      sessions: each asks the samples of one cluster in turn, as the dataset orders them
    history            sessions: each turn carries the questions before it and the answers they were given
    think_time         closed_loop, sessions: from an answer to the same user's next query
    duration, count    how long, or how many queries (sessions: sessions); at most one of the two
    max_batch          most queries that one call of the backend serves
    max_wait           how long the oldest query of a batch waits for others to join it
    workers            threads that call the backend side by side
    samples_per_query  multi_stream: N
    timeout            a query's deadline, from its scheduled time (offline: from its start)
    drain              how long to wait for answers after the last scheduled time; closed loops, sessions and
                       offline: after the last completion
    warmup             calls before the run that are not logged: how many, or for how long
    cut                the first part of the traffic that is sent, shown, and not measured: how many queries,
                       or how long
    seed               of arrivals and sample order
    repeat_share       share of queries that ask again what this run has asked already; the others ask
                       every item equally often, without replacement
    loadgen            arrivals and sample order as MLPerf's LoadGen draws them; None: as we do
    stopping           single_stream, offline: "fixed", "curtailed" or "anytime", as `stopping` says
    launches           throughput: how often the candidate is loaded anew; the driver runs one
    wall_limit         hard limit of a whole run, warm-up included
    """

    name: str
    qps: float | None = None
    arrivals: str = "poisson"
    burstiness: float = 1.0
    base: float | None = None
    peak: float | None = None
    period: Quantity | None = None
    duty: float = 0.5
    start: float | None = None
    end: float | None = None
    steps: int | None = None
    trace: Trace | None = None
    speed: float = 1.0
    concurrency: int = 1
    starts: float | None = None
    turns: int = 1
    conversations: bool = False
    history: bool = False
    think_time: Quantity = NO_WAIT
    duration: Quantity | None = None
    count: int | None = None
    max_batch: int = 1
    max_wait: Quantity = NO_WAIT
    workers: int = 1
    samples_per_query: int = 1
    timeout: Quantity = PATIENCE
    drain: Quantity = PATIENCE
    warmup: int | Quantity = 10
    cut: int | Quantity = 0
    seed: int = 0
    repeat_share: float = 0.0
    loadgen: LoadGen | None = None
    launches: int = 1
    stopping: str = "fixed"
    wall_limit: Quantity = WALL_LIMIT

    @property
    def is_closed_loop(self) -> bool:
        """Whether the next query waits for the answer to the last, so that slowness thins the traffic."""
        return self.name in CLOSED

    @property
    def is_in_turn(self) -> bool:
        """Whether one query is in flight at a time, sent the moment that the last is answered."""
        return self.name in IN_TURN

    @property
    def is_dynamic(self) -> bool:
        """Whether a query's scheduled time follows from an earlier answer, plus a pause."""
        return self.name in {"closed_loop", "sessions"}

    @property
    def is_under_load(self) -> bool:
        """Whether queries wait behind each other, so that their latencies come in rows."""
        return not self.is_closed_loop or self.concurrency > 1

    @property
    def rate_is_declared(self) -> bool:
        """Whether the rate of queries is a condition and no result."""
        return self.name in DECLARED

    @property
    def allows_latency(self) -> bool:
        """Whether a latency bar means anything: not where all queries wait for each other."""
        return self.name != "offline"

    @property
    def allows_throughput(self) -> bool:
        """Whether a throughput bar means anything: not where the rate is declared."""
        return not self.rate_is_declared

    @property
    def allows_blocks(self) -> bool:
        """Whether a part of the traffic is traffic of the same kind, as interleaved comparisons need it."""
        return self.name not in {"burst", "ramp", "replay", "sessions"} and self.loadgen is None
