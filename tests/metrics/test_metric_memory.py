"""Memory of a GPU is measured, and rejects only where it can be nobody's but the candidate's."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from pytest_procure.metrics.measurement import Exact, Interval, Unmeasurable
from pytest_procure.metrics.memory import gpu_memory_peak
from pytest_procure.metrics.metric import GPU_MEMORY, metric
from pytest_procure.telemetry.gpu import GpuSeen

ALONE = GpuSeen(
    index=0,
    name="H200",
    uuid="GPU-1",
    part="",
    looks=9,
    memory_before=1,
    memory_peak=20_000_000_000,
    busy=0.5,
    busy_most=1.0,
    clock_least_mhz=1980,
    clock_most_mhz=1980,
    hottest_c=60,
    slowed={},
    foreign=0,
    unknown=0,
    desktop=0,
    lost="",
    untold={},
)


def measured(*gpus, blocks=False):
    launch = SimpleNamespace(audit=SimpleNamespace(gpus=gpus, gpus_unseen=""))
    return gpu_memory_peak(GPU_MEMORY, SimpleNamespace(launches=[launch], blocks=blocks)).basis


def test_memory_of_a_gpu_of_ones_own_is_exact():
    assert measured(ALONE) == Exact(Decimal(20), "the most that was seen, ten looks a second")


@pytest.mark.parametrize(
    "shared",
    [
        {"foreign": 1},
        {"unknown": 1},
        {"untold": {"processes": "no permission"}},
        {"untold": {"others": "in a container"}},
        {"untold": {"reserved": "an old driver"}},
    ],
)
def test_memory_that_may_be_anothers_is_at_most_what_was_seen(shared):
    assert measured(replace(ALONE, memory_peak=0), replace(ALONE, **shared)) == Interval(
        Decimal(20), Decimal(0), Decimal(20)
    )


def test_memory_beside_candidates_to_compare_with_is_at_most_what_was_seen():
    assert measured(ALONE, blocks=True) == Interval(Decimal(20), Decimal(0), Decimal(20))


def test_memory_of_a_gpu_on_which_nobody_of_the_candidate_was_seen_is_not_its_memory():
    basis = measured(replace(ALONE, untold={"others": "the driver lists no process of the candidate either"}))
    assert basis == Unmeasurable("no process of the candidate was seen on GPU 0 (H200)")


@pytest.mark.parametrize(
    "name", ["gpu_memory_peak", "error_rate", "latency.p95", "cost_per_request", "throughput"]
)
def test_no_metric_says_by_itself_which_way_its_bar_goes(name):
    assert not metric(name).title.endswith(("at most", "at least"))
