"""Energy: reading the counters, and what a run is said to have used."""

import importlib
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
from pytest_procure.telemetry.energy import Meter, added_up, meter
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
    read, _ = meter(device)
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
    read, _ = meter("cpu")
    package(60)  # the warm-up
    read.start()
    package(64)
    read.stop()
    assert read.joules == 4.0


def test_each_window_counts_anew(package):
    read, _ = meter("cpu")
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


NO_RIGHT = "the processor's energy counter (RAPL) cannot be read; most systems let only root"


def test_without_a_counter_there_is_none(rapl):
    assert meter("cpu") == (None, "the processor has no energy counter (RAPL) here")


def test_a_counter_without_a_number_is_none(rapl):
    rapl("intel-rapl:0", "package-0", "unknown")
    assert meter("cpu") == (None, NO_RIGHT)


def test_a_counter_that_we_may_not_read_is_none(package):
    (package.folder / "intel-rapl:0" / "energy_uj").unlink()
    (package.folder / "intel-rapl:0" / "energy_uj").mkdir()  # reading it fails for every user
    assert meter("cpu") == (None, NO_RIGHT)


def test_a_counter_that_fails_for_a_moment_tells_nothing_of_the_whole(package):
    file = package.folder / "intel-rapl:0" / "energy_uj"
    assert measured("cpu", file.unlink, lambda: package(9)) is None


def test_what_runs_elsewhere_has_no_counter_here(package):
    assert meter("remote") == (None, "")


# A GPU's counter

METER = """
from pytest_procure.telemetry.energy import Meter, added_up, meter
found, absent = meter({device!r})
if found is None:
    print(absent)
else:
    found.start()
    found.sample()
    found.stop()
    print(found.told, found.joules, sep="; ")
"""


def metered(driver, device, says):
    driver.says(says)
    return driver.run(METER.format(device=device)).strip()


TWO = """
    gpus 2
    0.name H200
    1.name H200
    0.uuid GPU-a
    1.uuid GPU-b
"""
BY_COUNTER = "by the driver's energy counter"
BY_POWER = "added up from its power, read ten times a second"


# The first reading only asks whether the GPU counts.
@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("cuda", f"of GPU 0 alone, {BY_COUNTER}; 2.5"),
        ("cuda:1", f"of GPU 1 alone, {BY_COUNTER}; 3.5"),
        ("cuda:0,1", f"of GPU 0 and GPU 1 alone, {BY_COUNTER}; 6.0"),
    ],
)
def test_a_gpus_millijoules_are_read_from_its_own_counter(driver, device, told):
    counts = "0.energy 1400 1500 2000 4000\n1.energy 1400 1500 2000 5000"
    assert metered(driver, device, f"{TWO}\n{counts}") == told


def test_a_gpu_that_does_not_count_is_added_up_from_its_power_and_that_is_said(driver):
    told, joules = metered(driver, "cuda:0", f"{TWO}\n0.power 300000").split("; ")
    assert told == f"of GPU 0 alone, {BY_POWER}"
    assert 0 < float(joules) < 300  # 300 W for less than a second


def test_power_is_added_up_evenly_between_two_readings(monkeypatch):
    times, readings = iter([0, 1_000_000_000, 3_000_000_000]), iter([100.0, 200.0, 50.0])
    monkeypatch.setattr(energy, "time", SimpleNamespace(perf_counter_ns=lambda: next(times)))
    read = added_up(lambda: next(readings))
    assert [read(), read(), read()] == [0.0, 150.0, 150.0 + 250.0]


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (TWO, "GPU 0: the driver tells neither its energy nor its power"),
        (f"{TWO}\n0.energy !4\n0.power !4", "GPU 0: the driver tells neither its energy nor its power"),
        ("gpus 0", "the driver has no GPU number 0"),
        ("init !9", "no NVIDIA driver: Driver Not Loaded"),
        ("init !4", "the NVIDIA driver does not answer: Insufficient Permissions"),
        ("gpus !15", "the NVIDIA driver does not tell of its GPUs: GPU is lost"),
        (f"{TWO}\n0.mig 1\n0.energy 5", "GPU 0 is cut into parts (MIG), whose energy nobody counts apart"),
    ],
)
def test_a_gpu_without_a_counter_says_why(driver, says, told):
    assert metered(driver, "cuda:0", says) == told


def test_without_the_drivers_package_the_command_to_run_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr("pytest_procure.telemetry.driver._library", lambda: importlib.import_module("pynvml"))
    found, absent = meter("cuda:0")
    assert found is None
    assert "pip install 'pytest-procure[gpu]'" in absent


@pytest.mark.parametrize("then", ["!15", "!3", "3"])
def test_a_gpu_that_stops_counting_or_begins_anew_tells_nothing(driver, then):
    assert metered(driver, "cuda:0", f"{TWO}\n0.energy 1400 1500 {then}").endswith("; None")


# Joules between two times


def marked(*marks):
    """A meter with readings at these times (s) and joules."""
    found = Meter([])
    found._marks = [(int(seconds * 1e9), joules) for seconds, joules in marks]
    found.joules = marks[-1][1]
    return found


def between(found, first, last):
    return found.between(int(first * 1e9), int(last * 1e9))


def test_joules_of_the_window_leave_out_what_lies_around_it():
    found = marked((0.0, 0.0), (1.0, 100.0), (2.0, 300.0), (3.0, 300.0))
    assert between(found, 1.0, 2.0) == 200.0
    assert between(found, 0.5, 2.5) == 250.0
    assert between(found, 1.25, 1.75) == pytest.approx(100.0)
    assert between(found, 2.5, 2.5) == 0.0


def test_joules_of_a_time_without_readings_are_not_told():
    found = marked((1.0, 0.0), (2.0, 100.0))
    assert between(found, 0.9, 2.0) is None
    assert between(found, 1.0, 2.1) is None
    assert between(found, 1.0, 2.005) == 100.0  # the moment that stopping takes
    found.joules = None
    assert between(found, 1.0, 2.0) is None


def test_a_meter_that_never_began_tells_nothing():
    assert Meter([]).between(0, 1) is None


def test_a_meter_is_a_probe(package):
    with sampling([meter("cpu")[0]]) as sampler:
        package(7)
    assert sampler.failures == []


# Joules a request


def run_of(*launches, joules, told=""):
    """Launches by how their requests ended; `told` of their energy."""
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
        tuple(Run(each, audit=None, conditions={"energy": told} if told else {}) for each in logs),
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


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            "not counted: the processor has no energy counter (RAPL) here",
            "the processor has no energy counter",
        ),
        ("of GPU 0 alone, by the driver's energy counter", "a reading of the energy counter is missing"),
    ],
)
def test_why_energy_is_not_measurable_is_told(told, reason):
    assert joules_of(run_of(OK, joules=None, told=told)).basis.reason.startswith(reason)


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
