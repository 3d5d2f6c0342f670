"""What a log says of an endpoint's load, when nobody knows who serves: on queues whose truth is known."""

import numpy as np
import pytest

from pytest_procure.driver.endpoint.departures import seen_of_endpoint
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.log import RequestLog, Wire
from pytest_procure.driver.seen import seen
from pytest_procure.scenarios import Scenario, arrivals, queries

MS = 1_000_000


def every(gap_ms, n):
    return np.arange(n, dtype=np.int64) * gap_ms * MS


def log_of(scheduled, completed):
    n = len(scheduled)
    completed = np.array(completed, dtype=np.int64)
    return RequestLog(
        scheduled=np.array(scheduled, dtype=np.int64),
        started=np.array(scheduled, dtype=np.int64),
        completed=completed,
        status=np.ones(n, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        window_ns=int(completed.max(initial=0)),
    )


def served(scheduled, services, servers=1):
    """First in, first out, by so many servers."""
    free, ends = [0] * servers, []
    for due, service in zip(np.asarray(scheduled).tolist(), services, strict=True):
        free.sort()
        free[0] = max(due, free[0]) + service
        ends.append(free[0])
    return log_of(scheduled, ends)


def looked(log, scenario=None):
    n = len(log)
    scenario = scenario or Scenario.declare("server", qps=100, count=max(1, n))
    per_second = (n - 1) / (int(log.scheduled[-1]) * 1e-9) if n > 1 else 0.0
    return seen_of_endpoint(seen(log, scenario, Limits()), log, scenario, per_second, Limits())


def grew(log, scenario=None):
    return looked(log, scenario).backlog_grew(Limits())


@pytest.mark.parametrize("servers", [1, 5])
def test_half_of_what_is_asked_is_a_load_of_two_though_all_is_answered(servers):
    log = served(every(10, 200), [20 * servers * MS] * 200, servers)
    found = looked(log)
    assert found.completed == 200
    assert found.load.share == pytest.approx(2, rel=0.02)
    assert found.load.is_surely_too_much(Limits())
    assert grew(log)


def test_a_queue_that_keeps_up_has_no_load_that_could_be_too_much():
    assert not grew(served(every(10, 200), [9 * MS] * 200))


@pytest.mark.parametrize("service_ms", [50, 500, 1000])
def test_what_is_served_all_at_once_is_no_backlog_if_it_takes_up_to_half_of_the_run(service_ms):
    """More and more are under way until the first is answered."""
    scheduled = every(10, 200)
    log = log_of(scheduled, scheduled + service_ms * MS)
    found = looked(log)
    assert found.load is None
    assert found.waiting_first_third == pytest.approx(found.waiting_last_third)
    assert not grew(log)


@pytest.mark.parametrize("service_ms", [1600, 2000, 6000])
def test_a_run_that_is_hardly_longer_than_an_answer_shows_no_rate(service_ms):
    scheduled = every(10, 200)
    found = looked(log_of(scheduled, scheduled + service_ms * MS))
    assert found.load is None
    assert found.backlog_grew(Limits())


def shared(scheduled, service_ms):
    """Side by side, each at one over their number of the speed that one alone has: (n,) ends in ns."""
    left, ends, now = {}, np.zeros(len(scheduled)), 0.0
    for query, due in enumerate([*scheduled.tolist(), np.inf]):
        while left:
            first = min(left, key=left.get)
            end = now + left[first] * len(left)
            if end > due:
                break
            left = {each: work - left[first] for each, work in left.items() if each != first}
            ends[first] = now = end
        if query < len(scheduled):
            left = {each: work - (due - now) / len(left) for each, work in left.items()}
            left[query], now = service_ms * MS, float(due)
    return ends


def the_last_first(scheduled, service_ms):
    """Whoever came last is served next: (n,) ends in ns."""
    ends, waiting, now, query = np.zeros(len(scheduled)), [], 0, 0
    while waiting or query < len(scheduled):
        while query < len(scheduled) and (not waiting or scheduled[query] <= now):
            now = max(now, int(scheduled[query]))
            waiting.append(query)
            query += 1
        now += service_ms * MS
        ends[waiting.pop()] = now
    return ends


@pytest.mark.parametrize("order", [shared, the_last_first])
@pytest.mark.parametrize(("service_ms", "falls_behind"), [(8, False), (20, True), (30, True)])
def test_an_overload_is_seen_in_whatever_order_it_is_served(order, service_ms, falls_behind):
    scheduled = every(10, 300)
    assert grew(log_of(scheduled, order(scheduled, service_ms))) is falls_behind


def test_services_that_vary_much_are_no_backlog_by_chance():
    """All at once, each as long as half of the run on average, and one and a half times that much apart."""

    def by_chance(seed):
        services = 500 * MS * np.random.default_rng(seed).lognormal(-0.59, 1.086, 100)
        return grew(log_of(every(10, 100), every(10, 100) + services.astype(np.int64)))

    assert not any(map(by_chance, range(400)))


def in_batches(size, service_ms, n=400):
    """One server, which answers all of a batch together, a microsecond apart."""
    scheduled = every(10, n)
    starts = np.arange(n // size) * service_ms * MS + int(scheduled[size])
    completed = np.repeat(starts + service_ms * MS, size) + np.arange(n) % size * 1000
    return log_of(scheduled, np.maximum(completed, scheduled + 1))


def test_answers_that_come_together_are_one_interval():
    """20 in 400 ms are 50 a second, and no chance is in it, though most gaps are a microsecond."""
    load = looked(in_batches(20, 400)).load
    assert load.share == pytest.approx(2, rel=0.01)
    assert load.error < 0.01


def test_an_interval_counts_by_how_many_were_under_way_when_it_began():
    """A single long service makes a queue, and says nothing of what the endpoint can do with one."""
    services = [5 * MS] * 150 + [1000 * MS] + [5 * MS] * 149
    found = looked(served(every(10, 300), services))
    assert found.load is None or found.load.share < 1
    assert not grew(served(every(10, 300), services))


def wire_of(n, given_up):
    none = np.full(n, -1, dtype=np.int64)
    zero = np.zeros(n, dtype=np.int64)
    return Wire(
        headers=none,
        token_starts=np.zeros(n + 1, dtype=np.int64),
        token_times=np.zeros(0, dtype=np.int64),
        chunks=none,
        counted_input=none,
        counted=none,
        cached=none,
        received=zero,
        http=zero,
        retries=zero,
        failure=zero,
        given_up=given_up,
    )


def test_a_request_that_is_given_up_is_no_answer():
    """Half of them are served one by one, 33 a second of 100; the others are given up after half a second."""
    scheduled = every(10, 400)
    log = served(scheduled, [30 * MS, 0] * 200)
    log.completed[1::2] = scheduled[1::2] + 500 * MS
    log.wire = wire_of(400, np.arange(400) % 2 == 1)
    found = looked(log)
    assert found.completed == 200
    assert found.load.share == pytest.approx(3, rel=0.02)


def test_an_endpoint_that_slows_down_is_seen_by_its_end():
    log = served(every(10, 600), [2 * MS] * 400 + [15 * MS] * 200)
    found = looked(log)
    assert found.load_at_end.is_surely_too_much(Limits())
    assert grew(log)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_of_few_requests_nothing_is_known(n):
    assert looked(log_of(every(10, n), every(10, n) + MS)).load is None


def test_answers_that_all_come_at_one_time_tell_no_rate():
    scheduled = every(10, 100)
    found = looked(log_of(scheduled, [*(scheduled[:66] + MS), *[5000 * MS] * 34]))
    assert found.waiting_last_third > 100
    assert found.load is None


def test_three_intervals_are_too_few_for_a_standard_error():
    assert looked(in_batches(100, 4000)).load is None


def ramp(start, end):
    scenario = Scenario.declare("ramp", start=start, end=end, duration="12 s")
    return scenario, arrivals(scenario, queries(scenario, 1))


@pytest.mark.parametrize(
    ("start", "end", "overloaded"),
    [(45, 5, False), (60, 20, True), (5, 45, True), (5, 30, False)],
    ids=["falls, is done", "falls, is left over", "rises above", "rises to the limit"],
)
def test_a_ramp_is_too_much_where_something_is_left_over_at_its_end(start, end, overloaded):
    """Of 33 a second."""
    scenario, scheduled = ramp(start, end)
    assert grew(served(scheduled, [30 * MS] * len(scheduled)), scenario) == overloaded


def test_traffic_that_ends_in_a_peak_is_no_overload_of_what_serves_all_at_once(tmp_path):
    times = [*np.arange(0, 4, 0.05), *np.arange(4, 5, 0.005)]
    (tmp_path / "trace.csv").write_text("time\n" + "".join(f"{t:.3f}\n" for t in times), "ascii")
    scenario = Scenario.declare("replay", tmp_path, trace="trace.csv")
    scheduled = arrivals(scenario, len(times))
    log = log_of(scheduled, scheduled + 800 * MS)
    assert looked(log, scenario).backlog > 100
    assert not grew(log, scenario)


def test_a_peak_tells_what_forty_can_do_side_by_side_and_the_time_before_it_does_not(tmp_path):
    """Before it 27 are under way, and answered as fast as they are asked: 75 a second of 110."""
    times = [*np.arange(0, 9, 1 / 75), *np.arange(9, 10, 1 / 325)]
    (tmp_path / "trace.csv").write_text("time\n" + "".join(f"{t:.6f}\n" for t in times), "ascii")
    scenario = Scenario.declare("replay", tmp_path, trace="trace.csv")
    scheduled = arrivals(scenario, len(times))
    found = looked(served(scheduled, [364 * MS] * len(times), 40), scenario)
    assert found.backlog > 200
    assert found.load.share == pytest.approx(100 / 110, rel=0.02)
