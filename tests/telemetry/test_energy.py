"""Energy: reading the counters, and what a run is said to have used."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_procure.candidates import Candidate
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy, decide
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.driver.pull import Run
from pytest_procure.metrics import Execution, measure, metric
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.scenarios import Scenario
from pytest_procure.telemetry import energy
from pytest_procure.telemetry.energy import meter
from pytest_procure.telemetry.sampling import sampling
from pytest_procure.units import Quantity


@pytest.fixture
def rapl(monkeypatch, tmp_path):
    """Writes zones of a power-capping folder: name and microjoules."""
    monkeypatch.setattr(energy, "_RAPL", tmp_path)

    def zone(folder, name, microjoules):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "name").write_text(f"{name}\n", encoding="ascii")
        (tmp_path / folder / "energy_uj").write_text(f"{microjoules}\n", encoding="ascii")

    zone.folder = tmp_path
    return zone


def measured(device, *steps):
    """Meter a window in which `steps` happen one after the other."""
    read = meter(device)
    read.start()
    for step in steps:
        step()
        read.sample()
    read.stop()
    return read.joules


# The processor's counters


@pytest.fixture
def package(rapl):
    """One package of a processor, whose counter wraps at 100 J."""

    def set_to(joules, folder="intel-rapl:0"):
        rapl(folder, "package-0", int(joules * 1e6))
        (rapl.folder / folder / "max_energy_range_uj").write_text("100000000\n", encoding="ascii")

    set_to(5)
    set_to.folder = rapl.folder
    return set_to


def test_joules_are_those_of_the_window_and_not_of_the_warm_up(package):
    read = meter("cpu")
    package(60)  # the warm-up
    read.start()
    package(64)
    read.stop()
    assert read.joules == 4.0


def test_each_window_counts_anew(package):
    read = meter("cpu")
    for joules in (6, 8):
        read.start()
        package(joules)
        read.stop()
    assert read.joules == 2.0


def test_a_processors_packages_are_added_up_and_their_parts_and_the_platform_are_not(package, rapl):
    package(2, "intel-rapl:11")
    rapl("intel-rapl:0:0", "core", 0)
    rapl("intel-rapl:1", "psys", 0)

    def later():
        package(7)
        package(5, "intel-rapl:11")
        rapl("intel-rapl:0:0", "core", 9_000_000)
        rapl("intel-rapl:1", "psys", 9_000_000)

    assert measured("cpu", later) == 5.0


def test_a_counter_that_wraps_goes_on(package):
    wraps = [lambda joules=joules: package(joules) for joules in (90, 20, 80, 10)]
    assert measured("cpu", *wraps) == 85 + 30 + 60 + 30


def test_a_counter_that_begins_anew_where_it_does_not_wrap_tells_nothing(rapl):
    rapl("intel-rapl:0", "package-0", 5_000_000)
    assert measured("cpu", lambda: rapl("intel-rapl:0", "package-0", 4_000_000)) is None


def test_without_a_counter_there_is_none(rapl):
    assert meter("cpu") is None


def test_a_counter_without_a_number_is_none(rapl):
    rapl("intel-rapl:0", "package-0", "unknown")
    assert meter("cpu") is None


def test_a_counter_that_we_may_not_read_is_none(package):
    (package.folder / "intel-rapl:0" / "energy_uj").unlink()
    (package.folder / "intel-rapl:0" / "energy_uj").mkdir()  # reading it fails for every user
    assert meter("cpu") is None


def test_a_counter_that_fails_for_a_moment_tells_nothing_of_the_whole(package):
    file = package.folder / "intel-rapl:0" / "energy_uj"
    assert measured("cpu", file.unlink, lambda: package(9)) is None


def test_what_runs_elsewhere_has_no_counter_here(package):
    assert meter("remote") is None


# A GPU's counter


class NVMLError(Exception):
    pass


def refuse(*_):
    raise NVMLError("Not Supported")


@pytest.fixture
def driver(monkeypatch):
    """A driver with two GPUs; it stands in for NVML, which answers only where a GPU is."""
    library = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetTotalEnergyConsumption=lambda gpu: 1500 + gpu,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


@pytest.mark.parametrize(("device", "joules"), [("cuda", 2.5), ("cuda:0", 2.5), ("cuda:1", 3.5)])
def test_a_gpus_millijoules_are_read_from_its_own_counter(driver, device, joules):
    def later():
        driver.nvmlDeviceGetTotalEnergyConsumption = lambda gpu: 4000 + 1001 * gpu

    assert measured(device, later) == pytest.approx(joules)


@pytest.mark.parametrize(
    "missing", ["nvmlInit", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetTotalEnergyConsumption"]
)
def test_a_gpu_that_does_not_count_has_no_counter(driver, missing):
    setattr(driver, missing, refuse)
    assert meter("cuda:0") is None


def test_without_the_drivers_library_there_is_no_counter(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert meter("cuda:0") is None


def test_a_gpu_that_stops_counting_gives_nothing(driver):
    def later():
        driver.nvmlDeviceGetTotalEnergyConsumption = refuse

    assert measured("cuda:0", later) is None


def test_a_gpus_counter_that_began_anew_tells_nothing(driver):
    def later():
        driver.nvmlDeviceGetTotalEnergyConsumption = lambda _: 3

    assert measured("cuda:0", later) is None


def test_a_meter_is_a_probe(package):
    with sampling([meter("cpu")]) as sampler:
        package(7)
    assert sampler.failures == []


# Joules a request


def run_of(*launches, joules):
    """Launches by how their requests ended."""
    logs = []
    for ended in launches:
        n = len(ended)
        times = np.arange(n) * 1000
        logs.append(
            RequestLog(
                scheduled=times,
                started=times,
                completed=times + 10,
                status=np.array(ended, dtype=np.uint8),
                batch=np.arange(n, dtype=np.int32),
                samples=np.arange(n),
                answers=[None] * n,
                window_ns=n * 1000,
            )
        )
    return Execution(
        Candidate("acme", backend=len),
        Scenario.declare("offline"),
        Dataset.from_arrays("ten", inputs=np.arange(10)).slice(),
        tuple(Run(each, audit=None, conditions={}) for each in logs),
        {},
        joules,
    )


def joules_of(run):
    return measure(metric("energy_per_request"), run)


OK = [Status.OK] * 10


def test_energy_is_joules_a_request_launch_by_launch():
    measured = joules_of(run_of(OK, OK, joules=(20.0, 40.0)))
    assert measured.basis.values.tolist() == [2.0, 4.0]
    assert (measured.estimate, measured.n, measured.n_unit) == (Quantity.of(3, "J"), 2, "launches")


def test_what_fails_takes_its_energy_all_the_same():
    half = [Status.OK] * 5 + [Status.ERROR, Status.TIMEOUT, Status.LOST, Status.EMPTY, Status.LOST]
    assert joules_of(run_of(half, joules=(20.0,))).basis.values.tolist() == [4.0]


def test_no_counter_is_not_measurable_and_never_nothing():
    measured = joules_of(run_of(OK, joules=None))
    assert measured.estimate is None
    assert measured.basis == Unmeasurable("the device has no energy counter that can be read here")


def test_a_launch_without_a_reading_leaves_it_not_measurable():
    assert isinstance(joules_of(run_of(OK, OK, joules=(20.0,))).basis, Unmeasurable)


@pytest.mark.parametrize("ended", [[], [Status.LOST] * 10])
def test_a_launch_without_an_answer_has_no_energy_for_one(ended):
    measured = joules_of(run_of(OK, ended, joules=(20.0, 20.0)))
    assert measured.basis == Unmeasurable("a launch answered no request, so it has no energy for one")


def test_a_bar_on_energy_takes_five_launches_and_is_decided_in_its_own_unit():
    def decided(n, limit):
        measured = joules_of(run_of(*[OK] * n, joules=(20.0, 21.0, 19.0, 20.0, 20.0)[:n]))
        return decide(measured, "at most", Quantity.parse(limit), Policy())

    assert "4 launches are too few" in decided(4, "3 J").blocked
    assert decided(5, "0.0006 Wh").accept  # 2.16 J
    assert not decided(5, "0.00055 Wh").accept  # 1.98 J
