"""Percentiles of times of what was asked more than once, or is alike."""

from dataclasses import replace
from decimal import Decimal

import numpy as np

from pytest_procure.decision import Policy
from pytest_procure.decision.latencies import latencies as decide_latencies
from pytest_procure.metrics.measurement import Latencies
from pytest_procure.stats import Alike

LIMIT = Decimal(2 * 10**6)


def item_times(order, slow):
    """Take 4 ms for a slow item and 1 ms for any other, each time that it is asked."""
    return np.where(np.isin(order, list(slow)), 4, 1).astype(np.int64) * 10**6


def test_one_document_asked_a_thousand_times_shows_no_percentile():
    basis = Latencies(
        np.ones(1000, dtype=np.int64),
        Decimal("0.95"),
        under_load=False,
        alike=Alike((np.zeros(1000, dtype=np.int64),)),
    )
    decision = decide_latencies(basis, "at most", LIMIT, Policy())
    assert (decision.accept, decision.reject_p) == (False, None)
    assert decision.blocked == "1 cluster is too few for a verdict; it takes 20"


def test_items_that_are_slow_each_time_count_once_in_a_percentile():
    order = np.tile(np.arange(200), 50)
    basis = Latencies(
        item_times(order, range(0, 200, 25)), Decimal("0.95"), under_load=False, alike=Alike((order,))
    )
    found = decide_latencies(basis, "at most", LIMIT, Policy())
    assert found.n_effective < 200
    assert not found.accept  # 8 of 200 are too many for 95 %
    apart = replace(basis, alike=Alike())
    assert decide_latencies(apart, "at most", LIMIT, Policy()).accept
    # 16 of 200 are too few for a rejection, too.
    many = replace(basis, values=item_times(order, range(0, 200, 16)))
    assert decide_latencies(many, "at most", LIMIT, Policy()).reject_p > 0.05
    assert decide_latencies(replace(many, alike=Alike()), "at most", LIMIT, Policy()).reject_p < 0.01


def test_a_range_never_reads_as_within_a_bar_that_is_not_shown():
    """40 items cannot show 95 in 100, although each is asked so often that the range looks narrow."""
    order = np.tile(np.arange(40), 100)
    times = np.random.default_rng(0).permutation(np.linspace(1, 2.05, 4000) * 10**6).astype(np.int64)
    basis = Latencies(times, Decimal("0.95"), under_load=False, alike=Alike((order,)))
    found = decide_latencies(basis, "at most", Decimal(2_040_000), Policy())
    assert not found.accept
    assert found.high is not None
    assert found.high >= 2_040_000


def test_the_gaps_of_one_answer_are_alike():
    owner = np.repeat(np.arange(15), 100)
    basis = Latencies(item_times(owner, ()), Decimal("0.9"), under_load=False, alike=Alike((owner,)))
    assert not decide_latencies(basis, "at most", LIMIT, Policy()).accept
    assert decide_latencies(replace(basis, alike=Alike()), "at most", LIMIT, Policy()).accept
