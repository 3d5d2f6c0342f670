"""The search for capacity, on candidates that are a formula."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.candidates import Candidate
from pytest_procure.capacity import Ladder, climb, find, ladder
from pytest_procure.cases import Case
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.audit import Readings, audit
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.errors import DeclarationError
from pytest_procure.metrics import Execution, Measurement
from pytest_procure.metrics.measurement import Confirmed
from pytest_procure.metrics.metric import CAPACITY
from pytest_procure.scenarios import Scenario, arrivals, order_of, queries, rate
from pytest_procure.sweeping import Sweep, at_concurrency, at_rate, bars_of, loads_of, rate_of
from pytest_procure.units import Quantity, per_second, seconds

declare = Scenario.declare
SERVER = declare("server", qps=10, count=100, max_batch=4)
KNOBS = {
    "start": None,
    "most": None,
    "short": "10 s",
    "confirm": "60 s",
    "tolerance": 0.05,
    "margin": 0.1,
    "runs": 16,
    "launches": 5,
}


def asked(**more):
    return ladder(SERVER, KNOBS | more)


def climbed(limit, ask):
    """Search on a candidate that meets the bars up to `limit`; also what was tried."""
    tried = []

    def meets(wanted, role):
        tried.append((wanted, role))
        return wanted <= limit

    return climb(meets, ask), tried


@given(st.floats(0.2, 50_000))
def test_the_bracket_holds_the_true_capacity_within_the_tolerance(limit):
    (low, high), tried = climbed(limit, asked(runs=60))
    assert low <= limit < high <= low * 1.05
    assert len(tried) <= 2 + abs(math.log2(limit / 10)) + math.log2(math.log(2) / math.log(1.05)) + 2


def test_short_runs_first_bracket_and_then_bisect():
    _, tried = climbed(35, asked(runs=6))
    assert [role for _, role in tried] == ["bracket"] * 3 + ["bisect"] * 3
    assert [wanted for wanted, _ in tried[:4]] == [10, 20, 40, math.sqrt(20 * 40)]


def test_a_search_makes_no_more_runs_than_it_may():
    (low, high), tried = climbed(1e9, asked(runs=5))
    assert (low, high, len(tried)) == (160, None, 5)
    (low, high), tried = climbed(0, asked(runs=5))
    assert (low, high, len(tried)) == (None, 0.625, 5)


def test_nothing_beyond_the_highest_rate_of_interest_is_tried():
    (low, high), tried = climbed(1e9, asked(most=30))
    assert (low, high) == (30, None)
    assert [wanted for wanted, _ in tried] == [10, 20, 30]


@pytest.mark.parametrize(
    ("scenario", "more", "message"),
    [
        (declare("offline"), {}, "begins at the marked scenario's rate, and it has none; expected `start=`"),
        (SERVER, {"most": 5}, "`most=5` lies below the start of the search, 10 requests/s"),
        (SERVER, {"start": 0}, "`start=0`; expected requests a second, above 0, as in `start=40`"),
        (SERVER, {"start": "5 ms"}, "`start='5 ms'`; expected requests a second"),
        (SERVER, {"start": True}, "`start=True`; expected requests a second"),
        (SERVER, {"short": 4}, "`short=4` has no unit of time"),
        (SERVER, {"confirm": "0 s"}, "`confirm='0 s'`; expected more than 0 s"),
        (SERVER, {"tolerance": 1}, "`tolerance=1`; expected a share, 0 or more and below 1"),
        (SERVER, {"margin": -0.1}, "`margin=-0.1`; expected a share"),
        (SERVER, {"runs": 0}, "`runs=0`; expected a whole number from 1 to 1,000"),
        (SERVER, {"launches": 1.5}, "`launches=1.5`; expected a whole number"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused(scenario, more, message):
    with pytest.raises(DeclarationError) as refused:
        ladder(scenario, KNOBS | more)
    assert message in str(refused.value)


def test_a_search_reads_its_knobs():
    found = asked(start="20 1/s", most=per_second(80), short="5 s")
    assert found == Ladder(20, 80, seconds(5), seconds(60), 0.05, 0.1, 16, 5)


@pytest.mark.parametrize(
    "scenario",
    [
        SERVER,
        declare("burst", base=5, peak=50, period="2 s", duty=0.2, duration="60 s"),
        declare("sessions", starts=2, turns=5, think_time="1 s", count=50),
    ],
    ids=lambda scenario: scenario.name,
)
def test_another_rate_keeps_the_shape_of_the_traffic(scenario):
    other = at_rate(scenario, 40.0, seconds(10), 3)
    assert other.name == scenario.name
    assert rate(other) == pytest.approx(40)
    assert other.seed != scenario.seed
    assert abs(queries(other, 1) - 400) <= 10
    assert (other.max_batch, other.think_time) == (scenario.max_batch, scenario.think_time)


def test_a_trace_comes_faster(tmp_path):
    (tmp_path / "a.csv").write_text("".join(f"{k}\n" for k in range(101)), "utf-8")
    scenario = declare("replay", tmp_path, trace="a.csv")
    other = at_rate(scenario, 4.0, seconds(10), 1)
    assert rate(other) == pytest.approx(4)
    assert queries(other, 1) == 40


def test_a_candidate_without_a_declared_rate_gets_poisson_arrivals():
    other = at_rate(declare("single_stream"), 5.0, seconds(10), 1)
    assert (other.name, other.qps, queries(other, 1)) == ("server", 5.0, 50)


def test_a_short_run_of_a_low_rate_holds_20_requests():
    assert queries(at_rate(SERVER, 0.5, seconds(10), 1), 1) == 20


def test_no_two_runs_of_a_search_have_the_same_arrivals():
    first, second = (at_rate(SERVER, 40.0, seconds(1), number) for number in (1, 2))
    assert arrivals(first, 40).tobytes() != arrivals(second, 40).tobytes()


def test_a_ramp_has_no_one_rate_to_search():
    with pytest.raises(DeclarationError, match="a ramp has no one rate"):
        at_rate(declare("ramp", start=1, end=9, duration="9 s"), 4.0, seconds(9), 1)


@pytest.mark.parametrize("scenario", [SERVER, declare("closed_loop", think_time="1 s", max_batch=4)])
def test_users_of_a_sweep_ask_in_a_closed_loop(scenario):
    other = at_concurrency(scenario, 8.0, seconds(10), 1)
    assert (other.name, other.concurrency, other.max_batch) == ("closed_loop", 8, 4)
    assert other.label.startswith("Closed loop: 8 users")


@pytest.mark.parametrize(
    ("bars", "message"),
    [
        ({}, "`bars={}`; expected for example `{'latency.p95': '80 ms', 'error_rate': 0.01}`"),
        (["latency.p95"], "expected for example"),
        ({"latency.p9x": "80 ms"}, "unknown metric `latency.p9x`"),
        ({"latency.p95": 80}, "a duration was expected"),
        ({"throughput": "5 1/s"}, "bar `throughput` says nothing of one run at a declared load"),
        ({"corpus.f1": 0.5}, "bar `corpus.f1`: say which way, as in `{'corpus.f1': {'at_least': 0.5}}`"),
    ],
)
def test_bars_that_cannot_be_meant_are_refused(bars, message):
    with pytest.raises(DeclarationError) as refused:
        bars_of(bars, ())
    assert message in str(refused.value)


def test_bars_are_read_by_their_better_direction():
    found = bars_of(
        {"latency.p95": "80 ms", "accuracy": 0.9, "goodput": {"at_least": 0.9, "latency": "80 ms"}}, ()
    )
    assert [(bar.metric.name, bar.sense) for bar in found][:2] == [
        ("latency.p95", "at most"),
        ("accuracy", "at least"),
    ]
    declared = (declare_bar("latency.p95", at_most="80 ms"),)
    assert bars_of(None, declared) == declared


def test_a_sweep_is_of_rates_or_of_users():
    assert loads_of([1, "2 1/s"], ()) == ([1.0, 2.0], "rate")
    assert loads_of((), [1, 8]) == ([1.0, 8.0], "concurrency")
    for rates, users in (((), ()), ([1], [1])):
        with pytest.raises(DeclarationError, match=r"a sweep takes `rates=\[10, 20, 40\]` or"):
            loads_of(rates, users)
    with pytest.raises(DeclarationError, match=r"`concurrency=1\.5`"):
        loads_of((), [1.5])
    assert rate_of("40 requests/s", "rates") == 40.0


@pytest.mark.parametrize(
    ("basis", "sense", "accepted", "why"),
    [
        (Confirmed(Quantity.of(40).number, 5, 5), "at least", True, ""),
        (Confirmed(Quantity.of(39).number, 5, 5), "at least", False, "no higher rate was confirmed"),
        (Confirmed(Quantity.of(40).number, 1, 5), "at least", False, "1 launch(es) are too few"),
        (Confirmed(Quantity.of(40).number, 5, 5, "p95 is 90 ms"), "at least", False, "p95 is 90 ms"),
        (Confirmed(Quantity.of(9).number, 5, 5), "at most", False, "never at most"),
    ],
)
def test_a_confirmed_rate_accepts_up_to_itself_and_rejects_nothing(basis, sense, accepted, why):
    measured = Measurement(CAPACITY, Quantity(basis.value, "1/s"), 5, "launches", basis)
    decision = decide(measured, sense, per_second(40), Policy())
    assert decision.accept is accepted
    assert decision.reject_p is None
    assert why in decision.blocked


class Queue:
    """A candidate that is a formula: one server, first come first served, 10 ms a request."""

    def __init__(self, service_ms=10.0):
        self.service = int(service_ms * 1e6)
        self.asked = []
        now = Readings.take()
        self.readings = {"before": now, "after": now}
        data = Dataset.from_arrays("numbers", inputs=list(range(400)), references=[0] * 400)
        self.slice = data.slice()

    def drive(self, scenario):
        self.asked.append(scenario)
        runs = []
        for launch in range(scenario.launches):
            fresh = replace(scenario, seed=scenario.seed + launch)
            n = queries(fresh, 400)
            due = arrivals(fresh, n)
            # Lindley: each starts when it is due and the one before it has ended.
            places = np.arange(n) * self.service
            started = np.maximum.accumulate(due - places) + places
            ended = started + self.service
            log = RequestLog(
                scheduled=due,
                started=started,
                completed=ended,
                status=np.full(n, Status.OK, dtype=np.uint8),
                batch=np.arange(n, dtype=np.int32),
                samples=order_of(fresh, 400, n),
                answers=[0] * n,
                window_ns=int(ended[-1]),
            )
            runs.append(Run(log, audit(log, fresh, **self.readings), conditions={}))
        return Execution(OFFER, scenario, self.slice, tuple(runs), {})


OFFER = Candidate("queue", backend=lambda batch: batch)


def found_on(queue, bars, **more):
    case = Case(OFFER, (), Policy())
    sweep = Sweep(case, queue.drive, SERVER, bars_of(bars, ()), "rate")
    ask = ladder(SERVER, KNOBS | {"short": "30 s", "confirm": "300 s"} | more)
    return find(case, sweep, SERVER, ask, lambda scenario: case.add(queue.drive(scenario), declared=False))


def test_what_is_found_lies_a_margin_below_where_the_queue_breaks_its_bar():
    """An M/D/1 queue of 10 ms keeps 95 in 100 within 60 ms up to about 80 requests a second."""
    queue = Queue()
    found = found_on(queue, {"latency.p95": "60 ms"})
    assert found.rate is not None, found.sentence
    assert 60 < found.rate < 80
    assert found.curve[-1]["role"] == "confirm"
    met = max(point["offered"] for point in found.curve[:-1] if point["ok"])
    assert found.rate == pytest.approx(0.9 * met)
    assert found.result is not None
    assert found.result.execution.scenario.qps == found.rate
    # The confirming run is none of those that the search looked at, and longer.
    assert queue.asked[-1].launches == 5
    assert queue.asked[-1].seed not in {scenario.seed for scenario in queue.asked[:-1]}


def test_a_margin_of_nothing_is_seldom_confirmed():
    """At the edge itself short runs were lucky, and the decision rule asks more than a point value."""
    found = found_on(Queue(), {"latency.p95": "60 ms"}, margin=0, tolerance=0.001, runs=40)
    assert found.rate is None
    assert "a fresh run did not show the bars" in found.sentence


def test_overload_that_the_drain_time_hides_is_no_capacity():
    """At 105 a second all is answered in the end; the backlog says that it would not go on."""
    queue = Queue()
    case = Case(OFFER, (), Policy())
    sweep = Sweep(case, queue.drive, SERVER, bars_of({"error_rate": 0.5}, ()), "rate")
    assert not sweep.probe(105.0, seconds(30), "sweep")
    assert sweep.probe(80.0, seconds(30), "sweep")
