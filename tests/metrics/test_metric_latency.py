import numpy as np
from by_hand import MILLISECOND, execution, log

from pytest_procure.driver.log import Status
from pytest_procure.metrics import measure, metric
from pytest_procure.metrics.measurement import NEVER, Latencies, Unmeasurable
from pytest_procure.units import ms


def p(percent, run):
    return measure(metric(f"latency.p{percent}"), run)


def test_a_percentile_is_by_nearest_rank():
    run = execution(log(range(1, 101)))
    assert (p(95, run).estimate, p(50, run).estimate, p(99, run).estimate) == (ms(95), ms(50), ms(99))


def test_the_order_of_requests_is_kept_for_the_design_effect():
    run = execution(log([3, 1, 2]))
    assert p(50, run).basis.values.tolist() == [3 * MILLISECOND, 1 * MILLISECOND, 2 * MILLISECOND]


def test_failed_requests_are_over_every_limit_and_stay_in_the_count():
    status = [Status.OK] * 6 + [Status.ERROR, Status.TIMEOUT, Status.EMPTY, Status.LOST]
    measured = p(50, execution(log([1] * 10, status=status)))
    assert measured.n == 10
    assert (measured.basis.values == NEVER).sum() == 4


def test_a_percentile_among_the_failures_is_censored_at_the_shortest_of_them():
    status = [Status.OK] * 90 + [Status.TIMEOUT] * 10
    measured = p(95, execution(log([1] * 90 + [*range(2000, 2010)], status=status)))
    assert measured.censored
    assert measured.estimate == ms(2000)


def test_a_request_that_never_ended_waited_until_the_end():
    measured = p(95, execution(log([1] * 9 + [None], window_ms=5000)))
    assert measured.censored
    assert ms(4999) < measured.estimate <= ms(5000)


def test_a_percentile_below_the_failures_is_not_censored():
    measured = p(50, execution(log([1] * 90 + [None] * 10, window_ms=5000)))
    assert (measured.censored, measured.estimate) == (False, ms(1))


def test_launches_are_read_one_after_the_other():
    measured = p(50, execution(log([1, 2]), log([3, 4])))
    assert measured.basis.values.tolist() == [each * MILLISECOND for each in (1, 2, 3, 4)]


def test_a_query_of_several_samples_is_one_request():
    run = execution(log([1, 2], per_query=8), scenario="multi_stream", samples_per_query=8)
    assert (p(50, run).n, p(50, run).n_unit) == (2, "requests")


def test_a_closed_loop_is_not_under_load():
    run = log([1] * 5)
    assert not p(50, execution(run)).basis.under_load
    assert p(50, execution(run, scenario="server", qps=10, count=5)).basis.under_load


def test_offline_has_no_latency():
    measured = p(95, execution(log([1] * 5), scenario="offline"))
    assert isinstance(measured.basis, Unmeasurable)
    assert measured.estimate is None


def test_no_request_is_not_measurable():
    assert p(95, execution(log([]))).basis == Unmeasurable("no request was made")


def test_the_basis_names_the_percentile_as_a_share():
    basis = p("99.9", execution(log([1] * 5))).basis
    assert isinstance(basis, Latencies)
    assert float(basis.q) == 0.999
    assert basis.values.dtype == np.int64
