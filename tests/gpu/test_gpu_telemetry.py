"""What the real driver tells of a real GPU at work."""

import time

import pytest

from pytest_procure.telemetry.instruments import Instruments
from pytest_procure.telemetry.nvml import gpus
from pytest_procure.telemetry.sampling import sampling

pytestmark = pytest.mark.gpu


@pytest.fixture
def busy(torch):
    """Keeps the GPU busy for a while, and holds 1 GiB of it."""
    held = [torch.empty(2**28, dtype=torch.float32, device="cuda:0")]
    held.append(torch.rand(4096, 4096, device="cuda:0"))

    def work(seconds):
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            for _ in range(20):
                torch.mm(held[1], held[1])
            torch.cuda.synchronize()

    yield work
    held.clear()
    torch.cuda.empty_cache()


def looked(work, seconds=3.0):
    found = Instruments.of("cuda:0")
    with sampling(found.probes) as sampler:
        first = time.perf_counter_ns()
        work(seconds)
        last = time.perf_counter_ns()
    assert sampler.failures == []
    (gpu,) = found.seen()
    return found, gpu, found.joules(first, last)


def test_every_gpu_tells_who_it_is():
    found, reason = gpus()
    assert reason == ""
    for gpu in found:
        assert gpu.name
        assert gpu.uuid.startswith("GPU-")
        assert gpu.driver
        assert gpu.vbios
        assert gpu.memory > 1e9
        assert gpu.clock_sm_most_mhz > 100


def test_work_is_seen_in_use_memory_clocks_and_looks(busy):
    _, gpu, _ = looked(busy)
    assert gpu.looks >= 20
    assert gpu.busy > 0.5
    assert gpu.memory_peak >= 2**30
    assert gpu.clock_most_mhz > 100
    assert 0 < gpu.hottest_c < 120
    assert gpu.lost == ""


def test_this_process_is_no_stranger_on_its_own_gpu(busy):
    _, gpu, _ = looked(busy)
    assert gpu.foreign == 0


def test_energy_is_near_the_power_times_the_time(busy):
    found, _, joules = looked(busy)
    assert found.energy.startswith("of GPU 0 alone")
    assert 3.0 * 20 < joules < 3.0 * 1500  # between an idle card's power and the largest one's


def test_energy_of_the_counter_and_of_the_power_are_about_the_same(busy):
    from pytest_procure.telemetry.driver import gpus_of
    from pytest_procure.telemetry.energy import Counter, Meter, added_up

    ((gpu,), _) = gpus_of("cuda:0")
    counting, reason = Instruments.of("cuda:0").meter, Instruments.of("cuda:0").absent
    assert counting is not None, reason
    power = Meter([Counter(added_up(lambda: gpu.nvml.nvmlDeviceGetPowerUsage(gpu.gpu) / 1000))])
    with sampling([counting, power]):
        busy(5.0)
    assert power.joules == pytest.approx(counting.joules, rel=0.25)
